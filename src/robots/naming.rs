//! Which group a product token selects (RFC 9309 section 2.2.1): names without regard to case,
//! and groups that name the same token combined into one.

use super::parse::{Agent, Block};
use super::pattern::index;
use super::token::{self, Named};
use std::collections::HashMap;

/// A product token of the file and the group it selects.
#[derive(Clone, Debug)]
struct Name {
    text: Box<str>,
    group: u32,
}

/// The names of a file and the blocks each of them combines.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming {
    /// In the order of their first mention.
    names: Vec<Name>,
    /// Positions in `names` by [`token::key`], then by the whole lower-cased name.
    sorted: Vec<(u64, u32)>,
    everyone: Option<u32>,
    /// The blocks of each group, in the order of the file.
    groups: Vec<Box<[u32]>>,
}

impl Naming {
    pub(super) fn new(source: &[u8], blocks: &[Block], agents: &[Agent]) -> Self {
        let mut mentions = Mentions::default();
        for (number, block) in blocks.iter().enumerate() {
            let range = block.agents.start as usize..block.agents.end as usize;
            for agent in agents.get(range).unwrap_or_default() {
                match token::named(agent.value(source)) {
                    Named::Everyone => push(&mut mentions.everyone, index(number)),
                    Named::Crawler(first, second) => {
                        for name in first.into_iter().chain(second) {
                            mentions.add(name, index(number));
                        }
                    }
                    Named::Nobody => {}
                }
            }
        }
        mentions.finish()
    }

    /// The position of the group of `name`, and of the name.
    pub(super) fn find(&self, name: &[u8]) -> Option<(u32, u32)> {
        let key = token::key(name);
        let first = self.sorted.partition_point(|&(other, _)| other < key);
        let same = self.sorted.get(first..)?;
        if same.first().is_none_or(|&(other, _)| other != key) {
            return None;
        }
        let same = same.get(..same.partition_point(|&(other, _)| other == key))?;
        let compare = |&(_, at): &(u64, u32)| {
            let other = self.names.get(at as usize).map_or(&[][..], |name| name.text.as_bytes());
            let lower = |b: &u8| b.to_ascii_lowercase();
            other.iter().map(lower).cmp(name.iter().map(lower))
        };
        let (_, at) = same.get(same.binary_search_by(compare).ok()?)?;
        Some((self.names.get(*at as usize)?.group, *at))
    }

    pub(super) const fn everyone(&self) -> Option<u32> {
        self.everyone
    }

    pub(super) fn text(&self, at: u32) -> &str {
        self.names.get(at as usize).map_or("", |name| &name.text)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &*name.text)
    }

    /// The blocks of every group; a group's number is its place.
    pub(super) fn groups(&self) -> &[Box<[u32]>] {
        &self.groups
    }

    pub(super) fn blocks(&self, group: u32) -> &[u32] {
        self.groups.get(group as usize).map_or(&[], |blocks| blocks)
    }
}

/// Who is named in which blocks, while the blocks are read.
#[derive(Default)]
struct Mentions<'b> {
    everyone: Vec<u32>,
    order: Vec<(&'b str, Vec<u32>)>,
    places: HashMap<Vec<u8>, usize>,
}

impl<'b> Mentions<'b> {
    fn add(&mut self, name: &'b str, block: u32) {
        let next = self.order.len();
        let place = *self.places.entry(name.as_bytes().to_ascii_lowercase()).or_insert(next);
        if place == next {
            self.order.push((name, Vec::new()));
        }
        if let Some((_, blocks)) = self.order.get_mut(place) {
            push(blocks, block);
        }
    }

    fn finish(self) -> Naming {
        let mut naming = Naming::default();
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut group = |blocks: Vec<u32>, groups: &mut Vec<Box<[u32]>>| {
            *known.entry(blocks).or_insert_with_key(|blocks| {
                groups.push(blocks.clone().into_boxed_slice());
                index(groups.len() - 1)
            })
        };
        if !self.everyone.is_empty() {
            naming.everyone = Some(group(self.everyone, &mut naming.groups));
        }
        for (name, blocks) in self.order {
            let group = group(blocks, &mut naming.groups);
            naming.names.push(Name { text: name.into(), group });
        }
        let key = |(at, name): (usize, &Name)| (token::key(name.text.as_bytes()), index(at));
        let mut sorted: Vec<(u64, u32)> = naming.names.iter().enumerate().map(key).collect();
        let lower = |at: u32| naming.text(at).to_ascii_lowercase();
        sorted.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| lower(a.1).cmp(&lower(b.1))));
        naming.sorted = sorted;
        naming
    }
}

/// A block that names a token twice counts once.
fn push(blocks: &mut Vec<u32>, block: u32) {
    if blocks.last() != Some(&block) {
        blocks.push(block);
    }
}
