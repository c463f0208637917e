//! The rules of a group, compiled so that a decision costs the same whatever their number.
//!
//! A pattern is a literal, then perhaps pieces with `*` between them (RFC 9309 section 2.2.3). The
//! literals of a group form a prefix tree. Rules with pieces hang on the tree where few share their
//! literal; the others are found by bytes of their pieces. Groups of a few rules are a plain list.
//!
//! No regular expressions, no backtracking, and no allocation in a search: the caller alone may
//! allocate, for the comparable form of a long target. A search is one walk down the tree, at most
//! sixteen checks of rules that hang on the way, and one pass over the target for each of a handful
//! of tables. Beyond that, a rule is checked only when bytes of it occur in the target: once, in
//! time linear in the target.
//!
//! Checks and passes are counted. A file can be written of which one target holds the bytes of every
//! rule and matches none; there, or where a group has many parts that are searched one after the
//! other, rules are put off when the target was read often enough, and then tried together in one
//! pass. So a search takes at most a constant times *n* (log *N* + √*N* / 64) + *N* steps, for a target
//! of *n* bytes and patterns of *N* bytes:
//!
//! - Walks down the trees read each literal once: at most *N*.
//! - Rules that are checked one by one, and tables, read 8 *n* + 32 KiB bytes, and then no more but
//!   for the one that is under way.
//! - A rule is put off once, after a look at its literal: at most *N*.
//! - What was put off takes one sweep, whose bound stands in `sweep`.

mod automaton;
mod choose;
mod entry;
mod gram;
mod lookup;
mod sweep;
mod trie;

pub(super) use entry::{Choice, IndexedRule, Shadow};
pub(super) use sweep::Deferred;

use super::matcher::ComparableTarget;
use super::pattern::{Texts, index};
use lookup::Lookup;
use std::cmp::Reverse;
use std::sync::OnceLock;
use sweep::Vocabulary;
use trie::Trie;

/// A file whose pieces hold so many bytes has its automaton made at once, so that no decision has to
/// wait for it: that would take milliseconds.
const MUCH: usize = 32 * 1024;

/// Up to this many rules a list is faster than a tree.
const SHORT: usize = 8;

/// The compiled rules of many groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// With each set, how much of a target a search of it looks at.
    sets: Vec<(RuleSet, usize)>,
    /// The rules of short groups, each in the order in which they win.
    lists: Vec<IndexedRule>,
    trees: Vec<Tree>,
    /// Of all pieces of the file, made when it is first needed.
    vocabulary: OnceLock<Box<Vocabulary>>,
}

/// The compiled rules of one group, or of one part of it.
#[derive(Clone, Copy, Debug)]
enum RuleSet {
    /// A range of the lists.
    List(u32, u32),
    Tree(u32),
}

/// The rules of a large group.
#[derive(Clone, Debug)]
struct Tree {
    trie: Trie,
    lookup: Lookup,
}

impl Index {
    /// Compiles the rules at `positions` of `rules`; the number of the set they make. A position holds
    /// none where the rule can match nothing.
    pub(super) fn add(
        &mut self,
        positions: impl Iterator<Item = u32>,
        rules: &[Option<IndexedRule>],
        texts: Texts<'_>,
        shadow: &mut Shadow,
    ) -> u32 {
        let first = self.lists.len();
        self.lists.extend(positions.filter_map(|at| rules.get(at as usize).copied().flatten()));
        let rules = self.lists.get_mut(first..).unwrap_or_default();
        if rules.len() <= SHORT {
            rules.sort_unstable_by_key(|entry| Reverse(entry.choice));
            shadow.list(rules, texts);
            let literal = rules.iter().all(|rule| rule.pattern.pieces.1 == 0);
            let longest = rules.iter().map(|rule| rule.pattern.prefix.len()).max().unwrap_or(0);
            let reach = if literal { longest + 1 } else { usize::MAX };
            self.sets.push((RuleSet::List(index(first), index(self.lists.len())), reach));
        } else {
            let (trie, left) = Trie::new(rules, texts, shadow);
            self.lists.truncate(first);
            let is_literal = left.is_empty() && !trie.has_hung();
            let reach = if is_literal { trie.depth } else { usize::MAX };
            self.sets.push((RuleSet::Tree(index(self.trees.len())), reach));
            self.trees.push(Tree { trie, lookup: Lookup::new(left, texts) });
        }
        index(self.sets.len() - 1)
    }

    /// How much of a target a search of `set` looks at, in bytes of its comparable form.
    pub(super) fn reach(&self, set: u32) -> usize {
        self.sets.get(set as usize).map_or(0, |(_, reach)| *reach)
    }

    /// To be called when all sets are known, with the final `texts`.
    pub(super) fn finish(&mut self, texts: Texts<'_>) {
        if texts.pieces.iter().map(|piece| piece.text.len()).sum::<usize>() >= MUCH {
            self.vocabulary.get_or_init(|| Vocabulary::new(texts).into());
        }
    }

    /// The better of `best` and the best of the rules that searches with `target` put off.
    pub(super) fn decide_deferred(
        &self,
        texts: Texts<'_>,
        target: &ComparableTarget<'_>,
        best: Choice,
    ) -> Choice {
        if !target.is_spent() {
            return best;
        }
        let deferred = target.deferred.take();
        if deferred.is_empty() {
            return best;
        }
        let vocabulary = self.vocabulary.get_or_init(|| Vocabulary::new(texts).into());
        sweep::sweep(vocabulary, deferred, texts, target, best)
    }

    /// The rule of `set` that decides about `target`, but for rules that were put off.
    pub(super) fn search(&self, set: u32, texts: Texts<'_>, target: &ComparableTarget<'_>) -> Choice {
        match self.sets.get(set as usize).map(|(set, _)| *set) {
            None => Choice::NONE,
            Some(RuleSet::List(start, end)) => {
                let rules = self.lists.get(start as usize..end as usize).unwrap_or_default();
                entry::first_match(rules, texts, target, Choice::NONE)
            }
            Some(RuleSet::Tree(tree)) => self.trees.get(tree as usize).map_or(Choice::NONE, |tree| {
                let best = tree.trie.search(texts, target);
                tree.lookup.search(texts, target, best)
            }),
        }
    }
}
