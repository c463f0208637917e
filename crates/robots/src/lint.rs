//! Findings about the file as a whole, and about lines beside each other.
//!
//! Runs once, after compiling; changes nothing.

use super::finding::{Finding, FindingKind, Severity};
use super::index::IndexedRule;
use super::line::{self, PhysicalLines};
use super::matcher;
use super::mistakes;
use super::parse::Findings;
use super::pattern::index;
use super::rule::{RuleKind, RuleRecord};
use super::{LEAST_LIMIT, Robots, Rule, RuleGroup, preference, token, vocabularies};
use std::collections::HashMap;

/// How many sitemaps are looked up in the rules: some files have tens of thousands of them.
const MOST_SITEMAPS: usize = 64;

/// The longest targets that most servers take, in bytes.
const LONG_TARGET: usize = 8 * 1024;

/// Adds the findings of a file of which `robots` holds what was read, and `rest` is what was not.
/// `entries` are its rules taken apart.
pub(super) fn add(
    robots: &Robots,
    rest: &[u8],
    entries: &[Option<IndexedRule>],
    findings: &mut Findings<'_>,
) {
    encoding(robots, findings);
    too_large(robots, rest, findings);
    duplicate_groups(robots, findings);
    disallow_all(robots, findings);
    overridden_blocks(robots, findings);
    shadowed(robots, entries, findings);
    many_stars(robots, entries, findings);
    sitemaps(robots, findings);
    between_agents(robots, findings);
    not_bound_by_star(robots, findings);
    outranked(robots, findings);
    mistakes::query_passes(robots, findings);
    vocabularies::add(robots, findings);
}

/// What makes the file unreadable replaces the findings that follow from it.
fn encoding(robots: &Robots, findings: &mut Findings<'_>) {
    if robots.source.is_empty() {
        return findings.add(FindingKind::EmptyFile, 1, 0, b"");
    }
    if line::is_utf16(&robots.source) {
        findings.clear();
        return findings.add(FindingKind::Utf16, 1, 0, b"");
    }
    let kind = match () {
        () if line::is_html(&robots.source) => Some(FindingKind::Html),
        () if line::is_json(&robots.source) => Some(FindingKind::Json),
        () => None,
    };
    if let Some(kind) = kind {
        let mut severity = kind.severity();
        if robots.records() == 0 {
            findings.clear();
            severity = Severity::Error;
        }
        findings.add_with(kind, 1, 0, b"", |finding| finding.severity = severity);
    }
    if let Err(error) = std::str::from_utf8(&robots.source) {
        let at = error.valid_up_to();
        findings.add(FindingKind::NotUtf8, line_of(&robots.source, at).0, index(at), b"");
    }
}

/// Section 2.5: what stands beyond the limit is ignored, and what stands beyond 500 KiB may be ignored
/// by others. Line ends alone are no loss.
fn too_large(robots: &Robots, rest: &[u8], findings: &mut Findings<'_>) {
    let blank = |bytes: &[u8]| bytes.iter().all(|&byte| matches!(byte, b'\n' | b'\r'));
    let (severity, read) = if !blank(rest) {
        (FindingKind::TooLarge.severity(), robots.source.len())
    } else if robots.source.get(LEAST_LIMIT..).is_some_and(|beyond| !blank(beyond)) {
        (Severity::Note, LEAST_LIMIT)
    } else {
        return;
    };
    let ((line, start), read) = (line_of(&robots.source, read), read.to_string());
    let set = |finding: &mut Finding| finding.severity = severity;
    findings.add_with(FindingKind::TooLarge, line, start, read.as_bytes(), set);
}

/// The line of an offset, and where it starts.
fn line_of(source: &[u8], offset: usize) -> (u32, u32) {
    let lines = PhysicalLines::new(source, line::byte_order_mark(source));
    let upto = lines.take_while(|line| line.start <= offset);
    upto.last().map_or((1, 0), |line| (line.number, index(line.start)))
}

/// Section 2.2.1 combines them, but few owners mean to write one group in two places.
fn duplicate_groups(robots: &Robots, findings: &mut Findings<'_>) {
    if robots.naming.groups.iter().all(|blocks| blocks.len() < 2) {
        return;
    }
    for number in 0..index(robots.file.blocks.len()) {
        for agent in robots.file.agents_of(number) {
            let value = agent.value(&robots.source);
            // The blocks of a group are in the order of the file.
            let above = |group: u32| robots.naming.blocks(group).first().is_some_and(|&first| first < number);
            if robots.naming.selected(&robots.source, value).any(|(group, _)| above(group)) {
                findings.add(FindingKind::DuplicateGroup, agent.line, agent.start, value);
            }
        }
    }
}

fn disallow_all(robots: &Robots, findings: &mut Findings<'_>) {
    let Some(everyone) = robots.naming.everyone else { return };
    let rules = || {
        let blocks = robots.naming.blocks(everyone).iter();
        blocks.flat_map(|block| robots.file.rules_of(*block)).filter(|rule| rule.bytes > 0)
    };
    let all = rules().filter(|rule| is_everything(rule.view(&robots.source).pattern));
    // Of equal ones the first decides.
    let best = all.min_by_key(|rule| std::cmp::Reverse(rule.rank()));
    let Some(all) = best.filter(|rule| rule.kind == RuleKind::Disallow) else { return };
    let except = rules().find(|rule| rule.kind == RuleKind::Allow && rule.rank() > all.rank());
    let staging = if except.is_none() { mistakes::staging_line(robots) } else { None };
    let kind = if staging.is_some() { FindingKind::StagingFile } else { FindingKind::DisallowAll };
    let other = staging.or_else(|| except.map(|except| except.line));
    let text = all.view(&robots.source).text;
    findings.add_with(kind, all.line, all.start, text, |finding| finding.other = other);
}

/// The names go on behind such a record, which is not for them; the rules below are for all.
fn between_agents(robots: &Robots, findings: &mut Findings<'_>) {
    for extra in &robots.file.extras {
        let is_of_group =
            extra.name == line::RecordName::CrawlDelay || preference::kind(extra.name).is_some();
        let agents = extra.block.map(|block| robots.file.agents_of(block)).unwrap_or_default();
        let next = agents.get(agents.partition_point(|agent| agent.line < extra.line));
        if let Some(next) = next.filter(|_| is_of_group) {
            let (kind, value) = (FindingKind::BetweenAgents, extra.value(&robots.source));
            let set = |finding: &mut Finding| finding.other = Some(next.line);
            findings.add_with(kind, extra.line, extra.start, value, set);
        }
    }
}

/// What `*` may not fetch and a named group without any rule leaves out. A group of rules, even of an empty one, is meant.
fn not_bound_by_star(robots: &Robots, findings: &mut Findings<'_>) {
    let Some(star) = robots.naming.everyone else { return };
    let binds = |rule: &Rule<'_>| rule.kind == RuleKind::Disallow && rule.bytes > 0;
    let left: Vec<u32> =
        RuleGroup::new(robots, star, None).rules().filter(binds).map(|rule| rule.line).collect();
    for number in (0..index(robots.naming.groups.len())).filter(|_| !left.is_empty()) {
        let blocks = robots.naming.blocks(number);
        let agent = blocks.first().and_then(|block| robots.file.agents_of(*block).first());
        let Some(agent) =
            agent.filter(|_| blocks.iter().all(|block| robots.file.rules_of(*block).is_empty()))
        else {
            continue;
        };
        let value = agent.value(&robots.source);
        if token::oddity(value) != Some(FindingKind::RuleInName) {
            let set = |finding: &mut Finding| finding.meant = Some(lines(&left).into());
            findings.add_with(FindingKind::NotBoundByStar, agent.line, agent.start, value, set);
        }
    }
}

/// Some lines in words: `lines 3, 4 and 2 more`.
fn lines(all: &[u32]) -> String {
    let shown: Vec<String> = all.iter().take(3).map(u32::to_string).collect();
    let word = if all.len() == 1 { "line" } else { "lines" };
    match all.len().saturating_sub(shown.len()) {
        0 => format!("{word} {}", shown.join(", ")),
        more => format!("{word} {} and {more} more", shown.join(", ")),
    }
}

/// Rules such as `Disallow: /*/raw` beside an `Allow` of as many bytes or more.
fn outranked(robots: &Robots, findings: &mut Findings<'_>) {
    for number in 0..index(robots.file.blocks.len()) {
        let rules = || robots.file.rules_of(number).iter().filter(|rule| rule.bytes > 0);
        let pattern = |rule: &RuleRecord| rule.view(&robots.source).pattern;
        // A whole folder; to let in one file of it is plainly meant.
        let opens = |rule: &&RuleRecord| {
            let pattern = pattern(rule);
            let last = pattern.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            rule.kind == RuleKind::Allow
                && !is_everything(pattern)
                && !last.iter().any(|b| b"*$.?".contains(b))
        };
        let Some(best) = rules().filter(opens).max_by_key(|rule| rule.bytes) else { continue };
        let is_loser = |rule: &&RuleRecord| {
            rule.kind == RuleKind::Disallow && rule.bytes <= best.bytes && pattern(rule).starts_with(b"/*/")
        };
        for rule in rules().filter(is_loser) {
            let text = rule.view(&robots.source).text;
            findings.add_with(FindingKind::Outranked, rule.line, rule.start, text, |finding| {
                finding.other = Some(best.line);
                finding.meant = Some(String::from_utf8_lossy(pattern(best)).into());
            });
        }
    }
}

/// An owner's own `Allow` is stronger than a generated group of the same crawler.
fn overridden_blocks(robots: &Robots, findings: &mut Findings<'_>) {
    for void in robots.voids() {
        for &by in &void.by {
            let at = robots.file.rules.partition_point(|record| record.line < by);
            let Some(record) = robots.file.rules.get(at) else { continue };
            let text = record.view(&robots.source).text;
            let set = |finding: &mut Finding| finding.other = Some(void.line);
            findings.add_with(FindingKind::BlockOverridden, by, record.start, text, set);
        }
    }
}

/// Whether a pattern matches every path: `/` or nothing between any number of `*`, and no `$` that
/// ends the path.
pub(super) fn is_everything(pattern: &[u8]) -> bool {
    let open = pattern.strip_suffix(b"$").filter(|body| body.ends_with(b"*")).unwrap_or(pattern);
    let mut literal = open.iter().filter(|&&byte| byte != b'*');
    matches!((literal.next(), literal.next()), (None | Some(b'/'), None))
}

/// Rules that never decide: another of the same part of the file has the same pattern, and always wins.
fn shadowed(robots: &Robots, entries: &[Option<IndexedRule>], findings: &mut Findings<'_>) {
    let usable = || {
        let rules = entries.iter().zip(&robots.file.rules);
        rules.filter_map(|(entry, record)| {
            let entry = (*entry)?;
            Some(((record.block, entry.literals(robots.texts())), entry.choice, record))
        })
    };
    let mut best = HashMap::new();
    for (pattern, choice, record) in usable() {
        let known = best.entry(pattern).or_insert((choice, record));
        *known = if known.0 < choice { (choice, record) } else { *known };
    }
    for (pattern, choice, record) in usable() {
        let Some((_, better)) = best.get(&pattern).filter(|(known, _)| *known > choice) else { continue };
        // Said twice is harmless; said otherwise, the owner is mistaken about the file.
        let severity = if record.kind == better.kind { Severity::Note } else { Severity::Warning };
        let text = record.view(&robots.source).text;
        findings.add_with(FindingKind::ShadowedRule, record.line, record.start, text, |finding| {
            (finding.severity, finding.other) = (severity, Some(better.line));
        });
    }
}

/// A group with which a target could be made that is read as often as any may be (`matcher`).
fn many_stars(robots: &Robots, entries: &[Option<IndexedRule>], findings: &mut Findings<'_>) {
    let cost = |entry: IndexedRule| LONG_TARGET + matcher::STEP * entry.pattern.pieces.1 as usize;
    let costs = robots.file.blocks.iter().map(|block| {
        let here = entries.get(block.rules.clone()).unwrap_or_default();
        here.iter().flatten().filter(|entry| entry.has_star()).map(|entry| cost(*entry)).sum()
    });
    let costs: Vec<usize> = costs.collect();
    let cost = |block: &u32| costs.get(*block as usize).copied().unwrap_or(0);
    let mut groups = (0..index(robots.naming.groups.len())).map(|group| robots.naming.blocks(group));
    let found = groups.find(|blocks| blocks.iter().map(cost).sum::<usize>() > matcher::MOST_READ);
    if let Some(agent) = found.and_then(|blocks| robots.file.agents_of(*blocks.first()?).first()) {
        let value = agent.value(&robots.source);
        findings.add(FindingKind::ManyStars, agent.line, agent.start, value);
    }
}

/// Whether the file shuts crawlers out of its own sitemaps. The file does not say which host it is for
/// but by a `Host` record: where it has one, sitemaps of other hosts are left alone.
fn sitemaps(robots: &Robots, findings: &mut Findings<'_>) {
    let Some(everyone) = robots.naming.everyone else { return };
    let everyone = RuleGroup::new(robots, everyone, None);
    let own = robots.hosts().next().map(host);
    let sitemaps = robots.extras(line::RecordName::Sitemap).filter_map(|extra| {
        let (place, path) = split(extra.value(&robots.source))?;
        own.is_none_or(|own| own.eq_ignore_ascii_case(place)).then_some((extra, path))
    });
    for (extra, _) in sitemaps.take(MOST_SITEMAPS).filter(|(_, path)| !everyone.judge(path).allow) {
        findings.add(FindingKind::SitemapDisallowed, extra.line, extra.start, extra.value(&robots.source));
    }
}

/// Host, and path and query, of an absolute URI.
fn split(uri: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = uri.get(memchr::memmem::find(uri, b"://")? + 3..)?;
    rest.split_at_checked(memchr::memchr(b'/', rest)?)
}

/// The host of a `Host` record, which may be a URI.
pub(super) fn host(value: &[u8]) -> &[u8] {
    let rest = memchr::memmem::find(value, b"://").and_then(|at| value.get(at + 3..)).unwrap_or(value);
    rest.split(|&byte| byte == b'/').next().unwrap_or_default()
}
