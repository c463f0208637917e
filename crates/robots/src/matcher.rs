//! Whether one pattern with wildcards matches one target (RFC 9309 section 2.2.3).
//!
//! Leftmost search of one piece after the other is exact: if a piece can be placed at all, its
//! first place leaves the most room for the rest. There is nothing to go back to.
//!
//! A target lives for one search, on the stack, and knows how much of it was read so far. A file can be written in which
//! thousands of rules nearly match one long target: when it was read often enough, the rules with `*` that are left count
//! as not matching. The others are never left out.

use super::pattern::{Pattern, PatternPiece, TextSpan, Texts};
use memchr::{memchr, memmem};
use std::cell::{Cell, OnceCell};

/// Whether `target` is matched by `pattern`.
pub(super) fn matches(texts: Texts<'_>, pattern: Pattern, target: &ComparableTarget<'_>) -> bool {
    let (prefix, pieces) = (texts.get(pattern.prefix), texts.pieces(pattern));
    if !target.bytes().starts_with(prefix) {
        return false;
    }
    let Some((last, middle)) = pieces.split_last() else {
        return !pattern.anchored || target.bytes().len() == prefix.len();
    };
    if target.is_spent() {
        return false;
    }
    if !pattern.anchored {
        return follow(texts, pieces, target, prefix.len(), target.bytes().len());
    }
    // The end is one comparison, and most targets that do not match fail here.
    let end = ending(texts, *last, target);
    end.is_some_and(|limit| follow(texts, middle, target, prefix.len(), limit))
}

/// Whether `pieces` follow each other within `from..limit`, each at the first place after the one before.
fn follow(
    texts: Texts<'_>,
    pieces: &[PatternPiece],
    target: &ComparableTarget<'_>,
    from: usize,
    limit: usize,
) -> bool {
    let end = pieces.iter().try_fold(from, |at, piece| {
        let end = find(texts, *piece, target, at, limit);
        target.spend(end.unwrap_or(limit).saturating_sub(at) + STEP);
        end
    });
    end.is_some_and(|end| end <= limit)
}

/// Where the anchored last piece starts, if the target ends with it.
fn ending(texts: Texts<'_>, piece: PatternPiece, sought: &ComparableTarget<'_>) -> Option<usize> {
    let target = sought.bytes();
    if piece.text == piece.in_query {
        let text = texts.get(piece.text);
        return target.ends_with(text).then(|| target.len() - text.len());
    }
    let start = |span: TextSpan| target.ends_with(texts.get(span)).then(|| target.len() - span.len());
    let query = sought.query();
    let exact = start(piece.text).filter(|&at| stands(texts, piece.text, at, query));
    // The reading within the query is never longer, so it starts no earlier.
    start(piece.in_query).filter(|&at| at > query).or(exact)
}

/// The end of the first place of `piece` within `from..limit`.
fn find(
    texts: Texts<'_>,
    piece: PatternPiece,
    sought: &ComparableTarget<'_>,
    from: usize,
    limit: usize,
) -> Option<usize> {
    let target = sought.bytes();
    let window = target.get(from..limit)?;
    let text = texts.get(piece.text);
    if piece.text == piece.in_query {
        return search(window, text).map(|at| from + at + text.len());
    }
    let query = sought.query();
    let exact = match memchr(b'?', text) {
        // The reading that crosses into the query has one place where it can stand.
        Some(mark) => query.checked_sub(mark).filter(|&at| at >= from && at + text.len() <= limit),
        None => search(target.get(from..limit.min(query)).unwrap_or_default(), text).map(|at| from + at),
    };
    if let Some(at) = exact.filter(|&at| target.get(at..).is_some_and(|rest| rest.starts_with(text))) {
        return Some(at + text.len());
    }
    let inside = from.max(query + 1);
    let text = texts.get(piece.in_query);
    search(target.get(inside..limit)?, text).map(|at| inside + at + text.len())
}

/// Whether the path reading of a piece may stand at `at`: before the query, or across its start.
fn stands(texts: Texts<'_>, text: TextSpan, at: usize, query: usize) -> bool {
    match memchr(b'?', texts.get(text)) {
        Some(mark) => at + mark == query,
        None => at + text.len() <= query,
    }
}

/// What it costs to look for a piece, in bytes, beside those that are looked at.
pub(super) const STEP: usize = 64;

/// Bytes of a target that are read at most, again and again for one rule after the other: some 5 ms under the worst files
/// that a search found.
pub(super) const MOST_READ: usize = 4 * 1024 * 1024;

/// Bytes at the end of a long piece that are looked for first.
const TAIL: usize = 16;

fn search(window: &[u8], text: &[u8]) -> Option<usize> {
    match text {
        [byte] => memchr(*byte, window),
        // A short search is many times faster, and mostly there is nothing to find.
        [.., _] if text.len() > 2 * TAIL => {
            let lead = text.len() - TAIL;
            let at = memmem::find(window.get(lead..)?, text.get(lead..)?)?;
            memmem::find(window.get(at..)?, text).map(|found| at + found)
        }
        _ => memmem::find(window, text),
    }
}

/// A target in comparable form.
pub(super) struct ComparableTarget<'t> {
    bytes: &'t [u8],
    query: OnceCell<usize>,
    /// Bytes that may yet be read.
    left: Cell<usize>,
}

impl<'t> ComparableTarget<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, query: OnceCell::new(), left: Cell::new(MOST_READ) }
    }

    pub(super) const fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// Offset of the `?` that starts the query, or the length where there is none.
    pub(super) fn query(&self) -> usize {
        *self.query.get_or_init(|| memchr(b'?', self.bytes).unwrap_or(self.bytes.len()))
    }

    /// Says that `bytes` of it were read.
    pub(super) fn spend(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
    }

    /// Whether it was read often enough.
    const fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::PatternPool;
    use super::super::symbol;
    use super::*;

    fn matches(raw: &str, target: &str) -> bool {
        let mut pool = PatternPool::default();
        let pattern = pool.add(raw.as_bytes());
        symbol::with_symbols(target.as_bytes(), |target| {
            super::matches(pool.texts(), pattern, &ComparableTarget::new(target))
        })
    }

    #[test]
    fn pieces_follow_each_other_without_overlap() {
        assert!(matches("/a*b*c", "/axxbxxcxx"));
        assert!(!matches("/a*b*c", "/axxcxxb"));
        assert!(!matches("/*ab*ba", "/aba"));
        assert!(matches("/*ab*ba", "/abba"));
    }

    #[test]
    fn long_pieces() {
        let piece = "abcdefgh".repeat(8);
        assert!(matches(&format!("/*{piece}x"), &format!("/{piece}{piece}x{piece}")));
        assert!(!matches(&format!("/*{piece}x"), &format!("/{piece}{piece}{piece}")));
        assert!(!matches(&format!("/*{piece}x"), &format!("/{}x", &piece[1..])));
        assert!(matches(&format!("/*{piece}*{piece}"), &format!("/x{piece}{piece}")));
        assert!(!matches(&format!("/*{piece}*{piece}"), &format!("/x{piece}{}", &piece[1..])));
    }

    #[test]
    fn an_anchored_piece_ends_the_target() {
        assert!(matches("/*a*a$", "/axa"));
        assert!(!matches("/*a*a$", "/a"));
        assert!(!matches("/*a$", "/ab"));
        assert!(matches("/a*a$", "/aa"));
        assert!(!matches("/a*a$", "/a"));
    }

    #[test]
    fn encoded_separators_are_data_in_the_query_only() {
        assert!(matches("/*%2Fb", "/x%2Fb"));
        assert!(!matches("/*%2Fb", "/x/b"));
        assert!(matches("/*%2Fb", "/x?/b"));
        assert!(matches("/*%2Fb", "/x?%2Fb"));
        assert!(matches("/*a%2F?b%2F", "/xa%2F?b/"));
        assert!(!matches("/*a%2F?b%2F", "/xa/?b/"));
        assert!(matches("/*a%2F?b%2F", "/x?a/?b/"));
        assert!(matches("/*%2F$", "/x?y/") && !matches("/*%2F$", "/x/"));
        assert!(matches("/*%3F*%2F$", "/x%3Fy?/"));
    }

    #[test]
    fn the_query_starts_at_the_first_question_mark() {
        assert_eq!(ComparableTarget::new(b"/a?b?c").query(), 2);
        assert_eq!(ComparableTarget::new(b"/a").query(), 2);
    }
}
