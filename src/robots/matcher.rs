//! Whether one pattern with wildcards matches one target (RFC 9309 section 2.2.3).
//!
//! Leftmost search of one piece after the other is exact: if a piece can be placed at all, its
//! first place leaves the most room for the rest. There is nothing to go back to.

use super::pattern::{Piece, Span, Texts};
use memchr::{memchr, memmem};

/// A target in comparable form, with the place where its query starts once that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'t> {
    pub(super) bytes: &'t [u8],
}

impl Target<'_> {
    /// Offset of the `?` that starts the query, or the length where there is none.
    fn query(self) -> usize {
        memchr(b'?', self.bytes).unwrap_or(self.bytes.len())
    }
}

/// Whether `pieces` follow each other in `target` from `from` on, and end it when `anchored`.
pub(super) fn follows(
    texts: Texts<'_>,
    pieces: &[Piece],
    anchored: bool,
    target: Target<'_>,
    from: usize,
) -> bool {
    let (middle, last) = match pieces.split_last() {
        Some((last, middle)) if anchored => (middle, Some(last)),
        _ => (pieces, None),
    };
    // The end is one comparison, and most targets that do not match fail here.
    let Some(limit) = last.map_or(Some(target.bytes.len()), |last| ending(texts, *last, target)) else {
        return false;
    };
    let mut at = from;
    for piece in middle {
        match find(texts, *piece, target, at, limit) {
            Some(end) => at = end,
            None => return false,
        }
    }
    at <= limit
}

/// Where the anchored last piece starts, if the target ends with it.
fn ending(texts: Texts<'_>, piece: Piece, target: Target<'_>) -> Option<usize> {
    let whole = target.bytes;
    if piece.text == piece.in_query {
        let text = texts.get(piece.text);
        return whole.ends_with(text).then(|| whole.len() - text.len());
    }
    let start = |span: Span| whole.ends_with(texts.get(span)).then(|| whole.len() - span.len());
    let query = target.query();
    let exact = start(piece.text).filter(|&at| stands(texts, piece.text, at, query));
    // The reading within the query is never longer, so it starts no earlier.
    start(piece.in_query).filter(|&at| at > query).or(exact)
}

/// The end of the first place of `piece` within `from..limit`.
fn find(texts: Texts<'_>, piece: Piece, target: Target<'_>, from: usize, limit: usize) -> Option<usize> {
    let window = target.bytes.get(from..limit)?;
    let text = texts.get(piece.text);
    if piece.text == piece.in_query {
        return search(window, text).map(|at| from + at + text.len());
    }
    let query = target.query();
    let exact = match memchr(b'?', text) {
        // The reading that crosses into the query has one place where it can stand.
        Some(mark) => query.checked_sub(mark).filter(|&at| at >= from && at + text.len() <= limit),
        None => {
            search(target.bytes.get(from..limit.min(query)).unwrap_or_default(), text).map(|at| from + at)
        }
    };
    if let Some(at) = exact.filter(|&at| target.bytes.get(at..).is_some_and(|rest| rest.starts_with(text))) {
        return Some(at + text.len());
    }
    let inside = from.max(query + 1);
    let text = texts.get(piece.in_query);
    search(target.bytes.get(inside..limit)?, text).map(|at| inside + at + text.len())
}

/// Whether the path reading of a piece may stand at `at`: before the query, or across its start.
fn stands(texts: Texts<'_>, text: Span, at: usize, query: usize) -> bool {
    match memchr(b'?', texts.get(text)) {
        Some(mark) => at + mark == query,
        None => at + text.len() <= query,
    }
}

fn search(window: &[u8], text: &[u8]) -> Option<usize> {
    match text {
        [octet] => memchr(*octet, window),
        _ => memmem::find(window, text),
    }
}
