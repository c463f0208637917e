//! Counters that many threads raise at once without waiting for each other.
//!
//! Each thread raises a copy of its own, on a cache line that no other thread writes while there are no more
//! threads than copies; reading adds the copies up. Relaxed atomics: a counter never runs backwards and loses
//! nothing, but two counters that are read together may be of slightly different moments.

use std::array;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use strum::VariantArray;

/// How many copies there are. More threads than that share, and are right all the same.
const COPIES: usize = 8;

/// Which copy the next new thread raises.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % COPIES;
}

/// One thread's counters. Two cache lines apart from the next: processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct ThreadCopy<const N: usize>([AtomicU64; N]);

/// `N` counters, all zero at first.
#[derive(Debug)]
pub(super) struct Sharded<const N: usize>(Box<[ThreadCopy<N>; COPIES]>);

impl<const N: usize> Default for Sharded<N> {
    fn default() -> Self {
        Self(Box::new(array::from_fn(|_| ThreadCopy(array::from_fn(|_| AtomicU64::new(0))))))
    }
}

impl<const N: usize> Sharded<N> {
    /// Raises counter `index` by `by`. An index that is none raises nothing.
    pub(super) fn add(&self, index: usize, by: u64) {
        // A thread that is ending has no copy of its own any more.
        let own = OWN.try_with(|own| *own).unwrap_or_default();
        if let Some(counter) = self.0.get(own).and_then(|copy| copy.0.get(index)) {
            counter.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// The value of counter `index`; 0 for an index that is none.
    pub(super) fn get(&self, index: usize) -> u64 {
        self.0
            .iter()
            .filter_map(|copy| copy.0.get(index))
            .map(|counter| counter.load(Ordering::Relaxed))
            .fold(0, u64::wrapping_add)
    }
}

/// A counter for each of the `N` values of an enum.
#[derive(Debug)]
pub struct Counters<K, const N: usize>(Sharded<N>, PhantomData<K>);

impl<K, const N: usize> Default for Counters<K, N> {
    fn default() -> Self {
        Self(Sharded::default(), PhantomData)
    }
}

impl<K: VariantArray + Copy + PartialEq, const N: usize> Counters<K, N> {
    /// Counts one.
    pub fn count(&self, of: K) {
        self.0.add(Self::index(of), 1);
    }

    /// How many were counted.
    pub fn of(&self, of: K) -> u64 {
        self.0.get(Self::index(of))
    }

    /// All counters.
    pub fn all(&self) -> impl Iterator<Item = (K, u64)> {
        K::VARIANTS.iter().map(|of| (*of, self.of(*of)))
    }

    fn index(of: K) -> usize {
        K::VARIANTS.iter().position(|known| *known == of).unwrap_or(N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_lose_nothing_however_many_share_a_copy() {
        let counters = Sharded::<3>::default();
        std::thread::scope(|scope| {
            for _ in 0..COPIES * 3 {
                scope.spawn(|| (0..1_000).for_each(|number| counters.add(number % 2, 1)));
            }
        });
        let half = u64::try_from(COPIES * 3 * 500).unwrap();
        assert_eq!([counters.get(0), counters.get(1), counters.get(2)], [half, half, 0]);
    }

    #[test]
    fn an_index_that_is_none_counts_nothing() {
        let counters = Sharded::<1>::default();
        counters.add(1, 5);
        assert_eq!((counters.get(0), counters.get(1)), (0, 0));
    }
}
