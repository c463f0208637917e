//! A prefix tree over the literals that patterns start with, with runs of single children merged.
//!
//! Every node knows the best rule among those that end at it or above it, so a walk needs only the
//! last node it reached. Rules with more to check hang on the node their literal ends at.

use super::entry::{self, Choice, IndexedRule, Shadow};
use crate::robots::matcher::ComparableTarget;
use crate::robots::pattern::{TextSpan, Texts, index};
use std::cmp::Reverse;

/// 32 bytes, so that two share a cache line.
#[derive(Clone, Copy, Debug, Default)]
struct TrieNode {
    /// The best open rule that ends here or above.
    open: Choice,
    label: TextSpan,
    /// Its children are neighbours in ascending order of their first byte.
    child: u32,
    children: u16,
    /// Position of what else ends here, plus 1; 0 for nothing.
    end: u32,
}

/// What ends at a node beside open rules.
#[derive(Clone, Debug, Default)]
struct NodeEnd {
    /// The best rule that matches a target that ends here.
    exact: Choice,
    /// Rules with pieces, in the order in which they win.
    hung: Box<[IndexedRule]>,
}

/// The tree of one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    nodes: Box<[TrieNode]>,
    /// The first byte of every node's label, beside the nodes.
    keys: Box<[u8]>,
    ends: Box<[NodeEnd]>,
    /// No walk needs to see more bytes than this.
    pub(super) depth: usize,
}

/// Rules that may hang on one node, and on all nodes of one path. What hangs is checked whenever
/// the node is passed, so this bounds the work.
const MOST_HERE: usize = 4;
const MOST_ON_PATH: usize = 16;

impl Trie {
    /// Builds the tree of `entries`. Returns with it the rules that found no place on it because too
    /// many share their literal, and reports rules that never decide.
    pub(super) fn new(
        entries: &[IndexedRule],
        texts: Texts<'_>,
        shadow: &mut Shadow,
    ) -> (Self, Vec<IndexedRule>) {
        let mut builder = TrieBuilder { texts, ..TrieBuilder::default() };
        builder.open.push(OpenNode::default());
        let literal = |entry: &IndexedRule| texts.get(entry.pattern.prefix);
        let mut sorted = entries.to_vec();
        sorted.sort_by_key(literal);
        let mut last: &[u8] = &[];
        for run in sorted.chunk_by(|a, b| literal(a) == literal(b)) {
            let next = run.first().map_or(last, literal);
            builder.add(run, index(common(last, next)), shadow);
            last = next;
        }
        let depth = entries.iter().map(|entry| entry.pattern.prefix.len()).max().unwrap_or(0) + 1;
        builder.finish();
        let TrieBuilder { nodes, keys, ends, left, .. } = builder;
        (Self { nodes: nodes.into(), keys: keys.into(), ends: ends.into(), depth }, left)
    }

    pub(super) fn has_hung(&self) -> bool {
        self.ends.iter().any(|end| !end.hung.is_empty())
    }

    /// The best rule on the way that `target` leads, hanging ones included.
    pub(super) fn search(&self, texts: Texts<'_>, target: &ComparableTarget<'_>) -> Choice {
        let mut passed: [&[IndexedRule]; MOST_ON_PATH] = [&[]; MOST_ON_PATH];
        let mut hooks = 0;
        let mut best = Choice::NONE;
        let mut rest = target.bytes();
        let mut here = self.nodes.last();
        while let Some(node) = here {
            let Some(after) = rest.strip_prefix(texts.get(node.label)) else { break };
            rest = after;
            best = node.open;
            if let Some(end) = self.end(node) {
                if let Some(slot) = passed.get_mut(hooks).filter(|_| !end.hung.is_empty()) {
                    *slot = &end.hung;
                    hooks += 1;
                }
                if rest.is_empty() {
                    best = best.max(end.exact);
                }
            }
            here = rest.first().and_then(|&byte| self.child(node, byte));
        }
        // The deepest first: its rules are the likeliest to be the most specific.
        let passed = passed.get(..hooks).unwrap_or_default();
        passed.iter().rev().fold(best, |best, hung| entry::first_match(hung, texts, target, best))
    }

    fn child(&self, node: &TrieNode, byte: u8) -> Option<&TrieNode> {
        let first = node.child as usize;
        let keys = self.keys.get(first..first + usize::from(node.children))?;
        // Counting has no branch to mispredict, and many bytes are compared at once.
        let place = usize::from(keys.iter().map(|&key| u16::from(key < byte)).sum::<u16>());
        self.nodes.get(first + place).filter(|_| keys.get(place) == Some(&byte))
    }

    fn end(&self, node: &TrieNode) -> Option<&NodeEnd> {
        self.ends.get(node.end.checked_sub(1)? as usize)
    }
}

/// A node that may yet get children.
#[derive(Clone, Copy, Debug, Default)]
struct OpenNode {
    node: TrieNode,
    /// Its literal from the start.
    literal: TextSpan,
    /// Rules that hang on it and on the nodes above.
    hanging: usize,
}

/// Takes literals in ascending order. A node is complete when the first literal comes that does not
/// start with its own, and is stored together with its siblings when their parent is.
#[derive(Default)]
struct TrieBuilder<'b> {
    texts: Texts<'b>,
    nodes: Vec<TrieNode>,
    keys: Vec<u8>,
    ends: Vec<NodeEnd>,
    left: Vec<IndexedRule>,
    /// The nodes from the root to the current literal.
    open: Vec<OpenNode>,
    /// Complete nodes whose parents are open, children of the deeper parent last.
    complete: Vec<TrieNode>,
}

impl TrieBuilder<'_> {
    /// Adds rules of one literal, which has `shared` bytes in common with the one before.
    fn add(&mut self, rules: &[IndexedRule], shared: u32, shadow: &mut Shadow) {
        self.close_below(shared);
        let Some(parent) = self.open.last().copied() else { return };
        let literal = rules.first().map(|rule| rule.pattern.prefix).unwrap_or_default();
        let mut node = TrieNode { open: parent.node.open, ..TrieNode::default() };
        let mut end = NodeEnd::default();
        let mut hung = Vec::new();
        for rule in rules {
            match (rule.pattern.pieces.1, rule.pattern.anchored) {
                (0, false) => node.open = node.open.max(rule.choice),
                (0, true) => end.exact = end.exact.max(rule.choice),
                _ => hung.push(*rule),
            }
        }
        shadow.same_literal(rules, node.open, end.exact);
        if hung.len() > MOST_HERE || parent.hanging + hung.len() > MOST_ON_PATH {
            self.left.append(&mut hung);
        }
        let hanging = parent.hanging + hung.len();
        if end.exact != Choice::NONE || !hung.is_empty() {
            hung.sort_unstable_by_key(|entry| Reverse(entry.choice));
            end.hung = hung.into();
            self.ends.push(end);
            node.end = index(self.ends.len());
        }
        let open = OpenNode { node, literal, hanging };
        match self.open.last_mut() {
            // The empty literal: the root itself.
            Some(root) if literal.len() == 0 => *root = open,
            _ => self.open.push(open),
        }
    }

    /// Completes all open nodes deeper than `depth`, and leaves one of that depth open.
    fn close_below(&mut self, depth: u32) {
        while let Some(last) = self.open.pop_if(|open| index(open.literal.len()) > depth) {
            let parent = self.open.last().copied().unwrap_or_default();
            let above = index(parent.literal.len()).max(depth);
            if above > index(parent.literal.len()) {
                // The literals part within an edge: a node without rules of its own.
                let node = TrieNode { open: parent.node.open, ..TrieNode::default() };
                let literal = TextSpan { start: last.literal.start, end: last.literal.start + above };
                self.open.push(OpenNode { node, literal, hanging: parent.hanging });
            }
            let mut node = last.node;
            node.label = TextSpan { start: last.literal.start + above, end: last.literal.end };
            node.child = index(self.nodes.len());
            self.store(usize::from(node.children));
            self.complete.push(node);
            if let Some(parent) = self.open.last_mut() {
                parent.node.children += 1;
            }
        }
    }

    /// Completes the tree; the root is stored last.
    fn finish(&mut self) {
        self.close_below(0);
        if let Some(OpenNode { mut node, .. }) = self.open.pop() {
            node.child = index(self.nodes.len());
            self.store(usize::from(node.children));
            self.nodes.push(node);
            self.keys.push(0);
        }
    }

    /// Stores the last `count` complete nodes beside each other.
    fn store(&mut self, count: usize) {
        let first = self.complete.len().saturating_sub(count);
        for node in self.complete.drain(first..) {
            self.keys.push(self.texts.get(node.label).first().copied().unwrap_or_default());
            self.nodes.push(node);
        }
    }
}

/// How many bytes two literals have in common.
fn common(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    let (a, b) = (a.get(blocks..).unwrap_or_default(), b.get(blocks..).unwrap_or_default());
    blocks + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
