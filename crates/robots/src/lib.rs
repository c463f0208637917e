//! The Robots Exclusion Protocol, RFC 9309: bytes in, decisions out.
//!
//! [`Robots::parse`] reads a file once for all crawlers. [`Robots::judge`] takes the product tokens
//! of a crawler and a request target and says whether the target may be fetched, by which rule, and
//! on which line it stands. There is no I/O and no clock, and no allocation per decision but for a
//! target of more than 8 KiB that has encoded bytes, and where a part of a group has more than 32 rules with `*`.
//!
//! Whatever the number of rules, a decision about an ordinary file takes about as long as reading the
//! target. Whatever the file, it is [bounded](#bound).
//!
//! It does not fetch, cache or expire files (sections 2.3 and 2.4), and it does not find out which
//! crawler made a request. It takes targets as they are: dot segments are not resolved.
//!
//! Where the RFC leaves a choice, this engine chooses so:
//!
//! - Percent-encoding never makes a difference, except that an encoded `/`, `?`, `&` or `=` is not
//!   its raw form; in the query `/` and `?` are plain data (section 2.2.2, figure 4).
//! - `$` is special only as the last byte of a pattern (section 2.2.3).
//! - A pattern that starts neither with `/` nor `*`, or holds a blank, matches nothing (grammar).
//! - A user-agent value is compared as a whole, and cut at its first byte that is no letter, `-`
//!   or `_` (section 2.2.1).
//! - Seven common misspellings and a forgotten colon are read as intended (section 2.2.4).
//! - `/robots.txt` itself is always allowed (section 2.2.2).
//!
//! # Bound
//!
//! Rules without `*` are found by one binary search in each part of the file that a group combines. Rules with `*` read at
//! most 4 MiB of the target, again and again; those that are left then count as not matching. A target of 8 KiB gets there
//! only where a group has more than 500 rules with `*`, and only if it was made for that: a finding names such a group. The
//! slowest decision that a search for bad files of 500 KiB found takes 5 ms.
//!
//! Parsing takes time and memory in proportion to the file.
//!
//! # Example
//!
//! Parse, decide, explain:
//!
//! ```
//! use rfc9309::{JudgementReason, ParseLimits, Robots};
//!
//! let file = b"User-agent: FooBot\nDisallow: /private/\nAllow: /private/press/\n";
//! let robots = Robots::parse(file, &ParseLimits::default()).robots;
//! let judgement = robots.judge(&["FooBot-News", "FooBot"], true, b"/private/x?y=1");
//! assert!(!judgement.allow);
//! assert_eq!(judgement.reason, JudgementReason::Rule);
//! assert_eq!(judgement.rule.map(|rule| (rule.line, rule.text)), Some((2, &b"Disallow: /private/"[..])));
//! assert_eq!(judgement.group.map(|group| group.matched()), Some("FooBot"));
//! ```

#![forbid(unsafe_code)]

mod compose;
mod delay;
mod dictionary;
mod finding;
mod group;
mod index;
mod line;
mod lint;
mod matcher;
mod mistakes;
mod naming;
mod parse;
mod pattern;
mod preference;
mod rule;
mod spelling;
mod symbol;
mod token;
mod usage;
mod vocabularies;

pub use compose::{
    Composed, LineSource, PurposeBlock as BlockedTokens, Section, UngroupedRecord, generated_from, unmarked,
};
pub use delay::CrawlDelayLine;
pub use finding::{Finding, FindingKind, Severity};
pub use group::{Judgement, JudgementReason, RuleGroup};
pub use preference::{Preference, PreferenceKind};
pub use rule::{Rule, RuleKind};
pub use spelling::{nearest, nearest_first};
pub use symbol::hex_byte;
pub use token::cut as compared;

use delay::CrawlDelays;
use index::{IndexedRule, RuleSet};
use line::RecordName;
use naming::Naming;
use parse::{GroupBlock, ParsedFile, ParsedRecord};
use pattern::{PatternPiece, PatternPool, Texts};
use std::collections::HashSet;
use std::fmt;
use usage::Usage;

/// The smallest parsing limit that RFC 9309 section 2.5 permits, in bytes: 500 KiB.
pub const LEAST_LIMIT: usize = 500 * 1024;

/// The path that every crawler may fetch (section 2.2.2).
const ROBOTS_TXT: &[u8] = b"/robots.txt";

/// Offsets are 32 bits wide; nobody's file comes near.
const GREATEST_LIMIT: usize = 256 * 1024 * 1024;

/// Bounds on parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLimits {
    /// How much of a file is read, in bytes. Values below [`LEAST_LIMIT`] are raised to it; values
    /// above 256 MiB are lowered to that.
    pub max_bytes: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { max_bytes: LEAST_LIMIT }
    }
}

/// A generated rule that does not shut its crawler out, because another rule lets it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Void<'r> {
    /// Its line.
    pub line: u32,
    /// The crawler's token.
    pub token: &'r str,
    /// The lines of the rules that win: one where nothing is left of it.
    pub by: Vec<u32>,
    /// Whether nothing is left of it.
    pub is_whole: bool,
}

/// A parsed file and what was odd about it.
#[derive(Debug)]
pub struct Parsed {
    /// The rules. Every file has some meaning: one without any rule allows everything.
    pub robots: Robots,
    /// What is odd, in the order of the file; at most about a thousand findings.
    pub findings: Vec<Finding>,
}

/// One robots.txt file, compiled for all crawlers. It owns everything it needs.
#[derive(Clone)]
pub struct Robots {
    source: Box<[u8]>,
    file: ParsedFile,
    naming: Naming,
    literals: Box<[u8]>,
    pieces: Box<[PatternPiece]>,
    sets: Vec<RuleSet>,
    usages: Vec<Usage>,
    delays: CrawlDelays,
}

impl fmt::Debug for Robots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.naming.groups.len(), self.file.rules.len());
        let mut robots = f.debug_struct("Robots");
        robots.field("bytes", &self.source.len()).field("groups", &counts.0).field("rules", &counts.1);
        robots.finish_non_exhaustive()
    }
}

impl Robots {
    /// Reads a file. Never fails: what cannot be read is left out and reported (section 2.3.1.5).
    ///
    /// Beyond `limits.max_bytes` the file is ignored, never in the middle of a line (section 2.5).
    pub fn parse(bytes: &[u8], limits: &ParseLimits) -> Parsed {
        Self::parse_composed(bytes, u32::MAX, limits)
    }

    /// The same of a file whose lines from `generated_from` on are of [`Composed`]'s making: their marks are believed,
    /// and nothing about them is odd.
    pub fn parse_composed(bytes: &[u8], generated_from: u32, limits: &ParseLimits) -> Parsed {
        let limit = limits.max_bytes.clamp(LEAST_LIMIT, GREATEST_LIMIT);
        let source = line::whole_lines(bytes, limit);
        let (file, mut findings) = parse::parse(source, generated_from);
        let naming = Naming::new(source, &file);
        let mut pool = PatternPool::default();
        // Each rule is taken apart once, however many groups it belongs to.
        let rules = file.rules.iter().zip(0..);
        let entries: Vec<Option<IndexedRule>> =
            rules.map(|(rule, at)| IndexedRule::new(*rule, at, source, &mut pool)).collect();
        let of_block = |block: &GroupBlock| entries.get(block.rules.clone()).unwrap_or_default();
        let sets = file.blocks.iter().map(|block| RuleSet::new(of_block(block), pool.texts())).collect();
        let usages = usage::compile(&file.extras, source, &mut pool);
        let delays = CrawlDelays::new(&file, &naming, source);
        let (literals, pieces) = (pool.literals.into(), pool.pieces.into());
        let robots = Self { source: source.into(), file, naming, literals, pieces, sets, usages, delays };
        let rest = bytes.get(source.len()..).unwrap_or_default();
        lint::add(&robots, rest, &entries, &mut findings);
        Parsed { robots, findings: findings.into_sorted() }
    }

    /// The group of the first of `tokens` that has one, else the `*` group when `star` is set
    /// (section 2.2.1). Tokens compare as a whole and without regard to ASCII case.
    pub fn group<T: AsRef<str>>(&self, tokens: &[T], star: bool) -> Option<RuleGroup<'_>> {
        let named = tokens.iter().find_map(|token| self.naming.find(&self.source, token.as_ref().as_bytes()));
        match named {
            Some((group, name)) => Some(RuleGroup::new(self, group, Some(name))),
            None => self.naming.everyone.filter(|_| star).map(|group| RuleGroup::new(self, group, None)),
        }
    }

    /// Whether a crawler may fetch `target`, and why.
    ///
    /// `tokens` are the crawler's product tokens, the most specific first; `star` says whether it
    /// accepts the `*` group. `target` is the path and query of the URI as sent (section 2.2.2).
    pub fn judge<T: AsRef<str>>(&self, tokens: &[T], star: bool, target: &[u8]) -> Judgement<'_> {
        match self.group(tokens, star) {
            Some(group) => group.judge(target),
            None if target == ROBOTS_TXT => Judgement::allowed(JudgementReason::RobotsTxt, None),
            None => Judgement::allowed(JudgementReason::NoGroup, None),
        }
    }

    /// Every product token the file names, without `*`, in the order and spelling of its first
    /// mention. A value outside the token grammar (`FooBot/1.0`) is given as written, followed by
    /// the part crawlers compare (`FooBot`).
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.naming.names(&self.source).map(|(_, name)| name)
    }

    /// The [tokens](Self::tokens) that somebody wrote: those of generated groups alone are left out.
    pub fn written_tokens(&self) -> impl Iterator<Item = &str> {
        let generated: HashSet<u32> =
            self.file.rules.iter().filter(|rule| rule.is_generated).map(|rule| rule.block).collect();
        let is_written = move |group: u32| {
            let mut blocks = self.naming.blocks(group).iter();
            generated.is_empty() || blocks.any(|block| !generated.contains(block))
        };
        let names = self.naming.names(&self.source);
        names.filter(move |(group, _)| is_written(*group)).map(|(_, name)| name)
    }

    /// How many lines are records this engine knows. A web page served as robots.txt has none.
    pub const fn records(&self) -> usize {
        self.file.records
    }

    /// The values of the sitemap records, in the order of the file (section 2.2.4).
    pub fn sitemaps(&self) -> impl Iterator<Item = &[u8]> {
        self.extras(RecordName::Sitemap).map(|extra| extra.value(&self.source))
    }

    /// The values of the `Host` records, in the order of the file.
    pub fn hosts(&self) -> impl Iterator<Item = &[u8]> {
        self.extras(RecordName::Host).map(|extra| extra.value(&self.source))
    }

    /// Every allow and disallow line of every group, in the order of the file, with the user-agent
    /// values it stands under, as written. A value that is not UTF-8 is cut where it stops being so.
    pub fn rules(&self) -> impl Iterator<Item = (impl ExactSizeIterator<Item = &str>, Rule<'_>)> {
        self.file.rules.iter().map(|rule| (self.values(rule.block), rule.view(&self.source)))
    }

    /// The generated rules that other rules of the same crawler set aside.
    pub fn voids(&self) -> impl Iterator<Item = Void<'_>> {
        self.file.rules.iter().filter(|rule| rule.is_generated).filter_map(|rule| {
            let token = self.values(rule.block).next()?;
            let stronger = |other: &Rule<'_>| {
                let is_harmless = matches!(other.pattern, b"/robots.txt" | b"/robots.txt$");
                other.kind == RuleKind::Allow && other.bytes > 0 && !is_harmless
            };
            let group = self.group(&[token], false)?;
            let rules = || group.rules().filter(stronger);
            let whole = rules().find(|other| lint::is_everything(other.pattern));
            let by: Vec<u32> = match whole {
                Some(whole) => vec![whole.line],
                None => rules().map(|other| other.line).collect(),
            };
            (!by.is_empty()).then_some(Void { line: rule.line, token, by, is_whole: whole.is_some() })
        })
    }

    fn texts(&self) -> Texts<'_> {
        Texts { literals: &self.literals, pieces: &self.pieces }
    }

    /// Whether any group has a `Crawl-delay`.
    pub fn has_crawl_delay(&self) -> bool {
        !self.delays.is_empty()
    }

    fn extras(&self, name: RecordName) -> impl Iterator<Item = &ParsedRecord> {
        self.file.extras.iter().filter(move |extra| extra.name == name)
    }

    fn values(&self, block: u32) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.file.agents_of(block).iter().map(|agent| readable(agent.value(&self.source)))
    }
}

/// The lines of a file, without their ends; `CR`, `LF` and `CR LF` all end one.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let spans = line::PhysicalLines::new(bytes, 0).map(|line| line.start);
    let ends = spans.clone().skip(1).chain([bytes.len()]);
    spans.zip(ends).map(|(start, end)| {
        let line = bytes.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// A value as text, cut where it stops being UTF-8.
fn readable(value: &[u8]) -> &str {
    match std::str::from_utf8(value) {
        Ok(text) => text,
        Err(error) => {
            value.get(..error.valid_up_to()).and_then(|head| std::str::from_utf8(head).ok()).unwrap_or("")
        }
    }
}

/// The examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shared_between_threads() {
        fn is_shared<T: Send + Sync + fmt::Debug>(_: &T) {}
        let parsed = Robots::parse(b"User-agent: *\nDisallow: /x\n", &ParseLimits::default());
        is_shared(&parsed);
        is_shared(&parsed.robots.judge(&["a"], true, b"/x"));
        assert_eq!(format!("{:?}", parsed.robots), "Robots { bytes: 27, groups: 1, rules: 1, .. }");
    }

    #[test]
    fn a_value_is_text_as_far_as_it_goes() {
        assert_eq!(readable(b"Foo\xFFBar"), "Foo");
        assert_eq!(readable("F\u{f6}\u{f6}".as_bytes()), "F\u{f6}\u{f6}");
    }
}
