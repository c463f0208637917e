//! Octets of untrusted headers and targets as text that is safe to store and to print.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Shows `octets` as text: UTF-8 stays as it is, every other octet becomes `\xNN`.
///
/// A backslash before an `x` is itself written `\x5C`, so that the text can be turned back into the very
/// octets. Control characters are left to the JSON writer, which escapes them.
#[must_use]
pub fn printable(octets: &[u8]) -> String {
    shown(octets).into_owned()
}

/// As [`printable`], without a copy of what needs no change: nearly all there is.
pub(super) fn shown(octets: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(octets) {
        Ok(text) if !text.contains("\\x") => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(octets)),
    }
}

fn escaped(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.utf8_chunks() {
        push_valid(&mut text, chunk.valid());
        for octet in chunk.invalid() {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\x{octet:02X}");
        }
    }
    text
}

fn push_valid(text: &mut String, valid: &str) {
    let mut rest = valid;
    while let Some(at) = rest.find("\\x") {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        text.push_str("\\x5C");
        rest = after.get(1..).unwrap_or_default();
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_is_kept_and_other_octets_are_named() {
        assert_eq!(printable(b"GPTBot/1.2"), "GPTBot/1.2");
        assert_eq!(printable("/caf\u{e9}".as_bytes()), "/caf\u{e9}");
        assert_eq!(printable(b"/caf\xe9\xff"), "/caf\\xE9\\xFF");
        assert_eq!(printable(b""), "");
    }

    #[test]
    fn no_text_can_pass_for_an_escaped_octet() {
        assert_eq!(printable(b"\\xE9"), "\\x5CxE9");
        assert_eq!(printable(b"a\\b"), "a\\b");
    }
}
