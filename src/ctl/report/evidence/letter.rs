//! What the letter is made of, and lines that a mail can carry. It breaks none that people write, only those that clients
//! made too long.

#![expect(clippy::trivially_copy_pass_by_ref, reason = "the template calls these with what it borrows")]

use crate::ctl::output::escape_harmful;
use crate::ctl::report::cells::wrapped;
use crate::ctl::report::table::{format_minute, format_violations};
use crate::identify::ProofMethod;
use crate::record::{EventKind, ReadTotal, SampleEvent, VersionRecord, format_span, instant, timestamp};
use crate::report::{ReportEntry, RuleCount, grouped};
use serde_json::Value;
use std::fmt::{self, Write};
use std::time::{Duration, SystemTime};

pub(super) use crate::record::hexadecimal;

/// Lines of prose; mail is read at 80 columns.
pub(super) const WIDTH: usize = 76;

/// The longest line, in bytes: 998 is what mail may have (RFC 5322 §2.1.1), and a reply puts marks before it.
const LONGEST: usize = 960;

/// What a line that goes on begins with.
const GOES_ON: &str = "      ";

/// In the template, a paragraph stands between two of these.
const PARAGRAPH: char = '¶';

/// The same in a value, until the paragraphs are set: no value holds it, since it is harmful to a terminal.
const IN_A_VALUE: char = '\u{1e}';

/// Spells out what could harm a terminal.
#[derive(Clone, Copy)]
pub(super) struct Harmless;

impl askama::filters::Escaper for Harmless {
    fn write_escaped_str<W: Write>(&self, mut out: W, text: &str) -> fmt::Result {
        out.write_str(&escape_harmful(text).replace(PARAGRAPH, &IN_A_VALUE.to_string()))
    }
}

/// One request in full, as a line of the journal has it.
pub(super) struct LetterSample(Value);

impl LetterSample {
    pub(super) fn of(sample: &SampleEvent) -> Option<Self> {
        serde_json::from_str(&sample.event).ok().map(Self)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.value(name).unwrap_or("-")
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }
}

/// The lines of a letter: its paragraphs in lines of `width`, and no line longer than a mail may have.
pub(super) fn lines(letter: &str, width: usize) -> Vec<String> {
    let set =
        |(at, part): (usize, &str)| if at % 2 == 1 { wrapped(part, width, "") } else { part.to_owned() };
    let text: String = letter.split(PARAGRAPH).enumerate().map(set).collect();
    let text = text.replace(IN_A_VALUE, &PARAGRAPH.to_string());
    text.trim_end_matches('\n').split('\n').flat_map(folded).collect()
}

fn folded(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    for symbol in text.chars() {
        if part.len() + symbol.len_utf8() > LONGEST {
            parts.push(std::mem::replace(&mut part, GOES_ON.to_owned()));
        }
        part.push(symbol);
    }
    parts.push(part);
    parts
}

/// Name and site, underlined.
pub(super) fn heading(entry: &ReportEntry) -> String {
    let title =
        format!("{} at {}", escape_harmful(entry.subject.name()), escape_harmful(&entry.subject.site));
    let line = "-".repeat(title.chars().count().min(WIDTH));
    format!("{}\n{line}", title.replace(PARAGRAPH, &IN_A_VALUE.to_string()))
}

pub(super) fn time(time: &SystemTime) -> String {
    timestamp(*time)
}

pub(super) fn minute(time: &SystemTime) -> String {
    format_minute(*time)
}

/// Seconds as a person says them.
pub(super) fn delay(seconds: &f64) -> String {
    format_span(Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX))
}

pub(super) fn violations(count: &u64, entry: &ReportEntry) -> String {
    format_violations(*count, entry.is_hypothetical())
}

pub(super) fn number(count: &u64) -> String {
    grouped(*count)
}

pub(super) fn amount(count: &u64, one: &str, many: &str) -> String {
    crate::report::amount(*count, one, many)
}

pub(super) const fn it(count: &u64) -> &'static str {
    if *count == 1 { "it" } else { "them" }
}

/// So many of the violations of an element.
pub(super) fn of_these(count: &u64, entry: &ReportEntry) -> String {
    if entry.violations == 1 { "It".to_owned() } else { format!("{} of these", grouped(*count)) }
}

pub(super) const fn by(method: &ProofMethod) -> &'static str {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_mail_cannot_carry_goes_on_and_loses_nothing() {
        assert_eq!(folded(""), [""]);
        assert_eq!(folded("    GET /x"), ["    GET /x"]);
        for symbol in ["a", "é", "百"] {
            let text = symbol.repeat(4_000);
            let parts = folded(&text);
            assert!(parts.len() > 4 && parts.iter().all(|part| part.len() <= LONGEST), "{symbol}");
            assert!(parts.iter().skip(1).all(|part| part.starts_with(GOES_ON)), "{symbol}");
            let whole: String = parts.iter().map(|part| part.trim_start()).collect();
            assert_eq!(whole, text);
        }
    }
}
