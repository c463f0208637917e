//! Which group a product token selects (RFC 9309 section 2.2.1): names without regard to case,
//! and groups that name the same token combined into one.

use super::parse::ParsedFile;
use super::pattern::index;
use super::token::{self, Named};
use std::cmp::Ordering;
use std::collections::HashMap;

/// A product token of the file and the group it selects.
#[derive(Clone, Copy, Debug)]
struct NamedGroup {
    /// Where its first mention stands in the file.
    start: u32,
    end: u32,
    group: u32,
}

impl NamedGroup {
    fn bytes(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The names of a file and the blocks each of them combines.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming {
    /// In the order of their first mention.
    names: Vec<NamedGroup>,
    /// Positions in `names`, by the length of the name, and then by the name in lower case.
    sorted: Vec<u32>,
    pub(super) everyone: Option<u32>,
    /// The blocks that each group combines; a group's number is its place.
    pub(super) groups: Vec<Box<[u32]>>,
}

/// One name in one block.
#[derive(Clone, Copy)]
struct Mention<'b> {
    name: &'b [u8],
    start: u32,
    block: u32,
}

impl Naming {
    pub(super) fn new(source: &[u8], file: &ParsedFile) -> Self {
        let mut everyone = Vec::new();
        let mut mentions = Vec::with_capacity(file.agents.len());
        for number in 0..index(file.blocks.len()) {
            for agent in file.agents_of(number) {
                match token::named(agent.value(source)) {
                    Named::Everyone => push(&mut everyone, number),
                    Named::Crawler(first, second) => {
                        let names = std::iter::once(first).chain(second);
                        let mention = |name| Mention { name, start: agent.start, block: number };
                        mentions.extend(names.map(mention));
                    }
                    Named::Nobody => {}
                }
            }
        }
        mentions.sort_by(|a, b| compare(a.name, b.name));
        Self::combine(source, &everyone, &mentions)
    }

    /// `mentions` are in the order of their names, and those of one name in the order of the file.
    fn combine(source: &[u8], everyone: &[u32], mentions: &[Mention<'_>]) -> Self {
        let mut numbers = HashMap::new();
        let mut group_of = |blocks: &[u32]| {
            let next = index(numbers.len());
            *numbers.entry(Box::from(blocks)).or_insert(next)
        };
        let everyone = (!everyone.is_empty()).then(|| group_of(everyone));
        let mut names = Vec::new();
        for run in mentions.chunk_by(|a, b| a.name.eq_ignore_ascii_case(b.name)) {
            let mut blocks = Vec::new();
            for mention in run {
                push(&mut blocks, mention.block);
            }
            let group = group_of(&blocks);
            if let Some(first) = run.first() {
                let end = first.start + index(first.name.len());
                names.push(NamedGroup { start: first.start, end, group });
            }
        }
        // A value as written comes before its cut form, which starts at the same byte.
        names.sort_by_key(|name| (name.start, std::cmp::Reverse(name.end)));
        let mut sorted: Vec<u32> = (0..index(names.len())).collect();
        let name = |at: &u32| names.get(*at as usize).map_or(&[][..], |name| name.bytes(source));
        sorted.sort_by(|a, b| by_length(name(a), name(b)));
        let mut groups: Vec<(Box<[u32]>, u32)> = numbers.into_iter().collect();
        groups.sort_unstable_by_key(|(_, number)| *number);
        Self { names, sorted, everyone, groups: groups.into_iter().map(|(blocks, _)| blocks).collect() }
    }

    /// The position of the group of `name`, and of the name.
    pub(super) fn find(&self, source: &[u8], name: &[u8]) -> Option<(u32, u32)> {
        let bytes = |at: u32| self.names.get(at as usize).map_or(&[][..], |name| name.bytes(source));
        let found = self.sorted.binary_search_by(|&at| by_length(bytes(at), name)).ok()?;
        let at = *self.sorted.get(found)?;
        Some((self.names.get(at as usize)?.group, at))
    }

    /// The groups that a user-agent value names, each with the name that selects it; none for `*`.
    pub(super) fn selected(&self, source: &[u8], value: &[u8]) -> impl Iterator<Item = (u32, Option<u32>)> {
        let (everyone, names) = match token::named(value) {
            Named::Everyone => (self.everyone, [None; 2]),
            Named::Crawler(first, second) => (None, [Some(first), second]),
            Named::Nobody => (None, [None; 2]),
        };
        let found = names.into_iter().flatten().filter_map(|name| self.find(source, name));
        let found = found.map(|(group, name)| (group, Some(name)));
        everyone.map(|group| (group, None)).into_iter().chain(found)
    }

    pub(super) fn text<'s>(&self, source: &'s [u8], at: u32) -> &'s str {
        self.names.get(at as usize).map_or("", |name| super::readable(name.bytes(source)))
    }

    /// The names with the groups that are theirs.
    pub(super) fn names<'s>(&self, source: &'s [u8]) -> impl Iterator<Item = (u32, &'s str)> {
        self.names.iter().map(|name| (name.group, super::readable(name.bytes(source))))
    }

    /// The blocks of a group, in the order of the file.
    pub(super) fn blocks(&self, group: u32) -> &[u32] {
        self.groups.get(group as usize).map_or(&[], |blocks| blocks)
    }
}

fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let lower = |byte: &u8| byte.to_ascii_lowercase();
    a.iter().map(lower).cmp(b.iter().map(lower))
}

/// An order in which names are found quickly: their lengths tell most of them apart.
fn by_length(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| compare(a, b))
}

/// A block that names a token twice counts once.
fn push(blocks: &mut Vec<u32>, block: u32) {
    if blocks.last() != Some(&block) {
        blocks.push(block);
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn naming(file: &str) -> Naming {
        Naming::new(file.as_bytes(), &parse::parse(file.as_bytes(), u32::MAX).0)
    }

    #[test]
    fn names_that_combine_the_same_blocks_share_a_group() {
        let file =
            "user-agent: a\nuser-agent: b\nallow: /\nuser-agent: c\nallow: /\nuser-agent: A\nallow: /\n";
        let naming = naming(file);
        let group = |name: &str| naming.find(file.as_bytes(), name.as_bytes()).unwrap().0;
        assert_eq!(naming.blocks(group("a")), [0, 2]);
        assert_eq!(naming.blocks(group("B")), [0]);
        assert_eq!(naming.blocks(group("c")), [1]);
        assert!(naming.groups.iter().any(|blocks| blocks.len() > 1));
        assert_eq!(naming.names(file.as_bytes()).map(|(_, name)| name).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn long_names_with_one_start_are_told_apart() {
        let group = |number| format!("user-agent: longname-{number:03}x\nallow: /\n");
        let file = (0..50).map(group).collect::<Vec<_>>().concat();
        let naming = naming(&file);
        for number in 0..50 {
            let name = format!("LONGNAME-{number:03}X");
            let (_, at) = naming.find(file.as_bytes(), name.as_bytes()).unwrap();
            assert!(naming.text(file.as_bytes(), at).eq_ignore_ascii_case(&name));
        }
        assert!(naming.find(file.as_bytes(), b"longname-").is_some(), "the part within the grammar");
        assert!(naming.find(file.as_bytes(), b"longname-050x").is_none());
        assert!(naming.find(file.as_bytes(), b"").is_none() && naming.everyone.is_none());
    }
}
