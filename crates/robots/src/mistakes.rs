//! Mistakes that many owners make: the file of a staging site on the public one, `$` where a query follows, and
//! names of crawlers that are nearly right.

use super::finding::{Finding, FindingKind};
use super::line::RecordName;
use super::parse::{Findings, ParsedRecord};
use super::rule::RuleKind;
use super::token::{self, Named};
use super::{Parsed, Robots, Rule, RuleGroup, lint, spelling};
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

/// Rules and names that are looked at: each is compared with its group, or with the whole catalogue.
const MOST_COMPARED: usize = 200;

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
    let binds = |rule: &Rule<'_>| rule.kind == RuleKind::Disallow && rule.bytes > 0;
    let rules = robots.file.rules.iter().map(|record| (record, record.view(&robots.source)));
    let ended = rules.filter(|(_, rule)| binds(rule) && is_of_files(rule.pattern));
    for (record, rule) in ended.take(MOST_COMPARED) {
        let file = rule.pattern.strip_suffix(b"$").unwrap_or_default();
        let with_query = [file, b"?"].concat();
        let covering = [file, &with_query, b"/*?", b"*?"];
        // A `*` at the end changes nothing (RFC 9309 §2.2.3).
        let covers = |other: Rule<'_>| {
            binds(&other) && covering.contains(&other.pattern.strip_suffix(b"*").unwrap_or(other.pattern))
        };
        let first = robots.file.agents_of(record.block).first();
        let value = first.map_or(&b""[..], |agent| agent.value(&robots.source));
        // The rules of a group may stand in several places.
        let mut groups = robots.naming.selected(&robots.source, value);
        if !groups.any(|(group, name)| RuleGroup::new(robots, group, name).rules().any(covers)) {
            findings.add(FindingKind::QueryPasses, record.line, record.start, rule.text);
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
    /// Compares the names of the file with those that are `known`, and with the `control` tokens, which no request carries.
    /// Adds a finding for each control token, and for each name that is none of them and nearly one.
    pub fn compare_names<'k>(
        &mut self,
        known: impl Iterator<Item = &'k str>,
        control: impl Iterator<Item = &'k str>,
    ) {
        let lower = |name: &'k str| (name.to_ascii_lowercase(), name);
        let control: HashMap<String, &str> = control.map(lower).collect();
        let known: HashMap<String, &str> = known.map(lower).chain(control.clone()).collect();
        let robots = &self.robots;
        let mut findings = Findings::new(&robots.source, robots.file.generated_from);
        let is_written = |agent: &&ParsedRecord| !agent.is_again && agent.line < robots.file.generated_from;
        let written = robots.file.agents.iter().filter(is_written);
        let is_in = |names: &HashMap<String, &str>, name: &[u8]| {
            std::str::from_utf8(name).is_ok_and(|name| names.contains_key(&name.to_ascii_lowercase()))
        };
        // A group of such tokens alone lets nobody escape the rules of `*`.
        let mut of_use = HashSet::new();
        for agent in written.clone() {
            let value = agent.value(&robots.source);
            if is_in(&control, value) {
                of_use.insert(agent.line);
                findings.add(FindingKind::ControlToken, agent.line, agent.start, value);
            }
        }
        let odd = written.filter_map(|agent| {
            let value = agent.value(&robots.source);
            let Named::Crawler(name, cut) = token::named(value) else { return None };
            let is_plain = token::oddity(value).is_none_or(|odd| odd == FindingKind::TokenCut);
            let mut names = [Some(name), cut].into_iter().flatten();
            (is_plain && !names.any(|name| is_in(&known, name))).then_some((agent, name, cut))
        });
        for (agent, name, cut) in odd.take(MOST_COMPARED) {
            let meant = |name: &[u8]| {
                let name = std::str::from_utf8(name).ok()?;
                spelling::nearest(name, known.values().copied()).filter(|meant| is_slip(name, meant))
            };
            let found = [Some(name), cut].into_iter().flatten().find_map(|name| Some((name, meant(name)?)));
            if let Some((name, meant)) = found {
                let set = |finding: &mut Finding| finding.meant = Some(meant.into());
                findings.add_with(FindingKind::MisspeltToken, agent.line, agent.start, name, set);
            }
        }
        let found = findings.into_sorted();
        let binds_nobody =
            |finding: &Finding| finding.kind == FindingKind::NotBoundByStar && of_use.contains(&finding.line);
        self.findings.retain(|finding| !binds_nobody(finding));
        self.findings.extend(found);
        let is_last = |finding: &Finding| finding.kind == FindingKind::MoreFindings;
        self.findings.sort_by_key(|finding| (is_last(finding), finding.line, finding.column, finding.kind));
    }
}

/// Whether a name of a crawler was surely meant for the other, which is more than that it is like it: not all crawlers are
/// known, and short names are alike without being meant. They are the same but for case and hyphens, or differ by a
/// letter too many, too few, or two in the wrong order, and that in a word: another letter, a digit or a short part makes
/// another crawler, `SemrushBot-SA` and `-SWA`, `httplib` and `httplib2`.
fn is_slip(name: &str, meant: &str) -> bool {
    if name.len() < 5 {
        return false;
    }
    let (one, other) = (name.to_ascii_lowercase(), meant.to_ascii_lowercase());
    spelling::fold(&one) == spelling::fold(&other) || is_one_slip(one.as_bytes(), other.as_bytes())
}

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
