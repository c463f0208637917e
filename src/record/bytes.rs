//! Bytes of untrusted headers and targets as text that is safe to store and to print.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Shows `bytes` as text: UTF-8 stays as it is, every other byte becomes `\xNN`.
///
/// A backslash before an `x` is itself written `\x5C`, so that the text can be turned back into the very
/// bytes. What [`is_harmful`] is left to whoever writes or prints the text: in JSON, [`escaped_json`].
pub fn printable(bytes: &[u8]) -> String {
    shown(bytes).into_owned()
}

/// As [`printable`], without a copy of what needs no change: nearly all there is.
pub(super) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        // A backslash is rare, and looked for fast.
        Ok(text) if memchr::memchr(b'\\', bytes).is_none() || !text.contains("\\x") => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(bytes)),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace("\\x", "\\x5Cx"));
        for byte in chunk.invalid() {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

/// Whether `symbol` misleads whoever reads it on a terminal, in an editor or on a page: controls, the marks that
/// turn the direction of writing, and what takes no room or shows nothing, such as fillers and tags.
pub fn is_harmful(symbol: char) -> bool {
    symbol.is_control()
        || matches!(
            symbol,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The same JSON, as any parser reads it, with what [`is_harmful`] as escapes of JSON (RFC 8259 §7).
///
/// Strings are the only place where compact JSON holds anything of the kind. Do not hand it JSON of several
/// lines.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    // Nearly every line: JSON has escaped all of ASCII that needs it but DEL.
    let is_plain = json.is_ascii() && memchr::memchr(0x7f, json.as_bytes()).is_none();
    if is_plain || !json.contains(is_harmful) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len() + 64);
    for symbol in json.chars() {
        if is_harmful(symbol) {
            for unit in symbol.encode_utf16(&mut [0; 2]) {
                // Writing to a `String` cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(symbol);
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_holds_nothing_harmful() {
        let value =
            serde_json::json!({ "a\u{202e}": "\u{ad}\u{3164}\u{9b}31m \u{e0041} caf\u{e9} \u{7f}\n" });
        let text = value.to_string();
        let shown = escaped_json(&text);
        assert!(!shown.contains(is_harmful) && shown.contains("caf\u{e9}"), "{shown}");
        assert!(shown.contains("\\udb40\\udc41"), "beyond U+FFFF an escape is a pair: {shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert!(matches!(escaped_json("{\"a\":\"caf\u{e9}\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn utf8_is_kept_and_other_bytes_are_named() {
        assert_eq!(printable(b"GPTBot/1.2"), "GPTBot/1.2");
        assert_eq!(printable("/caf\u{e9}".as_bytes()), "/caf\u{e9}");
        assert_eq!(printable(b"/caf\xe9\xff"), "/caf\\xE9\\xFF");
        assert_eq!(printable(b""), "");
    }

    #[test]
    fn no_text_can_pass_for_an_escaped_byte() {
        assert_eq!(printable(b"\\xE9"), "\\x5CxE9");
        assert_eq!(printable(b"a\\b"), "a\\b");
    }
}
