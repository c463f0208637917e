//! What a finding says, without its place.

use super::finding::{Finding, FindingKind, Severity};
use super::token;
use std::fmt;
use strum::EnumMessage as _;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (detail, other) = (&*self.detail, self.other.unwrap_or_default());
        let cut = token::cut(detail);
        let said = match self.kind {
            FindingKind::TooLarge if self.severity == Severity::Note => {
                "crawlers may ignore the rest of the file: they must read {d} bytes, no more"
            }
            FindingKind::SeveralTokens if cut.is_empty() => "`{d}` on one line names nobody",
            FindingKind::TokenCut if cut.is_empty() => {
                "`{d}` is not a product token; crawlers may not find themselves in it"
            }
            FindingKind::DisallowAll if other > 0 => {
                "every crawler without a group of its own is shut out of all but the paths that rules allow \
                 (line {other})"
            }
            FindingKind::PreferenceOutsideGroup if self.severity == Severity::Note => {
                "`{d}` stands before the first group: some crawlers take it for everyone's, others for nobody's"
            }
            kind => kind.get_message().unwrap_or_default(),
        };
        let said = said.replace("{other}", &other.to_string()).replace("{cut}", cut);
        let said = said.replace("{meant}", self.meant.as_deref().unwrap_or_default());
        // What the file holds comes last, since it may look like one of these.
        f.write_str(&said.replace("{d}", detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray as _;

    #[test]
    fn something_is_said_of_every_finding() {
        for kind in FindingKind::VARIANTS {
            assert!(kind.get_message().is_some_and(|message| !message.is_empty()), "{kind:?}");
        }
    }
}
