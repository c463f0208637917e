//! The rules of each part of a file, arranged so that a decision need not try them all.
//!
//! Rules without `*` are literals in ascending order, each linked to the longest one that is the start of it: one binary
//! search finds all that a target starts with. Rules with `*` (RFC 9309 section 2.2.3), and all rules of a short part,
//! are tried one by one, in the order in which they win. Where many have a `*`, an automaton (Aho and Corasick, 1975)
//! finds those of which a piece stands in the target, and only these are tried.
//!
//! What is tried is bounded by the target: see `matcher`. `lint` says which group could get there.

use super::matcher::{self, ComparableTarget};
use super::pattern::{Pattern, PatternPiece, PatternPool, TextSpan, Texts, index};
use super::rule::RuleRecord;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::cmp::Reverse;
use std::ops::Range;

/// Up to this many rules a list is faster than a binary search.
const SHORT: usize = 8;

/// Up to this many rules with `*` are tried without looking for their pieces first.
const FEW: usize = 32;

/// Bytes of a piece that are looked for: enough to tell rules apart. At most so many pieces end at one byte of a target.
const NEEDLE: usize = 12;

/// A matching rule, or none. The greater one wins: most bytes, then allow before disallow
/// (RFC 9309 section 2.2.2), then the first in the file, so that the answer is always the same line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice(u64);

impl Choice {
    pub(super) const NONE: Self = Self(0);

    /// `rank` is greater than 1 for every rule that can match.
    pub(super) const fn new(rank: u32, rule: u32) -> Self {
        Self((rank as u64) << 32 | !rule as u64)
    }

    /// The position of the rule.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the rule")]
    pub(super) const fn rule(self) -> Option<u32> {
        if self.0 == 0 { None } else { Some(!(self.0 as u32)) }
    }
}

/// A rule that can match something, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexedRule {
    pub(super) choice: Choice,
    pub(super) pattern: Pattern,
}

impl IndexedRule {
    /// Takes the rule at position `at` of the file apart; none if it can match nothing.
    pub(super) fn new(record: RuleRecord, at: u32, source: &[u8], pool: &mut PatternPool) -> Option<Self> {
        let choice = Choice::new(record.rank(), at);
        (record.bytes > 0).then(|| Self { choice, pattern: pool.add(record.view(source).pattern) })
    }

    pub(super) const fn has_star(self) -> bool {
        self.pattern.pieces.1 > 0
    }

    /// All literals of the pattern: what tells it from others.
    pub(super) fn literals(self, texts: Texts<'_>) -> (bool, Vec<&[u8]>) {
        let pieces = texts.pieces(self.pattern).iter().map(|piece| texts.get(piece.text));
        (self.pattern.anchored, std::iter::once(texts.get(self.pattern.prefix)).chain(pieces).collect())
    }

    /// The end of its longest piece that is the same in every reading: bytes that every target it matches has.
    fn needle(self, texts: Texts<'_>) -> &[u8] {
        let pieces = texts.pieces(self.pattern).iter().flat_map(|piece| runs(*piece, texts));
        let longest = pieces.max_by_key(|run| run.len()).unwrap_or_default();
        longest.get(longest.len().saturating_sub(NEEDLE)..).unwrap_or_default()
    }
}

/// The parts of a piece that are the same in every reading: all of it, unless it holds an encoded `/` or `?` that is read
/// differently in a query.
fn runs(piece: PatternPiece, texts: Texts<'_>) -> impl Iterator<Item = &[u8]> {
    let is_loose = piece.text != piece.in_query;
    texts.get(piece.text).split(move |&byte| is_loose && byte >= 0xF8)
}

/// The best of `rules`, which are in the order in which they win, and `best`.
fn first_match(
    rules: &[IndexedRule],
    texts: Texts<'_>,
    target: &ComparableTarget<'_>,
    best: Choice,
) -> Choice {
    let mut better = rules.iter().take_while(|rule| rule.choice > best);
    better.find(|rule| matcher::matches(texts, rule.pattern, target)).map_or(best, |rule| rule.choice)
}

/// A literal that some rule is.
#[derive(Clone, Copy, Debug)]
struct Literal {
    /// The first bytes of it, which order most literals: comparing them takes a third of the time.
    head: u128,
    text: TextSpan,
    /// The best open rule of this literal or of one that is the start of it.
    open: Choice,
    /// The best rule that matches this path alone.
    exact: Choice,
    /// The longest other literal of the part that is the start of it.
    shorter: Option<u32>,
}

/// All literals of the rules without `*`, in ascending order.
fn literals(rules: &[IndexedRule], texts: Texts<'_>) -> Vec<Literal> {
    let text = |rule: &IndexedRule| texts.get(rule.pattern.prefix);
    let mut plain: Vec<IndexedRule> = rules.iter().copied().filter(|rule| !rule.has_star()).collect();
    plain.sort_by_key(text);
    let mut all: Vec<Literal> = Vec::new();
    // Those that are the start of one another, the shortest first.
    let mut open: Vec<u32> = Vec::new();
    for run in plain.chunk_by(|a, b| text(a) == text(b)) {
        let Some(prefix) = run.first().map(|rule| rule.pattern.prefix) else { continue };
        let known = |at: u32| all.get(at as usize).copied();
        let is_start = |literal: Literal| texts.get(prefix).starts_with(texts.get(literal.text));
        while open.pop_if(|at| !known(*at).is_some_and(is_start)).is_some() {}
        let shorter = open.last().copied();
        let above = shorter.and_then(known).map_or(Choice::NONE, |literal| literal.open);
        let best = |anchored| {
            let same = run.iter().filter(|rule| rule.pattern.anchored == anchored);
            same.map(|rule| rule.choice).max().unwrap_or_default()
        };
        let (open_choice, exact) = (best(false).max(above), best(true));
        open.push(index(all.len()));
        all.push(Literal { head: head(texts.get(prefix)), text: prefix, open: open_choice, exact, shorter });
    }
    all
}

/// The rules of one part of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleSet {
    literals: Box<[Literal]>,
    /// What is tried.
    rules: Box<[IndexedRule]>,
    needles: Option<Box<Needles>>,
}

impl RuleSet {
    /// `rules` are those of the part, taken apart; none where a rule can match nothing.
    pub(super) fn new(rules: &[Option<IndexedRule>], texts: Texts<'_>) -> Self {
        let mut rules: Vec<IndexedRule> = rules.iter().copied().flatten().collect();
        let mut set = Self::default();
        if rules.len() > SHORT {
            set.literals = literals(&rules, texts).into();
            rules.retain(|rule| rule.has_star());
        }
        rules.sort_unstable_by_key(|rule| Reverse(rule.choice));
        if rules.len() > FEW {
            set.needles = Needles::new(&mut rules, texts).map(Box::new);
        }
        Self { rules: rules.into(), ..set }
    }
}

/// The position of the rule of some parts of a file that decides about a target.
pub(super) fn search<'r>(
    sets: impl Iterator<Item = &'r RuleSet>,
    texts: Texts<'_>,
    target: &ComparableTarget<'_>,
) -> Option<u32> {
    let best = sets.fold(Choice::NONE, |best, set| {
        let best = best.max(longest(&set.literals, texts, target.bytes()));
        match &set.needles {
            Some(needles) => needles.search(&set.rules, texts, target, best),
            None => first_match(&set.rules, texts, target, best),
        }
    });
    best.rule()
}

/// The best rule among `literals` that `target` starts with.
fn longest(literals: &[Literal], texts: Texts<'_>, target: &[u8]) -> Choice {
    // All literals between the longest that the target starts with and the target start with that one, too: it is the
    // last of them, or a start of it.
    let key = head(target);
    let is_before =
        |literal: &Literal| literal.head < key || (literal.head == key && texts.get(literal.text) <= target);
    let after = literals.partition_point(is_before);
    let Some(mut here) = after.checked_sub(1).and_then(|last| literals.get(last)) else {
        return Choice::NONE;
    };
    let shared = common(texts.get(here.text), target);
    while here.text.len() > shared {
        let shorter = here.shorter.and_then(|at| literals.get(at as usize));
        let Some(shorter) = shorter else { return Choice::NONE };
        here = shorter;
    }
    if here.text.len() == target.len() { here.open.max(here.exact) } else { here.open }
}

/// The first bytes of a text as a number, in the order of texts.
fn head(text: &[u8]) -> u128 {
    let mut head = [0; 16];
    let bytes = text.get(..16).unwrap_or(text);
    for (slot, byte) in head.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    u128::from_be_bytes(head)
}

/// How many bytes two literals have in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    let (a, b) = (a.get(blocks..).unwrap_or_default(), b.get(blocks..).unwrap_or_default());
    blocks + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Bytes of which each rule of a set needs some in its target.
#[derive(Clone, Debug)]
struct Needles {
    automaton: AhoCorasick,
    /// Where the rules of each needle start, and where those of the last one end. Before the first stand rules without one.
    starts: Box<[u32]>,
}

impl Needles {
    /// Sorts `rules` by needle, and those of one needle in the order in which they win.
    fn new(rules: &mut [IndexedRule], texts: Texts<'_>) -> Option<Self> {
        rules.sort_by_cached_key(|rule| (rule.needle(texts), Reverse(rule.choice)));
        let (mut needles, mut starts, mut at) = (Vec::new(), Vec::new(), 0);
        for run in rules.chunk_by(|a, b| a.needle(texts) == b.needle(texts)) {
            let needle = run.first().map(|rule| rule.needle(texts)).unwrap_or_default();
            if !needle.is_empty() {
                needles.push(needle);
                starts.push(index(at));
            }
            at += run.len();
        }
        starts.push(index(at));
        // The small form: a file may have hundreds of these.
        let mut builder = AhoCorasick::builder();
        builder.kind(Some(AhoCorasickKind::ContiguousNFA)).dense_depth(1).prefilter(false);
        Some(Self { automaton: builder.build(needles).ok()?, starts: starts.into() })
    }

    /// The better of `best` and the best of `rules` that matches.
    fn search(
        &self,
        rules: &[IndexedRule],
        texts: Texts<'_>,
        target: &ComparableTarget<'_>,
        best: Choice,
    ) -> Choice {
        let start = |needle: usize| self.starts.get(needle).map_or(0, |start| *start as usize);
        let row = |range: Range<usize>| rules.get(range).unwrap_or_default();
        let mut best = first_match(row(0..start(0)), texts, target, best);
        let mut seen = vec![false; self.starts.len()];
        target.spend(target.bytes().len());
        for found in self.automaton.find_overlapping_iter(target.bytes()) {
            let needle = found.pattern().as_usize();
            if seen.get_mut(needle).is_none_or(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            best = first_match(row(start(needle)..start(needle + 1)), texts, target, best);
        }
        best
    }
}
