//! One crawler's case as plain text, fit for a mail to whoever runs it.
//!
//! Every line stands on something that was recorded. Traffic that only borrowed the name is told apart, and
//! what was not seen is said to be not seen. Text of clients is made harmless.

use super::detail::{meaning, seconds};
use super::table::short;
use crate::ctl::output::{Output, harmless};
use crate::identify::Proof;
use crate::record::{Sample, VersionRecord, timestamp};
use crate::report::{Case, Entry, Question, Reads, RuleCount, grouped};
use serde_json::Value;
use std::fmt::Write as _;
use std::io;

/// Lines of prose; mail is read at 80 columns.
const WIDTH: usize = 76;

/// Requests shown in full.
const SAMPLES: usize = 40;

pub(super) fn write(case: &Case, question: &Question, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let asked = question.crawler.as_deref().unwrap_or("-");
    let name = case.report.crawlers.first().map_or(asked, Entry::name);
    output.line(format!("Requests of {} against robots.txt", harmless(name)))?;
    output.line(format!("{} to {}", timestamp(case.report.from), timestamp(case.report.to)))?;
    output.line("")?;
    let (own, borrowed): (Vec<&Entry>, Vec<&Entry>) =
        case.report.crawlers.iter().partition(|entry| !entry.is_borrowed());
    if own.is_empty() && borrowed.is_empty() {
        return prose("Nothing was recorded of it in this time.", output);
    }
    for entry in &own {
        element(case, entry, output)?;
    }
    if !borrowed.is_empty() {
        let requests = grouped(borrowed.iter().map(|entry| entry.requests).sum());
        let text = format!(
            "Not part of this case: {requests} further requests bore the name and came from addresses that, \
             by every method its operator publishes, are not the crawler's."
        );
        prose(&text, output)?;
        output.line("")?;
    }
    samples(case, output)?;
    how_to_read(case, output)
}

fn element(case: &Case, entry: &Entry, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let title = format!("{} at {}", harmless(entry.name()), harmless(&entry.site));
    output.line(&title)?;
    output.line("-".repeat(title.chars().count().min(WIDTH)))?;
    prose(proof(entry.proof), output)?;
    prose(&summary(entry), output)?;
    output.line("")?;
    readings(case, entry, output)?;
    rules(&entry.rules, output)?;
    if let (Some(declared), Some(observed)) = (entry.crawl_delay.declared, entry.crawl_delay.observed) {
        let text = format!(
            "Crawl-delay asks for {} between requests; the median was {}.",
            seconds(declared),
            seconds(observed)
        );
        prose(&text, output)?;
        output.line("")?;
    }
    Ok(())
}

const fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Confirmed => {
            "The addresses were confirmed to be the crawler's, by the ranges its operator publishes or by \
             forward-confirmed reverse DNS."
        }
        Proof::Unchecked => {
            "The name is the one in the User-Agent header. The addresses were neither confirmed nor \
             contradicted."
        }
        Proof::Contradicted => "The addresses are not the crawler's.",
    }
}

fn summary(entry: &Entry) -> String {
    let mut text = format!(
        "{} requests were judged. {} were violations: every version of robots.txt that the crawler could \
         hold at that moment disallows them.",
        grouped(entry.requests),
        grouped(entry.violations)
    );
    if entry.violations_after_read > 0 {
        let count = grouped(entry.violations_after_read);
        // Writing to a `String` cannot fail.
        let _ =
            write!(text, " {count} of these came after it had itself read the version that disallows them.");
    }
    if entry.violations_without_read() > 0 {
        let count = grouped(entry.violations_without_read());
        let _ = write!(
            text,
            " {count} came without a read of the version in force being seen; no version that the crawler \
             could still hold (RFC 9309 section 2.4) allows them."
        );
    }
    for (count, what) in [
        (entry.refused, "requests were refused."),
        (
            entry.stale,
            "further requests are disallowed by the newer version only and are not held against it.",
        ),
        (
            entry.variants,
            "further requests were for a disallowed path in another spelling; they are not counted.",
        ),
    ] {
        if count > 0 {
            let _ = write!(text, " {} {what}", grouped(count));
        }
    }
    text
}

fn readings(case: &Case, entry: &Entry, output: &mut Output<impl io::Write>) -> io::Result<()> {
    output.line("Versions of robots.txt and when it read them (UTC):")?;
    let versions = case.versions.iter().filter(|version| version.site == entry.site);
    let mut told = 0;
    for version in versions {
        output.line(format!("  {}", version_text(version)))?;
        let reads = entry
            .reads_of
            .iter()
            .filter(|read| Some(read.version) == version.id && read.in_force == version.from);
        let mut is_read = false;
        for read in reads {
            is_read = true;
            let (first, last, count) = (timestamp(read.first), timestamp(read.last), grouped(read.count));
            output.line(format!("    reads: {count}, first {first}, last {last}"))?;
        }
        if !is_read {
            output.line("    no read was seen")?;
        }
        told += 1;
    }
    // A read of a version that another gateway, or a former retention, knew the times of.
    let is_told = |read: &&crate::report::ReadOf| {
        case.versions.iter().any(|version| {
            version.site == entry.site && Some(read.version) == version.id && read.in_force == version.from
        })
    };
    for read in entry.reads_of.iter().filter(|read| !is_told(read)) {
        let (first, last, count) = (timestamp(read.first), timestamp(read.last), grouped(read.count));
        output.line(format!("  {}, in force before this time", read.version))?;
        output.line(format!("    reads: {count}, first {first}, last {last}"))?;
        told += 1;
    }
    if told == 0 {
        output.line("  none is on record")?;
    }
    if let Some(last) = entry.kin_read {
        let text = format!(
            "robots.txt was also read, last at {}, under this name with another proof or by a crawler that \
             shares its copy. That may have been this crawler; no request is held against it for that.",
            timestamp(last)
        );
        prose(&text, output)?;
    }
    output.line("")
}

fn version_text(version: &VersionRecord) -> String {
    let name = version.id.map_or_else(|| "no robots.txt".to_owned(), |id| id.to_string());
    let until = version
        .until
        .map_or_else(|| "in force still".to_owned(), |until| format!("until {}", timestamp(until)));
    let mut text = format!("{name}, from {}, {until}", timestamp(version.from));
    if let Some(digest) = version.sha256 {
        text.push_str("\n    SHA-256 ");
        for octet in digest {
            let _ = write!(text, "{octet:02x}");
        }
    }
    text
}

fn rules(rules: &[RuleCount], output: &mut Output<impl io::Write>) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    output.line("Rules:")?;
    for rule in rules {
        let decision = &rule.decision;
        let line = decision.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let text = decision.rule.as_deref().unwrap_or("(no rule)").trim();
        output.line(harmless(&format!("  {line}{text}")))?;
        let version = decision.version.map(|version| format!(" of version {version}")).unwrap_or_default();
        let group = decision.group.join(", ");
        output.line(harmless(&format!("    in the group for {group}{version}")))?;
        output.line(format!(
            "    {} requests {}, {}",
            grouped(rule.count),
            meaning(rule),
            decision.action.as_str()
        ))?;
    }
    output.line("")
}

fn samples(case: &Case, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let own: Vec<&Sample> =
        case.samples.iter().filter(|sample| sample.subject.proof != Proof::Contradicted).collect();
    if own.is_empty() {
        return Ok(());
    }
    let left_out = own.len().saturating_sub(SAMPLES);
    output.line("Some of the requests, with times in UTC:")?;
    for sample in own.iter().skip(left_out) {
        let Ok(event) = serde_json::from_str::<Value>(&sample.event) else { continue };
        let text = |name: &str| harmless(event.get(name).and_then(Value::as_str).unwrap_or("-"));
        let status = event
            .get("status")
            .and_then(Value::as_u64)
            .map_or_else(|| "-".to_owned(), |code| code.to_string());
        let line = event
            .get("line")
            .and_then(Value::as_u64)
            .map_or_else(String::new, |line| format!(" of line {line}"));
        output.line(format!(
            "  {}  {}  {}{line}, notice {}",
            text("time"),
            text("address"),
            text("event"),
            text("notice")
        ))?;
        output.line(format!(
            "    {} {} at {}, answered {status}, {}",
            text("method"),
            text("target"),
            text("host"),
            text("action")
        ))?;
        output.line(format!("    User-Agent: {}", text("user_agent")))?;
        output.line(format!("    request {}", text("request_id")))?;
    }
    output.line("")
}

fn how_to_read(case: &Case, output: &mut Output<impl io::Write>) -> io::Result<()> {
    output.line("How this was established")?;
    output.line("------------------------")?;
    let mut parts = vec![
        "The gateway in front of the site answers /robots.txt itself and judges each request by the very file \
         it answered with, as RFC 9309 says: the group by section 2.2.1, the rule by section 2.2.2. A version \
         is named by the first 12 digits of its SHA-256.",
        "A read is a complete answer to GET for /robots.txt, or a 304 for that version, given to the same \
         crawler; where its address is not confirmed, also in the same network. A replaced version goes on \
         excusing requests for the time of notice, unless the crawler has read the new one \
         (section 2.4).",
        "Counts are exact for the time above. The requests shown are some of those counted.",
    ];
    if case.report.reads == Reads::Partial {
        parts.push(
            "A cache in front of the gateway may have answered requests for robots.txt, so that it was read \
             is known where it is said, and that it was not read is not known.",
        );
    }
    if case.report.counts_lost > 0 {
        parts.push("Some requests of this time could not be recorded: the true counts are higher.");
    }
    for part in parts {
        prose(part, output)?;
        output.line("")?;
    }
    let now = case.report.to;
    output.line(format!("robots-gateway {}, report up to {}", env!("CARGO_PKG_VERSION"), short(now)))
}

/// A paragraph in lines of [`WIDTH`].
fn prose(text: &str, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            output.line(&line)?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    output.line(line)
}
