//! One crawler in full: what it read, what it broke, how fast it came.

use super::cells::{pad, truncate};
use super::table::{TableShape, format_minute, format_violations};
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::style::STRONG;
use crate::report::{CrawlDelay, ReportEntry, RuleCount, byte_words, grouped};
use std::fmt::Write as _;
use std::io;

/// Room for the name of a line.
const LABEL: usize = 12;

pub(super) fn write(entry: &ReportEntry, shape: &TableShape, output: &mut Output<'_>) -> io::Result<()> {
    let purpose = entry.subject.purpose.map(|purpose| format!("{purpose}, ")).unwrap_or_default();
    let title = format!(
        "{} at {}, {purpose}{}: {}",
        entry.subject.name(),
        entry.subject.site,
        entry.subject.proof,
        entry.conduct.words()
    );
    output.line("")?;
    output.painted_line(STRONG, truncate(&title, shape.width))?;
    let mut line = |label: &str, text: &str| -> io::Result<()> {
        let text = truncate(text, shape.width.saturating_sub(LABEL + 2));
        output.line(format!("  {}{text}", pad(label, LABEL, false)))
    };
    line("requests", &requests(entry))?;
    if let Some(bytes) = entry.bytes.filter(|bytes| *bytes > 0) {
        line("sent", &byte_words(bytes))?;
    }
    let proved = entry.proof_by.words(entry.requests);
    if !proved.is_empty() {
        line("proof by", &proved)?;
    }
    for (label, text) in reads(entry) {
        line(label, &text)?;
    }
    line("pace", &pace(&entry.crawl_delay))?;
    if let Some(counts) = entry.crawl_delay.per_minute {
        line("per minute", &counts.words())?;
    }
    if let (Some(first), Some(last)) = (entry.first_seen, entry.last_seen) {
        line("seen", &format!("first {}, last {}", format_minute(first), format_minute(last)))?;
    }
    if let (Some(first), Some(last)) = (entry.first_violation, entry.last_violation) {
        let label = if entry.is_hypothetical() { "disallowed" } else { "violations" };
        line(label, &format!("first {}, last {}", format_minute(first), format_minute(last)))?;
    }
    let counts: Vec<u64> = entry.rules.iter().map(|rule| rule.count).collect();
    let width = widest(&counts);
    for (at, rule) in entry.rules.iter().take(shape.top).enumerate() {
        let text = format!("{}  {}", pad(&grouped(rule.count), width, true), rule_text(rule));
        line(if at == 0 { "rules" } else { "" }, &text)?;
    }
    if let Some(more) = entry.rules.len().checked_sub(shape.top).filter(|more| *more > 0) {
        line("", &format!("and {more} more"))?;
    }
    let counts: Vec<u64> = entry.paths.iter().map(|path| path.counts.requests()).collect();
    let width = widest(&counts);
    for (at, path) in entry.paths.iter().enumerate() {
        let broken = match path.counts.violations {
            0 => String::new(),
            violations => format!(" ({})", format_violations(violations, entry.is_hypothetical())),
        };
        let count = pad(&grouped(path.counts.requests()), width, true);
        let target = truncate(&path.target, shape.width.saturating_sub(LABEL + 6 + width + broken.len()));
        line(if at == 0 { "targets" } else { "" }, &format!("{count}  {target}{broken}"))?;
    }
    Ok(())
}

fn widest(counts: &[u64]) -> usize {
    counts.iter().map(|count| grouped(*count).len()).max().unwrap_or_default()
}

fn requests(entry: &ReportEntry) -> String {
    let violations = format_violations(entry.violations, entry.is_hypothetical());
    let mut text = format!("{}: {violations}", grouped(entry.requests));
    if entry.violations > 0 && !entry.is_hypothetical() {
        // Writing to a `String` cannot fail.
        let _ = write!(text, " ({} after a counted read)", grouped(entry.violations_after_read));
    }
    for (count, what) in [
        (entry.stale, "stale"),
        (entry.variants, if entry.variants == 1 { "variant" } else { "variants" }),
        (entry.spoofed, "allowed under a borrowed name"),
        (entry.refused, "refused"),
        (entry.too_fast, "too fast"),
        (entry.slowed, "answered 429"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {} {what}", grouped(count));
        }
    }
    if let Some(hidden) = entry.hidden_words() {
        let _ = write!(text, ", {hidden}");
    }
    text
}

fn reads(entry: &ReportEntry) -> Vec<(&'static str, String)> {
    if entry.reads_of.is_empty() {
        let text = match entry.kin_read {
            _ if entry.other_fetch.is_some() => {
                let last = entry.other_fetch.map(format_minute).unwrap_or_default();
                format!("fetched, last {last}; nothing shows that it was this file")
            }
            Some(last) => {
                format!("no read of its own; one that may be its own was seen, last {}", format_minute(last))
            }
            None if entry.reads_may_be_missing => "no read was seen; reads may have gone unseen".to_owned(),
            None => "no read was seen".to_owned(),
        };
        return vec![("robots.txt", text)];
    }
    let labels = std::iter::once("robots.txt").chain(std::iter::repeat(""));
    let text = |read: &crate::report::ReadOf| {
        let (version, first, last) = (&read.version, format_minute(read.first), format_minute(read.last));
        match read.count {
            1 => format!("{version} read once, {last}"),
            count => format!("{version} read {} times, {first} to {last}", grouped(count)),
        }
    };
    labels.zip(entry.reads_of.iter().rev().take(5).map(text)).collect()
}

/// `Crawl-delay` beside the truth.
fn pace(delay: &CrawlDelay) -> String {
    let observed = delay.observed.map_or_else(
        || "no two requests".to_owned(),
        |gap| format!("about {} between requests (median)", seconds(gap)),
    );
    match delay.declared {
        Some(declared) => format!("{observed}; Crawl-delay asks for {}", seconds(declared)),
        None => format!("{observed}; no Crawl-delay"),
    }
}

/// Seconds as a person says them.
pub(super) fn seconds(value: f64) -> String {
    match value {
        ..1.0 => format!("{:.0} ms", value * 1_000.0),
        ..10.0 => format!("{value:.1} s"),
        ..120.0 => format!("{value:.0} s"),
        ..7_200.0 => format!("{:.0} min", value / 60.0),
        _ => format!("{:.0} h", value / 3_600.0),
    }
}

/// What was made of requests, by which rule, and whose it is. What matters most stands first: lines are cut.
pub(super) fn rule_text(rule: &RuleCount) -> String {
    let decision = &rule.decision;
    let (text, source) = rule.text();
    let source = source.map(|source| format!(" ({source})")).unwrap_or_default();
    let place = decision.line.map(|line| format!("line {line}{source}  ")).unwrap_or_default();
    let text = text.unwrap_or("(no rule)").trim();
    let group = decision.group.join(", ");
    let version = decision.version.map(|version| format!(" of {version}")).unwrap_or_default();
    let more = rule.more_versions().map(|more| format!(" {more}")).unwrap_or_default();
    let what = format!("{}, {}", rule.what(), decision.action.as_str());
    escape_harmful(&format!("{what}: {place}{text}  ({group}){version}{more}"))
}
