//! The table that a header is walked through: every literal in one automaton
//! after Aho and Corasick ("Efficient string matching", 1975), all transitions
//! worked out beforehand, letters in either case.
//!
//! A state stands for the longest beginning of a literal that ends here; its
//! depth is the length of that. States near the root come first, since a walk
//! spends nearly all its time there and they then share a few pages; states
//! where a literal ends come last, so that one comparison tells them. Not here:
//! the walk (`automaton`).

use std::collections::VecDeque;

/// More literals than 32 bits can number the transitions of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// A literal that ends in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// The index of the literal.
    pub(super) literal: u32,
    /// Its length in bytes.
    pub(super) len: u32,
}

/// A state: where its row begins.
pub(super) type State = usize;

/// What a row holds behind its transitions: the depth of the state, and which of
/// the states where a literal ends it is. Both are then as near as the row.
const NOTES: usize = 2;

/// All transitions.
#[derive(Debug)]
pub(super) struct Table {
    classes: [u8; 256],
    width: usize,
    /// Half the size of a [`State`]: the table is what has to stay near.
    next: Box<[u32]>,
    first_match: State,
    /// By what the row of a state where a literal ends says: the range of `ends`.
    ranges: Box<[(u32, u32)]>,
    ends: Box<[End]>,
}

impl Table {
    /// The state at the start of a header.
    pub(super) const ROOT: State = 0;

    /// Compiles literals of at most 255 bytes. Their order gives their index.
    pub(super) fn new(literals: &[&str]) -> Result<Self, TooLarge> {
        let mut trie = Trie::new(literals)?;
        let order = trie.close();
        trie.table(&order)
    }

    /// The memory it holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.next) + size_of_val(&*self.ranges) + size_of_val(&*self.ends)
    }

    /// The state behind `byte`.
    #[inline]
    pub(super) fn next(&self, state: State, byte: u8) -> State {
        let class = self.classes.get(usize::from(byte)).copied().unwrap_or_default();
        self.next.get(state + usize::from(class)).map_or(Self::ROOT, |next| *next as usize)
    }

    /// Whether a literal ends in this state.
    #[inline]
    pub(super) fn is_match(&self, state: State) -> bool {
        state >= self.first_match
    }

    /// How many bytes back a literal may have begun that is not yet complete.
    #[inline]
    pub(super) fn depth(&self, state: State) -> usize {
        self.note(state, 0)
    }

    /// The literals that end in this state, the longest first.
    #[inline]
    pub(super) fn ends(&self, state: State) -> &[End] {
        if !self.is_match(state) {
            return &[];
        }
        let (start, end) = self.ranges.get(self.note(state, 1)).copied().unwrap_or_default();
        self.ends.get(start as usize..end as usize).unwrap_or_default()
    }

    #[inline]
    fn note(&self, state: State, nth: usize) -> usize {
        self.next.get(state + self.width + nth).map_or(0, |note| *note as usize)
    }
}

/// A table in the making: states in the order of the literals.
struct Trie {
    classes: [u8; 256],
    width: usize,
    /// Rows of `width`; 0, the root, stands for none until the trie is closed.
    next: Vec<u32>,
    depths: Vec<u8>,
    ends: Vec<Vec<End>>,
}

impl Trie {
    fn new(literals: &[&str]) -> Result<Self, TooLarge> {
        let (classes, width) = classes(literals);
        let mut trie = Self { classes, width, next: vec![0; width], depths: vec![0], ends: vec![Vec::new()] };
        for (index, literal) in (0..).zip(literals) {
            let mut state = 0;
            for (depth, byte) in (1..).zip(literal.bytes()) {
                state = trie.child(state, byte, depth)?;
            }
            let len = u32::try_from(literal.len()).map_err(|_| TooLarge)?;
            if let Some(ends) = trie.ends.get_mut(state) {
                ends.push(End { literal: index, len });
            }
        }
        Ok(trie)
    }

    /// The child of `state` for `byte`, made when there is none.
    fn child(&mut self, state: usize, byte: u8, depth: usize) -> Result<usize, TooLarge> {
        let at = state * self.width + self.class(byte);
        let known = self.next.get(at).copied().unwrap_or_default() as usize;
        if known != 0 {
            return Ok(known);
        }
        let new = self.depths.len();
        self.next.resize(self.next.len() + self.width, 0);
        // The highest state, and what a walk adds to it, must fit.
        u32::try_from(self.next.len()).map_err(|_| TooLarge)?;
        self.depths.push(u8::try_from(depth).map_err(|_| TooLarge)?);
        self.ends.push(Vec::new());
        if let Some(place) = self.next.get_mut(at) {
            *place = u32::try_from(new).map_err(|_| TooLarge)?;
        }
        Ok(new)
    }

    fn class(&self, byte: u8) -> usize {
        self.classes.get(usize::from(byte)).copied().unwrap_or_default().into()
    }

    fn get(&self, state: usize, class: usize) -> usize {
        self.next.get(state * self.width + class).copied().unwrap_or_default() as usize
    }

    /// Fills in every missing transition with that of the longest shorter
    /// beginning, and returns the states by depth.
    fn close(&mut self) -> Vec<usize> {
        let mut shorter = vec![0; self.depths.len()];
        let mut queue = VecDeque::from([0]);
        let mut order = Vec::with_capacity(self.depths.len());
        while let Some(state) = queue.pop_front() {
            order.push(state);
            let fallback = shorter.get(state).copied().unwrap_or_default();
            if state != 0 {
                let inherited = self.ends.get(fallback).cloned().unwrap_or_default();
                self.ends.get_mut(state).into_iter().for_each(|ends| ends.extend(&inherited));
            }
            for class in 0..self.width {
                let child = self.get(state, class);
                let beside = if state == 0 { 0 } else { self.get(fallback, class) };
                if child != 0 {
                    shorter.get_mut(child).into_iter().for_each(|place| *place = beside);
                    queue.push_back(child);
                } else if let Some(place) = self.next.get_mut(state * self.width + class) {
                    // A state fits, or `child` would have refused it.
                    *place = u32::try_from(beside).unwrap_or_default();
                }
            }
        }
        order
    }

    /// The finished table: states by depth, those where a literal ends last.
    fn table(&self, by_depth: &[usize]) -> Result<Table, TooLarge> {
        let ends = |state: usize| self.ends.get(state).map(Vec::as_slice).unwrap_or_default();
        let (matching, plain): (Vec<usize>, Vec<usize>) =
            by_depth.iter().partition(|state| !ends(**state).is_empty());
        let wide = self.width + NOTES;
        let order = || plain.iter().chain(&matching).copied();
        let mut rows = vec![0; by_depth.len()];
        for (nth, state) in order().enumerate() {
            if let Some(place) = rows.get_mut(state) {
                *place = u32::try_from(nth * wide).map_err(|_| TooLarge)?;
            }
        }
        let moved = |state: usize| rows.get(state).copied().unwrap_or_default();
        let mut all = Vec::new();
        let mut ranges = Vec::with_capacity(matching.len());
        for state in &matching {
            let start = u32::try_from(all.len()).map_err(|_| TooLarge)?;
            all.extend_from_slice(ends(*state));
            ranges.push((start, u32::try_from(all.len()).map_err(|_| TooLarge)?));
        }
        let mut next = Vec::with_capacity(by_depth.len() * wide);
        for (nth, state) in order().enumerate() {
            next.extend((0..self.width).map(|class| moved(self.get(state, class))));
            next.push(self.depths.get(state).copied().unwrap_or_default().into());
            let among_matching = nth.saturating_sub(plain.len());
            next.push(u32::try_from(among_matching).map_err(|_| TooLarge)?);
        }
        Ok(Table {
            classes: self.classes,
            width: self.width,
            next: next.into(),
            first_match: plain.len() * wide,
            ranges: ranges.into(),
            ends: all.into(),
        })
    }
}

/// A number for each byte that some literal holds, the same for both cases of a
/// letter, and 0 for all others; and how many numbers there are.
fn classes(literals: &[&str]) -> ([u8; 256], usize) {
    let mut used = [false; 256];
    for byte in literals.iter().flat_map(|literal| literal.bytes()) {
        used.get_mut(usize::from(byte.to_ascii_lowercase())).into_iter().for_each(|place| *place = true);
    }
    let mut classes = [0; 256];
    let mut count = 0;
    for (byte, class) in (0..=u8::MAX).zip(&mut classes) {
        if used.get(usize::from(byte)).copied().unwrap_or_default() {
            count += 1;
            *class = count;
        }
    }
    let folded = |byte: u8| classes.get(usize::from(byte.to_ascii_lowercase())).copied().unwrap_or_default();
    let both: Vec<u8> = (0..=u8::MAX).map(folded).collect();
    classes.copy_from_slice(&both);
    (classes, usize::from(count) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(table: &Table, text: &str) -> (State, Vec<(usize, u32)>) {
        let mut state = Table::ROOT;
        let mut ends = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            state = table.next(state, byte);
            assert_eq!(table.is_match(state), !table.ends(state).is_empty());
            ends.extend(table.ends(state).iter().map(|end| (at + 1, end.literal)));
        }
        (state, ends)
    }

    #[test]
    fn finds_what_overlaps_the_longest_first_in_either_case() {
        let table = Table::new(&["he", "SHE", "hers", "his", "he"]).unwrap();
        assert_eq!(walk(&table, "usHers").1, [(4, 1), (4, 0), (4, 4), (6, 2)]);
        assert_eq!(walk(&table, "hi there").1, [(6, 0), (6, 4)]);
    }

    #[test]
    fn depth_is_what_may_still_become_a_literal() {
        let table = Table::new(&["abcd", "cx"]).unwrap();
        for (text, depth) in [("", 0), ("ab", 2), ("abc", 3), ("abcx", 2), ("abcd", 4), ("c\u{e9}", 0)] {
            assert_eq!(table.depth(walk(&table, text).0), depth, "{text}");
        }
    }

    #[test]
    fn no_literal_and_too_long_a_literal() {
        let empty = Table::new(&[]).unwrap();
        assert_eq!(walk(&empty, "abc"), (Table::ROOT, Vec::new()));
        assert!(empty.memory() > 0 && empty.ends(Table::ROOT).is_empty());
        assert_eq!(Table::new(&[&"a".repeat(256)]).unwrap_err(), TooLarge);
    }
}
