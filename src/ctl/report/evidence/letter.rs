//! What the letter is made of.

use crate::ctl::output::escape_harmful;
use crate::ctl::report::cells::LETTER_WIDTH;
use crate::identify::ProofMethod;
use crate::record::{EventKind, ReadTotal, VersionRecord, format_span, instant};
use crate::report::{ReportEntry, RuleCount};
use serde_json::Value;
use std::time::Duration;

pub(super) use crate::ctl::report::table::{format_minute, format_violations};
pub(super) use crate::record::{hexadecimal, timestamp};
pub(super) use crate::report::{amount, grouped};

/// A field of a request in full; a dash where it is empty.
pub(super) fn text(sample: &Value, name: &str) -> String {
    match sample.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Name and site, underlined.
pub(super) fn heading(entry: &ReportEntry) -> String {
    let title = escape_harmful(&format!("{} at {}", entry.subject.name(), entry.subject.site));
    format!("{title}\n{}", "-".repeat(title.chars().count().min(LETTER_WIDTH)))
}

/// Seconds as a person says them.
pub(super) fn delay(seconds: f64) -> String {
    format_span(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

pub(super) const fn it(count: u64) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

/// So many of the violations of an element.
pub(super) fn of_these(count: u64, entry: &ReportEntry) -> String {
    if entry.violations == 1 { "It".to_owned() } else { format!("{} of these", grouped(count)) }
}

pub(super) const fn by(method: ProofMethod) -> &'static str {
    match method {
        ProofMethod::Ranges => "by an address within the ranges that its operator publishes",
        ProofMethod::Rdns => "by forward-confirmed reverse DNS",
        ProofMethod::Signature => "by a signature of the request that its published key verifies",
    }
}

/// The times of each version.
pub(super) fn by_version<'v>(times: &'v [&'v VersionRecord]) -> Vec<&'v [&'v VersionRecord]> {
    times.chunk_by(|one, other| one.sha256 == other.sha256).collect()
}

/// When a version was read.
pub(super) fn reads(entry: &ReportEntry, version: &VersionRecord) -> String {
    let reads = &entry.reads_of;
    let of_version = reads.iter().find(|read| Some(read.key.version) == version.id);
    of_version.map_or_else(|| "no read was seen".to_owned(), read)
}

pub(super) fn read(read: &ReadTotal) -> String {
    let seen = read.sum.seen;
    let [first, last] = [seen.first, seen.last].map(|at| timestamp(instant(at)));
    format!("reads: {}, first {first}, last {last}", grouped(seen.count))
}

/// Reads of versions that were replaced before the window, or that another gateway or a former retention knew; in a report
/// all.
pub(super) fn other_reads(entry: &ReportEntry, versions: &[&VersionRecord]) -> Vec<ReadTotal> {
    let mut reads = entry.reads_of.clone();
    reads.retain(|read| versions.iter().all(|version| version.id != Some(read.key.version)));
    reads
}

/// Rules that allow what is stale, and those that disallow. A stale request stands beside the version in force, which may
/// well allow it.
pub(super) fn rules(entry: &ReportEntry) -> (Vec<&RuleCount>, Vec<&RuleCount>) {
    entry.rules.iter().partition(|rule| rule.kind() == EventKind::Stale && !rule.is_of_disallow())
}

/// Rules beyond the first `top`.
pub(super) fn rest<'r>(rules: &[&'r RuleCount], top: usize) -> Vec<&'r RuleCount> {
    rules.iter().skip(top).copied().collect()
}

pub(super) fn sum(rules: &[&RuleCount]) -> u64 {
    rules.iter().map(|rule| rule.count).sum()
}
