//! Finding the rules with `*` whose literals occur in a target, without trying them all.
//!
//! Every rule is entered under a few octets that a target must contain for the rule to match: a
//! *gram* of one of its pieces. One pass over the target looks its grams up, and only rules whose
//! gram occurs are checked. The cost is that of the pass, however many rules there are.

use super::choice::Choice;
use super::wild::Wild;
use crate::robots::pattern::{Pool, index};

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

/// Octets of a gram that stands anywhere.
pub(super) const WIDTH: usize = 4;

/// Most octets of a gram at the end.
pub(super) const END_WIDTH: usize = 8;

/// The octets of a gram as a number; its width is that of its table.
pub(super) fn gram(octets: &[u8]) -> u64 {
    octets.iter().take(8).fold(0, |gram, &octet| gram << 8 | u64::from(octet))
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
    /// The grams in ascending order; rows of `rules` start at the same position of `starts`.
    grams: Box<[u64]>,
    starts: Box<[u32]>,
    /// Every row in the order in which rules win.
    rules: Box<[Wild]>,
    /// Log2 of how many rows share a mark.
    share: u32,
}

impl Grams {
    /// `entries` are pairs of a gram and a rule.
    pub(super) fn new(place: Place, width: usize, mut entries: Vec<(u64, Wild)>) -> Self {
        entries.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.choice.cmp(&a.1.choice)));
        let bits = (entries.len() * 32).next_power_of_two().clamp(64, 1 << 22);
        let shift = 64 - bits.trailing_zeros();
        let mut present = vec![0_u64; bits / 64];
        let (mut grams, mut starts) = (Vec::new(), Vec::new());
        for (at, (gram, _)) in entries.iter().enumerate() {
            if grams.last() != Some(gram) {
                grams.push(*gram);
                starts.push(index(at));
                let bit = spread(*gram) >> shift;
                if let Some(word) = present.get_mut((bit / 64) as usize) {
                    *word |= 1 << (bit % 64);
                }
            }
        }
        starts.push(index(entries.len()));
        let share = grams.len().div_ceil(MARKS).next_power_of_two().trailing_zeros();
        let rules = entries.into_iter().map(|(_, wild)| wild).collect();
        Self {
            place,
            width,
            present: present.into(),
            shift,
            grams: grams.into(),
            starts: starts.into(),
            rules,
            share,
        }
    }

    /// The better of `best` and the best rule here that matches.
    pub(super) fn search(&self, pool: &Pool, target: &[u8], best: Choice) -> Choice {
        let mut search = Search { grams: self, pool, target, best, marks: None };
        match self.place {
            Place::End => {
                if let Some(at) = target.len().checked_sub(self.width) {
                    search.row(gram(target.get(at..).unwrap_or_default()));
                }
            }
            Place::Every if self.width == WIDTH => search.windows(target.windows(WIDTH)),
            Place::Every => target.windows(self.width).for_each(|window| search.look(gram(window))),
            Place::Fourth => search.windows(target.chunks_exact(WIDTH)),
        }
        search.best
    }

    fn is_present(&self, gram: u64) -> bool {
        let bit = spread(gram) >> self.shift;
        self.present.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

struct Search<'s> {
    grams: &'s Grams,
    pool: &'s Pool,
    target: &'s [u8],
    best: Choice,
    marks: Option<[u64; MARKS / 64]>,
}

impl<'s> Search<'s> {
    fn windows(&mut self, windows: impl Iterator<Item = &'s [u8]>) {
        for window in windows {
            if let Ok(window) = <[u8; WIDTH]>::try_from(window) {
                self.look(u64::from(u32::from_be_bytes(window)));
            }
        }
    }

    fn look(&mut self, gram: u64) {
        if self.grams.is_present(gram) {
            self.row(gram);
        }
    }

    /// Checks the rules of a gram, unless that was done before.
    #[cold]
    fn row(&mut self, gram: u64) {
        let Ok(row) = self.grams.grams.binary_search(&gram) else { return };
        let mark = row >> self.grams.share;
        let marks = self.marks.get_or_insert([0; MARKS / 64]);
        match marks.get_mut(mark / 64) {
            Some(word) if *word >> (mark % 64) & 1 == 0 => *word |= 1 << (mark % 64),
            _ => return,
        }
        let first = mark << self.grams.share;
        for row in first..first + (1 << self.grams.share) {
            let range = (self.grams.starts.get(row), self.grams.starts.get(row + 1));
            let (Some(&start), Some(&end)) = range else { return };
            let rules = self.grams.rules.get(start as usize..end as usize).unwrap_or_default();
            self.best = super::wild::first_match(rules, self.pool, self.target, self.best);
        }
    }
}
