//! The heads of messages: of requests, read strictly, and of an origin's answers.
//!
//! What two recipients could read in two ways is a [`HttpFault`] (RFC 9112 and, for what HTTP/2 leaves of it, RFC 9113): a
//! request that gateway and origin frame differently carries a second one that nobody judges (RFC 9112 §11.2).

mod answer;
mod authority;
mod field;
mod framing;
mod parts;
mod question;
mod reader;
mod request;

pub use answer::{AnswerError, AnswerHead, InterimAnswers};
pub use authority::is_host;
pub use parts::check;
pub use question::QuestionReader;
pub use reader::{HeadLimits, HeadReader};
pub use request::{ConnectionOptions, HttpVersion, RequestHead};

pub(super) use field::Field;

use super::HttpFault;
use super::body::Body;

/// The field that says what was signed of a message (RFC 9421 §4.1): without it there is no signature.
const SIGNATURE_INPUT: &str = "signature-input";

/// Fields for the next recipient only (RFC 9110 §7.6.1), and those that say where a message ends, which is framed anew.
/// `Trailer` is among them, since trailers are not passed on.
pub const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "content-length",
    "http2-settings",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a field of this name, in any case, goes no further than to the next recipient.
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    // The length tells most names apart.
    matches!(name.len(), 2 | 7 | 10 | 14 | 16 | 17 | 19)
        && HOP_BY_HOP.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
}

/// `tchar` of RFC 9110 §5.6.2: what method names and field names are made of.
const fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

/// For every byte: whether it [`is_tchar`], and whether it may stand in the name of a host.
#[expect(clippy::indexing_slicing, reason = "each byte has a place, and a constant cannot panic")]
const IN_NAMES: [(bool, bool); 256] = {
    let (mut table, mut byte) = ([(false, false); 256], 0_u8);
    while byte < 0x80 {
        table[byte as usize] = (is_tchar(byte), authority::may_stand_in_a_name(byte));
        byte += 1;
    }
    table
};

/// How many bytes the token has that `bytes` begin with; 0 where they begin with none.
fn token_length(bytes: &[u8]) -> usize {
    let is_tchar = |byte: &u8| IN_NAMES.get(usize::from(*byte)).is_some_and(|(is_tchar, _)| *is_tchar);
    bytes.iter().position(|byte| !is_tchar(byte)).unwrap_or(bytes.len())
}

/// A token (RFC 9110 §5.6.2).
pub fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && token_length(bytes) == bytes.len()
}

/// Bytes that are looked at in one step.
const BLOCK: usize = 16;

/// Whether `is_good` holds for all of `bytes`. Without branches in a block; the rest of them is looked at together with
/// bytes before it, so that it makes a block, too.
fn are_all(bytes: &[u8], is_good: impl Fn(u8) -> bool) -> bool {
    let is_block_good = |block: &[u8; BLOCK]| block.iter().fold(true, |good, byte| good & is_good(*byte));
    match bytes.last_chunk::<BLOCK>() {
        Some(last) => bytes.as_chunks().0.iter().all(is_block_good) && is_block_good(last),
        None => bytes.iter().all(|byte| is_good(*byte)),
    }
}

/// Whether two field names are the same. They compare without case (RFC 9110 §5.1).
fn is_same(name: &[u8], own: &str) -> bool {
    name.len() == own.len()
        && name.iter().zip(own.as_bytes()).all(|(one, two)| one == two || one.eq_ignore_ascii_case(two))
}

/// The number that these digits write. Eighteen fit it, and no body is as long.
fn number(digits: &[u8]) -> Option<u64> {
    let is_number = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(*digit - b'0')))
}

/// Optional whitespace (RFC 9110 §5.6.3) removed from both ends; other blanks are no whitespace here.
pub(super) fn trimmed(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_made_of_tchar_only() {
        assert!(is_token(b"GET") && is_token(b"x-y_z~|"));
        for bad in [&b""[..], b"a b", b"a:", b"(a)", b"\xc3\xa9", b"a\0"] {
            assert!(!is_token(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_byte_that_is_not_good_is_found_wherever_it_stands() {
        for length in 0..3 * BLOCK {
            let mut bytes = vec![b'a'; length];
            assert!(are_all(&bytes, |byte| byte == b'a'));
            for at in 0..length {
                bytes[at] = b'b';
                assert!(!are_all(&bytes, |byte| byte == b'a'), "{at} of {length}");
                bytes[at] = b'a';
            }
        }
    }

    #[test]
    fn only_spaces_and_tabs_are_trimmed() {
        assert_eq!(trimmed(b" \ta b\t "), b"a b");
        assert_eq!(trimmed(b"\x0ba\x0c"), b"\x0ba\x0c");
        assert_eq!(trimmed(b" \t"), b"");
    }
}
