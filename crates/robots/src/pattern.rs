//! A path pattern (RFC 9309 sections 2.2.2 and 2.2.3) taken apart: the literal before the first
//! `*`, the pieces between the `*`, and whether a `$` ends it.
//!
//! This is the form the index is built from. It does no matching.

use super::finding::FindingKind;
use super::line::is_blank;
use super::symbol::{self, PathByte};

/// A range of [`Texts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextSpan {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl TextSpan {
    pub(super) const fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// One literal between two `*` (or after the last).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PatternPiece {
    /// The piece as it stands in a path; from its first raw `?` on, as it stands in a query.
    pub(super) text: TextSpan,
    /// The piece as it stands within a query. The same span, unless the piece holds an encoded `/`
    /// or `?` that a query would treat as plain data.
    pub(super) in_query: TextSpan,
}

/// What spans and patterns refer to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Texts<'r> {
    pub(super) literals: &'r [u8],
    pub(super) pieces: &'r [PatternPiece],
}

impl<'r> Texts<'r> {
    pub(super) fn get(self, span: TextSpan) -> &'r [u8] {
        self.literals.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    pub(super) fn pieces(self, pattern: Pattern) -> &'r [PatternPiece] {
        let (first, count) = pattern.pieces;
        self.pieces.get(first as usize..(first + count) as usize).unwrap_or_default()
    }
}

/// One pattern that can match something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    /// What the target must start with, in comparable form.
    pub(super) prefix: TextSpan,
    /// First of its pieces, and how many.
    pub(super) pieces: (u32, u32),
    /// The match must end at the end of the target.
    pub(super) anchored: bool,
}

/// Why a pattern can match nothing, although its owner means it to: a blank is outside the grammar of `path-pattern`, and
/// every path starts with `/`. An empty pattern matches no path, either, but is meant so (section 2.2: `empty-pattern`).
pub(super) fn mistake(raw: &[u8]) -> Option<FindingKind> {
    match raw {
        [_, ..] if raw.iter().any(|&byte| is_blank(byte)) => Some(FindingKind::BlankInPattern),
        [] | [b'/' | b'*', ..] => None,
        _ => Some(FindingKind::UnmatchableRule),
    }
}

/// What the pattern counts for in "the match that has the most bytes" (section 2.2.2): its bytes
/// as written, where a byte beyond ASCII counts as its encoded form, and an encoded unreserved
/// character (RFC 3986 section 2.3) as the character.
pub(super) fn weight(raw: &[u8]) -> u32 {
    let beyond = raw.iter().filter(|byte| !byte.is_ascii()).count();
    let encoded = memchr::memchr_iter(b'%', raw).filter_map(|at| PathByte::split(raw.get(at..)?));
    let unreserved = encoded.filter(|(byte, _)| byte.encoded && byte.is_unreserved()).count();
    index(raw.len() + 2 * beyond - 2 * unreserved)
}

/// Takes patterns of one file apart and collects what its [`Texts`] need.
#[derive(Clone, Debug, Default)]
pub(super) struct PatternPool {
    pub(super) literals: Vec<u8>,
    pub(super) pieces: Vec<PatternPiece>,
}

impl PatternPool {
    pub(super) fn texts(&self) -> Texts<'_> {
        Texts { literals: &self.literals, pieces: &self.pieces }
    }

    /// Takes a usable pattern apart. Section 2.2.3: `*` is any number of bytes wherever it stands, `$` ends the pattern
    /// only as its last byte.
    pub(super) fn add(&mut self, raw: &[u8]) -> Pattern {
        let dollar = raw.strip_suffix(b"$");
        let body = dollar.unwrap_or(raw);
        let first = self.pieces.len();
        let mut query = false;
        let mut parts = body.split(|&byte| byte == b'*');
        let prefix = self.write(parts.next().unwrap_or_default(), &mut query);
        for part in parts.filter(|part| !part.is_empty()) {
            let before = query;
            let text = self.write(part, &mut query);
            let mut in_query = text;
            if !before {
                let whole = self.write(part, &mut true);
                if self.texts().get(whole) == self.texts().get(text) {
                    self.literals.truncate(whole.start as usize);
                } else {
                    in_query = whole;
                }
            }
            self.pieces.push(PatternPiece { text, in_query });
        }
        // A final `*` takes whatever is left: the pattern ends before it.
        let anchored = dollar.is_some() && !body.ends_with(b"*");
        Pattern { prefix, pieces: (index(first), index(self.pieces.len() - first)), anchored }
    }

    /// Comparable form where `*query` says whether the query has begun, and is kept up to date.
    fn write(&mut self, raw: &[u8], query: &mut bool) -> TextSpan {
        let start = index(self.literals.len());
        let mut rest = raw;
        while !rest.is_empty() {
            let plain = rest.iter().take_while(|&&b| b != b'%' && b < symbol::WIDE).count();
            let (run, tail) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
            self.literals.extend_from_slice(run);
            *query |= run.contains(&b'?');
            rest = tail;
            if let Some((byte, tail)) = PathByte::split(rest) {
                let (bytes, wide) = byte.symbol(*query);
                self.literals.extend_from_slice(if wide { &bytes } else { bytes.split_at(1).0 });
                rest = tail;
            }
        }
        TextSpan { start, end: index(self.literals.len()) }
    }
}

/// Whether every path the pattern could match has a segment `.` or `..`, encoded or not. Clients
/// resolve those (RFC 3986 sections 5.2.4 and 6.2.2.3), so they never ask for such a path.
pub(super) fn has_dot_segment(raw: &[u8]) -> bool {
    // Most patterns are done here: their dots stand elsewhere.
    let starts = |at: usize| at.checked_sub(1).and_then(|before| raw.get(before)) == Some(&b'/');
    if !memchr::memchr2_iter(b'.', b'%', raw).any(starts) {
        return false;
    }
    // What follows a `*` may stand in the query.
    let path = raw.iter().take_while(|&&byte| !matches!(byte, b'*' | b'?')).count();
    let (path, rest) = raw.split_at_checked(path).unwrap_or((raw, &[]));
    let ends = path.strip_suffix(b"$").filter(|_| rest.is_empty());
    let mut segments = ends.unwrap_or(path).split(|&byte| byte == b'/');
    // More may follow the last segment, unless the path ends there.
    let last = segments.next_back().filter(|_| ends.is_some() || rest.starts_with(b"?"));
    segments.chain(last).any(is_dots)
}

fn is_dots(segment: &[u8]) -> bool {
    let mut rest = segment;
    let mut dots = 0;
    while let Some((_, tail)) = PathByte::split(rest).filter(|(byte, _)| byte.value == b'.') {
        dots += 1;
        rest = tail;
    }
    rest.is_empty() && matches!(dots, 1 | 2)
}

/// Files are cut at a limit far below 4 GiB, so offsets fit.
pub(super) fn index(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(raw: &str) -> (Vec<String>, bool) {
        let mut pool = PatternPool::default();
        let pattern = pool.add(raw.as_bytes());
        let text = |span: TextSpan| String::from_utf8_lossy(pool.texts().get(span)).into_owned();
        let pieces = pool.texts().pieces(pattern);
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
            let mut pool = PatternPool::default();
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
    fn weight_counts_bytes_of_the_rule_as_written() {
        assert_eq!(weight(b"/ab*$"), 5);
        assert_eq!(weight(b"/%61%3A"), 5);
        assert_eq!(weight("/é".as_bytes()), 7);
        assert_eq!(weight(b"/%C3%A9"), 7);
        assert_eq!(weight(b"/%"), 2);
    }

    #[test]
    fn dot_segments() {
        for raw in ["/a/../b", "/./", "/a/..$", "/%2e%2E/a", "/a/.%2e/", "/a/..?b", "/../*"] {
            assert!(has_dot_segment(raw.as_bytes()), "{raw}");
        }
        for raw in
            ["/a/..", "/a/.git/", "/...", "/a/.../", "/a..", "/?x=/../", "/*/../", "/.*", "/a/..*", "/%2f"]
        {
            assert!(!has_dot_segment(raw.as_bytes()), "{raw}");
        }
    }

    #[test]
    fn mistakes() {
        assert_eq!(mistake(b""), None);
        assert_eq!(mistake(b"/a b"), Some(FindingKind::BlankInPattern));
        assert_eq!(mistake(b"a"), Some(FindingKind::UnmatchableRule));
        assert_eq!(mistake(b"$"), Some(FindingKind::UnmatchableRule));
        assert_eq!(mistake(b"*.gif"), None);
    }
}
