//! The search itself: every literal of every list in one pass over the bytes of a header, letters in either case.
//!
//! Not here: what a find means.

use super::find::SignHit;
use super::scan::BuildError;
use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, StartKind};

/// A table of all transitions: a step is one look-up.
#[derive(Debug)]
pub(super) struct TransitionTable {
    table: DFA,
    start: StateID,
    anchored: Anchored,
}

impl TransitionTable {
    /// Finds literals anywhere, or those alone that the text begins with.
    pub(super) fn new(literals: &[&str], anchored: Anchored) -> Result<Self, BuildError> {
        let kind = if anchored.is_anchored() { StartKind::Anchored } else { StartKind::Unanchored };
        let table =
            DFA::builder().ascii_case_insensitive(true).prefilter(false).start_kind(kind).build(literals);
        let table = table.map_err(|_| BuildError)?;
        let start = table.start_state(anchored).map_err(|_| BuildError)?;
        Ok(Self { table, start, anchored })
    }

    /// The memory the table takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.table.memory_usage()
    }

    /// Calls `take` with every hit, in the order of their ends, the longest of one end first.
    #[inline]
    pub(super) fn find(&self, text: &[u8], mut take: impl FnMut(SignHit)) {
        let mut state = self.start;
        for (end, byte) in (1..).zip(text) {
            state = self.table.next_state(self.anchored, state, *byte);
            if self.table.is_special(state) {
                if self.table.is_dead(state) {
                    return;
                }
                for nth in 0..if self.table.is_match(state) { self.table.match_len(state) } else { 0 } {
                    let literal = self.table.match_pattern(state, nth);
                    let start = end - self.table.pattern_len(literal);
                    // The table of an anchored search knows literals within others, too.
                    if start == 0 || !self.anchored.is_anchored() {
                        take(SignHit::new(literal.as_usize(), start, end));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(literals: &[&str], header: &str) -> Vec<SignHit> {
        let mut hits = Vec::new();
        TransitionTable::new(literals, Anchored::No).unwrap().find(header.as_bytes(), |hit| hits.push(hit));
        hits
    }

    /// Every hit, found the slow way.
    fn expected(literals: &[&str], header: &str) -> Vec<SignHit> {
        let lower = header.to_ascii_lowercase();
        let mut hits: Vec<SignHit> = literals
            .iter()
            .enumerate()
            .flat_map(|(i, literal)| {
                let literal = literal.to_ascii_lowercase();
                let at = |start: &usize| lower.as_bytes()[*start..].starts_with(literal.as_bytes());
                let starts: Vec<usize> = (0..lower.len()).filter(at).collect();
                starts.into_iter().map(move |start| SignHit::new(i, start, start + literal.len()))
            })
            .collect();
        hits.sort_by_key(|hit| (hit.end(), hit.start()));
        hits
    }

    #[test]
    fn nothing_is_lost_and_the_order_is_kept() {
        let lists: [&[&str]; 4] = [
            &["bot", "KHTML", "AppleWebKit/", "x", "+http", "537"],
            &["like Gecko) Foo", "bot", "Gecko", "o", ") F"],
            &["Foo Apple", "a+b", "c)d", "e,f", "b; c)d"],
            &["foo bar", ")", ",", "foo bar foo bar foo bar foo bar"],
        ];
        let part = "AppleWebKit/537.36 (KHTML, like Gecko)";
        let pieces = ["bot", "Foo ", "+http://x", " ", part, "a+b", "c)d", "e,f", "; ", "foo bar", "xyz/1.0"];
        let mut state = 7_u32;
        for literals in lists {
            for _ in 0..500 {
                let mut header = String::new();
                for _ in 0..(state >> 8) % 14 {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    header.push_str(pieces[(state >> 16) as usize % pieces.len()]);
                }
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert_eq!(found(literals, &header), expected(literals, &header), "{header}");
            }
        }
    }

    #[test]
    fn finds_what_overlaps_the_longest_first_in_either_case() {
        let hits = found(&["he", "SHE", "hers", "his", "he"], "usHers");
        let literals: Vec<(usize, usize)> = hits.iter().map(|hit| (hit.end(), hit.sign())).collect();
        assert_eq!(literals, [(4, 1), (4, 0), (4, 4), (6, 2)]);
        assert_eq!(found(&["ab"], &"ab".repeat(250)).len(), 250);
        assert_eq!(found(&[], "abc"), []);
    }

    #[test]
    fn an_anchored_search_finds_what_the_text_begins_with() {
        let mut ends = Vec::new();
        let automaton = TransitionTable::new(&["ab", "abcd", "bc"], Anchored::Yes).unwrap();
        automaton.find(b"aBcDbcab", |hit| ends.push((hit.start(), hit.end())));
        assert_eq!(ends, [(0, 2), (0, 4)]);
    }
}
