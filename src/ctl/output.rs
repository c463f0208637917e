//! Standard output in the shape that was asked for.

use super::args::Format;
use super::style::paint;
use super::{VerbOutcome, VerbResult};
use crate::record::{escaped_json, is_harmful};
use anstream::adapter::strip_str;
use anstyle::Style;
use askama::Template;
use askama::filters::Escaper;
use serde::Serialize;
use std::fmt;
use std::io::{self, Write};

/// Writes answers; a reader that has seen enough (`| head`) is no error.
pub(super) struct Output<'w> {
    format: Format,
    is_coloured: bool,
    writer: io::BufWriter<Box<dyn Write + 'w>>,
}

impl<'w> Output<'w> {
    pub(super) fn new(format: Format, is_coloured: bool, writer: impl Write + 'w) -> Self {
        Self { format, is_coloured, writer: io::BufWriter::new(Box::new(writer)) }
    }

    pub(super) const fn is_json(&self) -> bool {
        matches!(self.format, Format::Json)
    }

    /// One line of text, made harmless.
    pub(super) fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.ready_line(&escape_harmful(text.as_ref()))
    }

    /// The same in a colour.
    pub(super) fn painted_line(&mut self, style: Style, text: impl AsRef<str>) -> io::Result<()> {
        self.ready_line(&paint(style, text.as_ref()))
    }

    /// A line that is harmless already, such as one with pieces that were painted.
    pub(super) fn ready_line(&mut self, text: &str) -> io::Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// What a verb answers, as JSON where that is asked for, else as `text` tells it; and what that comes to.
    pub(super) fn answer<T: Serialize>(
        &mut self,
        value: &T,
        objects: bool,
        text: impl FnOnce(&T, &mut Self) -> io::Result<()>,
    ) -> VerbResult {
        let shown = if self.is_json() { self.json(value) } else { text(value, self) };
        shown?;
        Ok(VerbOutcome::objecting(objects))
    }

    /// A template, whose last line lacks its end.
    pub(super) fn render(&mut self, template: &impl Template) -> io::Result<()> {
        self.ready_line(&template.render()?)
    }

    /// One JSON value on a line of its own.
    pub(super) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(value)?;
        self.ready_line(&escaped_json(&text))
    }

    /// Text that brings its own line ends, in the colours that its reader can see.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if self.is_coloured {
            return self.bytes(text.as_bytes());
        }
        unless_closed(write!(self.writer, "{}", strip_str(text)))
    }

    /// Writes what is still held back.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        unless_closed(self.writer.flush())
    }

    /// Bytes as they are.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        unless_closed(self.writer.write_all(bytes))
    }
}

fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Makes the values in templates of text harmless for a terminal.
#[derive(Clone, Copy)]
pub(super) struct HarmlessText;

impl Escaper for HarmlessText {
    fn write_escaped_str<W: fmt::Write>(&self, mut out: W, text: &str) -> fmt::Result {
        out.write_str(&escape_harmful(text))
    }
}

/// Text from a file or a client, made harmless for a terminal: control characters are spelt out.
pub(super) fn escape_harmful(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, symbol| {
        if is_harmful(symbol) {
            shown.extend(symbol.escape_default());
        } else {
            shown.push(symbol);
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(escape_harmful("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(escape_harmful("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(escape_harmful("a\u{61c}b\u{2028}"), "a\\u{61c}b\\u{2028}");
        assert_eq!(escape_harmful("caf\u{e9}"), "caf\u{e9}");
    }

    #[test]
    fn json_means_the_same_and_holds_nothing_harmful() {
        let value = serde_json::json!({ "a\u{202e}": "\u{9b}31m \u{e0041} caf\u{e9}" });
        let mut shown = Vec::new();
        let mut output = Output::new(Format::Json, false, &mut shown);
        output.json(&value).and_then(|()| output.flush()).unwrap();
        drop(output);
        let shown = String::from_utf8(shown).unwrap();
        assert!(!shown.trim_end().contains(is_harmful) && shown.contains("caf\u{e9}"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        struct Pipe(usize);
        impl Write for Pipe {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if self.0 == 0 {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                let taken = bytes.len().min(self.0);
                self.0 -= taken;
                Ok(taken)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for room in [100, 3, 0] {
            let mut output = Output::new(Format::Text, false, Pipe(room));
            output.line("an answer").and_then(|()| output.flush()).unwrap();
        }
    }
}
