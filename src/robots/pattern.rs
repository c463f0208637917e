//! A path pattern (RFC 9309 sections 2.2.2 and 2.2.3) taken apart: the literal before the first
//! `*`, the pieces between the `*`, and whether a `$` ends it.
//!
//! This is the form the index is built from. It does no matching.

use super::symbol::{self, Octet};

/// A range of a [`Pool`]'s bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    pub(super) const fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// One literal between two `*` (or after the last).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The piece as it stands in a path; from its first raw `?` on, as it stands in a query.
    pub(super) text: Span,
    /// The piece as it stands within a query. The same span, unless the piece holds an encoded `/`
    /// or `?` that a query would treat as plain data.
    pub(super) in_query: Span,
}

/// Storage that many patterns share.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
}

/// One pattern that can match something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    /// What the target must start with, in comparable form.
    pub(super) prefix: Span,
    /// First of its pieces in the pool, and how many.
    pub(super) pieces: (u32, u32),
    /// The match must end at the end of the target.
    pub(super) anchored: bool,
}

/// What a pattern's octets count for in section 2.2.2, and why it can match nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An empty pattern matches no path (section 2.2: `empty-pattern`).
    Empty,
    /// A blank, or a control octet, is outside the grammar of `path-pattern`.
    Blank,
    /// Starts neither with `/` nor `*`.
    Unrooted,
    Usable,
}

pub(super) fn shape(raw: &[u8]) -> Shape {
    match raw.first() {
        None => Shape::Empty,
        Some(_) if raw.iter().any(|&b| super::line::is_blank(b)) => Shape::Blank,
        Some(b'/' | b'*') => Shape::Usable,
        Some(_) => Shape::Unrooted,
    }
}

/// Octets of the pattern as section 2.2.2 counts them.
pub(super) fn weight(raw: &[u8]) -> u32 {
    if raw.is_ascii() && !raw.contains(&b'%') {
        return u32::try_from(raw.len()).unwrap_or(u32::MAX);
    }
    let mut rest = raw;
    let mut sum = 0_u32;
    while let Some((octet, tail)) = Octet::split(rest) {
        sum = sum.saturating_add(octet.weight());
        rest = tail;
    }
    sum
}

impl Pool {
    /// Takes a usable pattern apart. Section 2.2.3: `*` is any number of octets wherever it stands,
    /// `$` ends the pattern only as its last octet.
    pub(super) fn add(&mut self, raw: &[u8]) -> Pattern {
        let (body, mut anchored) = match raw.split_last() {
            Some((b'$', body)) => (body, true),
            _ => (raw, false),
        };
        let mut query = false;
        let mut parts = body.split(|&b| b == b'*');
        let prefix = self.write(parts.next().unwrap_or_default(), &mut query);
        let first = self.pieces.len();
        let mut open = false;
        for part in parts {
            open = part.is_empty();
            if !open {
                self.piece(part, &mut query);
            }
        }
        // A final `*` takes whatever is left: the pattern ends before it.
        anchored &= !open;
        let count = self.pieces.len() - first;
        Pattern { prefix, pieces: (index(first), index(count)), anchored }
    }

    fn piece(&mut self, raw: &[u8], query: &mut bool) {
        let before = *query;
        let text = self.write(raw, query);
        let mut in_query = text;
        if !before && has_marked_separator(raw) {
            let whole = self.write(raw, &mut true);
            if whole.of(&self.bytes) != text.of(&self.bytes) {
                in_query = whole;
            }
        }
        self.pieces.push(Piece { text, in_query });
    }

    /// Comparable form where `*query` says whether the query has begun, and is kept up to date.
    fn write(&mut self, raw: &[u8], query: &mut bool) -> Span {
        let start = self.bytes.len();
        if raw.contains(&b'%') || raw.iter().any(|&b| b >= 0xF8) {
            let mut rest = raw;
            while let Some((octet, tail)) = Octet::split(rest) {
                symbol::push(&mut self.bytes, octet, *query);
                *query |= octet.is_raw(b'?');
                rest = tail;
            }
        } else {
            self.bytes.extend_from_slice(raw);
            *query |= raw.contains(&b'?');
        }
        Span { start: index(start), end: index(self.bytes.len()) }
    }
}

fn has_marked_separator(raw: &[u8]) -> bool {
    let mut rest = raw;
    while let Some((octet, tail)) = Octet::split(rest) {
        if octet.is_marked_separator() {
            return true;
        }
        rest = tail;
    }
    false
}

/// Files are cut at a limit far below 4 GiB, so offsets fit.
pub(super) fn index(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(raw: &str) -> (Vec<String>, bool) {
        let mut pool = Pool::default();
        let pattern = pool.add(raw.as_bytes());
        let text = |span: Span| String::from_utf8_lossy(span.of(&pool.bytes)).into_owned();
        let (first, count) = pattern.pieces;
        let pieces = &pool.pieces[first as usize..(first + count) as usize];
        let all = std::iter::once(pattern.prefix).chain(pieces.iter().map(|piece| piece.text));
        (all.map(text).collect(), pattern.anchored)
    }

    #[test]
    fn stars_and_the_final_dollar_are_special() {
        assert_eq!(parts("/a"), (vec!["/a".into()], false));
        assert_eq!(parts("/a$"), (vec!["/a".into()], true));
        assert_eq!(parts("/a$b$$"), (vec!["/a$b$".into()], true));
        assert_eq!(parts("/a*.gif$"), (vec!["/a".into(), ".gif".into()], true));
        assert_eq!(parts("*/x**y"), (vec![String::new(), "/x".into(), "y".into()], false));
        assert_eq!(parts("/a%2A%24"), (vec!["/a*$".into()], false));
    }

    #[test]
    fn a_trailing_star_ends_the_pattern() {
        assert_eq!(parts("/a*"), (vec!["/a".into()], false));
        assert_eq!(parts("/a**$"), (vec!["/a".into()], false));
        assert_eq!(parts("*$"), (vec![String::new()], false));
    }

    #[test]
    fn only_pieces_that_may_meet_the_query_have_a_second_reading() {
        let count = |raw: &str| {
            let mut pool = Pool::default();
            pool.add(raw.as_bytes());
            pool.pieces.iter().filter(|piece| piece.text != piece.in_query).count()
        };
        assert_eq!(count("/a*b"), 0);
        assert_eq!(count("/a*%2F"), 1);
        assert_eq!(count("/a?*%2F"), 0);
        assert_eq!(count("/*?u=%2F"), 0);
        assert_eq!(count("/*%3F?%2F*%2F"), 1);
    }

    #[test]
    fn weight_counts_octets_of_the_rule_as_written() {
        assert_eq!(weight(b"/ab*$"), 5);
        assert_eq!(weight(b"/%61%3A"), 5);
        assert_eq!(weight("/é".as_bytes()), 7);
        assert_eq!(weight(b"/%C3%A9"), 7);
        assert_eq!(weight(b"/%"), 2);
    }

    #[test]
    fn shapes() {
        assert_eq!(shape(b""), Shape::Empty);
        assert_eq!(shape(b"/a b"), Shape::Blank);
        assert_eq!(shape(b"a"), Shape::Unrooted);
        assert_eq!(shape(b"$"), Shape::Unrooted);
        assert_eq!(shape(b"*.gif"), Shape::Usable);
    }
}
