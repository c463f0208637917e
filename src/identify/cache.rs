//! A bounded cache from header bytes to an answer.
//!
//! Bounded twice: in entries, and in the length of a header it keeps, so that a client that makes headers up cannot
//! make it grow. The hash is keyed with a random seed. No lock is held while an answer is computed.

use super::identity::Identity;
use hashbrown::DefaultHashBuilder;
use quick_cache::UnitWeighter;
use quick_cache::sync::{Cache as QuickCache, DefaultLifecycle};
use std::sync::Arc;

/// Longer headers are not remembered; they are rare, and real ones rarer still.
const LONGEST: usize = 512;

/// Identities by header.
#[derive(Debug)]
pub(super) struct Cache(QuickCache<Box<[u8]>, Arc<Identity>, UnitWeighter, DefaultHashBuilder>);

impl Cache {
    pub(super) fn new(entries: usize) -> Self {
        let capacity = u64::try_from(entries).unwrap_or(u64::MAX);
        let state = DefaultHashBuilder::default();
        Self(QuickCache::with(entries, capacity, UnitWeighter, state, DefaultLifecycle::default()))
    }

    /// The answer that is remembered for `header`, or else what `compute` gives, remembered.
    pub(super) fn get_or_compute(
        &self,
        header: &[u8],
        compute: impl FnOnce() -> Arc<Identity>,
    ) -> Arc<Identity> {
        if header.len() > LONGEST {
            return compute();
        }
        self.0.get(header).unwrap_or_else(|| {
            let value = compute();
            self.0.insert(header.into(), Arc::clone(&value));
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::identity::{Basis, ClientKind};
    use super::*;
    use std::cell::Cell;

    fn identity(name: &str) -> Arc<Identity> {
        Arc::new(Identity::from_word(ClientKind::Crawler, Some(name.into()), Basis::Sign))
    }

    #[test]
    fn computes_once_and_keeps_headers_apart() {
        let cache = Cache::new(64);
        let calls = Cell::new(0);
        let ask = |header: &str| {
            let answer = cache.get_or_compute(header.as_bytes(), || {
                calls.set(calls.get() + 1);
                identity(header)
            });
            answer.crawler.as_deref().unwrap_or_default().to_owned()
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
        let one = identity("one");
        for i in 0..10_000_u32 {
            cache.get_or_compute(&i.to_le_bytes(), || Arc::clone(&one));
        }
        assert!(cache.0.len() <= 256, "{}", cache.0.len());
        let before = cache.0.len();
        cache.get_or_compute(&[b'a'; LONGEST + 1], || Arc::clone(&one));
        assert_eq!(cache.0.len(), before);
    }

    #[test]
    fn what_is_used_survives_a_flood() {
        let cache = Cache::new(1024);
        let (kept, other) = (identity("kept"), identity("other"));
        cache.get_or_compute(b"kept", || Arc::clone(&kept));
        for i in 0..4_096_u32 {
            cache.get_or_compute(&i.to_le_bytes(), || Arc::clone(&other));
            cache.get_or_compute(b"kept", || Arc::clone(&other));
        }
        assert_eq!(cache.get_or_compute(b"kept", || other), kept);
    }
}
