//! `Content-Usage` records: a preference for all paths, or for those a pattern matches.
//!
//! Not part of RFC 9309: the record is specified by the IETF's AIPREF drafts, which take paths and
//! the most specific match from RFC 9309 section 2.2.2.

use super::bytes::{self, is_blank};
use super::compile::Compiled;
use super::index::{Choice, IndexedRule};
use super::line::RecordName;
use super::parse::ParsedRecord;
use super::pattern::{self, Pattern, PatternPool, PatternShape, Texts, index};
use super::target::ComparableTarget;

/// One preference of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    block: u32,
    /// The paths it is for; none for all of them.
    pattern: Option<Pattern>,
    bytes: u32,
    start: u32,
    end: u32,
}

/// The usable preferences of a file, in its order. Those before the first group are nobody's.
pub(super) fn compile(extras: &[ParsedRecord], source: &[u8], pool: &mut PatternPool<'_>) -> Vec<Usage> {
    let usages = extras.iter().filter(|extra| extra.name == RecordName::ContentUsage);
    usages.filter_map(|extra| usage(*extra, extra.value(source), pool)).collect()
}

fn usage(extra: ParsedRecord, value: &[u8], pool: &mut PatternPool<'_>) -> Option<Usage> {
    let block = extra.block?;
    let mut usage = Usage { block, pattern: None, bytes: 0, start: extra.start, end: extra.end };
    if matches!(value.first(), Some(b'/' | b'*')) {
        let path = value.iter().take_while(|&&b| !is_blank(b)).count();
        let raw = value
            .get(..path)
            .filter(|raw| pattern::shape(raw, bytes::traits(raw)) == PatternShape::Usable)?;
        let traits = bytes::traits(raw);
        let blanks = value.iter().skip(path).take_while(|&&b| is_blank(b)).count();
        usage.start += index(path + blanks);
        usage.bytes = pattern::weight(raw, traits);
        usage.pattern = Some(pool.add_raw(raw, extra.start as usize, traits));
    }
    (usage.start < usage.end).then_some(usage)
}

/// The preference of the most specific match, the first of them on a tie. Patterns are tried like
/// those of rules: one by one as long as that is little work, the others all at once.
pub(super) fn find<'r>(
    usages: &[Usage],
    blocks: &[u32],
    compiled: &Compiled,
    texts: Texts<'r>,
    target: &[u8],
) -> Option<&'r [u8]> {
    let target = ComparableTarget::new(target);
    let mut best = Choice::NONE;
    for &block in blocks {
        let first = usages.partition_point(|usage| usage.block < block);
        let here = usages.iter().zip(0..).skip(first).take_while(|(usage, _)| usage.block == block);
        for (usage, at) in here {
            // A rank is greater than 1.
            let choice = Choice::new(usage.bytes + 2, at);
            best = match usage.pattern {
                None => best.max(choice),
                Some(pattern) => IndexedRule { choice, pattern }.try_on(texts, &target, best),
            };
        }
    }
    let best = compiled.decide_deferred(texts, &target, best).rule();
    let usage = best.and_then(|at| usages.get(at as usize))?;
    texts.source.get(usage.start as usize..usage.end as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::parse;

    #[test]
    fn the_most_specific_path_of_the_group() {
        let file = b"content-usage: a=n\nuser-agent: x\ncontent-usage: a=y\ncontent-usage: /p a=n\n\
                     content-usage: /p\tb=y\ncontent-usage: /q\nallow: /\nuser-agent: y\ncontent-usage: c=y\n";
        let extras = parse::parse(file, u32::MAX).extras;
        let mut pool = PatternPool::new(file);
        let usages = compile(&extras, file, &mut pool);
        let compiled = Compiled::default();
        let find = |blocks: &[u32], target: &[u8]| find(&usages, blocks, &compiled, pool.texts(), target);
        assert_eq!(find(&[0], b"/"), Some(&b"a=y"[..]));
        assert_eq!(find(&[0], b"/p/x"), Some(&b"a=n"[..]), "the first on a tie");
        assert_eq!(find(&[0], b"/q"), Some(&b"a=y"[..]), "a path without a preference says nothing");
        assert_eq!(find(&[1], b"/p"), Some(&b"c=y"[..]));
        assert_eq!(find(&[], b"/p"), None, "before the first group it is nobody's");
    }
}
