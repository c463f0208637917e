//! A line cut into words, and texts in quotes, brackets and braces. A quote within a text is written as `\"` or `\x22`, so
//! that a text ends where it ends.

use super::time;
use crate::robots::hex_byte;
use memchr::memchr2;
use std::borrow::Cow;

/// How a piece of a line is enclosed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enclosure {
    Word,
    Quotes,
    Brackets,
    Braces,
}

/// A piece of a line: what is within its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogPiece {
    pub(super) enclosure: Enclosure,
    start: usize,
    end: usize,
}

/// Cuts a line into pieces.
pub(super) fn pieces(line: &[u8], pieces: &mut Vec<LogPiece>) {
    pieces.clear();
    let mut at = 0;
    while let Some(first) = line.get(at) {
        let start = at + 1;
        let (enclosure, end) = match first {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'"' => (Enclosure::Quotes, quote_end(line, start)),
            b'[' => match closing(line, start, b']') {
                Some(end) => (Enclosure::Brackets, end),
                None => (Enclosure::Word, word_end(line, at)),
            },
            b'{' => match closing(line, start, b'}') {
                Some(end) => (Enclosure::Braces, end),
                None => (Enclosure::Word, word_end(line, at)),
            },
            _ => (Enclosure::Word, word_end(line, at)),
        };
        let start = if enclosure == Enclosure::Word { at } else { start };
        pieces.push(LogPiece { enclosure, start, end });
        at = if enclosure == Enclosure::Word { end } else { end + 1 };
    }
}

fn closing(line: &[u8], start: usize, mark: u8) -> Option<usize> {
    Some(start + memchr::memchr(mark, line.get(start..)?)?)
}

/// Where a quoted text ends: at a quote with nothing behind it but the end of a piece. A line that was cut off ends its last.
pub(super) fn quote_end(line: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = line.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        let behind = line.get(at + 1);
        if line.get(at) == Some(&b'\\') {
            at += 2;
        } else if behind.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b',' | b']' | b'}' | b'|')) {
            return at;
        } else {
            at += 1;
        }
    }
    line.len()
}

/// Where a word ends. A list of addresses has a blank behind each comma.
fn word_end(line: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        at += line.get(at..).and_then(|rest| memchr2(b' ', b'\t', rest)).unwrap_or(line.len() - at);
        let goes_on = line.get(at.wrapping_sub(1)) == Some(&b',') && at > start + 1;
        if !goes_on || line.get(at + 1).is_none_or(|byte| !byte.is_ascii_alphanumeric()) {
            return at;
        }
        at += 1;
    }
}

/// A piece without the escapes that servers write.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', text) else { return Cow::Borrowed(text) };
    let (plain, mut rest) = text.split_at_checked(first).unwrap_or((text, b""));
    let mut whole = plain.to_vec();
    while let [byte, tail @ ..] = rest {
        let hex = match tail {
            // The second is JSON's (RFC 8259 §7), as nginx escapes it.
            [b'x', high, low, tail @ ..] | [b'u', b'0', b'0', high, low, tail @ ..] => {
                hex_byte(*high, *low).map(|byte| (byte, tail))
            }
            _ => None,
        };
        let (byte, tail) = match (byte, tail, hex) {
            (b'\\', _, Some(hex)) => hex,
            (b'\\', [escaped, tail @ ..], None) => (control(*escaped), tail),
            _ => (*byte, tail),
        };
        whole.push(byte);
        rest = tail;
    }
    Cow::Owned(whole)
}

/// What the letter behind a backslash stands for.
const fn control(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'v' => 0x0B,
        b'b' => 0x08,
        b'f' => 0x0C,
        other => other,
    }
}

impl LogPiece {
    pub(super) fn text<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        line.get(self.start..self.end).unwrap_or_default()
    }

    /// A time, and how many pieces it takes.
    fn time(pieces: &[Self], at: usize, line: &[u8]) -> Option<(i64, usize)> {
        let piece = pieces.get(at)?;
        let text = piece.text(line);
        // `[17/May/2015:10:05:03 +0000]`, by far the most frequent.
        if let Some(at) = time::common(text) {
            return Some((at, 1));
        }
        let text = text.strip_prefix(b"[").unwrap_or(text);
        if !text.first()?.is_ascii_digit() || text.len() < 8 || piece.enclosure == Enclosure::Braces {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let is_day = text.len() == 10 && matches!(text.as_bytes().get(4), Some(b'-' | b'/'));
        if is_day && let Some(next) = pieces.get(at + 1) {
            let clock = std::str::from_utf8(next.text(line)).ok()?;
            return Some((time::day_and_clock(text, clock)?, 2));
        }
        // A number is a time in front only, with its fraction: there are many others.
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_time =
            if is_number { at == 0 && text.contains('.') && text.len() >= 12 } else { text.contains(':') };
        is_time.then(|| time::any(text)).flatten().map(|at| (at, 1))
    }
}

/// The time of a line, and where it stands.
pub(super) fn time_of(pieces: &[LogPiece], line: &[u8]) -> Option<(usize, i64, usize)> {
    let bracket = pieces
        .iter()
        .position(|piece| piece.enclosure == Enclosure::Brackets && piece.end - piece.start == 26);
    let at = |at: usize| LogPiece::time(pieces, at, line).map(|(time, count)| (at, time, count));
    bracket.and_then(at).or_else(|| (0..pieces.len().min(16)).find_map(at))
}
