//! Ordinary headers of people, which no sign of an operator's file may hit.
//!
//! A sign such as `Chrome` or `*e*` would turn every visitor into a crawler. These
//! headers (RFC 9110 §10.1.5) are samples of what nearly all visitors send; they
//! catch a slip of the pen and are no proof that a sign is good. Not here:
//! recognition (`identify`).

use crate::identify::Sign;

/// Browsers and apps in everyday use.
fn headers() -> impl Iterator<Item = &'static str> {
    include_str!("../../../rules/ordinary-headers.txt").lines().filter(|line| !line.starts_with('#'))
}

/// A person's header in which the sign stands, if there is one.
pub(super) fn header_matched_by(sign: &Sign) -> Option<&'static str> {
    headers().find(|header| sign.stands_in(header.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::catalogue::bundled;
    use crate::identify::{ClientKind, Identifier};

    #[test]
    fn signs_of_everybody_are_told_from_those_of_a_crawler() {
        for everybody in ["Chrome", "gecko", "^Mozilla/5.0", "Mobile/15E148", "*like Mac*"] {
            assert!(header_matched_by(&Sign::parse(everybody).unwrap()).is_some(), "{everybody}");
        }
        for own in ["Zorkel", "^Chrome", "Pod", "*bot"] {
            assert_eq!(header_matched_by(&Sign::parse(own).unwrap()), None, "{own}");
        }
    }

    #[test]
    fn the_bundled_knowledge_leaves_these_people_alone() {
        let knowledge = bundled();
        let convicting =
            knowledge.catalogue.crawlers().iter().filter(|crawler| crawler.client != ClientKind::App);
        for sign in convicting.flat_map(|crawler| &crawler.signs) {
            assert_eq!(header_matched_by(sign), None, "{sign}");
        }
        let identifier = Identifier::new(knowledge).unwrap();
        for header in headers() {
            assert!(!identifier.recognise(Some(header.as_bytes())).is_judged(), "{header}");
        }
    }
}
