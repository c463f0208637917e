//! Mistakes that many owners make: the file of a staging site on the public one, `$` where a query follows, and
//! names of crawlers that are nearly right.

use super::finding::{Finding, FindingKind};
use super::line::RecordName;
use super::parse::{Findings, UserAgentLine};
use super::rule::{RuleKind, RuleRecord};
use super::token::{self, Named};
use super::{Parsed, Robots, lint};
use std::collections::{HashMap, HashSet};

/// What comments of staging sites say.
const WORDS: [&[u8]; 6] =
    [b"staging", b"preprod", b"pre-production", b"non-production", b"sandbox", b"localhost"];

/// What hosts of staging sites are called, in whole labels.
const LABELS: [&[u8]; 12] = [
    b"staging",
    b"stage",
    b"stg",
    b"dev",
    b"test",
    b"preprod",
    b"preview",
    b"sandbox",
    b"uat",
    b"qa",
    b"local",
    b"localhost",
];

/// Names that are looked up at most: each is compared with the whole catalogue.
const MOST_NAMES: usize = 200;

/// The first line whose comment, sitemap or host is about a staging site.
pub(super) fn staging_line(robots: &Robots) -> Option<u32> {
    let in_comment = |line: &[u8]| {
        let comment = memchr::memchr(b'#', line).and_then(|at| line.get(at..)).unwrap_or_default();
        let comment = comment.to_ascii_lowercase();
        WORDS.iter().any(|word| memchr::memmem::find(&comment, word).is_some())
    };
    let comments = super::lines(&robots.source).zip(1..).filter(|(line, _)| in_comment(line)).map(|it| it.1);
    let is_staging = |host: &[u8]| {
        let host = host.split(|&b| b == b':').next().unwrap_or_default();
        host.split(|&b| b == b'.').any(|label| LABELS.iter().any(|known| known.eq_ignore_ascii_case(label)))
    };
    let of_host = robots.file.extras.iter().filter(|extra| match extra.name {
        RecordName::Host | RecordName::Sitemap => is_staging(lint::host(extra.value(&robots.source))),
        _ => false,
    });
    comments.chain(of_host.map(|extra| extra.line)).min()
}

/// Rules such as `Disallow: /*.pdf$`: `$` is the end of path and query, so `/x.pdf?y` is allowed.
pub(super) fn query_passes(robots: &Robots, findings: &mut Findings<'_>) {
    let pattern = |rule: &RuleRecord| rule.view(&robots.source).pattern;
    let rules = || robots.file.rules.iter().filter(|rule| rule.kind == RuleKind::Disallow && rule.bytes > 0);
    let mut ended = rules().filter(|rule| is_of_files(pattern(rule))).peekable();
    if ended.peek().is_none() {
        return;
    }
    // `*` at the end is no difference.
    let known: HashSet<(u32, &[u8])> = rules()
        .map(|rule| (rule.block, pattern(rule).strip_suffix(b"*").unwrap_or_else(|| pattern(rule))))
        .collect();
    for rule in ended {
        let file = pattern(rule).strip_suffix(b"$").unwrap_or_default();
        let with_query = [file, b"?"].concat();
        let covering = [file, &with_query, b"/*?", b"*?"];
        if !covering.iter().any(|covering| known.contains(&(rule.block, *covering))) {
            findings.add(FindingKind::QueryPasses, rule.line, rule.start, rule.view(&robots.source).text);
        }
    }
}

/// Whether a pattern ends in the extension of a file, and in `$`.
fn is_of_files(pattern: &[u8]) -> bool {
    let Some(file) = pattern.strip_suffix(b"$") else { return false };
    let Some(dot) = memchr::memrchr(b'.', file) else { return false };
    let extension = file.get(dot + 1..).unwrap_or_default();
    (1..=5).contains(&extension.len()) && extension.iter().all(u8::is_ascii_alphanumeric)
}

impl Parsed {
    /// Adds a finding for each name that is none of `known`, and nearly one of them.
    pub fn compare_names<'k>(&mut self, known: impl Iterator<Item = &'k str>) {
        let known: HashMap<String, &str> = known.map(|name| (name.to_ascii_lowercase(), name)).collect();
        let robots = &self.robots;
        let mut findings = Findings::new(&robots.source, robots.file.generated_from);
        let is_written = |agent: &&UserAgentLine| !agent.is_again && agent.line < robots.file.generated_from;
        let written = robots.file.agents.iter().filter(is_written);
        let is_known = |name: &[u8]| {
            std::str::from_utf8(name).is_ok_and(|name| known.contains_key(&name.to_ascii_lowercase()))
        };
        let odd = written.filter_map(|agent| {
            let value = agent.value(&robots.source);
            let Named::Crawler(name, cut) = token::named(value) else { return None };
            let is_plain = token::oddity(value).is_none_or(|odd| odd == FindingKind::TokenCut);
            (is_plain && !is_known(name) && !cut.is_some_and(is_known))
                .then_some((agent, cut.unwrap_or(name)))
        });
        for (agent, name) in odd.take(MOST_NAMES) {
            let meant = std::str::from_utf8(name).ok().and_then(|name| nearest(name, &known));
            if let Some(meant) = meant {
                let set = |finding: &mut Finding| finding.meant = Some(meant.into());
                findings.add_with(FindingKind::MisspeltToken, agent.line, agent.start, name, set);
            }
        }
        let found = findings.into_sorted();
        self.add_findings(found);
    }

    pub(super) fn add_findings(&mut self, found: Vec<Finding>) {
        self.findings.extend(found);
        let is_last = |finding: &Finding| finding.kind == FindingKind::MoreFindings;
        self.findings.sort_by_key(|finding| (is_last(finding), finding.line, finding.column, finding.kind));
    }
}

/// The name that is one slip away. Short names are alike without being meant.
fn nearest<'k>(name: &str, known: &HashMap<String, &'k str>) -> Option<&'k str> {
    let name = name.to_ascii_lowercase();
    if name.len() < 5 {
        return None;
    }
    let alike = known.iter().filter(|(lower, _)| lower.len().abs_diff(name.len()) <= 1);
    alike.filter(|(lower, _)| is_one_slip(lower.as_bytes(), name.as_bytes())).map(|(_, meant)| *meant).min()
}

/// Whether two names differ by a letter too many, too few, or two in the wrong order, and that in a word. Another letter,
/// a digit or a short part makes another crawler: `SemrushBot-SA` and `-SWA`, `httplib` and `httplib2`.
fn is_one_slip(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let word = one.get(..same).unwrap_or_default().rsplit(|&b| b == b'-').next().unwrap_or_default().len()
        + one.get(same..).unwrap_or_default().split(|&b| b == b'-').next().unwrap_or_default().len();
    let (one, other) = (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
    let same = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    match (one.get(..one.len() - same), other.get(..other.len() - same)) {
        _ if word < 4 => false,
        (Some([]), Some([b])) | (Some([b]), Some([])) => b.is_ascii_alphabetic(),
        (Some([a, b]), Some([c, d])) => a == d && b == c,
        _ => false,
    }
}
