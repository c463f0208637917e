//! One line of a file as a message shows it, and what of it is meant.
//!
//! The line may hold anything. What could move a terminal's cursor or turn its writing round is spelt out.

use super::output::escape_harmful;
use crate::record::printable;
use std::ops::Range;

/// A line made fit to be shown, and where in it stands what is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    pub(super) meant: Range<usize>,
}

/// Line `number` of `file`, counted from 1, without its end; `CR`, `LF` and `CR LF` all end one (RFC 9309 §2.2).
pub(super) fn line_of(file: &[u8], number: usize) -> Option<&[u8]> {
    let mut rest = file;
    for _ in 1..number {
        let end = memchr::memchr2(b'\n', b'\r', rest)?;
        let skipped = if rest.get(end..end + 2) == Some(b"\r\n") { end + 2 } else { end + 1 };
        rest = rest.get(skipped..)?;
    }
    let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    rest.get(..end)
}

impl Excerpt {
    /// `line`, of which `bytes` bytes from `column` on are meant; that counts bytes from 1.
    pub(super) fn new(line: &[u8], column: usize, bytes: usize) -> Self {
        let start = column.saturating_sub(1).min(line.len());
        let end = start.saturating_add(bytes).min(line.len());
        let [before, meant, after] = [0..start, start..end, end..line.len()]
            .map(|part| escape_harmful(&printable(line.get(part).unwrap_or_default())));
        Self { meant: before.len()..before.len() + meant.len(), text: before + &meant + &after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_the_standard_says() {
        let file = b"one\ntwo\r\nthree\rfour";
        let lines: Vec<_> = (1..=5).map(|number| line_of(file, number)).collect();
        assert_eq!(lines, [Some(&b"one"[..]), Some(b"two"), Some(b"three"), Some(b"four"), None]);
    }

    #[test]
    fn hostile_bytes_are_spelt_out_and_move_what_is_meant() {
        let shown = |line: &[u8], column, bytes| {
            let Excerpt { text, meant } = Excerpt::new(line, column, bytes);
            (text[meant].to_owned(), text)
        };
        let told = (r"\xFF".to_owned(), r"\u{1b}[2Ja: \xFFb".to_owned());
        assert_eq!(shown(b"\x1b[2Ja: \xffb", 8, 1), told);
        assert_eq!(shown("\u{202e}x".as_bytes(), 4, 1), ("x".to_owned(), r"\u{202e}x".to_owned()));
        assert_eq!(shown(b"", 7, 3), (String::new(), String::new()));
    }
}
