//! Words that end with other words, as `aaa` does with `aa` and `a`: going from one to the next without
//! visiting those that nobody waits for.
//!
//! Where the longest of such words ends in a target, all of them end. There may be a thousand, at
//! every byte. So they are numbered that a word and the longest word it ends with are neighbours
//! where possible, longer ones later (paths as in a heavy path decomposition: Sleator and Tarjan,
//! 1983): a set of numbers is then searched 64 at a time, and the number of paths from any word to
//! the shortest is at most the logarithm of the number of words.

use super::automaton::NONE;
use crate::robots::pattern::index;

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
