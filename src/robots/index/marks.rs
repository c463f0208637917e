//! Remembering what was done in one search, without allocating.

/// A set of numbers below [`NumberSet::COUNT`], empty at first. Costs nothing until the first is set.
#[derive(Debug, Default)]
pub(super) struct NumberSet(Option<[u64; Self::COUNT / 64]>);

impl NumberSet {
    pub(super) const COUNT: usize = 8192;

    /// How far numbers below `count` are shifted so that all of them have a mark, which neighbours
    /// may have to share.
    pub(super) const fn share(count: usize) -> u32 {
        count.div_ceil(Self::COUNT).next_power_of_two().trailing_zeros()
    }

    /// Sets a mark; whether it was not set before.
    pub(super) fn set(&mut self, mark: usize) -> bool {
        let words = self.0.get_or_insert([0; Self::COUNT / 64]);
        let Some(word) = words.get_mut(mark / 64) else { return true };
        let bit = 1 << (mark % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_fresh_once() {
        let mut marks = NumberSet::default();
        assert!(marks.set(5) && marks.set(8191) && marks.set(64));
        assert!(!marks.set(5) && !marks.set(64));
    }

    #[test]
    fn every_number_has_a_mark() {
        for count in [0, 1, 8192, 8193, 100_000, 1 << 22] {
            let share = NumberSet::share(count);
            assert!(count.saturating_sub(1) >> share < NumberSet::COUNT, "{count}");
            assert!(share == 0 || count >> (share - 1) > NumberSet::COUNT, "{count}: wasteful");
        }
    }
}
