//! A line of JSON, put together field by field.
//!
//! A serialiser looks at every byte of every name and word, though most of a line is known when the program is
//! built. Here only what comes from outside is looked at.

use super::bytes::{escaped_json, shown};
use crate::decide::VersionId;
use jiff::Timestamp;
use std::cell::Cell;
use std::io::Write as _;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// Room for a line of usual length; longer ones grow.
const USUAL: usize = 1_024;

/// `,"name":` for a name that is known when the program is built, and plain.
macro_rules! key {
    ($name:literal) => {
        concat!(",\"", $name, "\":").as_bytes()
    };
}
pub(super) use key;

/// A JSON object (RFC 8259) that is being written. Of the values nothing in it is harmful to read.
#[derive(Debug, Default)]
pub(super) struct JsonLine {
    bytes: Vec<u8>,
}

impl JsonLine {
    /// An object that begins with `start`: its opening bracket and first field.
    pub(super) fn new(start: &'static str) -> Self {
        let mut bytes = Vec::with_capacity(USUAL);
        bytes.extend_from_slice(start.as_bytes());
        Self { bytes }
    }

    /// What stands in it so far.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Fields that are written already, with a comma before them.
    pub(super) fn fields(&mut self, written: &[u8]) {
        self.bytes.extend_from_slice(written);
    }

    /// A field of no value.
    #[inline]
    pub(super) fn null(&mut self, key: &'static [u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(b"null");
    }

    /// A field as `write` writes it, or null.
    #[inline]
    pub(super) fn optional<T>(
        &mut self,
        key: &'static [u8],
        value: Option<T>,
        write: impl FnOnce(&mut Self, &'static [u8], T),
    ) {
        match value {
            Some(value) => write(self, key, value),
            None => self.null(key),
        }
    }

    /// A word of ours: plain, as names are.
    #[inline]
    pub(super) fn word(&mut self, key: &'static [u8], word: &'static str) {
        self.bytes.extend_from_slice(key);
        self.push_plain(word.as_bytes());
    }

    /// Text from anywhere.
    #[inline]
    pub(super) fn text(&mut self, key: &'static [u8], text: &str) {
        self.bytes.extend_from_slice(key);
        self.push_text(text);
    }

    /// Bytes from anywhere, as [`shown`] shows them.
    #[inline]
    pub(super) fn bytes(&mut self, key: &'static [u8], bytes: &[u8]) {
        self.bytes.extend_from_slice(key);
        if is_plain(bytes) {
            self.push_plain(bytes);
        } else {
            self.push_text(&shown(bytes));
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &'static [u8], texts: &[&str]) {
        self.bytes.extend_from_slice(key);
        self.bytes.push(b'[');
        for (place, text) in texts.iter().enumerate() {
            if place > 0 {
                self.bytes.push(b',');
            }
            self.push_text(text);
        }
        self.bytes.push(b']');
    }

    /// A number.
    #[inline]
    pub(super) fn number(&mut self, key: &'static [u8], number: u32) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// An address.
    #[inline]
    pub(super) fn address(&mut self, key: &'static [u8], address: IpAddr) {
        self.bytes.extend_from_slice(key);
        let IpAddr::V4(address) = address else {
            // Writing to memory cannot fail.
            let _ = write!(self.bytes, "\"{address}\"");
            return;
        };
        for (before, byte) in b"\"...".iter().zip(address.octets()) {
            self.bytes.push(*before);
            self.bytes.extend_from_slice(itoa::Buffer::new().format(byte).as_bytes());
        }
        self.bytes.push(b'"');
    }

    /// The id of a version.
    pub(super) fn version(&mut self, key: &'static [u8], version: VersionId) {
        self.bytes.extend_from_slice(key);
        self.push_plain(&version.digits());
    }

    /// A time in UTC, RFC 3339, to the millisecond.
    pub(super) fn time(&mut self, key: &'static [u8], time: SystemTime) {
        self.bytes.extend_from_slice(key);
        push_time(&mut self.bytes, time);
    }

    /// The line, its newline included.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(b"}\n");
        self.bytes
    }

    /// How long the line is so far.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn push_plain(&mut self, text: &[u8]) {
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(text);
        self.bytes.push(b'"');
    }

    fn push_text(&mut self, text: &str) {
        if is_plain(text.as_bytes()) {
            return self.push_plain(text.as_bytes());
        }
        // A string has a form in JSON always.
        let quoted = serde_json::to_string(text).unwrap_or_default();
        self.bytes.extend_from_slice(escaped_json(&quoted).as_bytes());
    }
}

/// Whether bytes are text that is itself in JSON (RFC 8259 §7) and harmless there. All of them are looked at, without a
/// branch for each, so that the compiler takes many at once: a third of the time of stopping at the first that is not.
fn is_plain(text: &[u8]) -> bool {
    let special = |byte: u8| {
        u8::from(byte < b' ') | u8::from(byte > b'~') | u8::from(byte == b'"') | u8::from(byte == b'\\')
    };
    text.iter().fold(0, |found, byte| found | special(*byte)) == 0
}

/// The second that was written last by this thread, and how: in a busy second it is the same a thousand times.
type CachedSecond = (u64, [u8; SECOND]);

/// `2026-11-20T19:58:41`
const SECOND: usize = 19;

/// Pushes a time with its quotation marks.
fn push_time(bytes: &mut Vec<u8>, time: SystemTime) {
    thread_local! {
        static LAST: Cell<CachedSecond> = const { Cell::new((u64::MAX, [0; SECOND])) };
    }
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (second, mut text) = LAST.get();
    if second != since.as_secs() {
        text = written(since.as_secs());
        LAST.set((since.as_secs(), text));
    }
    bytes.push(b'"');
    bytes.extend_from_slice(&text);
    let millis = since.subsec_millis();
    let digit = |place: u32| b"0123456789".get((millis / place % 10) as usize).copied().unwrap_or(b'0');
    bytes.extend_from_slice(&[b'.', digit(100), digit(10), digit(1), b'Z', b'"']);
}

fn written(second: u64) -> [u8; SECOND] {
    let time = i64::try_from(second).ok().and_then(|second| Timestamp::from_second(second).ok());
    let text = time.unwrap_or(Timestamp::UNIX_EPOCH).to_string();
    text.as_bytes().first_chunk().copied().unwrap_or([b'0'; SECOND])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::timestamp;

    #[test]
    fn a_line_is_what_a_serialiser_would_write() {
        let texts = ["", "plain / text", "\"\\", "a\nb\u{1b}[0m", "\u{7f}", "caf\u{e9}", "\u{9b}\u{202e}"];
        for text in texts {
            let mut line = JsonLine::new("{\"v\":1");
            line.text(key!("text"), text);
            line.texts(key!("texts"), &[text, "b"]);
            line.optional(key!("none"), None, JsonLine::text);
            line.optional(key!("number"), Some(403), JsonLine::number);
            line.word(key!("word"), "word");
            let value = serde_json::json!({
                "v": 1, "text": text, "texts": [text, "b"], "none": null, "number": 403, "word": "word",
            });
            let written = String::from_utf8(line.finish()).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), value);
            let quoted = serde_json::to_string(text).unwrap();
            assert!(written.contains(&*escaped_json(&quoted)), "{written}");
        }
    }

    #[test]
    fn every_byte_is_plain_or_not_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            let expected = matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
            for len in 1..40 {
                for at in 0..len {
                    for others in [b' ', b'~', b'!', b'#', b'[', b']'] {
                        let mut text = vec![others; len];
                        text[at] = byte;
                        assert_eq!(is_plain(&text), expected, "{text:?}");
                    }
                }
            }
        }
        assert!(is_plain(b""));
    }

    #[test]
    fn times_are_written_as_everywhere_else() {
        let day = 86_400;
        let seconds = [0, 1, 59, day - 1, day, 951_782_400, 1_709_164_800, 4_102_444_799, 253_402_207_200];
        for (second, milli) in
            seconds.into_iter().flat_map(|second| [(second, 0), (second, 7), (second, 999)])
        {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second) + Duration::from_millis(milli);
            let mut bytes = Vec::new();
            push_time(&mut bytes, time);
            assert_eq!(String::from_utf8(bytes).unwrap(), format!("\"{}\"", timestamp(time)));
        }
    }
}
