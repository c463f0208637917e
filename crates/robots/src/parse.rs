//! From lines to groups: who is named where, and which rules follow (RFC 9309 section 2.2).
//!
//! One pass. Whatever is not a record of a group leaves the groups as they are (section 2.2.4).
//! What is odd on its own line becomes a finding here; what is odd only beside other lines is
//! found in `lint`.

use super::finding::{Finding, FindingKind};
use super::line::{self, Content, PhysicalLine, PhysicalLines, Record, RecordName};
use super::pattern::{self, index};
use super::rule::{RuleKind, RuleRecord};
use std::collections::HashSet;
use std::ops::Range;

/// The user-agent lines and rules between two points where a group begins.
#[derive(Clone, Debug)]
pub(super) struct GroupBlock {
    pub(super) agents: Range<usize>,
    pub(super) rules: Range<usize>,
}

/// A record beside the rules: a user-agent line, a sitemap, a delay and the like.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParsedRecord {
    pub(super) name: RecordName,
    pub(super) line: u32,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The group part it stands in; none before the first.
    pub(super) block: Option<u32>,
    /// Whether it is a user-agent line of a value that its part has named before.
    pub(super) is_again: bool,
}

impl ParsedRecord {
    pub(super) fn value(self, source: &[u8]) -> &[u8] {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// What one pass over the file yields, beside the findings.
#[derive(Clone, Debug, Default)]
pub(super) struct ParsedFile {
    pub(super) blocks: Vec<GroupBlock>,
    /// The user-agent lines.
    pub(super) agents: Vec<ParsedRecord>,
    pub(super) rules: Vec<RuleRecord>,
    /// All others, kept as data.
    pub(super) extras: Vec<ParsedRecord>,
    /// How many lines are records.
    pub(super) records: usize,
    /// Nobody wrote the lines from here on.
    pub(super) generated_from: u32,
}

impl ParsedFile {
    /// A record that stands behind what was read so far.
    fn parsed(&self, record: Record<'_>, line: u32) -> ParsedRecord {
        let (start, end) = (index(record.value_start), index(record.end()));
        let block = self.blocks.len().checked_sub(1).map(index);
        ParsedRecord { name: record.name, line, start, end, block, is_again: false }
    }

    /// The user-agent lines of a block.
    pub(super) fn agents_of(&self, block: u32) -> &[ParsedRecord] {
        let block = self.blocks.get(block as usize);
        block.and_then(|block| self.agents.get(block.agents.clone())).unwrap_or_default()
    }

    /// The rules of a block.
    pub(super) fn rules_of(&self, block: u32) -> &[RuleRecord] {
        let block = self.blocks.get(block as usize);
        block.and_then(|block| self.rules.get(block.rules.clone())).unwrap_or_default()
    }
}

/// Findings about a file, at most [`Findings::MOST`] of them beside those about the file as a whole.
#[derive(Debug)]
pub(super) struct Findings<'s> {
    source: &'s [u8],
    list: Vec<Finding>,
    dropped: usize,
    /// Nobody wrote the lines from here on.
    generated_from: u32,
}

impl<'s> Findings<'s> {
    /// A file of nothing but oddities must not cost more memory than one of rules.
    pub(super) const MOST: usize = 1000;

    pub(super) const fn new(source: &'s [u8], generated_from: u32) -> Self {
        Self { source, list: Vec::new(), dropped: 0, generated_from }
    }

    /// Adds a finding about `detail`, which stands at the offset `at` of the file.
    pub(super) fn add(&mut self, kind: FindingKind, line: u32, at: u32, detail: &[u8]) {
        self.add_with(kind, line, at, detail, |_| {});
    }

    /// Adds a finding that is about another line, too, or has another severity than its kind, or names what was meant:
    /// `set` says so. A file has one finding of each kind about it as a whole: there is always room for those.
    pub(super) fn add_with(
        &mut self,
        kind: FindingKind,
        line: u32,
        at: u32,
        detail: &[u8],
        set: impl FnOnce(&mut Finding),
    ) {
        if kind.is_of_file() || (line < self.generated_from && self.list.len() < Self::MOST) {
            let mut finding = Finding::new(kind, line, line::column(self.source, at), detail);
            set(&mut finding);
            self.list.push(finding);
        } else if line < self.generated_from {
            self.dropped += 1;
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.source, self.generated_from);
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
pub(super) fn parse(source: &[u8], generated_from: u32) -> (ParsedFile, Findings<'_>) {
    let mut parser = Parser {
        file: ParsedFile { generated_from, ..ParsedFile::default() },
        findings: Findings::new(source, generated_from),
        naming: false,
        has_noindex: false,
        has_unencoded: false,
        named: HashSet::new(),
    };
    let mark = line::byte_order_mark(source);
    if mark > 0 {
        parser.findings.add(FindingKind::ByteOrderMark, 1, 0, b"");
    }
    for line in PhysicalLines::new(source, mark) {
        parser.line(line);
    }
    (parser.file, parser.findings)
}

struct Parser<'s> {
    file: ParsedFile,
    findings: Findings<'s>,
    /// The last line that belongs to a group was a user-agent line.
    naming: bool,
    /// Whether a `Noindex` was told of, and a path that is not percent-encoded.
    has_noindex: bool,
    has_unencoded: bool,
    /// The values of the block so far.
    named: HashSet<&'s str>,
}

impl<'s> Parser<'s> {
    fn line(&mut self, line: PhysicalLine<'s>) {
        if let Some(nul) = line.nul {
            self.findings.add(FindingKind::NulOctet, line.number, index(nul), b"");
        }
        match line.content {
            Content::Empty => {}
            Content::Junk(text, at) => {
                self.findings.add(FindingKind::UnparseableLine, line.number, index(at), text);
            }
            Content::Record(record) => self.record(record, line.number),
        }
    }

    fn record(&mut self, record: Record<'s>, line: u32) {
        let mut add = |kind| self.findings.add(kind, line, index(record.start), record.key);
        if record.misspelt {
            add(FindingKind::MisspeltRecord);
        }
        if !record.colon {
            add(FindingKind::MissingColon);
        }
        if record.name == RecordName::Unknown {
            return add(FindingKind::UnknownRecord);
        }
        self.file.records += 1;
        let value = index(record.value_start);
        let odd = match record.name {
            RecordName::UserAgent => self.agent(record, line),
            RecordName::Allow => self.rule(RuleKind::Allow, record, line),
            RecordName::Disallow => self.rule(RuleKind::Disallow, record, line),
            _ => self.extra(record, line),
        };
        if let Some(kind) = odd {
            let at = if kind == FindingKind::RuleOutsideGroup { index(record.start) } else { value };
            self.findings.add(kind, line, at, record.value);
        }
    }

    /// Takes a user-agent line, and says what is odd about it.
    fn agent(&mut self, record: Record<'s>, line: u32) -> Option<FindingKind> {
        let file = &mut self.file;
        if !self.naming {
            let (agents, rules) = (file.agents.len(), file.rules.len());
            file.blocks.push(GroupBlock { agents: agents..agents, rules: rules..rules });
            self.naming = true;
            self.named.clear();
        }
        let is_again = !self.named.insert(super::readable(record.value));
        file.agents.push(ParsedRecord { is_again, ..file.parsed(record, line) });
        if let Some(block) = file.blocks.last_mut() {
            block.agents.end = file.agents.len();
        }
        super::token::oddity(record.value)
    }

    fn rule(&mut self, kind: RuleKind, record: Record<'_>, line: u32) -> Option<FindingKind> {
        self.naming = false;
        let file = &mut self.file;
        let Some(block) = file.blocks.len().checked_sub(1) else {
            return Some(FindingKind::RuleOutsideGroup);
        };
        let mistake = pattern::mistake(record.value);
        let bytes = if mistake.is_some() { 0 } else { pattern::weight(record.value) };
        let (start, value, end) = (index(record.start), index(record.value_start), index(record.end()));
        let is_generated = line >= file.generated_from;
        file.rules.push(RuleRecord {
            kind,
            line,
            start,
            value,
            end,
            block: index(block),
            bytes,
            is_generated,
        });
        if let Some(block) = file.blocks.last_mut() {
            block.rules.end = file.rules.len();
        }
        let comment = || record.cut.then_some(FindingKind::CommentInPattern);
        let dots = || pattern::has_dot_segment(record.value).then_some(FindingKind::DotSegment);
        let is_text = !record.value.is_ascii() && std::str::from_utf8(record.value).is_ok();
        let is_first = is_text && !std::mem::replace(&mut self.has_unencoded, true);
        mistake.or_else(comment).or_else(dots).or_else(|| is_first.then_some(FindingKind::UnencodedPath))
    }

    fn extra(&mut self, record: Record<'_>, line: u32) -> Option<FindingKind> {
        let parsed = self.file.parsed(record, line);
        self.file.extras.push(parsed);
        let value = record.value;
        match record.name {
            RecordName::CrawlDelay if seconds(value).is_none() => Some(FindingKind::CrawlDelay),
            RecordName::Sitemap if !is_absolute(value) => Some(FindingKind::RelativeSitemap),
            RecordName::Noindex if !std::mem::replace(&mut self.has_noindex, true) => {
                Some(FindingKind::NoindexRecord)
            }
            RecordName::Host => Some(FindingKind::HostRecord),
            RecordName::ContentUsage if parsed.block.is_none() => Some(FindingKind::RuleOutsideGroup),
            // Nothing stands behind the URL.
            RecordName::License if !is_absolute(value) || value.iter().any(|&byte| line::is_blank(byte)) => {
                Some(FindingKind::LicenseUrl)
            }
            _ => None,
        }
    }
}

/// Whether a sitemap is named by its whole URL, as the sitemaps protocol asks.
fn is_absolute(value: &[u8]) -> bool {
    let Some(scheme) = memchr::memmem::find(value, b"://") else { return false };
    let (scheme, rest) = (value.get(..scheme), value.get(scheme + 3..));
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.iter().all(u8::is_ascii_alphanumeric))
        && rest.and_then(|rest| rest.first()).is_some_and(|&byte| byte != b'/')
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
        let (draft, _) = parse(
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
            let file = format!("license: {value}\n");
            let (_, findings) = parse(file.as_bytes(), u32::MAX);
            findings.into_sorted().iter().any(|finding| finding.kind == FindingKind::LicenseUrl)
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
