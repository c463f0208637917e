//! The search itself: every literal of every list in one case-insensitive
//! Aho-Corasick automaton, walked once over the bytes of a header.
//!
//! A walk is a chain of table look-ups, each waiting for the one before. Two
//! measures shorten it, and change nothing about what is found: the part that
//! most browsers' headers have in common is found by a vectorised search and
//! skipped, and the header is cut in two where no literal can reach across, so
//! that both halves are walked at the same time. Not here: what a find means.

use super::find::{Hit, Hits};
use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, BuildError, MatchKind, StartKind};
use memchr::memmem::Finder;

/// What most browsers' headers have in common, a third of each of them.
const COMMON: &[u8] = b"AppleWebKit/537.36 (KHTML, like Gecko)";

/// Where a header may be cut, when no literal holds the byte behind its start.
const CUTS: [u8; 3] = *b"+),";

/// The literals, ready to be searched for.
#[derive(Debug)]
pub(super) struct Automaton {
    dfa: DFA,
    start: StateID,
    refrain: Option<Refrain>,
    cuts: Vec<u8>,
}

/// The common part, and the hits inside it (offsets from its start).
#[derive(Debug)]
struct Refrain {
    finder: Finder<'static>,
    hits: Box<[Hit]>,
}

/// The two halves of a header, and where the second one starts.
struct Halves<'h> {
    head: &'h [u8],
    tail: &'h [u8],
    offset: usize,
    common: Option<usize>,
}

impl Automaton {
    /// Compiles the literals. Their order gives the index of a hit.
    pub(super) fn new(literals: &[&str]) -> Result<Self, BuildError> {
        let dfa = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build(literals)?;
        // `StartKind::Unanchored` makes this start state exist.
        let start = dfa.start_state(Anchored::No).unwrap_or(StateID::ZERO);
        let inner = |cut: &u8| literals.iter().all(|literal| !literal.bytes().skip(1).any(|b| b == *cut));
        let cuts = CUTS.iter().filter(|cut| inner(cut)).copied().collect();
        let mut automaton = Self { dfa, start, refrain: None, cuts };
        if !literals.iter().any(|literal| reaches_into_common(literal.as_bytes())) {
            automaton.refrain = automaton.refrain();
        }
        Ok(automaton)
    }

    /// The memory it holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.dfa.memory_usage()
    }

    /// Gives every hit to `take`, those of one half in the order of their ends.
    pub(super) fn find(&self, header: &[u8], mut take: impl FnMut(Hit)) {
        let Halves { head, tail, offset, common } = self.halves(header);
        let mut late = Hits::<32>::default();
        let (mut first, mut second) = (self.start, self.start);
        let mut walked = 0;
        for (at, (one, other)) in head.iter().zip(tail).enumerate() {
            first = self.dfa.next_state(Anchored::No, first, *one);
            second = self.dfa.next_state(Anchored::No, second, *other);
            walked = at + 1;
            if self.is_match(first) {
                self.matches(first, walked, &mut take);
            }
            if self.is_match(second) {
                let mut room = true;
                self.matches(second, offset + walked, |hit| {
                    if !late.push(hit) {
                        room = false;
                        take(hit);
                    }
                });
                if !room {
                    break;
                }
            }
        }
        self.walk(first, head, walked, 0, &mut take);
        if let Some((refrain, at)) = self.refrain.as_ref().zip(common) {
            refrain.hits.iter().for_each(|hit| take(hit.shifted(at)));
        }
        late.as_slice().iter().copied().for_each(&mut take);
        self.walk(second, tail, walked, offset, &mut take);
    }

    /// Walks what is left of one half.
    fn walk(
        &self,
        mut state: StateID,
        half: &[u8],
        walked: usize,
        offset: usize,
        take: &mut impl FnMut(Hit),
    ) {
        for (at, byte) in half.iter().enumerate().skip(walked) {
            state = self.dfa.next_state(Anchored::No, state, *byte);
            if self.is_match(state) {
                self.matches(state, offset + at + 1, &mut *take);
            }
        }
    }

    fn is_match(&self, state: StateID) -> bool {
        self.dfa.is_special(state) && self.dfa.is_match(state)
    }

    fn matches(&self, state: StateID, end: usize, mut take: impl FnMut(Hit)) {
        for nth in 0..self.dfa.match_len(state) {
            let id = self.dfa.match_pattern(state, nth);
            take(Hit::new(id.as_usize(), end.saturating_sub(self.dfa.pattern_len(id)), end));
        }
    }

    /// Cuts around the common part, else at a byte that starts the walk anew.
    fn halves<'h>(&self, header: &'h [u8]) -> Halves<'h> {
        let common = self.refrain.as_ref().and_then(|refrain| refrain.position(header));
        let cut = match common {
            Some(at) => Some((at, at + COMMON.len())),
            None => self.cut(header).map(|at| (at, at)),
        };
        let (end, offset) = cut.unwrap_or((header.len(), header.len()));
        let head = header.get(..end).unwrap_or_default();
        Halves { head, tail: header.get(offset..).unwrap_or_default(), offset, common }
    }

    fn cut(&self, header: &[u8]) -> Option<usize> {
        let from = header.len() / 3;
        let rest = header.get(from..)?;
        let at = match self.cuts.as_slice() {
            [] => None,
            [a] => memchr::memchr(*a, rest),
            [a, b] => memchr::memchr2(*a, *b, rest),
            [a, b, c, ..] => memchr::memchr3(*a, *b, *c, rest),
        };
        Some(from + at?)
    }

    /// The refrain with the hits inside it, unless a literal could go on behind it.
    fn refrain(&self) -> Option<Refrain> {
        let mut hits = Vec::new();
        let mut state = self.start;
        for (at, byte) in COMMON.iter().enumerate() {
            state = self.dfa.next_state(Anchored::No, state, *byte);
            if self.is_match(state) {
                self.matches(state, at + 1, |hit| hits.push(hit));
            }
        }
        (state == self.start).then(|| Refrain { finder: Finder::new(COMMON), hits: hits.into() })
    }
}

impl Refrain {
    /// Where the common part stands, after a blank. Not looked for where skipping
    /// it would gain less than the search costs.
    fn position(&self, header: &[u8]) -> Option<usize> {
        if header.len() < 2 * COMMON.len() {
            return None;
        }
        let at = self.finder.find(header)?;
        (at.checked_sub(1).and_then(|i| header.get(i)) == Some(&b' ')).then_some(at)
    }
}

/// Whether a literal could begin before the common part (there stands a blank)
/// and end inside or behind it.
fn reaches_into_common(literal: &[u8]) -> bool {
    (0..literal.len()).any(|at| {
        let tail = literal.get(at + 1..).unwrap_or_default();
        let len = tail.len().min(COMMON.len());
        let same = |tail: &[u8]| COMMON.get(..len).is_some_and(|common| common.eq_ignore_ascii_case(tail));
        len > 0 && literal.get(at) == Some(&b' ') && tail.get(..len).is_some_and(same)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(automaton: &Automaton, header: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        automaton.find(header.as_bytes(), |hit| hits.push(hit));
        hits.sort_by_key(|hit| (hit.end(), hit.sign()));
        hits
    }

    /// Every hit, found the slow way.
    fn expected(literals: &[&str], header: &str) -> Vec<Hit> {
        let lower = header.to_ascii_lowercase();
        let mut hits: Vec<Hit> = literals
            .iter()
            .enumerate()
            .flat_map(|(i, literal)| {
                let literal = literal.to_ascii_lowercase();
                let at = |start: &usize| lower.as_bytes()[*start..].starts_with(literal.as_bytes());
                let starts: Vec<usize> = (0..lower.len()).filter(at).collect();
                starts.into_iter().map(move |start| Hit::new(i, start, start + literal.len()))
            })
            .collect();
        hits.sort_by_key(|hit| (hit.end(), hit.sign()));
        hits
    }

    #[test]
    fn skipping_and_cutting_lose_nothing() {
        let lists: [&[&str]; 4] = [
            &["bot", "KHTML", "AppleWebKit/", "x", "+http", "537"],
            &["like Gecko) Foo", "bot"],
            &["Foo Apple", "a+b", "c)d", "e,f"],
            &["foo bar", ")", ","],
        ];
        let part = "AppleWebKit/537.36 (KHTML, like Gecko)";
        let pieces = [
            "bot",
            "Foo ",
            "+http://x",
            " ",
            part,
            "a+b",
            "c)d",
            "e,f",
            "; ",
            "foo bar",
            "xyz/1.0",
            "like Gecko) Foo",
        ];
        let mut state = 7_u32;
        for literals in lists {
            let automaton = Automaton::new(literals).unwrap();
            for _ in 0..2_000 {
                let mut header = String::new();
                for _ in 0..(state >> 8) % 14 {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    header.push_str(pieces[(state >> 16) as usize % pieces.len()]);
                }
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert_eq!(found(&automaton, &header), expected(literals, &header), "{header}");
            }
        }
    }

    #[test]
    fn many_hits_in_the_second_half_are_all_given() {
        let automaton = Automaton::new(&["ab"]).unwrap();
        let header = format!("{})){}", "ab".repeat(100), "ab".repeat(150));
        assert_eq!(found(&automaton, &header).len(), 250);
    }

    #[test]
    fn literals_that_reach_across_are_noticed() {
        assert!(reaches_into_common(b"foo applewebkit/537") && reaches_into_common(b"x A"));
        assert!(!reaches_into_common(b"foo ") && !reaches_into_common(b"applewebkit"));
        let kept = |literal: &str| Automaton::new(&[literal]).unwrap().refrain.is_some();
        assert!(kept("Foo Banana") && !kept("Foo Apple") && !kept("like Gecko) Foo"));
        assert_eq!(Automaton::new(&["a+b", ")x", ","]).unwrap().cuts, b"),");
    }
}
