//! `Content-Usage` records: a preference for all paths, or for those a pattern matches.
//!
//! Not part of RFC 9309: the record is specified by the IETF's AIPREF drafts, which take paths and
//! the most specific match from RFC 9309 section 2.2.2. A record without a path is one for `/`. Of records
//! that match equally, what is most restrictive counts.

use super::Robots;
use super::dictionary;
use super::line::{RecordName, is_blank};
use super::matcher::{self, ComparableTarget};
use super::parse::ParsedRecord;
use super::pattern::{self, Pattern, PatternPool};
use super::preference::{Preference, PreferenceKind};
use std::borrow::Cow;

/// Records that match equally and are looked at. More of them state nothing: one that was not looked at might be the most
/// restrictive.
const MOST_EQUAL: usize = 16;

/// One preference of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    record: ParsedRecord,
    /// The paths it is for; none for all of them.
    pattern: Option<Pattern>,
    bytes: u32,
}

/// The usable preferences of a file, in its order. Those before the first group are nobody's.
pub(super) fn compile(extras: &[ParsedRecord], source: &[u8], pool: &mut PatternPool) -> Vec<Usage> {
    let usages =
        extras.iter().filter(|extra| extra.name == RecordName::ContentUsage && extra.block.is_some());
    let usage = |record: &ParsedRecord| {
        let path = path(record.value(source));
        let (pattern, bytes) = (path.map(|raw| pool.add(raw)), path.map_or(1, pattern::weight));
        Usage { record: *record, pattern, bytes }
    };
    // Behind a path the empty dictionary is a preference, too: that nothing is said.
    usages.filter(|record| !record.value(source).is_empty()).map(usage).collect()
}

/// The path that a value begins with. A `*` would begin the key of a dictionary (RFC 9651 section 3.1.2).
pub(super) fn path(value: &[u8]) -> Option<&[u8]> {
    (value.first() == Some(&b'/')).then(|| {
        let end = value.iter().position(|&byte| is_blank(byte)).unwrap_or(value.len());
        value.get(..end).unwrap_or_default()
    })
}

/// The preference of a value, behind its path.
pub(super) fn without_path(value: &[u8]) -> &[u8] {
    let rest = value.get(path(value).map_or(0, <[u8]>::len)..).unwrap_or_default();
    let blanks = rest.iter().take_while(|&&byte| is_blank(byte)).count();
    rest.get(blanks..).unwrap_or_default()
}

/// The preference of the most specific match; of equal matches what is most restrictive.
pub(super) fn find<'r>(robots: &'r Robots, blocks: &[u32], target: &[u8]) -> Option<Preference<'r>> {
    let target = ComparableTarget::new(target);
    let mut found: Vec<&Usage> = Vec::new();
    for block in blocks.iter().map(|block| Some(*block)) {
        let first = robots.usages.partition_point(|usage| usage.record.block < block);
        let here = robots.usages.iter().skip(first).take_while(|usage| usage.record.block == block);
        for usage in here {
            let best = found.first().map_or(0, |best| best.bytes);
            let is_match = |pattern| matcher::matches(robots.texts(), pattern, &target);
            if usage.bytes < best || found.len() > MOST_EQUAL && usage.bytes == best {
                continue;
            }
            if usage.pattern.is_none_or(is_match) {
                if usage.bytes > best {
                    found.clear();
                }
                found.push(usage);
            }
        }
    }
    let value = |usage: &Usage| without_path(usage.record.value(&robots.source));
    let all: Vec<_> = found.iter().filter_map(|usage| dictionary::parse(value(usage))).collect();
    let is_readable = found.len() <= MOST_EQUAL && !all.is_empty();
    let value = match &found[..] {
        [_, _, ..] if is_readable => Cow::Owned(dictionary::most_restrictive(all.into_iter())?),
        [first, ..] => String::from_utf8_lossy(value(first)),
        [] => return None,
    };
    let lines = found.iter().map(|usage| usage.record.line).collect();
    let preference = Preference { kind: PreferenceKind::ContentUsage, lines, value, is_readable };
    (!preference.value.is_empty()).then_some(preference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParseLimits;

    #[test]
    fn the_most_specific_path_of_the_group() {
        let file = b"content-usage: a=n\nuser-agent: x\ncontent-usage: a=y\ncontent-usage: /p a=y\n\
                     content-usage: /p\tb=y, a=n\ncontent-usage: /q\ncontent-usage: /r A=n\n\
                     content-usage: / c=n\nallow: /\nuser-agent: y\ncontent-usage: c=y\n";
        let robots = Robots::parse(file, &ParseLimits::default()).robots;
        let find = |blocks: &[u32], target: &[u8]| {
            let found = find(&robots, blocks, target)?;
            Some((found.value.into_owned(), found.lines, found.is_readable))
        };
        let said = |value: &str, lines: &[u32]| Some((value.to_owned(), lines.to_vec(), true));
        assert_eq!(find(&[0], b"/"), said("a=y, c=n", &[3, 8]), "without a path it is for `/`");
        assert_eq!(find(&[0], b"/p/x"), said("a=n, b=y", &[4, 5]), "the most restrictive of equal matches");
        assert_eq!(
            find(&[0], b"/q"),
            None,
            "a path without a preference is the longest match, and says nothing"
        );
        assert_eq!(
            find(&[0], b"/r"),
            Some(("A=n".to_owned(), vec![7], false)),
            "what cannot be read states nothing"
        );
        assert_eq!(find(&[1], b"/p"), said("c=y", &[11]));
        assert_eq!(find(&[], b"/p"), None, "before the first group it is nobody's");
    }

    #[test]
    fn more_equal_matches_than_are_looked_at_state_nothing() {
        let find = |count: usize| {
            let file = format!(
                "user-agent: x\n{}content-usage: /p search=n\n",
                "content-usage: /p search=y\n".repeat(count)
            );
            let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
            let found = find(&robots, &[0], b"/p").unwrap();
            found.is_readable.then(|| found.value.into_owned())
        };
        assert_eq!(find(15).as_deref(), Some("search=n"));
        assert_eq!(find(16), None);
        assert_eq!(find(100), None);
    }

    #[test]
    fn a_star_begins_no_path() {
        assert_eq!((path(b"*.png a=n"), path(b"/*.png a=n")), (None, Some(&b"/*.png"[..])));
        assert!(dictionary::parse(without_path(b"*key=?1, a=n")).is_some());
    }
}
