//! A bounded cache from header bytes to an answer.
//!
//! Bounded twice: in entries, and in the length of a header it keeps, so that a client that makes headers up cannot
//! make it grow. The hash is keyed with a random seed. No lock is held while an answer is computed.

use hashbrown::DefaultHashBuilder;
use quick_cache::UnitWeighter;
use quick_cache::sync::{Cache as QuickCache, DefaultLifecycle};

/// Longer headers are not remembered; they are rare, and real ones rarer still.
const LONGEST: usize = 512;

/// Answers by header.
#[derive(Debug)]
pub(super) struct Cache<V>(QuickCache<Box<[u8]>, V, UnitWeighter, DefaultHashBuilder>);

impl<V: Clone> Cache<V> {
    pub(super) fn new(entries: usize) -> Self {
        let capacity = u64::try_from(entries).unwrap_or(u64::MAX);
        let state = DefaultHashBuilder::default();
        Self(QuickCache::with(entries, capacity, UnitWeighter, state, DefaultLifecycle::default()))
    }

    /// The answer that is remembered for `header` and `holds` still, or else what `compute` gives, remembered.
    #[inline]
    pub(super) fn get_or_compute(
        &self,
        header: &[u8],
        holds: impl FnOnce(&V) -> bool,
        compute: impl FnOnce() -> V,
    ) -> V {
        if header.len() > LONGEST {
            return compute();
        }
        self.0.get(header).filter(holds).unwrap_or_else(|| {
            let value = compute();
            self.0.insert(header.into(), value.clone());
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn computes_once_and_keeps_headers_apart() {
        let cache = Cache::new(64);
        let calls = Cell::new(0);
        let ask = |header: &str| {
            cache.get_or_compute(
                header.as_bytes(),
                |_| true,
                || {
                    calls.set(calls.get() + 1);
                    header.to_owned()
                },
            )
        };
        for _ in 0..3 {
            for header in ["one", "another, longer than eight bytes", ""] {
                assert_eq!(ask(header), header);
            }
        }
        assert_eq!(calls.get(), 3);
    }

    #[test]
    fn stays_bounded() {
        let cache = Cache::new(256);
        for i in 0..10_000_u32 {
            cache.get_or_compute(&i.to_le_bytes(), |_| true, || i);
        }
        assert!(cache.0.len() <= 256, "{}", cache.0.len());
        let before = cache.0.len();
        cache.get_or_compute(&[b'a'; LONGEST + 1], |_| true, || 1);
        assert_eq!(cache.0.len(), before);
    }

    #[test]
    fn what_is_used_survives_a_flood() {
        let cache = Cache::new(1024);
        cache.get_or_compute(b"kept", |_| true, || "kept");
        for i in 0..4_096_u32 {
            cache.get_or_compute(&i.to_le_bytes(), |_| true, || "other");
            cache.get_or_compute(b"kept", |_| true, || "other");
        }
        assert_eq!(cache.get_or_compute(b"kept", |_| true, || "other"), "kept");
    }

    #[test]
    fn an_answer_that_holds_no_more_is_replaced() {
        let cache = Cache::new(64);
        let ask = |catalogue: u8| cache.get_or_compute(b"one", |known| *known == catalogue, || catalogue);
        assert_eq!([ask(1), ask(2), ask(2), ask(1)], [1, 2, 2, 1]);
        assert_eq!(cache.0.len(), 1);
    }
}
