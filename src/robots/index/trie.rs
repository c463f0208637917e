//! A prefix tree over the literals that patterns start with, with runs of single children merged.
//!
//! Every node knows the best rule among those that end at it or above it, so a walk needs only the
//! last node it reached. Rules with more to check hang on the node their literal ends at.

use super::choice::Choice;
use super::wild::{self, Wild};
use crate::robots::pattern::{Pool, Span, index};
use std::ops::Range;

/// A rule to be entered: its literal, and what its end means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// The literal, in the bytes the tree is built from.
    pub(super) prefix: Span,
    pub(super) choice: Choice,
    pub(super) end: End,
}

/// What follows the literal of a pattern.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// Anything.
    Open,
    /// The end of the target.
    Exact,
    /// More pieces.
    Wild(Wild),
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// The best open rule that ends here or above.
    open: Choice,
    /// The best rule that matches a target that ends here.
    exact: Choice,
    label: u32,
    length: u32,
    /// Its children are neighbours in ascending order of their first octet.
    child: u32,
    children: u16,
    /// Whether rules hang here.
    hung: bool,
}

/// The tree of one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Trie {
    nodes: Box<[Node]>,
    /// The first octet of every node's label, beside the nodes.
    keys: Box<[u8]>,
    labels: Box<[u8]>,
    /// Nodes with rules hanging on them, ascending, and the start of their rules.
    hooks: Box<[(u32, u32)]>,
    hung: Box<[Wild]>,
    /// No walk needs to see more octets than this.
    depth: usize,
}

/// Rules that may hang on one node, and on all nodes of one path. What hangs is checked whenever
/// the node is passed, so this bounds the work.
const MOST_HERE: usize = 4;
const MOST_ON_PATH: usize = 16;

/// What is left to do for a node: which items pass through it, how much of them its ancestors hold.
struct Task {
    items: Range<usize>,
    depth: usize,
    node: usize,
    hanging: usize,
    open: Choice,
}

impl Trie {
    /// Builds the tree of `items`, whose literals are in `bytes`. Returns the rules that found no
    /// place on it because too many share their literal.
    pub(super) fn new(items: &mut [Item], bytes: &[u8]) -> (Self, Vec<Wild>) {
        let mut builder = Builder { nodes: vec![Node::default()], keys: vec![0], ..Builder::default() };
        builder.queue.push(Task { items: 0..items.len(), depth: 0, node: 0, hanging: 0, open: Choice::NONE });
        // Breadth first, so that the children of a node are neighbours.
        let mut next = 0;
        while let Some(task) = builder.queue.get_mut(next).map(std::mem::take) {
            next += 1;
            builder.node(items, bytes, &task);
        }
        let depth = items.iter().map(|item| item.prefix.len()).max().unwrap_or(0) + 1;
        let Builder { nodes, keys, labels, hooks, hung, left, .. } = builder;
        let (nodes, keys, labels) = (nodes.into(), keys.into(), labels.into());
        (Self { nodes, keys, labels, hooks: hooks.into(), hung: hung.into(), depth }, left)
    }

    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    pub(super) const fn has_hung(&self) -> bool {
        !self.hung.is_empty()
    }

    /// The best rule on the way that `target` leads, hanging ones included.
    pub(super) fn search(&self, pool: &Pool, target: &[u8]) -> Choice {
        let mut passed = [0_u32; MOST_ON_PATH];
        let mut hooks = 0;
        let mut best = Choice::NONE;
        let mut at = 0_usize;
        let mut here = 0_u32;
        while let Some(node) = self.nodes.get(here as usize) {
            let end = at + node.length as usize;
            let label = self.labels.get(node.label as usize..(node.label + node.length) as usize);
            if target.get(at..end) != label {
                break;
            }
            at = end;
            best = node.open;
            if node.hung {
                if let Some(slot) = passed.get_mut(hooks) {
                    *slot = here;
                }
                hooks += 1;
            }
            let Some(&octet) = target.get(at) else {
                best = best.max(node.exact);
                break;
            };
            let Some(child) = self.child(node, octet) else { break };
            here = child;
        }
        // The deepest first: its rules are the likeliest to be the most specific.
        let passed = passed.get(..hooks).unwrap_or_default();
        passed.iter().rev().fold(best, |best, &node| wild::first_match(self.hung(node), pool, target, best))
    }

    fn child(&self, node: &Node, octet: u8) -> Option<u32> {
        let first = node.child as usize;
        let keys = self.keys.get(first..first + usize::from(node.children))?;
        // Counting has no branch to mispredict, and many octets are compared at once.
        let place = keys.iter().map(|&key| usize::from(key < octet)).sum::<usize>();
        (keys.get(place) == Some(&octet)).then(|| node.child + index(place))
    }

    fn hung(&self, node: u32) -> &[Wild] {
        let place = self.hooks.partition_point(|hook| hook.0 < node);
        let start = self.hooks.get(place).map_or(0, |hook| hook.1);
        let end = self.hooks.get(place + 1).map_or(index(self.hung.len()), |hook| hook.1);
        self.hung.get(start as usize..end as usize).unwrap_or_default()
    }
}

impl Default for Task {
    fn default() -> Self {
        Self { items: 0..0, depth: 0, node: 0, hanging: 0, open: Choice::NONE }
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    keys: Vec<u8>,
    labels: Vec<u8>,
    hooks: Vec<(u32, u32)>,
    hung: Vec<Wild>,
    left: Vec<Wild>,
    queue: Vec<Task>,
}

impl Builder {
    fn node(&mut self, items: &mut [Item], bytes: &[u8], task: &Task) {
        let Some(items) = items.get_mut(task.items.clone()) else { return };
        let shared = shared(items, bytes, task.depth);
        let depth = task.depth + shared.len();
        let mut node = Node {
            label: index(self.labels.len()),
            length: index(shared.len()),
            open: task.open,
            child: index(self.nodes.len()),
            ..Node::default()
        };
        self.labels.extend_from_slice(shared);
        let key = |item: &Item| item.prefix.of(bytes).get(depth).map_or(0, |&octet| u16::from(octet) + 1);
        items.sort_unstable_by_key(key);
        let ending = items.partition_point(|item| item.prefix.len() == depth);
        let (here, below) = items.split_at(ending);
        let hanging = task.hanging + self.end(&mut node, here, task);
        let mut start = task.items.start + ending;
        for run in below.chunk_by(|a, b| key(a) == key(b)) {
            let child = Node::default();
            let octet = run.first().and_then(|item| item.prefix.of(bytes).get(depth));
            let task = Task {
                items: start..start + run.len(),
                depth,
                node: self.nodes.len(),
                hanging,
                open: node.open,
            };
            start += run.len();
            self.queue.push(task);
            self.nodes.push(child);
            self.keys.push(octet.copied().unwrap_or_default());
            node.children += 1;
        }
        if let Some(slot) = self.nodes.get_mut(task.node) {
            *slot = node;
        }
    }

    /// Enters the rules whose literal ends at `node`; how many of them hang there.
    fn end(&mut self, node: &mut Node, here: &[Item], task: &Task) -> usize {
        let mut wilds = Vec::new();
        for item in here {
            match item.end {
                End::Open => node.open = node.open.max(item.choice),
                End::Exact => node.exact = node.exact.max(item.choice),
                End::Wild(wild) => wilds.push(wild),
            }
        }
        if wilds.is_empty() {
            return 0;
        }
        if wilds.len() > MOST_HERE || task.hanging + wilds.len() > MOST_ON_PATH {
            self.left.append(&mut wilds);
            return 0;
        }
        node.hung = true;
        wilds.sort_unstable_by(|a, b| b.choice.cmp(&a.choice));
        self.hooks.push((index(task.node), index(self.hung.len())));
        self.hung.extend_from_slice(&wilds);
        wilds.len()
    }
}

/// What all `items` have in common after their first `depth` octets.
fn shared<'b>(items: &[Item], bytes: &'b [u8], depth: usize) -> &'b [u8] {
    let rest = |item: &Item| item.prefix.of(bytes).get(depth..).unwrap_or_default();
    let Some((first, others)) = items.split_first() else { return &[] };
    let mut common = rest(first);
    for other in others {
        let same = common.iter().zip(rest(other)).take_while(|(a, b)| a == b).count();
        common = common.get(..same).unwrap_or_default();
        if common.is_empty() {
            break;
        }
    }
    common
}
