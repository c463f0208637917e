//! The grammar of HTTP requests (RFC 9112 and, for what HTTP/2 leaves of it, RFC 9113), strict: what two
//! recipients could read in two ways is a [`Fault`].
//!
//! Not a parser for using requests: pingora does that. This only finds where a message ends and whether
//! everyone must agree on it, since a message that gateway and origin frame differently carries a second,
//! unjudged request (RFC 9112 §11.2). It works on octets as they come and keeps none of them.

mod authority;
mod chunked;
mod fault;
mod field;
mod framing;
mod head;
mod parts;

pub use chunked::Chunks;
pub use fault::Fault;
pub use head::{Body, Head, HeadLimits, HeadReader, Progress};
pub use parts::{Parts, check};

/// `tchar` of RFC 9110 §5.6.2: what method names and field names are made of.
const fn is_tchar(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(octet, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.')
        || matches!(octet, b'^' | b'_' | b'`' | b'|' | b'~')
}

/// [`is_tchar`] of every octet of ASCII, a bit each: all octets of all names are asked for.
const TCHARS: u128 = {
    let (mut bits, mut octet) = (0, 0_u8);
    while octet < 0x80 {
        if is_tchar(octet) {
            bits |= 1 << octet;
        }
        octet += 1;
    }
    bits
};

/// A token (RFC 9110 §5.6.2).
fn is_token(octets: &[u8]) -> bool {
    !octets.is_empty() && octets.iter().all(|octet| octet.is_ascii() && TCHARS >> octet & 1 == 1)
}

/// Optional whitespace (RFC 9110 §5.6.3) removed from both ends; other blanks are no whitespace here.
fn trimmed(mut octets: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = octets {
        octets = rest;
    }
    octets
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
    fn only_spaces_and_tabs_are_trimmed() {
        assert_eq!(trimmed(b" \ta b\t "), b"a b");
        assert_eq!(trimmed(b"\x0ba\x0c"), b"\x0ba\x0c");
        assert_eq!(trimmed(b" \t"), b"");
    }
}
