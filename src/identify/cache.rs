//! A bounded cache from header bytes to an answer.
//!
//! Bounded twice: in entries, and in the length of a header it keeps, so that a client that makes headers up cannot
//! make it grow. The hash is keyed with a random seed. No lock is held while an answer is computed.

use hashbrown::DefaultHashBuilder;
use quick_cache::sync::Cache as QuickCache;
use quick_cache::{Equivalent, UnitWeighter};

/// Longer headers are not remembered; they are rare, and real ones rarer still.
pub(super) const LONGEST: usize = 512;

/// A header, and whose answers are meant.
type CacheKey = (u64, Box<[u8]>);

/// The same, borrowed.
#[derive(Hash)]
struct KeyRef<'a>(u64, &'a [u8]);

impl Equivalent<CacheKey> for KeyRef<'_> {
    fn equivalent(&self, (scope, header): &CacheKey) -> bool {
        self.0 == *scope && *self.1 == **header
    }
}

/// Answers by scope and header.
#[derive(Debug)]
pub(super) struct Cache<V>(QuickCache<CacheKey, V, UnitWeighter, DefaultHashBuilder>);

impl<V: Clone> Cache<V> {
    pub(super) fn new(entries: usize) -> Self {
        let capacity = u64::try_from(entries).unwrap_or(u64::MAX);
        let state = DefaultHashBuilder::default();
        Self(QuickCache::with(
            entries,
            capacity,
            UnitWeighter,
            state,
            quick_cache::sync::DefaultLifecycle::default(),
        ))
    }

    /// The answer that is remembered for `header`, or else what `compute` gives, remembered. Answers of
    /// different scopes are kept apart.
    pub(super) fn get_or_compute(&self, scope: u64, header: &[u8], compute: impl FnOnce() -> V) -> V {
        if header.len() > LONGEST {
            return compute();
        }
        self.0.get(&KeyRef(scope, header)).unwrap_or_else(|| {
            let value = compute();
            self.0.insert((scope, header.into()), value.clone());
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
        let ask = |header: &[u8]| {
            cache.get_or_compute(0, header, || {
                calls.set(calls.get() + 1);
                header.to_vec()
            })
        };
        for _ in 0..3 {
            assert_eq!(ask(b"one"), b"one");
            assert_eq!(ask(b"another, longer than eight bytes"), b"another, longer than eight bytes");
            assert_eq!(ask(b""), b"");
        }
        assert_eq!(calls.get(), 3);
    }

    #[test]
    fn scopes_do_not_see_each_other() {
        let cache = Cache::new(64);
        for _ in 0..2 {
            for scope in 0..20 {
                assert_eq!(cache.get_or_compute(scope, b"same", || scope), scope);
            }
        }
    }

    #[test]
    fn stays_bounded() {
        let cache = Cache::new(256);
        for i in 0..10_000_u32 {
            cache.get_or_compute(0, &i.to_le_bytes(), || i);
        }
        assert!(cache.0.len() <= 256, "{}", cache.0.len());
        let long = vec![b'a'; LONGEST + 1];
        let before = cache.0.len();
        assert_eq!(cache.get_or_compute(0, &long, || 7), 7);
        assert_eq!(cache.0.len(), before);
    }

    #[test]
    fn what_is_used_survives_a_flood() {
        let cache = Cache::new(1024);
        cache.get_or_compute(0, b"kept", || 0);
        for i in 0..4_096_u32 {
            cache.get_or_compute(0, &i.to_le_bytes(), || 1);
            cache.get_or_compute(0, b"kept", || 2);
        }
        assert_eq!(cache.get_or_compute(0, b"kept", || 2), 0);
    }
}
