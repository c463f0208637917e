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
/// turn the direction of writing, and what takes no room or shows nothing, such as fillers, tags and odd spaces.
///
/// These are the characters that Unicode 16 calls `Cc`, `Cf`, `Zl`, `Zp`, `Zs` (but the space), `Bidi_Control` or
/// `Default_Ignorable_Code_Point`, and three that it does not, though they are blank: the empty Braille pattern, the
/// filler of Khitan and the null note head.
pub fn is_harmful(symbol: char) -> bool {
    !symbol.is_ascii_graphic() && (symbol.is_control() || is_invisible(symbol))
}

#[rustfmt::skip]
const fn is_invisible(symbol: char) -> bool {
    matches!(
        symbol,
        '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{16fe4}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// As much of `bytes` from the start as takes at most `most` bytes in a line of JSON, escaped by [`shown`] and
/// [`escaped_json`]. What is UTF-8 stays so: no character is cut in two.
pub(super) fn start_within(bytes: &[u8], most: usize) -> &[u8] {
    // Nothing takes more than six times its own.
    if bytes.len() <= most / 6 {
        return bytes;
    }
    let (mut end, mut room) = (0, most);
    for chunk in bytes.utf8_chunks() {
        let symbols = chunk.valid().chars().map(|symbol| (symbol.len_utf8(), written_length(symbol)));
        let others = chunk.invalid().iter().map(|_| (1, "\\\\xNN".len()));
        for (length, written) in symbols.chain(others) {
            let Some(left) = room.checked_sub(written) else { return bytes.get(..end).unwrap_or(bytes) };
            (end, room) = (end + length, left);
        }
    }
    bytes
}

/// How many bytes a character takes in JSON at most.
fn written_length(symbol: char) -> usize {
    match symbol {
        '"' => 2,
        // It may begin what looks like an escaped byte.
        '\\' => "\\\\x5C".len(),
        _ if is_harmful(symbol) => "\\uNNNN".len() * symbol.len_utf16(),
        _ => symbol.len_utf8(),
    }
}

/// A value as a line of JSON, its newline included, in which nothing is harmful to read.
pub(super) fn json_line(value: &impl serde::Serialize) -> String {
    // A value whose keys are texts has a form in JSON always.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    if let Cow::Owned(escaped) = escaped_json(&line) {
        line = escaped;
    }
    line.push('\n');
    line
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

    /// The properties of Unicode 16 that the documentation names, by hand from its tables.
    #[test]
    fn whatever_shows_nothing_is_harmful() {
        let invisible = [
            0x34f, 0x600, 0x605, 0x61c, 0x6dd, 0x70f, 0x890, 0x8e2, 0xad, 0xa0, 0x115f, 0x1680, 0x17b4,
            0x180b, 0x180e, 0x180f, 0x2000, 0x200a, 0x200b, 0x200d, 0x200e, 0x2028, 0x2029, 0x202a, 0x202e,
            0x202f, 0x205f, 0x2060, 0x2065, 0x2066, 0x2069, 0x206f, 0x2800, 0x3000, 0x3164, 0xfe00, 0xfe0f,
            0xfeff, 0xffa0, 0xfff0, 0xfff9, 0x110bd, 0x110cd, 0x13430, 0x1343f, 0x16fe4, 0x1bca0, 0x1bca3,
            0x1d159, 0x1d173, 0x1d17a, 0xe0000, 0xe0001, 0xe0020, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff, 0,
            0x1b, 0x7f, 0x80, 0x9f,
        ];
        let raw: Vec<u32> =
            invisible.into_iter().filter(|code| !is_harmful(char::from_u32(*code).unwrap())).collect();
        assert_eq!(raw, [0_u32; 0], "{raw:x?}");
        let plain = (' '..='~').chain("\u{e9}\u{300}\u{5d0}\u{4e2d}\u{1f639}\u{ffe6}".chars());
        assert_eq!(plain.filter(|symbol| is_harmful(*symbol)).collect::<String>(), "");
    }

    #[test]
    fn a_start_fits_as_it_is_written() {
        for text in
            [&b"\\x"[..], b"\"", b"a", b"\xff", b"\x01", b"\xe2\x80\xae", "\u{e0041}".as_bytes(), b"\xe2\x80"]
        {
            let bytes = text.repeat(2_000);
            for most in [0, 1, 100, 1_023, 100_000] {
                let start = start_within(&bytes, most);
                let json = serde_json::to_string(&shown(start)).unwrap();
                let written = escaped_json(&json).len() - 2;
                assert!(written <= most, "{text:?}: {written} of {most}");
                assert!(
                    bytes.starts_with(start) && (start.len() == bytes.len()) == (most == 100_000),
                    "{text:?}"
                );
                assert!(start.len() >= bytes.len().min(most.saturating_sub(12) / 12), "{text:?}");
            }
        }
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
