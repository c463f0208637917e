//! Finding the rules with `*` whose literals occur in a target, without trying them all.
//!
//! Every rule is entered under a few octets that a target must contain for the rule to match: a
//! *gram* of one of its pieces. One pass over the target looks its grams up, and only rules whose
//! gram occurs are checked. The cost is that of the pass, however many rules there are.

use super::choice::Choice;
use super::entry::Entry;
use crate::robots::pattern::Texts;

/// Where in a target the grams of a table may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// At the end: the rule is anchored.
    End,
    /// Anywhere; the table has one gram of each rule, so every place is looked up.
    Every,
    /// Anywhere; the table has [`STRIDE`] grams in a row of each rule, so every fourth place does.
    Fourth,
}

/// Grams in a row that are entered so that places may be skipped.
pub(super) const STRIDE: usize = 4;

/// Octets of a gram that stands anywhere, where pieces are long enough.
pub(super) const WIDTH: usize = 4;

/// Most octets of a gram.
pub(super) const WIDEST: usize = 8;

/// The octets of a gram as a number; its width is that of its table.
pub(super) fn gram(octets: &[u8]) -> u64 {
    octets.iter().take(WIDEST).fold(0, |gram, &octet| gram << 8 | u64::from(octet))
}

/// Spreads a gram over the upper bits.
pub(super) const fn spread(gram: u64) -> u64 {
    gram.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Marks which rows were searched, so that a target cannot make a row be searched twice.
const MARKS: usize = 8192;

/// Grams of one width at one kind of place, and the rules behind each.
#[derive(Clone, Debug)]
pub(super) struct Grams {
    place: Place,
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
    /// Every row in the order in which rules win.
    rules: Box<[Entry]>,
    /// Log2 of how many rows share a mark.
    share: u32,
}

/// Bits of `present` to one of `blocks`.
const BLOCK: usize = 16;

impl Grams {
    /// `entries` are pairs of a gram and a rule.
    pub(super) fn new(place: Place, width: usize, mut entries: Vec<(u64, Entry)>) -> Self {
        for entry in &mut entries {
            entry.0 = spread(entry.0);
        }
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.choice.cmp(&a.1.choice)));
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
        let share = rows.len().div_ceil(MARKS).next_power_of_two().trailing_zeros();
        let rules = entries.into_iter().map(|(_, entry)| entry).collect();
        Self {
            place,
            width,
            present: present.into(),
            shift,
            rows: rows.into(),
            blocks: blocks.into(),
            rules,
            share,
        }
    }

    /// The row with this [`spread`].
    fn row(&self, key: u64) -> Option<usize> {
        let block = bit(key, self.shift) / BLOCK;
        let first = *self.blocks.get(block)? as usize;
        let rows = self.rows.get(first..*self.blocks.get(block + 1)? as usize)?;
        rows.binary_search_by_key(&key, |row| row.0).ok().map(|at| first + at)
    }

    fn rules(&self, row: usize) -> Option<&[Entry]> {
        let start = self.rows.get(row)?.1 as usize;
        let end = self.rows.get(row + 1).map_or(self.rules.len(), |next| next.1 as usize);
        self.rules.get(start..end)
    }

    /// The better of `best` and the best rule here that matches.
    pub(super) fn search<'s>(&'s self, texts: Texts<'s>, target: &'s [u8], best: Choice) -> Choice {
        let mut search = Search { grams: self, texts, target, best, marks: None };
        match self.place {
            Place::End => target
                .windows(self.width)
                .next_back()
                .into_iter()
                .for_each(|octets| search.look(gram(octets))),
            Place::Every if self.width == WIDTH => {
                target.windows(WIDTH).for_each(|octets| search.four(octets));
            }
            Place::Every => target.windows(self.width).for_each(|octets| search.look(gram(octets))),
            Place::Fourth if self.width == WIDTH => {
                target.chunks_exact(WIDTH).for_each(|octets| search.four(octets));
            }
            Place::Fourth => target.windows(WIDEST).step_by(STRIDE).for_each(|octets| search.eight(octets)),
        }
        search.best
    }
}

fn bit(key: u64, shift: u32) -> usize {
    usize::try_from(key >> shift).unwrap_or(0)
}

struct Search<'s> {
    grams: &'s Grams,
    texts: Texts<'s>,
    target: &'s [u8],
    best: Choice,
    marks: Option<[u64; MARKS / 64]>,
}

impl Search<'_> {
    fn four(&mut self, octets: &[u8]) {
        if let Ok(octets) = octets.try_into() {
            self.look(u64::from(u32::from_be_bytes(octets)));
        }
    }

    fn eight(&mut self, octets: &[u8]) {
        if let Ok(octets) = octets.try_into() {
            self.look(u64::from_be_bytes(octets));
        }
    }

    fn look(&mut self, gram: u64) {
        let key = spread(gram);
        let bit = bit(key, self.grams.shift);
        if self.grams.present.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1) {
            self.check(key);
        }
    }

    /// Checks the rules of a gram, unless that was done before.
    fn check(&mut self, key: u64) {
        let Some(row) = self.grams.row(key) else { return };
        let mark = row >> self.grams.share;
        let marks = self.marks.get_or_insert([0; MARKS / 64]);
        match marks.get_mut(mark / 64) {
            Some(word) if *word >> (mark % 64) & 1 == 0 => *word |= 1 << (mark % 64),
            _ => return,
        }
        // Rows that share the mark count as checked, so they are.
        let first = mark << self.grams.share;
        for row in first..first + (1 << self.grams.share) {
            let Some(rules) = self.grams.rules(row) else { return };
            self.best = super::entry::first_match(rules, self.texts, self.target, self.best);
        }
    }
}
