//! `Crawl-delay` by group: found once for each file, since requests ask for it. Not part of RFC 9309.

use super::line::RecordName;
use super::naming::GroupList;
use super::parse::{self, ParsedRecord};
use super::pattern;

/// A `Crawl-delay` of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrawlDelayLine<'r> {
    /// What it asks for.
    pub seconds: f64,
    /// Its line, counted from 1.
    pub line: u32,
    /// The line as written, without comment and outer blanks.
    pub text: &'r [u8],
}

/// The first readable one of each group; empty where the file has none.
#[derive(Clone, Debug, Default)]
pub(super) struct CrawlDelays(Box<[Option<(f64, ParsedRecord)>]>);

impl CrawlDelays {
    pub(super) fn new(extras: &[ParsedRecord], groups: &GroupList, source: &[u8]) -> Self {
        let delays = extras.iter().filter(|extra| extra.name == RecordName::CrawlDelay);
        let mut first: Vec<(u32, f64, ParsedRecord)> = delays
            .filter_map(|extra| Some((extra.block?, parse::seconds(extra.value(source))?, *extra)))
            .collect();
        first.dedup_by_key(|(block, ..)| *block);
        if first.is_empty() {
            return Self::default();
        }
        let of_block = |block: &u32| {
            let at = first.binary_search_by_key(block, |(block, ..)| *block).ok()?;
            first.get(at).map(|(_, seconds, record)| (*seconds, *record))
        };
        Self(
            (0..pattern::index(groups.len()))
                .map(|group| groups.blocks(group).iter().find_map(of_block))
                .collect(),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn of<'r>(&self, group: u32, source: &'r [u8]) -> Option<CrawlDelayLine<'r>> {
        let (seconds, record) = (*self.0.get(group as usize)?)?;
        let before = source.get(..record.end as usize)?;
        let start = before.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
        let text = before.get(start..)?.trim_ascii_start();
        Some(CrawlDelayLine { seconds, line: record.line, text })
    }
}
