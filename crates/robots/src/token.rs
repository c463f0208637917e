//! Product tokens: what a user-agent line names (RFC 9309 section 2.2.1).
//!
//! The value is compared as a whole, and also cut at the first byte outside the grammar, as
//! section 2.3.1.5 suggests and Google's parser does. For tokens that follow the grammar both are
//! the same as the cut alone; the whole value makes `AI2Bot` or `panscient.com` work.

use super::finding::FindingKind;
use super::line::is_blank;

/// What one user-agent line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'b> {
    Everyone,
    /// One or two spellings, both of which start where the value starts: the whole value where it
    /// can be a name, and its first part where that is another name.
    Crawler(&'b [u8], Option<&'b [u8]>),
    /// Nobody; the line still starts a group, so that its rules never bind the one before.
    Nobody,
}

pub(super) fn named(value: &[u8]) -> Named<'_> {
    let length = value.iter().take_while(|&&b| in_grammar(b)).count();
    let cut = value.get(..length).filter(|cut| !cut.is_empty());
    match (value, cut) {
        ([b'*'], _) => Named::Everyone,
        ([b'*', next, ..], _) if is_blank(*next) => Named::Everyone,
        (value, Some(cut)) if cut.len() == value.len() => Named::Crawler(value, None),
        (value, cut) if is_name(value) => Named::Crawler(value, cut),
        (_, Some(cut)) => Named::Crawler(cut, None),
        (_, None) => Named::Nobody,
    }
}

/// Outside the grammar a name must be text with at least a letter or digit, and `*` never stands
/// for anything.
fn is_name(value: &[u8]) -> bool {
    let telling = value.iter().any(|&b| b.is_ascii_alphanumeric() || !b.is_ascii());
    telling && !value.contains(&b'*') && std::str::from_utf8(value).is_ok()
}

const fn in_grammar(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')
}

/// Words that name a kind of program, not a crawler.
const GENERIC: [&str; 16] = [
    "agent",
    "ai",
    "all",
    "any",
    "bot",
    "bots",
    "browser",
    "crawler",
    "crawlers",
    "http",
    "mozilla",
    "robot",
    "robots",
    "spider",
    "spiders",
    "user-agent",
];

/// Whether several names stand in one value, which nobody reads as a list.
fn is_list(value: &[u8]) -> bool {
    let is_one =
        |part: &[u8]| !part.is_empty() && part.iter().all(|&b| in_name(b) || matches!(b, b'*' | b'/'));
    value.contains(&b',') && value.split(|&b| b == b',').all(|part| is_one(part.trim_ascii()))
}

/// Whether a rule stands behind a name: its line end was forgotten.
fn has_rule(value: &[u8]) -> bool {
    let mut words = value.split(|&byte| is_blank(byte)).skip(1);
    words.any(|word| {
        let name = word.split(|&byte| byte == b':').next().unwrap_or_default();
        name.len() < word.len()
            && (name.eq_ignore_ascii_case(b"disallow") || name.eq_ignore_ascii_case(b"allow"))
    })
}

/// What is odd about the value of a user-agent line.
pub(super) fn oddity(value: &[u8]) -> Option<FindingKind> {
    let is_generic = |name: &[u8]| GENERIC.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(name));
    if has_rule(value) {
        return Some(FindingKind::RuleInName);
    }
    if is_list(value) {
        return Some(FindingKind::SeveralTokens);
    }
    match named(value) {
        Named::Everyone => (value != b"*").then_some(FindingKind::TokenCut),
        Named::Nobody => Some(FindingKind::UnusableToken),
        Named::Crawler(name, None) if is_generic(name) => Some(FindingKind::GenericToken),
        Named::Crawler(..) if value.iter().all(|&b| in_grammar(b)) => None,
        Named::Crawler(..) => Some(FindingKind::TokenCut),
    }
}

/// The part of a user-agent value that is compared by crawlers which follow the grammar to the letter:
/// `*`, or what stands before the first byte outside it.
pub fn cut(value: &str) -> &str {
    match named(value.as_bytes()) {
        Named::Everyone => "*",
        _ => value.split(|c: char| !u8::try_from(c).is_ok_and(in_grammar)).next().unwrap_or_default(),
    }
}

/// What to do about a value that is not a product token.
pub(super) fn advice(value: &[u8]) -> &'static str {
    match named(value) {
        Named::Everyone => "write `*` alone",
        // A name such as AI2Bot or panscient.com, as its operator writes it.
        Named::Crawler(whole, _) if whole == value && value.iter().all(|&b| in_name(b)) => {
            "keep it if the crawler's operator documents this name: the whole of it is compared too"
        }
        _ => "write the product token alone, without a version",
    }
}

const fn in_name(byte: u8) -> bool {
    in_grammar(byte) || byte.is_ascii_digit() || byte == b'.'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_first_part() {
        assert_eq!(named(b"FooBot"), Named::Crawler(b"FooBot", None));
        assert_eq!(named(b"FooBot/1.0"), Named::Crawler(b"FooBot/1.0", Some(b"FooBot")));
        assert_eq!(named(b"AI2Bot"), Named::Crawler(b"AI2Bot", Some(b"AI")));
        assert_eq!(named(b"360Spider"), Named::Crawler(b"360Spider", None));
        assert_eq!(named(b"-"), Named::Crawler(b"-", None));
        assert_eq!(named(b"Foo\xFF"), Named::Crawler(b"Foo", None));
    }

    #[test]
    fn a_star_is_everyone_or_nothing() {
        assert_eq!(named(b"*"), Named::Everyone);
        assert_eq!(named(b"* all of you"), Named::Everyone);
        assert_eq!(named(b"Foo*"), Named::Crawler(b"Foo", None));
        for value in [&b"*Bot"[..], b"*<BR>", b"", b"/", b"\xFF"] {
            assert_eq!(named(value), Named::Nobody, "{value:?}");
        }
    }
}
