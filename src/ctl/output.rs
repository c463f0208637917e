//! Standard output in the shape that was asked for.

use super::args::Format;
use super::style::Palette;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes answers; a reader that has gone away (`| head`) is no error.
pub(super) struct Output<W: Write> {
    format: Format,
    palette: Palette,
    writer: io::BufWriter<W>,
    closed: bool,
}

impl<W: Write> Output<W> {
    pub(super) fn new(format: Format, palette: Palette, writer: W) -> Self {
        Self { format, palette, writer: io::BufWriter::new(writer), closed: false }
    }

    /// The colours that the reader can see.
    pub(super) const fn palette(&self) -> Palette {
        self.palette
    }

    /// Octets as they are.
    pub(super) fn octets(&mut self, octets: &[u8]) -> io::Result<()> {
        self.write(octets)
    }

    pub(super) const fn is_json(&self) -> bool {
        matches!(self.format, Format::Json)
    }

    /// One line of text.
    pub(super) fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.write(text.as_ref().as_bytes())?;
        self.write(b"\n")
    }

    /// One JSON value on a line of its own.
    pub(super) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        self.write(ascii_where_harmful(&text).as_bytes())?;
        self.write(b"\n")
    }

    /// Text that brings its own line ends.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.write(text.as_bytes())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        let result = self.writer.flush();
        self.unless_gone(result)
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.writer.write_all(octets);
        self.unless_gone(result)
    }

    fn unless_gone(&mut self, result: io::Result<()>) -> io::Result<()> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            result => result,
        }
    }
}

/// Text from a file or a client, made harmless for a terminal: control characters are spelt out.
pub(super) fn harmless(text: &str) -> String {
    text.chars()
        .flat_map(|symbol| {
            let escaped: Box<dyn Iterator<Item = char>> = if is_harmful(symbol) {
                Box::new(symbol.escape_default())
            } else {
                Box::new(std::iter::once(symbol))
            };
            escaped
        })
        .collect()
}

/// The same JSON, with what [`harmless`] would spell out as escapes of JSON (RFC 8259 §7). Outside of strings
/// JSON has nothing of the kind but what it escapes itself.
fn ascii_where_harmful(json: &str) -> Cow<'_, str> {
    if !json.contains(is_harmful) {
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

/// Controls, the marks that turn the direction of writing, and what takes no room on a terminal.
pub(super) fn is_harmful(symbol: char) -> bool {
    symbol.is_control()
        || matches!(symbol,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(harmless("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(harmless("a\u{61c}b\u{2028}"), "a\\u{61c}b\\u{2028}");
        assert_eq!(harmless("caf\u{e9}"), "caf\u{e9}");
    }

    #[test]
    fn json_means_the_same_and_holds_nothing_harmful() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}31m \u{e0041} caf\u{e9} \u{7f}\n" });
        let text = value.to_string();
        let shown = ascii_where_harmful(&text);
        assert!(!shown.contains(is_harmful) && shown.contains("caf\u{e9}"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
