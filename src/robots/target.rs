//! A target while rules are tried on it, and what was found out about it on the way, so that one
//! search does not find it out again for every rule (RFC 9309 sections 2.2.2 and 2.2.3).
//!
//! Lives for one search, on the stack. It does no matching.

use super::pattern::{Span, Texts};
use memchr::memchr;
use std::cell::{Cell, OnceCell};

/// Literals whose absence is remembered.
const REMEMBERED: usize = 4;

/// A target in comparable form.
pub(super) struct Target<'t> {
    octets: &'t [u8],
    query: OnceCell<usize>,
    /// Literals, and from which offset on each of them starts nowhere.
    absent: [Cell<(Span, usize)>; REMEMBERED],
}

impl<'t> Target<'t> {
    pub(super) fn new(octets: &'t [u8]) -> Self {
        Self { octets, query: OnceCell::new(), absent: [const { Cell::new((Span::NONE, 0)) }; REMEMBERED] }
    }

    pub(super) const fn octets(&self) -> &'t [u8] {
        self.octets
    }

    /// Offset of the `?` that starts the query, or the length where there is none.
    pub(super) fn query(&self) -> usize {
        *self.query.get_or_init(|| memchr(b'?', self.octets).unwrap_or(self.octets.len()))
    }

    /// An offset from which on `literal` is known to start nowhere; the length if nothing is known.
    pub(super) fn absent_from(&self, texts: Texts<'_>, literal: &[u8]) -> usize {
        let known = self.slot(literal).map(Cell::get).filter(|slot| texts.get(slot.0) == literal);
        known.map_or(self.octets.len(), |slot| slot.1)
    }

    /// Remembers that the literal at `span` starts nowhere from `from` on.
    pub(super) fn remember_absent(&self, texts: Texts<'_>, span: Span, from: usize) {
        if let Some(slot) = self.slot(texts.get(span)) {
            slot.set((span, from));
        }
    }

    /// Where a literal is remembered: literals that share a place forget each other.
    fn slot(&self, literal: &[u8]) -> Option<&Cell<(Span, usize)>> {
        let (first, last) = (*literal.first()?, *literal.last()?);
        self.absent.get((usize::from(first) + usize::from(last) + literal.len()) % REMEMBERED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_starts_at_the_first_question_mark() {
        assert_eq!(Target::new(b"/a?b?c").query(), 2);
        assert_eq!(Target::new(b"/a").query(), 2);
    }

    #[test]
    fn absence_is_that_of_the_octets_wherever_they_stand() {
        let texts = Texts { source: b"abc-abc-acc", ..Texts::default() };
        let target = Target::new(b"/abcabc");
        let (first, other) = (Span { start: 0, end: 3 }, Span { start: 8, end: 11 });
        assert_eq!(target.absent_from(texts, b"abc"), 7, "nothing is known");
        target.remember_absent(texts, first, 5);
        assert_eq!(target.absent_from(texts, texts.get(Span { start: 4, end: 7 })), 5);
        assert_eq!(target.absent_from(texts, b"acc"), 7, "of the same place, but another");
        target.remember_absent(texts, other, 0);
        assert_eq!((target.absent_from(texts, b"acc"), target.absent_from(texts, b"abc")), (0, 7));
        assert_eq!(target.absent_from(texts, b""), 7);
    }
}
