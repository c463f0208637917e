//! Finding the rules with `*` that match a target without trying them all.
//!
//! Every rule is entered under bytes that a target must contain for the rule to match. Only rules
//! whose bytes occur are checked, each once, and none that could not win.

use super::choose::GramCounts;
use super::entry::{Choice, IndexedRule};
use super::gram::{GramPosition, Grams, NumberSet, STRIDE};
use crate::robots::matcher::ComparableTarget;
use crate::robots::pattern::{Texts, index};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

/// The rules of one group that share their literal with too many to hang on the tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    /// In the order in which they win; a rule's number is its place.
    rules: Box<[IndexedRule]>,
    /// One table for each place and width in use.
    tables: Vec<Grams>,
    /// Rules without any usable bytes, or too few to be worth a table.
    always: Vec<u32>,
    /// Log2 of how many rules share a mark.
    share: u32,
}

/// A table for fewer rules would cost more than it saves.
const FEW: usize = 3;

impl Lookup {
    pub(super) fn new(mut rules: Vec<IndexedRule>, texts: Texts<'_>) -> Self {
        rules.sort_unstable_by_key(|rule| Reverse(rule.choice));
        let mut always = Vec::new();
        let mut tables: BTreeMap<(GramPosition, usize), Vec<(u64, u32)>> = BTreeMap::new();
        let counts = if rules.len() > FEW { Some(GramCounts::new(&rules, texts)) } else { None };
        for (&rule, number) in rules.iter().zip(0..) {
            match counts.as_ref().and_then(|counts| counts.rarest(rule, texts)) {
                None => always.push(number),
                Some(found) => {
                    let table = tables.entry((found.place, found.width)).or_default();
                    table.extend(found.grams().map(|gram| (gram, number)));
                }
            }
        }
        let mut kept = Vec::new();
        for ((place, width), entries) in tables {
            let few = match place {
                GramPosition::End => 0,
                GramPosition::Every => FEW,
                GramPosition::Fourth => FEW * STRIDE,
            };
            if entries.len() <= few {
                always.extend(entries.into_iter().map(|(_, number)| number));
            } else {
                kept.push(Grams::new(place, width, entries));
            }
        }
        always.sort_unstable();
        always.dedup();
        let mut known = HashSet::new();
        always.retain(|&number| {
            rules.get(number as usize).is_some_and(|rule| known.insert(rule.literals(texts)))
        });
        let share = NumberSet::share(rules.len());
        Self { rules: rules.into(), tables: kept, always, share }
    }

    /// The better of `best` and the best rule here that matches.
    pub(super) fn search(&self, texts: Texts<'_>, target: &ComparableTarget<'_>, best: Choice) -> Choice {
        if self.rules.first().is_none_or(|rule| rule.choice <= best) {
            return best;
        }
        if target.is_spent() {
            return super::entry::first_match(&self.rules, texts, target, best);
        }
        let mut search = Search { lookup: self, texts, target, best, marks: NumberSet::default() };
        for &number in &self.always {
            search.check(number, number);
        }
        for table in &self.tables {
            target.spend(table.places(target.bytes().len()));
            table.scan(target.bytes(), |row| search.row(row));
        }
        search.best
    }
}

struct Search<'s> {
    lookup: &'s Lookup,
    texts: Texts<'s>,
    target: &'s ComparableTarget<'s>,
    best: Choice,
    marks: NumberSet,
}

impl Search<'_> {
    /// Checks rules that were not checked before.
    fn row(&mut self, row: &[u32]) {
        for &number in row {
            let Some(rule) = self.lookup.rules.get(number as usize) else { return };
            if rule.choice <= self.best {
                return;
            }
            // Most rules of other parts of the site need no mark.
            if rule.starts(self.texts, self.target.bytes())
                && self.marks.set((number >> self.lookup.share) as usize)
            {
                // Rules that share the mark count as checked, so they are.
                let first = number >> self.lookup.share << self.lookup.share;
                self.check(first, first + (1 << self.lookup.share) - 1);
            }
        }
    }

    /// Checks the rules from `first` to `last`.
    fn check(&mut self, first: u32, last: u32) {
        let size = index(self.lookup.rules.len());
        let rules = self.lookup.rules.get(first as usize..=last.min(size.saturating_sub(1)) as usize);
        self.best = super::entry::first_match(rules.unwrap_or_default(), self.texts, self.target, self.best);
    }
}
