//! From groups to compiled rules: which lines are compiled together.
//!
//! A group combines every part of the file that names its token (RFC 9309 section 2.2.1). Combining
//! is done beforehand, so that a decision is one search. A file can be written in which thousands of
//! tokens each combine thousands of rules, or one rule of half a megabyte; such groups keep their
//! parts apart, so that memory and time stay in proportion to the file, and a decision about them
//! searches one part after the other.

use super::index::{Index, IndexedRule, Shadow};
use super::matcher::ComparableTarget;
use super::naming::GroupList;
use super::parse::ParsedFile;
use super::pattern::{Texts, index};
use super::rule::RuleRecord;
use super::symbol;

/// How often the rules of a file may be combined, all in all.
const COPIES: usize = 8;

/// Work of combining that any file may cause.
const SPARE: usize = 4096 * RULE;

/// What a rule costs beside its bytes: they, and with them its pieces, are looked at each time it is
/// compiled.
const RULE: usize = 64;

/// The compiled rules of every group.
#[derive(Clone, Debug, Default)]
pub(super) struct Compiled {
    pub(super) index: Index,
    groups: Vec<CompiledGroup>,
    /// The sets of every group, one group after the other.
    sets: Vec<u32>,
}

/// What decides for one group.
#[derive(Clone, Copy, Debug, Default)]
struct CompiledGroup {
    /// First and last of its sets.
    start: u32,
    end: u32,
    /// How much of a target they look at.
    reach: usize,
}

impl Compiled {
    pub(super) fn new(
        groups: &GroupList,
        file: &ParsedFile,
        entries: &[Option<IndexedRule>],
        texts: Texts<'_>,
    ) -> (Self, Shadow) {
        let mut shadow = Shadow::default();
        let mut compiled = Self { groups: vec![CompiledGroup::default(); groups.len()], ..Self::default() };
        let mut apart: Vec<Option<u32>> = vec![None; file.blocks.len()];
        let mut budget = work(&file.rules) * COPIES + SPARE;
        // Groups of the most parts gain the most from being combined.
        let mut order: Vec<u32> = (0..index(groups.len())).collect();
        order.sort_by_key(|&group| std::cmp::Reverse(groups.blocks(group).len()));
        let rules = |block: u32| file.blocks.get(block as usize).map_or(0..0, |block| block.rules.clone());
        for group in order {
            let parts = groups.blocks(group);
            let size = parts.iter().map(|&block| work(file.rules_of(block))).sum::<usize>();
            let start = index(compiled.sets.len());
            if parts.len() > 1 && size <= budget {
                budget -= size;
                let all = parts.iter().flat_map(|&block| rules(block));
                let set = compiled.index.add(all, entries, texts, &mut shadow);
                compiled.sets.push(set);
            } else {
                for &block in parts {
                    let Some(known) = apart.get_mut(block as usize) else { continue };
                    let set = *known
                        .get_or_insert_with(|| compiled.index.add(rules(block), entries, texts, &mut shadow));
                    compiled.sets.push(set);
                }
            }
            let end = index(compiled.sets.len());
            let reach = compiled.sets(start, end).map(|set| compiled.index.reach(set)).max().unwrap_or(0);
            if let Some(slot) = compiled.groups.get_mut(group as usize) {
                *slot = CompiledGroup { start, end, reach };
            }
        }
        (compiled, shadow)
    }

    fn sets(&self, start: u32, end: u32) -> impl Iterator<Item = u32> {
        self.sets.get(start as usize..end as usize).unwrap_or_default().iter().copied()
    }

    /// The position of the rule that decides about `target` for `group`.
    pub(super) fn search(&self, group: u32, texts: Texts<'_>, target: &[u8]) -> Option<u32> {
        let parts = self.groups.get(group as usize)?;
        symbol::with_symbols(target, parts.reach, |bytes| {
            let target = ComparableTarget::new(bytes);
            let sets = self.sets(parts.start, parts.end);
            let best = sets.map(|set| self.index.search(set, texts, &target)).max().unwrap_or_default();
            self.index.decide_deferred(texts, &target, best).rule()
        })
    }
}

/// What compiling `records` once costs, in bytes or what costs as much.
fn work(records: &[RuleRecord]) -> usize {
    records.iter().map(|record| (record.end - record.value) as usize + RULE).sum()
}
