//! Findings about the file as a whole, and about lines beside each other.
//!
//! Runs once, after compiling; changes nothing.

use super::finding::{FindingKind, Severity};
use super::index::Shadow;
use super::line::{self, Lines};
use super::octets::Traits;
use super::parse::Findings;
use super::pattern::index;
use super::rule::{Kind, RuleRecord};
use super::token::{self, Named};
use super::{Group, Robots};
use std::collections::{HashMap, HashSet};

/// Adds the findings of a file of `size` bytes, of which `robots` holds what was read.
pub(super) fn add(robots: &Robots, size: usize, shadow: &Shadow, findings: &mut Findings) {
    encoding(robots, findings);
    if size > robots.source.len() {
        let (line, _) = place(&robots.source, robots.source.len());
        findings.add(FindingKind::TooLarge, line, 1, robots.source.len().to_string().as_bytes());
    }
    duplicate_groups(robots, findings);
    disallow_all(robots, findings);
    shadowed(robots, shadow, findings);
    same_pattern(robots, findings);
    sitemaps(robots, findings);
}

/// What makes the file unreadable replaces the findings that follow from it.
fn encoding(robots: &Robots, findings: &mut Findings) {
    if line::is_utf16(&robots.source) {
        findings.clear();
        findings.add(FindingKind::Utf16, 1, 1, b"");
        return;
    }
    if line::is_html(&robots.source) {
        if robots.records == 0 {
            findings.clear();
            findings.add_as(Severity::Error, FindingKind::Html, 1, 1, b"");
        } else {
            findings.add(FindingKind::Html, 1, 1, b"");
        }
    }
    if let Err(error) = std::str::from_utf8(&robots.source) {
        let (line, column) = place(&robots.source, error.valid_up_to());
        findings.add(FindingKind::NotUtf8, line, column, b"");
    }
}

/// Line and column of an offset.
fn place(source: &[u8], offset: usize) -> (u32, u32) {
    let lines = Lines::new(source, line::byte_order_mark(source)).take_while(|line| line.start <= offset);
    lines.last().map_or((1, 1), |line| (line.number, index(offset - line.start + 1)))
}

/// Section 2.2.1 combines them, but few owners mean to write one group in two places.
fn duplicate_groups(robots: &Robots, findings: &mut Findings) {
    if !robots.naming.combines() {
        return;
    }
    for (block, number) in robots.blocks.iter().zip(0..) {
        let agents = block.agents.start as usize..block.agents.end as usize;
        for agent in robots.agents.get(agents).unwrap_or_default() {
            let value = agent.value(&robots.source);
            let group = match token::named(value) {
                Named::Everyone => robots.naming.everyone(),
                Named::Crawler(name, _) => robots.naming.find(&robots.source, name).map(|found| found.0),
                Named::Nobody => None,
            };
            if group.is_some_and(|group| robots.naming.blocks(group).iter().any(|&other| other < number)) {
                let column = column(robots, agent.start);
                findings.add(FindingKind::DuplicateGroup, agent.line, column, value);
            }
        }
    }
}

fn disallow_all(robots: &Robots, findings: &mut Findings) {
    let Some(everyone) = robots.naming.everyone() else { return };
    let judgement = Group::new(robots, everyone, None).decide(b"/");
    let all = judgement.rule.filter(|rule| matches!(rule.pattern, b"/" | b"/*" | b"*"));
    if let Some(rule) = all.filter(|rule| rule.kind == Kind::Disallow) {
        findings.add(FindingKind::DisallowAll, rule.line, 1, rule.text);
    }
}

fn shadowed(robots: &Robots, shadow: &Shadow, findings: &mut Findings) {
    if shadow.pairs().is_empty() {
        return;
    }
    // A part of the file that several groups use may be overridden in one of them only.
    let mut uses = vec![0_u32; robots.blocks.len()];
    for block in robots.naming.groups().all() {
        if let Some(uses) = uses.get_mut(*block as usize) {
            *uses += 1;
        }
    }
    let mut seen = HashSet::new();
    for &(rule, better) in shadow.pairs() {
        let pair = (robots.rules.get(rule as usize), robots.rules.get(better as usize));
        let (Some(record), Some(better)) = pair else { continue };
        let groups = uses.get(record.block as usize).copied().unwrap_or_default();
        // The same said twice in two places is a matter of duplicate groups.
        let apart = groups == 1 && record.kind != better.kind;
        if (record.block == better.block || apart) && seen.insert(rule) {
            report(robots, record, better, findings);
        }
    }
}

/// The same pattern with `*` twice in one part of the file; literals are compared by the index.
fn same_pattern(robots: &Robots, findings: &mut Findings) {
    let mut known: HashMap<(u32, &[u8]), &RuleRecord> = HashMap::new();
    for record in robots.rules.iter().filter(|record| record.octets > 0 && record.traits.has(Traits::STAR)) {
        let pattern = record.view(&robots.source).pattern;
        // A trailing star makes a literal of it.
        if pattern.iter().position(|&octet| octet == b'*') == Some(pattern.len() - 1) {
            continue;
        }
        let first = *known.entry((record.block, pattern)).or_insert(record);
        if first.line == record.line {
            continue;
        }
        if record.rank() > first.rank() {
            known.insert((record.block, pattern), record);
            report(robots, first, record, findings);
        } else {
            report(robots, record, first, findings);
        }
    }
}

fn report(robots: &Robots, record: &RuleRecord, better: &RuleRecord, findings: &mut Findings) {
    // Said twice is harmless; said otherwise, the owner is mistaken about the file.
    let severity = if record.kind == better.kind { Severity::Note } else { Severity::Warning };
    let text = record.view(&robots.source).text;
    let column = column(robots, record.start);
    findings.add_beside(severity, FindingKind::ShadowedRule, (record.line, column), text, better.line);
}

/// The file does not say which host it is for, so every sitemap is taken to be on that host.
fn sitemaps(robots: &Robots, findings: &mut Findings) {
    let Some(everyone) = robots.naming.everyone() else { return };
    let everyone = Group::new(robots, everyone, None);
    for extra in robots.extras(line::Name::Sitemap) {
        let value = extra.value(&robots.source);
        if path(value).is_some_and(|path| !everyone.judge(path).allow) {
            findings.add(FindingKind::SitemapDisallowed, extra.line, column(robots, extra.start), value);
        }
    }
}

/// Path and query of an absolute URI.
fn path(uri: &[u8]) -> Option<&[u8]> {
    let host = memchr::memmem::find(uri, b"://")? + 3;
    let rest = uri.get(host..)?;
    let path = memchr::memchr(b'/', rest)?;
    rest.get(path..)
}

/// The column of an offset, counted from the line's start.
fn column(robots: &Robots, offset: u32) -> u32 {
    let before = robots.source.get(..offset as usize).unwrap_or_default();
    let first = || line::byte_order_mark(before);
    let start = memchr::memrchr2(b'\n', b'\r', before).map_or_else(first, |at| at + 1);
    index(before.len() - start + 1)
}
