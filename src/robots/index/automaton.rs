//! An automaton over a list of words: after every byte of a target it tells which of them end there
//! (Aho and Corasick, 1975).
//!
//! States are numbered by their distance from the root, so that the children of a state are
//! neighbours and one number says where they start. A state takes 13 bytes; there is one for each
//! byte of the words at most. One step costs two moves on average over any target.

use super::nested::Nested;
use crate::robots::pattern::index;
use memchr::memchr;

/// No word.
pub(super) const NONE: u32 = u32::MAX;

/// Words, found in one pass over a target.
#[derive(Clone, Debug, Default)]
pub(super) struct WordAutomaton {
    /// The first child of every state; its last is before the first of the next state.
    first: Vec<u32>,
    /// The byte that leads to a state.
    labels: Vec<u8>,
    /// The state of the longest end of a state's bytes that some word starts with.
    fallback: Vec<u32>,
    /// The longest word that ends where a state is reached, or [`NONE`].
    out: Vec<u32>,
    /// The child of the first state for every byte; that state itself where there is none.
    root: Vec<u32>,
}

impl WordAutomaton {
    /// The automaton of `words`, none of them empty, which are distinct and in ascending order; and
    /// what words end where they end. With them, each word's number, in the order of `words`.
    pub(super) fn new(words: &[&[u8]]) -> (Self, Nested, Vec<u32>) {
        let mut builder = WordAutomatonBuilder {
            automaton: Self { root: vec![0; 256], ..Self::default() },
            found: Vec::with_capacity(words.len()),
            within: Vec::with_capacity(words.len()),
        };
        builder.state(0, 0, NONE);
        builder.grow(words);
        let WordAutomatonBuilder { mut automaton, found, within } = builder;
        let lengths: Vec<u32> = found.iter().map(|&word| length(words, word)).collect();
        let (nested, order) = Nested::new(&within, &lengths);
        let number = |at: u32| order.get(at as usize).copied().unwrap_or(NONE);
        automaton.out.iter_mut().for_each(|out| *out = number(*out));
        let mut numbers = vec![NONE; words.len()];
        for (&word, at) in found.iter().zip(0..) {
            if let Some(slot) = numbers.get_mut(word as usize) {
                *slot = number(at);
            }
        }
        automaton.first.shrink_to_fit();
        automaton.labels.shrink_to_fit();
        automaton.fallback.shrink_to_fit();
        automaton.out.shrink_to_fit();
        (automaton, nested, numbers)
    }

    /// The state after `byte`.
    pub(super) fn step(&self, mut state: u32, byte: u8) -> u32 {
        while state != 0 {
            if let Some(child) = self.child(state, byte) {
                return child;
            }
            state = self.fallback.get(state as usize).copied().unwrap_or(0);
        }
        self.root.get(usize::from(byte)).copied().unwrap_or(0)
    }

    /// The longest word that ends here, or [`NONE`].
    pub(super) fn longest(&self, state: u32) -> u32 {
        self.out.get(state as usize).copied().unwrap_or(NONE)
    }

    fn child(&self, state: u32, byte: u8) -> Option<u32> {
        let state = state as usize;
        let (first, end) = (*self.first.get(state)?, *self.first.get(state + 1)?);
        let at = match self.labels.get(first as usize..end as usize)? {
            [] => None,
            [label] => (*label == byte).then_some(0),
            labels => memchr(byte, labels),
        };
        at.map(|at| first + index(at))
    }
}

fn length(words: &[&[u8]], word: u32) -> u32 {
    words.get(word as usize).map_or(0, |word| index(word.len()))
}

struct WordAutomatonBuilder {
    automaton: WordAutomaton,
    /// Words in the order in which their states were made: shorter ones first.
    found: Vec<u32>,
    /// By position in `found`: that of the longest word this one ends with.
    within: Vec<u32>,
}

impl WordAutomatonBuilder {
    /// Makes the states of all words, one distance from the root after the other.
    fn grow(&mut self, words: &[&[u8]]) {
        let mut depth = 0;
        let mut state = 0;
        // The words that start with the bytes of each state of this depth.
        let mut level = vec![(0, words.len())];
        while !level.is_empty() {
            let mut next = Vec::new();
            for &(start, end) in &level {
                self.automaton.first.push(index(self.automaton.labels.len()));
                let mut start = start;
                // Only the first can end here: the others are longer.
                start += usize::from(words.get(start).is_some_and(|word| word.len() == depth));
                while let Some(&byte) =
                    words.get(start).filter(|_| start < end).and_then(|word| word.get(depth))
                {
                    let run = words.get(start..end).unwrap_or_default();
                    let count = run.iter().take_while(|word| word.get(depth) == Some(&byte)).count();
                    let ends = run.first().is_some_and(|word| word.len() == depth + 1);
                    self.add(state, byte, if ends { index(start) } else { NONE });
                    next.push((start, start + count));
                    start += count;
                }
                state += 1;
            }
            level = next;
            depth += 1;
        }
        self.automaton.first.push(index(self.automaton.labels.len()));
    }

    /// Adds the child of `parent` that `byte` leads to, and where `word` ends.
    fn add(&mut self, parent: u32, byte: u8, word: u32) {
        let fallback = if parent == 0 {
            let number = index(self.automaton.labels.len());
            if let Some(slot) = self.automaton.root.get_mut(usize::from(byte)) {
                *slot = number;
            }
            0
        } else {
            let above = self.automaton.fallback.get(parent as usize).copied().unwrap_or(0);
            self.automaton.step(above, byte)
        };
        self.state(byte, fallback, word);
    }

    fn state(&mut self, byte: u8, fallback: u32, word: u32) {
        let mut longest = self.automaton.longest(fallback);
        if word != NONE {
            self.found.push(word);
            self.within.push(longest);
            longest = index(self.found.len() - 1);
        }
        self.automaton.labels.push(byte);
        self.automaton.fallback.push(fallback);
        self.automaton.out.push(longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All places where words end in `target`, found plainly and by automaton.
    fn compare(words: &[&[u8]], target: &[u8]) {
        let mut sorted = words.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let (automaton, nested, numbers) = WordAutomaton::new(&sorted);
        let live = vec![u64::MAX; sorted.len().div_ceil(64)];
        let mut state = 0;
        for end in 1..=target.len() {
            state = automaton.step(state, target[end - 1]);
            let mut found = Vec::new();
            let mut at = automaton.longest(state);
            while let Some(word) = nested.next(at, &live) {
                found.push(word);
                at = nested.shorter(word);
            }
            found.sort_unstable();
            let ends = sorted.iter().zip(&numbers).filter(|(word, _)| target[..end].ends_with(word));
            let mut expected: Vec<u32> = ends.map(|(_, &number)| number).collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(&target[..end]));
        }
    }

    #[test]
    fn finds_every_word_wherever_it_ends() {
        compare(&[b"he", b"she", b"his", b"hers", b"e", b"r"], b"ushershishehehers");
        compare(&[b"a", b"aa", b"aaa", b"aaaaaaa", b"ba"], b"aaabaaaaaaaaaab");
        compare(&[b"\0", b"\0\0", b"\xFF\0"], b"\0\0\xFF\0\0");
        compare(&[b"abc"], b"ababcabcab");
        compare(&[], b"abc");
    }

    #[test]
    fn finds_words_of_two_letters() {
        let mut state = 7_u32;
        let mut bit = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"ab"[(state >> 30) as usize & 1]
        };
        let words: Vec<Vec<u8>> =
            (1..9).flat_map(|size| [size; 12]).map(|size| (0..size).map(|_| bit()).collect()).collect();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let target: Vec<u8> = (0..500).map(|_| bit()).collect();
        compare(&words, &target);
    }
}
