//! Tables of grams: which rules have given bytes in one of their pieces.
//!
//! A *gram* is a few bytes that a target must contain for a rule to match. One pass over the target
//! looks its grams up. The cost is that of the pass, however many rules there are; which gram a rule
//! is entered under is chosen elsewhere.
//!
//! A set of numbers remembers what was done in one search, without allocating.

/// Where in a target the grams of a table may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GramPosition {
    /// At the end: the rule is anchored.
    End,
    /// Anywhere; the table has one gram of each rule, so every place is looked up.
    Every,
    /// Anywhere; the table has [`STRIDE`] grams in a row of each rule, so every fourth place does.
    Fourth,
}

/// Grams in a row that are entered so that places may be skipped.
pub(super) const STRIDE: usize = 4;

/// Bytes of a gram that stands anywhere, where pieces are long enough.
pub(super) const WIDTH: usize = 4;

/// Most bytes of a gram.
pub(super) const WIDEST: usize = 8;

/// The bytes of a gram as a number; its width is that of its table.
pub(super) fn gram(bytes: &[u8]) -> u64 {
    bytes.iter().take(WIDEST).fold(0, |gram, &byte| gram << 8 | u64::from(byte))
}

/// Spreads a gram over the upper bits.
pub(super) const fn spread(gram: u64) -> u64 {
    gram.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Grams of one width at one kind of place, and the rules behind each.
#[derive(Clone, Debug)]
pub(super) struct Grams {
    place: GramPosition,
    width: usize,
    /// One bit for each value of the upper bits of [`spread`]: whether any gram has it.
    present: Box<[u64]>,
    /// How far [`spread`] is shifted to number a bit of `present`.
    shift: u32,
    /// [`spread`] of every gram, ascending, and where its row of `rules` starts.
    rows: Box<[(u64, u32)]>,
    /// For every 16 bits of `present`, the first of their `rows`. Whatever the grams, a row is found
    /// in a number of steps that is at most the logarithm of their number.
    blocks: Box<[u32]>,
    /// Numbers of rules, ascending within every row.
    rules: Box<[u32]>,
    /// Log2 of how many rows share a mark.
    share: u32,
}

/// A row of so few rules is handed out whenever its gram occurs: that costs less than a mark.
const SHORT: usize = 2;

/// Bits of `present` to one of `blocks`.
const BLOCK: usize = 16;

impl Grams {
    /// `entries` are pairs of a gram and the number of a rule.
    pub(super) fn new(place: GramPosition, width: usize, mut entries: Vec<(u64, u32)>) -> Self {
        for entry in &mut entries {
            entry.0 = spread(entry.0);
        }
        entries.sort_unstable();
        entries.dedup();
        let mut rows: Vec<(u64, u32)> = Vec::new();
        for (&(key, _), at) in entries.iter().zip(0..) {
            if rows.last().is_none_or(|last| last.0 != key) {
                rows.push((key, at));
            }
        }
        let bits = (rows.len() * 2 * BLOCK).next_power_of_two();
        let shift = 64 - bits.trailing_zeros();
        let mut present = vec![0_u64; bits.div_ceil(64)];
        let mut blocks = vec![0_u32; bits / BLOCK + 1];
        for &(key, _) in &rows {
            let bit = bit(key, shift);
            if let Some(word) = present.get_mut(bit / 64) {
                *word |= 1 << (bit % 64);
            }
            if let Some(count) = blocks.get_mut(bit / BLOCK + 1) {
                *count += 1;
            }
        }
        let mut first = 0;
        for block in &mut blocks {
            first += *block;
            *block = first;
        }
        let rules = entries.into_iter().map(|(_, rule)| rule).collect();
        let share = NumberSet::share(rows.len());
        let (present, rows, blocks) = (present.into(), rows.into(), blocks.into());
        Self { place, width, present, shift, rows, blocks, rules, share }
    }

    /// How many places of a target of `length` bytes are looked up.
    pub(super) const fn places(&self, length: usize) -> usize {
        match self.place {
            GramPosition::End => 1,
            GramPosition::Every => length,
            GramPosition::Fourth => length / STRIDE,
        }
    }

    /// Calls `found` with the rules of every gram of `target`; with those of a gram that many rules
    /// have, only the first time the gram occurs.
    pub(super) fn scan<'s>(&'s self, target: &[u8], mut found: impl FnMut(&'s [u32])) {
        let mut marks = NumberSet::default();
        let mut look = |gram: u64| {
            let key = spread(gram);
            let Some(row) = self.is_present(key).then(|| self.row(key)).flatten() else { return };
            let rules = self.rules(row);
            if rules.len() <= SHORT {
                found(rules);
            } else if marks.set(row >> self.share) {
                // Rows that share the mark count as found, so they are.
                let first = row >> self.share << self.share;
                (first..first + (1 << self.share)).for_each(|row| found(self.rules(row)));
            }
        };
        match self.place {
            GramPosition::End => {
                target.windows(self.width).next_back().into_iter().for_each(|bytes| look(gram(bytes)));
            }
            GramPosition::Every if self.width == WIDTH => {
                target.windows(WIDTH).for_each(|bytes| look(four(bytes)));
            }
            GramPosition::Every => target.windows(self.width).for_each(|bytes| look(gram(bytes))),
            GramPosition::Fourth if self.width == WIDTH => {
                target.chunks_exact(WIDTH).for_each(|bytes| look(four(bytes)));
            }
            GramPosition::Fourth => {
                target.windows(WIDEST).step_by(STRIDE).for_each(|bytes| look(eight(bytes)));
            }
        }
    }

    fn is_present(&self, key: u64) -> bool {
        let bit = bit(key, self.shift);
        self.present.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// The row of the gram with this [`spread`].
    fn row(&self, key: u64) -> Option<usize> {
        let block = bit(key, self.shift) / BLOCK;
        let first = *self.blocks.get(block)? as usize;
        let rows = self.rows.get(first..*self.blocks.get(block + 1)? as usize)?;
        rows.binary_search_by_key(&key, |row| row.0).ok().map(|row| first + row)
    }

    fn rules(&self, row: usize) -> &[u32] {
        let start = self.rows.get(row).map_or(self.rules.len(), |row| row.1 as usize);
        let end = self.rows.get(row + 1).map_or(self.rules.len(), |next| next.1 as usize);
        self.rules.get(start..end).unwrap_or_default()
    }
}

fn bit(key: u64, shift: u32) -> usize {
    usize::try_from(key >> shift).unwrap_or(0)
}

/// [`gram`] of four bytes.
fn four(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, |bytes| u64::from(u32::from_be_bytes(bytes)))
}

/// [`gram`] of eight bytes.
fn eight(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_be_bytes)
}

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

    fn rules(table: &Grams, target: &[u8]) -> Vec<u32> {
        let mut all = Vec::new();
        table.scan(target, |row| all.extend_from_slice(row));
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn every_occurrence_is_found() {
        let entries = (0..500_u32).map(|rule| (gram(format!("{rule:04}").as_bytes()), rule % 100)).collect();
        let table = Grams::new(GramPosition::Every, 4, entries);
        assert_eq!(rules(&table, b"xx0123yy0499"), [23, 99]);
        assert_eq!(rules(&table, b"00120"), [12, 20], "0012 and 0120");
        assert_eq!(rules(&table, b"012"), [0; 0]);
    }

    #[test]
    fn grams_in_a_row_are_found_at_every_place() {
        let piece = b"abcdefghijk";
        for (width, size) in [(4, 7), (8, 11)] {
            let entries = piece[..size].windows(width).map(|bytes| (gram(bytes), 7)).collect();
            let table = Grams::new(GramPosition::Fourth, width, entries);
            for lead in 0..9 {
                let target = [&b"/--------"[..=lead], piece].concat();
                assert_eq!(rules(&table, &target), [7], "{width} {lead}");
            }
            assert_eq!(rules(&table, b"/abcxdefxghij"), [0; 0]);
        }
    }

    #[test]
    fn the_end_is_the_end() {
        let table = Grams::new(GramPosition::End, 3, vec![(gram(b"gif"), 1), (gram(b"png"), 2)]);
        assert_eq!(rules(&table, b"/gif.png"), [2]);
        assert_eq!(rules(&table, b"ng"), [0; 0]);
    }

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
