//! Trying many rules on one target in one pass over it.
//!
//! Where trying them one by one would read the target again and again, rules are put off and tried
//! here together. Each rule waits for its next piece, in a queue with all others that wait for that
//! piece. An automaton reads the target once. Where a piece ends, the rules that waited for it, and
//! whose place so far is not after its start, go on to wait for their next. That is the leftmost search
//! of RFC 9309 section 2.2.3, which `matcher` does for one rule, done for all of them at once.
//!
//! # Cost
//!
//! For a target of *n* bytes and a file whose pieces hold *N* bytes, in *D* distinct pieces, a sweep
//! takes at most a constant times *n* (log *D* + √*N* / 64) + *N* steps:
//!
//! - The automaton moves at most 2 *n* times.
//! - Of the pieces that end at one byte, only those are visited that a rule waits for. Looking for
//!   them takes log *D* + √*N* / 64 steps, since at most √(2 *N*) pieces end in each other ([`Nested`]).
//! - A visit lets the first rule of the queue go on, or finds that its piece starts before the place
//!   the rule has reached. The former happens once for each piece of each rule. The latter happens
//!   only in the bytes right after the rule began to wait, fewer of them than the piece has. Both
//!   together are no more than *N*.
//! - Rules are sorted by the lengths of the literals they start with. No more than √(2 *N*) of these
//!   differ, so that takes less time than the file has bytes.
//!
//! *N* cannot be left out by any clever structure of a reasonable size: patterns of single letters
//! between `*` express the orthogonal vectors problem, for which none is known, and believed to exist.

use super::automaton::{NONE, Nested, WordAutomaton};
use super::entry::{Choice, IndexedRule};
use crate::robots::matcher::{self, ComparableTarget};
use crate::robots::pattern::{TextSpan, Texts, index};
use std::cell::{Cell, RefCell};

/// Rules that were put off.
#[derive(Default)]
pub(in crate::robots) struct Deferred(Cell<Vec<IndexedRule>>);

impl Deferred {
    pub(super) fn push(&self, rule: IndexedRule) {
        let mut rules = self.0.take();
        if rules.capacity() == 0 {
            rules = SCRATCH
                .try_with(|scratch| std::mem::take(&mut scratch.borrow_mut().rules))
                .unwrap_or_default();
        }
        rules.push(rule);
        self.0.set(rules);
    }

    pub(super) fn take(&self) -> Vec<IndexedRule> {
        self.0.take()
    }
}

thread_local! {
    /// Kept from one sweep to the next, so that none has to allocate.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// What a sweep writes to.
#[derive(Default)]
struct Scratch {
    rules: Vec<IndexedRule>,
    runners: Vec<Runner>,
    nodes: Vec<RunnerNode>,
    /// By number of a word, then again for words within a query. All empty between sweeps.
    queues: Vec<Queue>,
    /// The words whose queues are not empty.
    live: Vec<u64>,
}

/// A rule on its way.
#[derive(Clone, Copy)]
struct Runner {
    choice: Choice,
    /// The piece it waits for, or [`NONE`].
    piece: u32,
    /// The position after its last piece, but for one that was found at the end of the target.
    end: u32,
    /// Where its last piece must end at the latest.
    limit: u32,
}

/// A runner in a queue. Each has two: it may wait for a piece of a path and of a query at once.
#[derive(Clone, Copy)]
struct RunnerNode {
    next: u32,
    /// The place the runner had reached. In a queue, later ones reached as much or more.
    reached: u32,
    /// If the runner waits for another by now, the node counts for nothing.
    piece: u32,
}

#[derive(Clone, Copy)]
struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    const EMPTY: Self = Self { head: NONE, tail: NONE };
}

/// The best of `best` and the rules among `rules` that match. All have pieces, and the target starts
/// with the literal of each.
pub(super) fn sweep(
    vocabulary: &Vocabulary,
    mut rules: Vec<IndexedRule>,
    texts: Texts<'_>,
    target: &ComparableTarget<'_>,
    best: Choice,
) -> Choice {
    rules.sort_unstable_by_key(|rule| rule.pattern.prefix.len());
    let mut scratch = SCRATCH.try_with(RefCell::take).unwrap_or_default();
    let words = vocabulary.nested.len();
    let queues = words * if vocabulary.differs() { 2 } else { 1 };
    scratch.queues.resize(scratch.queues.len().max(queues), Queue::EMPTY);
    scratch.live.resize(scratch.live.len().max(words.div_ceil(64)), 0);
    let mut sweep = Sweep { vocabulary, scratch: &mut scratch, best, waiting: 0, past: false };
    sweep.run(&rules, texts, target);
    let best = sweep.best;
    scratch.clear(words);
    scratch.rules = rules;
    scratch.rules.clear();
    // Fails only while the thread ends.
    let _ = SCRATCH.try_with(|kept| kept.replace(scratch));
    best
}

impl Scratch {
    fn clear(&mut self, words: usize) {
        self.runners.clear();
        self.nodes.clear();
        for (live, place) in self.live.iter_mut().zip(0..) {
            while *live != 0 {
                let word = place * 64 + live.trailing_zeros() as usize;
                *live &= *live - 1;
                for queue in [word, word + words] {
                    if let Some(queue) = self.queues.get_mut(queue) {
                        *queue = Queue::EMPTY;
                    }
                }
            }
        }
    }
}

struct Sweep<'s> {
    vocabulary: &'s Vocabulary,
    scratch: &'s mut Scratch,
    best: Choice,
    /// Rules that may yet match.
    waiting: usize,
    /// The query has begun.
    past: bool,
}

impl Sweep<'_> {
    /// Lets a rule wait for its first piece, if it can match at all.
    fn enter(&mut self, rule: IndexedRule, texts: Texts<'_>, target: &ComparableTarget<'_>) {
        if rule.choice <= self.best {
            return;
        }
        let (first, count) = rule.pattern.pieces;
        let mut runner = Runner {
            choice: rule.choice,
            piece: first,
            end: first + count,
            limit: index(target.bytes().len()),
        };
        if let Some(last) = texts.pieces(rule.pattern).last().filter(|_| rule.pattern.anchored) {
            let Some(limit) = matcher::ending(texts, *last, target) else { return };
            runner.end -= 1;
            runner.limit = index(limit);
        }
        let reached = index(rule.pattern.prefix.len());
        if reached > runner.limit {
            return;
        }
        if runner.piece == runner.end {
            self.best = self.best.max(runner.choice);
            return;
        }
        let node = index(self.scratch.nodes.len());
        self.scratch.runners.push(runner);
        self.scratch.nodes.extend([RunnerNode { next: NONE, reached, piece: NONE }; 2]);
        self.waiting += 1;
        self.wait(node, first, reached);
    }

    /// Reads the target. `rules` are in the order of the lengths of their literals: each begins to
    /// wait when its literal was read, so that queues are in the order of the places reached.
    fn run(&mut self, rules: &[IndexedRule], texts: Texts<'_>, target: &ComparableTarget<'_>) {
        let mut rules = rules.iter().peekable();
        while let Some(rule) = rules.next_if(|rule| rule.pattern.prefix.len() == 0) {
            self.enter(*rule, texts, target);
        }
        let Vocabulary { automaton, nested, .. } = self.vocabulary;
        let query = if self.vocabulary.differs() { index(target.query()) + 1 } else { 0 };
        let mut state = 0;
        for (&byte, end) in target.bytes().iter().zip(1..) {
            if self.waiting == 0 && rules.peek().is_none() {
                return;
            }
            state = automaton.step(state, byte);
            let mut word = automaton.longest(state);
            while let Some(found) = nested.next(word, &self.scratch.live) {
                self.visit(found, end);
                word = nested.shorter(found);
            }
            if end == query {
                self.enter_query(end);
            }
            while let Some(rule) = rules.next_if(|rule| index(rule.pattern.prefix.len()) == end) {
                self.enter(*rule, texts, target);
            }
        }
    }

    /// From here on pieces are read as they stand within a query. A piece that began before may end
    /// later, so rules wait for both readings.
    fn enter_query(&mut self, end: u32) {
        self.past = true;
        for number in 0..self.scratch.runners.len() {
            let piece = self.scratch.runners.get(number).map_or(NONE, |runner| runner.piece);
            if self.vocabulary.in_query(piece) != NONE {
                self.wait(index(number * 2 + 1), piece, end);
            }
        }
    }

    /// Enters a node in the queue of a piece.
    fn wait(&mut self, node: u32, piece: u32, reached: u32) {
        let other = if self.past { self.vocabulary.in_query(piece) } else { NONE };
        let word = if other == NONE { self.vocabulary.in_path(piece) } else { other };
        let queue = word as usize + if other == NONE { 0 } else { self.vocabulary.nested.len() };
        let Scratch { nodes, queues, live, .. } = &mut *self.scratch;
        let Some(queue) = queues.get_mut(queue) else { return };
        if let Some(entry) = nodes.get_mut(node as usize) {
            *entry = RunnerNode { next: NONE, reached, piece };
        }
        if queue.head == NONE {
            queue.head = node;
            if let Some(live) = live.get_mut(word as usize / 64) {
                *live |= 1 << (word % 64);
            }
        } else if let Some(last) = nodes.get_mut(queue.tail as usize) {
            last.next = node;
        }
        queue.tail = node;
    }

    /// A word that rules wait for ends at `end`.
    fn visit(&mut self, word: u32, end: u32) {
        let start = end - self.vocabulary.nested.length(word);
        let queues = [word as usize, word as usize + self.vocabulary.nested.len()];
        let queues = queues.get(..=usize::from(self.past)).unwrap_or_default();
        for &queue in queues {
            self.release(queue, start, end);
        }
        // Rules that were let go may wait here again.
        let waits = |&queue: &usize| self.scratch.queues.get(queue).is_some_and(|queue| queue.head != NONE);
        let left = queues.iter().any(waits);
        if let Some(live) = self.scratch.live.get_mut(word as usize / 64).filter(|_| !left) {
            *live &= !(1 << (word % 64));
        }
    }

    /// Lets the rules go on that had reached `start` at the most.
    fn release(&mut self, queue: usize, start: u32, end: u32) {
        while let Some(node) = self.pop(queue, start) {
            let place = self.scratch.nodes.get(node as usize).map_or(NONE, |node| node.piece);
            let Some(runner) = self.scratch.runners.get_mut(node as usize / 2) else { continue };
            if runner.piece != place {
                continue;
            }
            let next = place + 1;
            let matched = next == runner.end && end <= runner.limit;
            if matched {
                self.best = self.best.max(runner.choice);
            }
            if next == runner.end || end >= runner.limit || runner.choice <= self.best {
                runner.piece = NONE;
                self.waiting -= 1;
            } else {
                runner.piece = next;
                self.wait(node, next, end);
            }
        }
    }

    /// The first node of a queue, if it had reached `start` at the most.
    fn pop(&mut self, queue: usize, start: u32) -> Option<u32> {
        let queue = self.scratch.queues.get_mut(queue)?;
        let node = queue.head;
        let entry = self.scratch.nodes.get(node as usize).filter(|entry| entry.reached <= start)?;
        queue.head = entry.next;
        Some(node)
    }
}

/// Each piece of a file by the words it may be read as.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    pub(super) automaton: WordAutomaton,
    pub(super) nested: Nested,
    /// By position in the pieces of the file: the word as it stands in a path.
    path: Box<[u32]>,
    /// The word as it stands within a query; empty where no piece is read differently there.
    query: Box<[u32]>,
}

/// One way to read one piece.
#[derive(Clone, Copy)]
struct PieceReading {
    text: TextSpan,
    piece: u32,
    in_query: bool,
}

impl Vocabulary {
    pub(super) fn new(texts: Texts<'_>) -> Self {
        let mut readings = readings(texts);
        readings.sort_by_key(|reading| texts.get(reading.text));
        let runs = || readings.chunk_by(|a, b| texts.get(a.text) == texts.get(b.text));
        let words: Vec<&[u8]> =
            runs().filter_map(|run| run.first()).map(|reading| texts.get(reading.text)).collect();
        let (automaton, nested, numbers) = WordAutomaton::new(&words);
        let differ = readings.len() > texts.pieces.len();
        let mut path = vec![NONE; texts.pieces.len()];
        let mut query = vec![NONE; if differ { texts.pieces.len() } else { 0 }];
        for (run, &number) in runs().zip(&numbers) {
            for reading in run {
                let list = if reading.in_query { &mut query } else { &mut path };
                if let Some(slot) = list.get_mut(reading.piece as usize) {
                    *slot = number;
                }
            }
        }
        Self { automaton, nested, path: path.into(), query: query.into() }
    }

    /// The word of a piece that stands in a path, or is the same wherever it stands.
    pub(super) fn in_path(&self, piece: u32) -> u32 {
        self.path.get(piece as usize).copied().unwrap_or(NONE)
    }

    /// The word of a piece within a query, where that is another; else [`NONE`].
    pub(super) fn in_query(&self, piece: u32) -> u32 {
        self.query.get(piece as usize).copied().unwrap_or(NONE)
    }

    /// Whether any piece is read differently within a query.
    pub(super) const fn differs(&self) -> bool {
        !self.query.is_empty()
    }
}

fn readings(texts: Texts<'_>) -> Vec<PieceReading> {
    let mut readings = Vec::with_capacity(texts.pieces.len());
    for (piece, at) in texts.pieces.iter().zip(0..) {
        readings.push(PieceReading { text: piece.text, piece: at, in_query: false });
        if piece.text != piece.in_query {
            readings.push(PieceReading { text: piece.in_query, piece: at, in_query: true });
        }
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::super::entry;
    use super::*;
    use crate::robots::pattern::PatternPool;
    use crate::robots::symbol;

    /// The best of `patterns`, the later the better, tried one by one and all at once.
    fn both(patterns: &[Vec<u8>], targets: &[Vec<u8>]) -> usize {
        let source = patterns.concat();
        let mut pool = PatternPool::new(&source);
        let mut start = 0;
        let mut rules = Vec::new();
        for (raw, number) in patterns.iter().zip(0..) {
            let pattern = pool.add_raw(raw, start);
            // Literals are never put off.
            if pattern.pieces.1 > 0 {
                rules.push(IndexedRule { choice: Choice::new(number + 2, number), pattern });
            }
            start += raw.len();
        }
        let texts = pool.texts();
        let vocabulary = Vocabulary::new(texts);
        let mut hits = 0;
        for target in targets {
            symbol::with_symbols(target, usize::MAX, |bytes| {
                let target = ComparableTarget::new(bytes);
                let matches = |rule: &&IndexedRule| entry::matches(texts, rule.pattern, &target);
                let expected = rules.iter().filter(matches).map(|rule| rule.choice).max().unwrap_or_default();
                let started = rules.iter().filter(|rule| rule.starts(texts, bytes)).copied().collect();
                let found = sweep(&vocabulary, started, texts, &target, Choice::NONE);
                let shown = || patterns.iter().map(|raw| String::from_utf8_lossy(raw)).collect::<Vec<_>>();
                assert_eq!(
                    found.rule(),
                    expected.rule(),
                    "{:?} {:?}",
                    shown(),
                    String::from_utf8_lossy(bytes)
                );
                hits += usize::from(found.rule().is_some());
            });
        }
        hits
    }

    fn texts(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn pieces_do_not_overlap() {
        assert_eq!(both(&texts(&["/*ab*ba", "*a*a*a$", "/*aa*aa"]), &texts(&["/aba", "/aa", "/ab/aab"])), 0);
        assert_eq!(
            both(&texts(&["/*ab*ba", "*a*a*a$", "/*aa*aa"]), &texts(&["/abba", "/aaaa", "/aaaaa"])),
            3
        );
    }

    #[test]
    fn a_reading_that_begins_in_the_path_may_end_in_the_query() {
        let patterns = texts(&["/*%2F?b%2F*c", "/*%2Fx*%2F*y$"]);
        assert_eq!(both(&patterns, &texts(&["/%2F?b/c", "/?%2F?b%2Fc", "/%2Fx?/y", "/?/x%2f.y"])), 4);
        assert_eq!(both(&patterns, &texts(&["/%2F/?b/c", "/?%2Fb/c", "/%2Fx/y", "/?/x.y"])), 0);
    }

    #[test]
    fn sweeping_is_trying() {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut below = move |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap() % bound
        };
        let bytes: [&[u8]; 14] = [
            b"a", b"a", b"a", b"b", b"b", b"aa", b"ab", b"/", b"%2F", b"?", b"%3F", b"%3D", b"\xFF", b"aaaa",
        ];
        let mut matched = 0;
        for round in 0..4000 {
            // Few kinds of bytes let pieces nest; many meet the query.
            let kinds = [3, 5, 7, bytes.len()][round % 4];
            let mut text = |most: usize, stars: usize| -> Vec<u8> {
                let mut text = b"/".to_vec();
                for _ in 0..below(most) {
                    text.extend_from_slice(if below(10) < stars { b"*" } else { bytes[below(kinds)] });
                }
                text
            };
            let targets: Vec<_> = (0..6).map(|_| text(30, 0)).collect();
            let mut patterns: Vec<_> = (0..12).map(|_| text(10, 4)).collect();
            patterns.iter_mut().step_by(3).for_each(|pattern| pattern.push(b'$'));
            matched += both(&patterns, &targets);
        }
        assert!(matched > 4000, "{matched}");
    }
}
