//! One line of a file as a message shows it: the line, and a mark below what is meant.
//!
//! The line may hold anything. What could move a terminal's cursor or turn its writing round is spelt out, and
//! the mark stays below the right place all the same.

use super::output::escape_harmful;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// How much of a long line is shown, in characters.
const WIDEST: usize = 100;

/// How much of it is shown before the place that is meant.
const LEAD: usize = 40;

/// A line made fit to be shown, and where the mark below it goes, in columns of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    pub(super) indent: usize,
    pub(super) width: usize,
}

impl Excerpt {
    /// Shows `line` with a mark below `bytes` bytes from `column` on, which counts bytes from 1.
    pub(super) fn new(line: &[u8], column: usize, bytes: usize) -> Self {
        let start = column.saturating_sub(1).min(line.len());
        let end = start.saturating_add(bytes).min(line.len());
        let part = |range: std::ops::Range<usize>| shown(line.get(range).unwrap_or_default());
        let (before, meant, after) = (tail(&part(0..start), LEAD), part(start..end), part(end..line.len()));
        let room = WIDEST.saturating_sub(before.chars().count());
        let head = |text: &str| text.chars().take(room).collect::<String>();
        let rest = format!("{meant}{after}");
        let more = if rest.chars().count() > room { "…" } else { "" };
        Self {
            indent: before.width(),
            width: head(&meant).width().max(1),
            text: format!("{before}{}{more}", head(&rest)),
        }
    }
}

/// Bytes as characters that stay where they are put.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&escape_harmful(&chunk.valid().replace('\t', " ")));
        for byte in chunk.invalid() {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

/// The end of `text`, with a sign where something was left out.
fn tail(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(count - most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(line: &[u8], column: usize, bytes: usize) -> String {
        let excerpt = Excerpt::new(line, column, bytes);
        format!("{}\n{}{}", excerpt.text, " ".repeat(excerpt.indent), "^".repeat(excerpt.width))
    }

    #[test]
    fn lines_end_as_the_standard_says() {
        let lines: Vec<_> = crate::robots::lines(b"one\ntwo\r\nthree\rfour").collect();
        assert_eq!(lines, [&b"one"[..], b"two", b"three", b"four"]);
    }

    #[test]
    fn the_mark_stands_below_what_is_meant() {
        assert_eq!(mark(b"Disallow: no-slash", 11, 8), "Disallow: no-slash\n          ^^^^^^^^");
        assert_eq!(mark(b"Disallow", 1, 0), "Disallow\n^");
        assert_eq!(mark(b"", 7, 3), "\n^");
        // Each of these takes two columns.
        assert_eq!(mark("日本: x".as_bytes(), 9, 1), "日本: x\n      ^");
    }

    #[test]
    fn hostile_bytes_are_spelt_out_and_move_the_mark() {
        assert_eq!(mark(b"\x1b[2Ja: \xffb", 8, 1), "\\u{1b}[2Ja: \\xFFb\n            ^^^^");
        assert_eq!(mark("\u{202e}x".as_bytes(), 4, 1), "\\u{202e}x\n        ^");
    }

    #[test]
    fn long_lines_are_cut_round_the_place() {
        let line = [b"a".repeat(500), b"here".to_vec(), b"b".repeat(500)].concat();
        let excerpt = Excerpt::new(&line, 501, 4);
        assert_eq!((excerpt.indent, excerpt.width), (41, 4));
        assert!(excerpt.text.starts_with("…aaa") && excerpt.text.ends_with("bbb…"));
        assert!(excerpt.text.chars().count() <= WIDEST + 1);
        let all = Excerpt::new(&line, 1, line.len());
        assert_eq!((all.indent, all.width, all.text.chars().count()), (0, WIDEST, WIDEST + 1));
    }
}
