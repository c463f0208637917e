//! `Crawl-delay` by name: found once for each file, since requests ask for it. Not part of RFC 9309.

use super::line::RecordName;
use super::naming::Naming;
use super::parse::{self, ParsedFile, ParsedRecord};

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

/// The first readable one below a user-agent line of each name; empty where the file has none.
///
/// A delay is for the names above it in its part of the file, and never for those that follow it: crawlers that know
/// `Crawl-delay` end the run of names there, although RFC 9309 goes on with it.
#[derive(Clone, Debug, Default)]
pub(super) struct CrawlDelays {
    /// By name, none for `*`, in their order.
    of_names: Box<[(Option<u32>, f64, ParsedRecord)]>,
}

impl CrawlDelays {
    pub(super) fn new(file: &ParsedFile, naming: &Naming, source: &[u8]) -> Self {
        let (mut of_names, mut above) = (Vec::new(), 0);
        for delay in file.extras.iter().filter(|extra| extra.name == RecordName::CrawlDelay) {
            let block = delay.block.and_then(|block| file.blocks.get(block as usize));
            let (Some(block), Some(seconds)) = (block, parse::seconds(delay.value(source))) else { continue };
            // Who stands above a delay of the same part before this one has that one.
            let from = block.agents.start.max(above);
            let part = file.agents.get(from..block.agents.end).unwrap_or_default();
            let named = part.get(..part.partition_point(|agent| agent.line < delay.line)).unwrap_or_default();
            above = from + named.len();
            for agent in named {
                let selected = naming.selected(source, agent.value(source));
                of_names.extend(selected.map(|(_, name)| (name, seconds, *delay)));
            }
        }
        of_names.sort_by_key(|(name, ..)| *name);
        of_names.dedup_by_key(|(name, ..)| *name);
        Self { of_names: of_names.into() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.of_names.is_empty()
    }

    /// That of a name of the file, or of `*`.
    pub(super) fn of<'r>(&self, name: Option<u32>, source: &'r [u8]) -> Option<CrawlDelayLine<'r>> {
        let found = self.of_names.binary_search_by_key(&name, |(name, ..)| *name).ok()?;
        let (_, seconds, record) = *self.of_names.get(found)?;
        let before = source.get(..record.end as usize)?;
        let start = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1);
        let text = before.get(start..)?.trim_ascii_start();
        Some(CrawlDelayLine { seconds, line: record.line, text })
    }
}

#[cfg(test)]
mod tests {
    use crate::{ParseLimits, Robots};

    /// What `*` and the crawlers a, b and c are asked for.
    fn delays(file: &str) -> [Option<f64>; 4] {
        let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
        let of = |names: &[&str]| robots.group(names, names.is_empty()).and_then(|group| group.crawl_delay());
        [of(&[]), of(&["a"]), of(&["b"]), of(&["c"])]
    }

    #[test]
    fn a_delay_is_for_the_names_above_it() {
        let one = Some(1.0);
        let file = "User-agent: a\nCrawl-delay: 1\n\nUser-agent: *\nDisallow: /no\n";
        assert_eq!(delays(file), [None, one, None, None], "as Python's urllib.robotparser reads it");
        let file =
            "User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nCrawl-delay: 2\nDisallow: /\n";
        assert_eq!(delays(file), [None, one, one, Some(2.0)]);
        let file = "User-agent: a\nCrawl-delay: x\nUser-agent: b\nCrawl-delay: 1\nCrawl-delay: 2\nAllow: /\nCrawl-delay: 3\n";
        assert_eq!(delays(file), [None, one, one, None], "the first that can be read");
        // Elsewhere in the file: the first of each name.
        let file = "User-agent: a\nDisallow: /x\nUser-agent: *\nUser-agent: a/2\nCrawl-delay: 1\nUser-agent: c\nAllow: /\n\
                    User-agent: a\nUser-agent: c\nCrawl-delay: 2\n";
        assert_eq!(delays(file), [one, one, None, Some(2.0)]);
    }

    #[test]
    fn a_delay_between_names_is_warned_of() {
        let file = "User-agent: a\nCrawl-delay: 10\n\nUser-agent: *\nDisallow: /no\n";
        let found = Robots::parse(file.as_bytes(), &ParseLimits::default()).findings;
        let told: Vec<_> =
            found.iter().map(|found| format!("{}:{} {found}", found.line, found.column)).collect();
        assert_eq!(
            told,
            [
                "2:14 `10` stands between two `User-agent:` lines: crawlers differ on whether the group ends here or goes on in line 4"
            ]
        );
    }
}
