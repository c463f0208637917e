//! Product tokens: what a user-agent line names (RFC 9309 section 2.2.1).
//!
//! The value is compared as a whole, and also cut at the first octet outside the grammar, as
//! section 2.3.1.5 suggests and Google's parser does. For tokens that follow the grammar both are
//! the same as the cut alone; the whole value makes `AI2Bot` or `panscient.com` work.

use super::finding::FindingKind;
use super::line::is_blank;

/// What one user-agent line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named<'b> {
    Everyone,
    /// The whole value where it can be a name, and its first part where that is another name.
    Crawler(Option<&'b str>, Option<&'b str>),
    /// Nobody; the line still starts a group, so that its rules never bind the one before.
    Nobody,
}

pub(super) fn named(value: &[u8]) -> Named<'_> {
    match value {
        [b'*'] => return Named::Everyone,
        [b'*', next, ..] if is_blank(*next) => return Named::Everyone,
        _ => {}
    }
    let length = value.iter().take_while(|&&b| in_grammar(b)).count();
    let cut = value.get(..length).and_then(text);
    let whole = text(value).filter(|name| cut != Some(*name) && is_name(name));
    match (whole, cut) {
        (None, None) => Named::Nobody,
        (None, cut) => Named::Crawler(cut, None),
        both => Named::Crawler(both.0, both.1),
    }
}

fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|name| !name.is_empty())
}

/// Outside the grammar a name needs at least a letter or digit, and `*` never stands for anything.
fn is_name(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_alphanumeric() || b >= 0x80) && !text.contains('*')
}

const fn in_grammar(octet: u8) -> bool {
    octet.is_ascii_alphabetic() || matches!(octet, b'-' | b'_')
}

/// Tokens that steer what a crawler does with pages and are sent by none.
const CONTROL: [&str; 3] = ["applebot-extended", "google-extended", "webzio-extended"];

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

/// What is odd about the value of a user-agent line.
pub(super) fn oddity(value: &[u8]) -> Option<FindingKind> {
    let among = |list: &[&str], name: &str| list.iter().any(|word| word.eq_ignore_ascii_case(name));
    match named(value) {
        Named::Everyone => (value != b"*").then_some(FindingKind::TokenCut),
        Named::Nobody => Some(FindingKind::UnusableToken),
        Named::Crawler(Some(name), None) => {
            if among(&CONTROL, name) {
                Some(FindingKind::ControlToken)
            } else if among(&GENERIC, name) {
                Some(FindingKind::GenericToken)
            } else {
                (!value.iter().all(|&b| in_grammar(b))).then_some(FindingKind::TokenCut)
            }
        }
        Named::Crawler(..) => Some(FindingKind::TokenCut),
    }
}

/// Orders tokens without regard to ASCII case: the first eight octets, lower-cased, as a number.
pub(super) fn key(name: &[u8]) -> u64 {
    let fold = |key: u64, octet: u8| key << 8 | u64::from(octet.to_ascii_lowercase());
    let head = name.iter().take(8).copied().fold(0, fold);
    let missing = 8 - name.len().min(8);
    if missing == 8 { 0 } else { head << (8 * missing) }
}
