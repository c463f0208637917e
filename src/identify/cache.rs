//! A bounded, sharded cache from header bytes to an answer.
//!
//! Bounded twice: in entries, and in the length of a header it keeps, so that a
//! client that makes headers up cannot make it grow. The hash is keyed with a
//! random seed, and a set has few places, so that it cannot make it slow either.
//! No lock is held while an answer is computed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, PoisonError};

const SHARDS: usize = 32;
const WAYS: usize = 4;

/// The longest header that is kept, in bytes.
pub(super) const LONGEST: usize = 512;

#[derive(Debug)]
struct Entry<V> {
    hash: u64,
    scope: u64,
    header: Box<[u8]>,
    value: V,
    used: bool,
}

type Set<V> = [Option<Entry<V>>; WAYS];
type Shard<V> = Mutex<Box<[Set<V>]>>;

/// Answers by header bytes.
#[derive(Debug)]
pub(super) struct Cache<V> {
    seeds: [u64; 2],
    shards: Box<[Shard<V>]>,
}

impl<V: Clone> Cache<V> {
    /// Room for at least `entries` answers.
    pub(super) fn new(entries: usize) -> Self {
        let state = RandomState::new();
        let sets = entries.div_ceil(SHARDS * WAYS).next_power_of_two();
        let shard = || Mutex::new((0..sets).map(|_| Set::<V>::default()).collect());
        Self {
            seeds: [state.hash_one(1_u8), state.hash_one(2_u8)],
            shards: (0..SHARDS).map(|_| shard()).collect(),
        }
    }

    /// The answer for `header` in `scope`, which keeps the answers of different
    /// askers apart: the kept one, or what `compute` says.
    pub(super) fn get_or_compute(&self, scope: u64, header: &[u8], compute: impl FnOnce() -> V) -> V {
        if header.len() > LONGEST {
            return compute();
        }
        let hash = hash(self.seeds, scope, header);
        if let Some(value) = self.get(hash, scope, header) {
            return value;
        }
        let value = compute();
        self.put(hash, scope, header, value.clone());
        value
    }

    fn get(&self, hash: u64, scope: u64, header: &[u8]) -> Option<V> {
        self.with_set(hash, |set| {
            let same = |entry: &&mut Entry<V>| {
                entry.hash == hash && entry.scope == scope && *entry.header == *header
            };
            let entry = set.iter_mut().flatten().find(same)?;
            entry.used = true;
            Some(entry.value.clone())
        })
        .flatten()
    }

    /// Puts an answer into a free place, else into the first place that was not
    /// used since the last round, else into the first.
    fn put(&self, hash: u64, scope: u64, header: &[u8], value: V) {
        let entry = Entry { hash, scope, header: header.into(), value, used: false };
        let replaced = self.with_set(hash, |set| {
            let same = |place: &Option<Entry<V>>| {
                let same =
                    |old: &Entry<V>| old.hash == hash && old.scope == scope && old.header == entry.header;
                place.as_ref().is_some_and(same)
            };
            let at = set
                .iter()
                .position(same)
                .or_else(|| set.iter().position(Option::is_none))
                .or_else(|| set.iter().position(|place| place.as_ref().is_some_and(|old| !old.used)));
            if at.is_none() {
                set.iter_mut().flatten().for_each(|old| old.used = false);
            }
            set.get_mut(at.unwrap_or_default()).and_then(|place| place.replace(entry))
        });
        drop(replaced);
    }

    fn with_set<T>(&self, hash: u64, act: impl FnOnce(&mut Set<V>) -> T) -> Option<T> {
        let [.., high] = hash.to_le_bytes();
        let shard = self.shards.get(usize::from(high) % SHARDS)?;
        let mut sets = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let mask = u64::try_from(sets.len()).ok()?.wrapping_sub(1);
        let set = sets.get_mut(usize::try_from(hash & mask).ok()?)?;
        Some(act(set))
    }

    /// How many answers are kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        let count = |sets: &[Set<V>]| sets.iter().flatten().flatten().count();
        self.shards.iter().map(|shard| count(&shard.lock().unwrap())).sum()
    }
}

/// A keyed multiply-and-fold hash. Each multiplication takes sixteen bytes, and
/// two chains of them run side by side, since each waits for the one before.
#[inline]
fn hash(seeds: [u64; 2], scope: u64, bytes: &[u8]) -> u64 {
    let [first, second] = seeds;
    let key = second | 1;
    let mut chains = [first ^ scope.rotate_left(32), second.rotate_left(32)];
    let step = |state: u64, [one, other]: [u64; 2]| fold(one ^ key, other ^ state);
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        let (words, _) = block.as_chunks::<16>();
        chains.iter_mut().zip(words).for_each(|(chain, word)| *chain = step(*chain, words_of(word)));
    }
    let [mut one, other] = chains;
    let (words, rest) = rest.as_chunks::<16>();
    for word in words {
        one = step(one, words_of(word));
    }
    // The length is part of the hash, so bytes may be taken twice.
    let tail = match (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
        (Some(head), Some(end)) => [u64::from_le_bytes(*head), u64::from_le_bytes(*end)],
        _ => [rest.iter().fold(0, |tail, byte| (tail << 8) | u64::from(*byte)), 0],
    };
    fold(step(one, tail), other ^ key ^ low(bytes.len() as u128))
}

#[inline]
fn words_of(bytes: &[u8; 16]) -> [u64; 2] {
    let wide = u128::from_le_bytes(*bytes);
    [low(wide), low(wide >> 64)]
}

#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    low(product) ^ low(product >> 64)
}

/// The low half.
#[inline]
fn low(wide: u128) -> u64 {
    let bytes = wide.to_le_bytes();
    bytes.first_chunk().copied().map_or(0, u64::from_le_bytes)
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
        assert!(cache.len() <= 256, "{}", cache.len());
        let long = vec![b'a'; LONGEST + 1];
        let before = cache.len();
        assert_eq!(cache.get_or_compute(0, &long, || 7), 7);
        assert_eq!(cache.len(), before);
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

    #[test]
    fn the_hash_spreads() {
        let seeds = [1, 2];
        let mut seen: Vec<_> = (0..10_000_u32).map(|i| hash(seeds, 0, &i.to_le_bytes())).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_000);
        assert_ne!(hash([1, 2], 0, b"abc"), hash([3, 4], 0, b"abc"));
        assert_ne!(hash(seeds, 1, b"abc"), hash(seeds, 2, b"abc"));
    }

    #[test]
    fn every_byte_of_every_length_counts() {
        let seeds = [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F];
        let mut seen = std::collections::HashSet::new();
        for len in 0..100 {
            let mut bytes = vec![b'a'; len];
            assert!(seen.insert(hash(seeds, 0, &bytes)), "{len}");
            for at in 0..len {
                bytes[at] = b'b';
                assert!(seen.insert(hash(seeds, 0, &bytes)), "{len} {at}");
                bytes[at] = b'a';
            }
        }
    }
}
