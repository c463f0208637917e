//! A target while rules are tried on it (RFC 9309 sections 2.2.2 and 2.2.3), and how much work that
//! was so far.
//!
//! Lives for one search, on the stack. It does no matching.

use super::index::Deferred;
use memchr::memchr;
use std::cell::{Cell, OnceCell};

/// Bytes of its own that a search may read again and again for one rule after the other, beside
/// [`SPARE`].
const PASSES: usize = 8;

/// Bytes that any search may read for one rule after the other. None when fuzzing, so that small
/// files reach what lies beyond.
const SPARE: usize = if cfg!(fuzzing) { 0 } else { 32 * 1024 };

/// A target in comparable form.
pub(super) struct ComparableTarget<'t> {
    bytes: &'t [u8],
    query: OnceCell<usize>,
    /// Bytes that may yet be read before rules are put off.
    left: Cell<usize>,
    pub(super) deferred: Deferred,
}

impl<'t> ComparableTarget<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        let left = Cell::new(bytes.len() * PASSES + SPARE);
        Self { bytes, query: OnceCell::new(), left, deferred: Deferred::default() }
    }

    pub(super) const fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// Offset of the `?` that starts the query, or the length where there is none.
    pub(super) fn query(&self) -> usize {
        *self.query.get_or_init(|| memchr(b'?', self.bytes).unwrap_or(self.bytes.len()))
    }

    /// Says that `bytes` of it were read for one rule, or for one table of rules.
    pub(super) fn spend(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
    }

    /// Whether rules are no longer to be tried one by one.
    pub(super) const fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_starts_at_the_first_question_mark() {
        assert_eq!(ComparableTarget::new(b"/a?b?c").query(), 2);
        assert_eq!(ComparableTarget::new(b"/a").query(), 2);
    }

    #[test]
    fn a_target_is_read_so_often_and_no_more() {
        let target = ComparableTarget::new(b"/abc");
        for _ in 0..PASSES {
            target.spend(4);
        }
        target.spend(SPARE - 1);
        assert!(!target.is_spent());
        target.spend(3);
        assert!(target.is_spent());
    }
}
