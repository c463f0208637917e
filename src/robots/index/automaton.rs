//! An automaton over a list of words: after every byte of a target it tells which of them end there
//! (Aho and Corasick, 1975).
//!
//! States are numbered by their distance from the root, so that the children of a state are
//! neighbours and one number says where they start. A state takes 13 bytes; there is one for each
//! byte of the words at most. One step costs two moves on average over any target.
//!
//! Words that end with other words, as `aaa` does with `aa` and `a`: going from one to the next without
//! visiting those that nobody waits for.
//!
//! Where the longest of such words ends in a target, all of them end. There may be a thousand, at
//! every byte. So they are numbered that a word and the longest word it ends with are neighbours
//! where possible, longer ones later (paths as in a heavy path decomposition: Sleator and Tarjan,
//! 1983): a set of numbers is then searched 64 at a time, and the number of paths from any word to
//! the shortest is at most the logarithm of the number of words.

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

/// One word by its number.
#[derive(Clone, Copy, Debug)]
struct NestedWord {
    length: u32,
    /// The shortest word of its path.
    top: u32,
    /// The longest word that the shortest of its path ends with.
    above: u32,
}

/// Words by the words they end with.
#[derive(Clone, Debug, Default)]
pub(super) struct Nested {
    words: Box<[NestedWord]>,
}

impl Nested {
    /// `within` is, for each word, the position of the longest word it ends with, which comes before
    /// it. With the result, the number of each word, in the order of `within`.
    pub(super) fn new(within: &[u32], lengths: &[u32]) -> (Self, Vec<u32>) {
        let heavy = heavy(within);
        let get = |list: &[u32], at: u32| list.get(at as usize).copied().unwrap_or(NONE);
        let mut numbers = vec![NONE; within.len()];
        let mut words = Vec::with_capacity(within.len());
        for (&parent, at) in within.iter().zip(0..) {
            if get(&heavy, parent) == at {
                continue;
            }
            // The start of a path; the word above it has a number already.
            let (top, above) = (index(words.len()), get(&numbers, parent));
            let mut next = at;
            while next != NONE {
                if let Some(slot) = numbers.get_mut(next as usize) {
                    *slot = index(words.len());
                }
                words.push(NestedWord { length: get(lengths, next), top, above });
                next = get(&heavy, next);
            }
        }
        (Self { words: words.into() }, numbers)
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn length(&self, word: u32) -> u32 {
        self.words.get(word as usize).map_or(0, |word| word.length)
    }

    /// The longest word that `word` ends with, itself aside, or [`NONE`].
    pub(super) fn shorter(&self, word: u32) -> u32 {
        match self.words.get(word as usize) {
            None => NONE,
            Some(known) if known.top == word => known.above,
            Some(_) => word - 1,
        }
    }

    /// The longest word of `live`, a set of numbers, that `word` ends with; perhaps itself.
    pub(super) fn next(&self, mut word: u32, live: &[u64]) -> Option<u32> {
        loop {
            let known = self.words.get(word as usize)?;
            if let Some(found) = last(live, known.top, word) {
                return Some(found);
            }
            word = known.above;
        }
    }
}

/// For each word, the one among the words directly below it that has the most words below.
fn heavy(within: &[u32]) -> Vec<u32> {
    let mut sizes = vec![1_u32; within.len()];
    let mut heavy = vec![(0, NONE); within.len()];
    for (at, &parent) in within.iter().enumerate().rev() {
        let size = sizes.get(at).copied().unwrap_or(0);
        if let (Some(sum), Some(best)) = (sizes.get_mut(parent as usize), heavy.get_mut(parent as usize)) {
            *sum += size;
            *best = (*best).max((size, index(at)));
        }
    }
    // NONE is the greatest number, but no size is 0.
    heavy.into_iter().map(|(size, at)| if size == 0 { NONE } else { at }).collect()
}

/// The greatest number of a set from `low` to `high`.
fn last(set: &[u64], low: u32, high: u32) -> Option<u32> {
    let mut place = high / 64;
    let mut word = *set.get(place as usize)? & u64::MAX >> (63 - high % 64);
    while word == 0 {
        if place <= low / 64 {
            return None;
        }
        place -= 1;
        word = *set.get(place as usize)?;
    }
    let found = place * 64 + 63 - word.leading_zeros();
    (found >= low).then_some(found)
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

    #[test]
    fn the_last_of_a_set_between_two_numbers() {
        let set = [1 << 3 | 1 << 63, 0, 0, 1 << 9];
        assert_eq!(last(&set, 0, 255), Some(201));
        assert_eq!(last(&set, 0, 200), Some(63));
        assert_eq!(last(&set, 63, 200), Some(63));
        assert_eq!(last(&set, 64, 200), None);
        assert_eq!(last(&set, 4, 62), None);
        assert_eq!(last(&set, 0, 3), Some(3));
    }

    #[test]
    fn a_thousand_nested_words_are_one_path() {
        let within: Vec<u32> = (0..1000_u32).map(|at| at.checked_sub(1).unwrap_or(NONE)).collect();
        let lengths: Vec<u32> = (1..=1000).collect();
        let (nested, numbers) = Nested::new(&within, &lengths);
        assert!(numbers.is_sorted() && nested.words.iter().all(|word| word.top == 0 && word.above == NONE));
        let mut live = vec![0; 16];
        live[0] = 1 << 5;
        assert_eq!(nested.next(999, &live), Some(5));
        assert_eq!(nested.next(nested.shorter(5), &live), None);
    }

    #[test]
    fn few_paths_lead_from_any_word_to_the_shortest() {
        // A tree in which every word has two longer ones.
        let within: Vec<u32> =
            (0..4095_u32).map(|at| (at + 1).checked_sub(2).map_or(NONE, |at| at / 2)).collect();
        let (nested, numbers) = Nested::new(&within, &vec![1; 4095]);
        for &number in &numbers {
            let mut paths = 1;
            let mut word = nested.words[number as usize];
            while word.above != NONE {
                word = nested.words[word.above as usize];
                paths += 1;
            }
            assert!(paths <= 12, "{paths}");
        }
    }
}
