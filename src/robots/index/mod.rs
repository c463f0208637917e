//! The rules of a group, compiled so that a decision costs the same whatever their number.
//!
//! A pattern is a literal, then perhaps pieces with `*` between them (RFC 9309 section 2.2.3). The
//! literals of a group form a prefix tree. Rules with pieces hang on the tree where few share their
//! literal; the others are found by octets of their pieces. Groups of a few rules are a plain list.
//!
//! No regular expressions, no backtracking, and no allocation in a search.

mod choice;
mod choose;
mod gram;
mod trie;
mod wild;

pub(super) use choice::Choice;
pub(super) use wild::matches;

use super::pattern::{Pattern, Pool};
use super::rule::RuleRecord;
use choose::Lookup;
use trie::{End, Item, Trie};
use wild::Wild;

/// Up to this many rules a list is faster than a tree.
const SHORT: usize = 8;

/// The compiled rules of one group, or of one part of it.
#[derive(Clone, Debug)]
pub(super) enum Set {
    /// In the order in which rules win.
    List(Box<[Wild]>),
    Tree(Box<Tree>),
}

/// The rules of a large group.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    trie: Trie,
    lookup: Lookup,
}

impl Set {
    /// Compiles the rules at `positions` of `records`. Patterns that are searched at decision time
    /// are kept in `pool`.
    pub(super) fn new(
        positions: impl Iterator<Item = u32>,
        records: &[RuleRecord],
        source: &[u8],
        pool: &mut Pool,
    ) -> Self {
        let mut rules: Vec<(Choice, &[u8])> = positions
            .filter_map(|at| Some((at, *records.get(at as usize)?)))
            .filter(|(_, record)| record.octets > 0)
            .map(|(at, record)| (Choice::new(record.rank(), at), record.view(source).pattern))
            .collect();
        if rules.len() <= SHORT {
            rules.sort_unstable_by_key(|rule| std::cmp::Reverse(rule.0));
            let wild = |(choice, raw): (Choice, &[u8])| Wild { choice, pattern: pool.add(raw) };
            return Self::List(rules.into_iter().map(wild).collect());
        }
        let mut bytes = Pool::default();
        let mut items: Vec<Item> = rules.into_iter().map(|rule| item(rule, pool, &mut bytes)).collect();
        let (trie, left) = Trie::new(&mut items, &bytes.bytes);
        let lookup = choose::lookup(left, pool);
        Self::Tree(Box::new(Tree { trie, lookup }))
    }

    /// How much of a target a search looks at, in octets of its comparable form.
    pub(super) fn reach(&self) -> usize {
        match self {
            Self::Tree(tree) if tree.is_literal() => tree.trie.depth(),
            _ => usize::MAX,
        }
    }

    /// The rule that decides about `target`, which is in comparable form.
    pub(super) fn search(&self, pool: &Pool, target: &[u8]) -> Choice {
        match self {
            Self::List(rules) => wild::first_match(rules, pool, target, Choice::NONE),
            Self::Tree(tree) => tree.search(pool, target),
        }
    }
}

impl Tree {
    fn is_literal(&self) -> bool {
        !self.trie.has_hung() && self.lookup.always.is_empty() && self.lookup.tables.is_empty()
    }

    fn search(&self, pool: &Pool, target: &[u8]) -> Choice {
        let best = self.trie.search(pool, target);
        let best = wild::first_match(&self.lookup.always, pool, target, best);
        self.lookup.tables.iter().fold(best, |best, table| table.search(pool, target, best))
    }
}

/// The item of a rule; its literal goes to `bytes`, and what is searched later to `pool`.
fn item((choice, raw): (Choice, &[u8]), pool: &mut Pool, bytes: &mut Pool) -> Item {
    let pattern = bytes.add(raw);
    let Pattern { prefix, pieces, anchored } = pattern;
    if pieces.1 == 0 {
        let end = if anchored { End::Exact } else { End::Open };
        return Item { prefix, choice, end };
    }
    Item { prefix, choice, end: End::Wild(Wild { choice, pattern: pool.add(raw) }) }
}
