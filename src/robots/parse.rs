//! From lines to groups: who is named where, and which rules follow (RFC 9309 section 2.2).
//!
//! One pass. Whatever is not a record of a group leaves the groups as they are (section 2.2.4).
//! What is odd on its own line becomes a finding here; what is odd only beside other lines is
//! found in `lint`.

use super::bytes;
use super::finding::{Finding, FindingKind, Severity};
use super::line::{self, Content, PhysicalLine, PhysicalLines, Record, RecordName};
use super::pattern::{self, PatternShape, index};
use super::rule::{RuleKind, RuleRecord};
use std::collections::HashSet;
use std::ops::Range;

/// The user-agent lines and rules between two points where a group begins.
#[derive(Clone, Debug)]
pub(super) struct GroupBlock {
    pub(super) agents: Range<u32>,
    pub(super) rules: Range<u32>,
}

/// One user-agent line.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserAgentLine {
    pub(super) line: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// Whether its block has named the same value before.
    pub(super) is_again: bool,
}

/// A record that is no rule: kept as data.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParsedRecord {
    pub(super) name: RecordName,
    pub(super) line: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The group part it stands in; none before the first.
    pub(super) block: Option<u32>,
}

impl UserAgentLine {
    pub(super) fn value(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

impl ParsedRecord {
    pub(super) fn value(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Everything one pass over the file yields.
#[derive(Debug)]
pub(super) struct ParsedFile {
    pub(super) blocks: Vec<GroupBlock>,
    pub(super) agents: Vec<UserAgentLine>,
    pub(super) rules: Vec<RuleRecord>,
    pub(super) extras: Vec<ParsedRecord>,
    pub(super) records: usize,
    pub(super) findings: Findings,
}

impl ParsedFile {
    const fn new(generated_from: u32) -> Self {
        Self {
            blocks: Vec::new(),
            agents: Vec::new(),
            rules: Vec::new(),
            extras: Vec::new(),
            records: 0,
            findings: Findings::new(generated_from),
        }
    }
}

/// Findings, at most [`Findings::MOST`] of them beside those about the file as a whole.
#[derive(Debug)]
pub(super) struct Findings {
    list: Vec<Finding>,
    dropped: usize,
    /// Nobody wrote the lines from here on.
    generated_from: u32,
}

impl Findings {
    /// A file of nothing but oddities must not cost more memory than one of rules.
    pub(super) const MOST: usize = 1000;

    pub(super) fn add(&mut self, kind: FindingKind, line: u32, column: u32, detail: &[u8]) {
        self.push(kind, line, || Finding::new(kind, line, column, detail));
    }

    /// A finding at a line and column that is about another line too.
    pub(super) fn add_beside(
        &mut self,
        severity: Severity,
        kind: FindingKind,
        (line, column): (u32, u32),
        detail: &[u8],
        other: u32,
    ) {
        self.push(kind, line, || Finding {
            severity,
            other: Some(other),
            ..Finding::new(kind, line, column, detail)
        });
    }

    /// A finding that matters more or less than its kind does otherwise.
    pub(super) fn add_as(
        &mut self,
        severity: Severity,
        kind: FindingKind,
        line: u32,
        column: u32,
        detail: &[u8],
    ) {
        self.push(kind, line, || Finding { severity, ..Finding::new(kind, line, column, detail) });
    }

    /// A finding that names what was probably meant, or expected.
    pub(super) fn add_meant(&mut self, kind: FindingKind, line: u32, column: u32, detail: &str, meant: &str) {
        let meant = || Some(meant.into());
        self.push(kind, line, || Finding {
            meant: meant(),
            ..Finding::new(kind, line, column, detail.as_bytes())
        });
    }

    /// A finding about another line and a crawler.
    pub(super) fn add_between(
        &mut self,
        kind: FindingKind,
        (line, column): (u32, u32),
        detail: &[u8],
        other: u32,
        crawler: &str,
    ) {
        let (other, meant) = (Some(other), || Some(crawler.into()));
        self.push(kind, line, || Finding {
            other,
            meant: meant(),
            ..Finding::new(kind, line, column, detail)
        });
    }

    pub(super) const fn new(generated_from: u32) -> Self {
        Self { list: Vec::new(), dropped: 0, generated_from }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.generated_from);
    }

    /// A file has one finding of each kind about it as a whole: there is always room for those.
    fn push(&mut self, kind: FindingKind, line: u32, finding: impl FnOnce() -> Finding) {
        if kind.is_of_file() || (line < self.generated_from && self.list.len() < Self::MOST) {
            self.list.push(finding());
        } else if line < self.generated_from {
            self.dropped += 1;
        }
    }

    /// In the order of the file.
    pub(super) fn into_sorted(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| (finding.line, finding.column, finding.kind));
        if let Some(last) = self.list.last().map(|finding| finding.line).filter(|_| self.dropped > 0) {
            let count = self.dropped.to_string();
            self.list.push(Finding::new(FindingKind::MoreFindings, last, 1, count.as_bytes()));
        }
        self.list
    }
}

/// Reads `source`, which holds whole lines, those from `generated_from` on of our own making.
pub(super) fn parse(source: &[u8], generated_from: u32) -> ParsedFile {
    let mut parser = Parser {
        draft: ParsedFile::new(generated_from),
        naming: false,
        has_noindex: false,
        named: HashSet::new(),
    };
    let mark = line::byte_order_mark(source);
    if mark > 0 {
        parser.draft.findings.add(FindingKind::ByteOrderMark, 1, 1, b"");
    }
    for line in PhysicalLines::new(source, mark) {
        parser.line(line);
    }
    parser.draft
}

struct Parser<'s> {
    draft: ParsedFile,
    /// The last line that belongs to a group was a user-agent line.
    naming: bool,
    /// Whether a `Noindex` was told of.
    has_noindex: bool,
    /// The values of the block so far.
    named: HashSet<&'s str>,
}

impl<'s> Parser<'s> {
    fn line(&mut self, line: PhysicalLine<'s>) {
        let column = |at: usize| index(at - line.start + 1);
        if let Some(nul) = line.nul {
            self.draft.findings.add(FindingKind::NulOctet, line.number, column(nul), b"");
        }
        match line.content {
            Content::Empty => {}
            Content::Junk(text, at) => {
                self.draft.findings.add(FindingKind::UnparseableLine, line.number, column(at), text);
            }
            Content::Record(record) => self.record(record, line.number, column),
        }
    }

    fn record(&mut self, record: Record<'s>, line: u32, column: impl Fn(usize) -> u32) {
        let findings = &mut self.draft.findings;
        if record.misspelt {
            findings.add(FindingKind::MisspeltRecord, line, column(record.start), record.key);
        }
        if !record.colon {
            findings.add(FindingKind::MissingColon, line, column(record.start), record.key);
        }
        if record.name == RecordName::Unknown {
            findings.add(FindingKind::UnknownRecord, line, column(record.start), record.key);
            return;
        }
        self.draft.records += 1;
        match record.name {
            RecordName::UserAgent => self.agent(record, line, column(record.value_start)),
            RecordName::Allow => self.rule(RuleKind::Allow, record, line, column),
            RecordName::Disallow => self.rule(RuleKind::Disallow, record, line, column),
            _ => self.extra(record, line, column(record.value_start)),
        }
    }

    fn agent(&mut self, record: Record<'s>, line: u32, column: u32) {
        if !self.naming {
            let agents = index(self.draft.agents.len());
            let rules = index(self.draft.rules.len());
            self.draft.blocks.push(GroupBlock { agents: agents..agents, rules: rules..rules });
            self.naming = true;
            self.named.clear();
        }
        let is_again = !self.named.insert(super::readable(record.value));
        let (start, end) = (index(record.value_start), index(record.end));
        self.draft.agents.push(UserAgentLine { line, start, end, is_again });
        if let Some(block) = self.draft.blocks.last_mut() {
            block.agents.end = index(self.draft.agents.len());
        }
        if let Some(kind) = super::token::oddity(record.value) {
            self.draft.findings.add(kind, line, column, record.value);
        }
    }

    fn rule(&mut self, kind: RuleKind, record: Record<'_>, line: u32, column: impl Fn(usize) -> u32) {
        self.naming = false;
        let Some(block) = self.draft.blocks.len().checked_sub(1) else {
            self.draft.findings.add(FindingKind::RuleOutsideGroup, line, column(record.start), record.value);
            return;
        };
        let shape = pattern::shape(record.value, record.traits);
        let odd = match shape {
            PatternShape::Blank => Some(FindingKind::BlankInPattern),
            PatternShape::Unrooted => Some(FindingKind::UnmatchableRule),
            PatternShape::Usable if record.cut => Some(FindingKind::CommentInPattern),
            PatternShape::Usable if pattern::has_dot_segment(record.value) => Some(FindingKind::DotSegment),
            PatternShape::Empty | PatternShape::Usable => None,
        };
        if let Some(odd) = odd {
            self.draft.findings.add(odd, line, column(record.value_start), record.value);
        }
        self.draft.rules.push(RuleRecord {
            kind,
            line,
            start: index(record.start),
            value: index(record.value_start),
            end: index(record.end),
            block: index(block),
            traits: record.traits,
            is_generated: line >= self.draft.findings.generated_from,
            bytes: if shape == PatternShape::Usable {
                pattern::weight(record.value, record.traits)
            } else {
                0
            },
        });
        if let Some(block) = self.draft.blocks.last_mut() {
            block.rules.end = index(self.draft.rules.len());
        }
    }

    fn extra(&mut self, record: Record<'_>, line: u32, column: u32) {
        let block = self.draft.blocks.len().checked_sub(1).map(index);
        let (start, end) = (index(record.value_start), index(record.end));
        self.draft.extras.push(ParsedRecord { name: record.name, line, start, end, block });
        let odd = match record.name {
            RecordName::CrawlDelay if seconds(record.value).is_none() => FindingKind::CrawlDelay,
            RecordName::Sitemap if !is_absolute(record.value) => FindingKind::RelativeSitemap,
            RecordName::Noindex if !std::mem::replace(&mut self.has_noindex, true) => {
                FindingKind::NoindexRecord
            }
            RecordName::Host => FindingKind::HostRecord,
            RecordName::License if !is_absolute(record.value) || !is_one(record.value) => {
                FindingKind::LicenseUrl
            }
            _ => return,
        };
        self.draft.findings.add(odd, line, column, record.value);
    }
}

/// Whether a sitemap is named by its whole URL, as the sitemaps protocol asks.
fn is_absolute(value: &[u8]) -> bool {
    let Some(scheme) = memchr::memmem::find(value, b"://") else { return false };
    let (scheme, rest) = (value.get(..scheme), value.get(scheme + 3..));
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.iter().all(u8::is_ascii_alphanumeric))
        && rest.and_then(|rest| rest.first()).is_some_and(|&byte| byte != b'/')
}

/// Whether nothing stands behind the URL.
fn is_one(value: &[u8]) -> bool {
    !value.iter().any(|&byte| bytes::is_blank(byte))
}

/// The value of a `Crawl-delay` in seconds.
pub(super) fn seconds(value: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(value).ok()?;
    // Excludes what only programs write: "inf", "nan", "1e9".
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse::<f64>().ok().filter(|seconds| plain && seconds.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_end_a_run_of_user_agent_lines_and_nothing_else_does() {
        let draft = parse(
            b"user-agent: a\n\nsitemap: s\njunk\nuser-agent: b\nallow:\ncrawl-delay: 1\nuser-agent: c\n",
            u32::MAX,
        );
        let blocks: Vec<_> = draft.blocks.iter().map(|b| (b.agents.clone(), b.rules.clone())).collect();
        assert_eq!(blocks, [(0..2, 0..1), (2..3, 1..1)]);
        assert_eq!(draft.extras.iter().map(|extra| extra.block).collect::<Vec<_>>(), [Some(0), Some(0)]);
        assert_eq!(draft.records, 6);
    }

    #[test]
    fn a_license_is_one_whole_url() {
        let odd = |value: &str| {
            let draft = parse(format!("license: {value}\n").as_bytes(), u32::MAX);
            draft.findings.into_sorted().iter().any(|finding| finding.kind == FindingKind::LicenseUrl)
        };
        assert!(!odd("https://example.org/license.xml"));
        assert!(["https://a b", "https://a https://b", "/license.xml"].iter().all(|value| odd(value)));
    }

    #[test]
    fn seconds_are_plain_numbers() {
        assert_eq!(seconds(b"10"), Some(10.0));
        assert_eq!(seconds(b"0.5"), Some(0.5));
        for value in [&b""[..], b"-1", b"1e3", b"inf", b"NaN", b"5s", b".", b"\xFF"] {
            assert_eq!(seconds(value), None, "{value:?}");
        }
    }
}
