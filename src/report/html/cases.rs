//! Elements of a report one by one, one for each site and proof: the rules they met, where they went, what they read.

use super::rows::sent;
use super::text::{isolated, moment, seconds, visible};
use crate::record::{CountSubject, OTHER_PATHS, PathCounts};
use crate::report::headline::times;
use crate::report::{Conduct, CrawlDelay, PathCount, ReportEntry, amount, grouped};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many rules, folders and reads are shown of one element.
pub(super) const MOST: usize = 10;

pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) value: String,
}

pub(super) struct FolderView {
    pub(super) folder: String,
    /// How many different targets in it were asked for; `None` where some are not known by name.
    pub(super) targets: Option<u64>,
    pub(super) counts: PathCounts,
}

/// What no other element is called.
pub(super) fn label(entry: &ReportEntry) -> String {
    let CountSubject { site, client, proof, .. } = &entry.subject;
    isolated(&format!("{}, {site}, {client}, {proof}", entry.subject.name()))
}

/// What is said of the rules that are not shown.
pub(super) fn more_rules(entry: &ReportEntry) -> Option<String> {
    let more = entry.rules.len().checked_sub(MOST).filter(|more| *more > 0)?;
    let requests = entry.rules.iter().skip(MOST).map(|rule| rule.count).sum();
    let requests = amount(requests, "request", "requests");
    Some(format!("{more} more, with {requests}, {} in the JSON.", if more == 1 { "is" } else { "are" }))
}

pub(super) fn facts(entry: &ReportEntry, shows_site: bool, is_replay: bool) -> Vec<Fact> {
    let time = |time: Option<std::time::SystemTime>| time.as_ref().map_or_else(|| "–".to_owned(), moment);
    let by = entry.proof_by.words(entry.requests);
    let by = if by.is_empty() { by } else { format!(" ({by})") };
    let mut facts = vec![
        Fact { label: "Proof", value: format!("{}{by}", entry.subject.proof) },
        Fact { label: "Requests", value: grouped(entry.requests) },
    ];
    if shows_site {
        facts.insert(0, Fact { label: "Site", value: visible(&entry.subject.site) });
    }
    if entry.subject.is_crawler() && !entry.subject.is_borrowed() {
        facts.push(Fact { label: "Conduct", value: entry.conduct.words().to_owned() });
    }
    facts.extend(broken(entry));
    let refused = if is_replay { "Would be refused" } else { "Refused" };
    let slowed = if is_replay { "Would be answered 429" } else { "Answered 429" };
    for (label, count) in [
        ("Stale", entry.stale),
        ("Variants", entry.variants),
        (refused, entry.refused),
        ("Too fast", entry.too_fast),
        (slowed, entry.slowed),
    ] {
        if count > 0 {
            facts.push(Fact { label, value: grouped(count) });
        }
    }
    let hidden = entry.hidden_words();
    facts.extend(hidden.map(|value| Fact { label: "In disguise", value }));
    facts.extend(entry.bytes.filter(|bytes| *bytes > 0).map(sent));
    let read = match (entry.reads, entry.other_fetch) {
        (0, Some(_)) => "not known to be this file".to_owned(),
        (0, None) => "no read seen".to_owned(),
        (reads, _) => times(reads),
    };
    facts.push(Fact { label: "Read robots.txt", value: read });
    if let Some(value) = delay(entry.crawl_delay) {
        facts.push(Fact { label: "Crawl-delay", value });
    }
    if let Some(counts) = entry.crawl_delay.per_minute.filter(|_| entry.crawl_delay.declared.is_some()) {
        facts.push(Fact { label: "Requests a minute", value: counts.words() });
    }
    facts.push(Fact { label: "First seen", value: time(entry.first_seen) });
    facts.push(Fact { label: "Last seen", value: time(entry.last_seen) });
    facts
}

fn broken(entry: &ReportEntry) -> Vec<Fact> {
    let time = |time: Option<std::time::SystemTime>| time.as_ref().map_or_else(|| "–".to_owned(), moment);
    if entry.violations == 0 {
        return Vec::new();
    }
    let (first, last) = (time(entry.first_violation), time(entry.last_violation));
    if entry.is_hypothetical() {
        return vec![
            Fact { label: "Would be disallowed", value: amount(entry.violations, "request", "requests") },
            Fact { label: "The first of them", value: first },
            Fact { label: "The last of them", value: last },
        ];
    }
    let (after, without) = (entry.violations_after_read, entry.violations_without_read());
    let value = match (after, without) {
        (0, _) if entry.conduct == Conduct::NoReadSeen => {
            format!("{}, and no read was seen; the notice was over", grouped(without))
        }
        (0, _) => format!("{} without a counted read; the notice was over", grouped(without)),
        (_, 0) => format!("{} after a counted read", grouped(after)),
        _ => format!(
            "{} after a counted read, {} without one; the notice was over",
            grouped(after),
            grouped(without)
        ),
    };
    vec![
        Fact { label: "Violations", value },
        Fact { label: "First violation", value: first },
        Fact { label: "Last violation", value: last },
    ]
}

/// Beside what was asked for stands what was seen. It is no rule of RFC 9309, and nobody is accused of it.
fn delay(delay: CrawlDelay) -> Option<String> {
    let observed = delay
        .observed
        .map(|gap| format!("half of its requests came within about {} of the one before", seconds(gap)));
    match (delay.declared, observed) {
        (None, observed) => observed.map(|observed| format!("none asked for; {observed}")),
        (Some(asked), None) => Some(format!("{} asked for", seconds(asked))),
        (Some(asked), Some(observed)) => Some(format!("{} asked for; {observed}", seconds(asked))),
    }
}

/// Targets by the first folder of their paths, as often as they were asked for; what is not known by name is last.
pub(super) fn folders(paths: &[PathCount]) -> Vec<FolderView> {
    let mut sums: BTreeMap<&str, (u64, PathCounts)> = BTreeMap::new();
    for path in paths {
        let (targets, counts) = sums.entry(folder(&path.target)).or_default();
        *targets += 1;
        counts.add(&path.counts);
    }
    let rest = sums.remove(OTHER_PATHS);
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(folder, (_, counts))| (Reverse(counts.weight()), *folder));
    let mut others = rest.map(|(_, counts)| (None, counts));
    for (_, (targets, counts)) in sums.drain(MOST.min(sums.len())..) {
        let (known, sum) = others.get_or_insert_with(|| (Some(0), PathCounts::default()));
        *known = known.map(|known| known + targets);
        sum.add(&counts);
    }
    let known = sums.into_iter().map(|(folder, (targets, counts))| FolderView {
        folder: visible(folder),
        targets: Some(targets),
        counts,
    });
    let others =
        others.map(|(targets, counts)| FolderView { folder: "all others".to_owned(), targets, counts });
    known.chain(others).collect()
}

/// `/news/` of `/news/2026/a?b`, and `/` of what is in no folder.
pub(super) fn folder(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let Some(inside) = path.strip_prefix('/') else { return target };
    inside.find('/').and_then(|at| path.get(..at + 2)).unwrap_or("/")
}
