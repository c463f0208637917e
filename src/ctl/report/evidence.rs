//! One crawler's case as plain text, fit for a mail to whoever runs it.
//!
//! Every line stands on something that was recorded. Traffic that only borrowed the name is told apart, and
//! what was not seen is said to be not seen. The words stand in `evidence/letter.txt`.

mod letter;

use super::cells::{LETTER_WIDTH, filters, truncate};
use super::table::{TableShape, format_minute};
use crate::ctl::args::ReportArgs;
use crate::ctl::output::Output;
use crate::identify::Proof;
use crate::record::{EventKind, SampleEvent, VersionRecord};
use crate::report::{Conduct, CrawlerCase, Reads, Report, ReportEntry};
use askama::Template;
use serde_json::Value;
use std::io;

/// Requests shown in full.
const SAMPLES: usize = 40;

/// The longest line, in bytes: 998 is what mail may have (RFC 5322 §2.1.1), and a reply puts marks before it.
const LONGEST: usize = 960;

/// One element of a report in full: who it was, what it did, and by which rules.
#[derive(Template)]
#[template(path = "element.txt", config = "src/ctl/report/evidence/askama.toml")]
struct CrawlerElement<'a> {
    entry: &'a ReportEntry,
    /// Whether nothing was refused: a log was judged, and nobody was answered.
    is_replay: bool,
    /// Those of its site, where they are known.
    versions: Option<Vec<&'a VersionRecord>>,
    /// How many rules are told one by one.
    top: usize,
    /// How many columns there are.
    width: usize,
}

#[derive(Template)]
#[template(path = "letter.txt", config = "src/ctl/report/evidence/askama.toml")]
struct Letter<'a> {
    name: &'a str,
    case: &'a CrawlerCase,
    /// The elements that bear the name by right.
    own: Vec<String>,
    /// How many requests only bore the name, where any did.
    borrowed: Option<u64>,
    /// The first violation, where it was kept in full.
    first: Option<Value>,
    /// The last ones, in full, as lines of the journal have them.
    samples: Vec<Value>,
}

/// An element as a terminal shows it.
pub(super) fn element(entry: &ReportEntry, report: &Report, shape: &TableShape) -> io::Result<String> {
    let &TableShape { top, width, .. } = shape;
    let (is_replay, prose) = (report.is_replay, width.min(LETTER_WIDTH));
    let element = CrawlerElement { entry, is_replay, versions: None, top, width: prose }.render()?;
    let lines: Vec<String> = element.trim_end().lines().map(|line| truncate(line, width)).collect();
    Ok(lines.join("\n"))
}

pub(super) fn write(case: &CrawlerCase, arguments: &ReportArgs, output: &mut Output<'_>) -> io::Result<()> {
    let (borrowed, own): (Vec<&ReportEntry>, Vec<&ReportEntry>) =
        case.report.crawlers.iter().partition(|entry| entry.subject.is_borrowed());
    let samples: Vec<_> = case.samples.iter().filter(|sample| !sample.subject.is_borrowed()).collect();
    let first = samples.iter().find(|sample| sample.decision.kind == EventKind::Violation);
    let first = first.filter(|sample| {
        let minute = format_minute(sample.time);
        own.iter().any(|entry| entry.first_violation.is_some_and(|first| format_minute(first) == minute))
    });
    let (is_replay, top, width) = (case.report.is_replay, arguments.top.unwrap_or(super::TOP), LETTER_WIDTH);
    let element = |entry: &&ReportEntry| {
        let versions = Some(case.versions_of(entry).collect());
        CrawlerElement { entry, is_replay, versions, top, width }.render()
    };
    let event = |sample: &&SampleEvent| serde_json::from_str(&sample.event).ok();
    let asked = arguments.crawler.as_deref().unwrap_or("-");
    let letter = Letter {
        name: case.report.crawlers.first().map_or(asked, |entry| entry.subject.name()),
        case,
        own: own.iter().map(element).collect::<Result<_, _>>()?,
        borrowed: (!borrowed.is_empty()).then(|| borrowed.iter().map(|entry| entry.requests).sum()),
        first: first.and_then(event),
        samples: samples.iter().skip(samples.len().saturating_sub(SAMPLES)).filter_map(event).collect(),
    };
    letter.render()?.trim_end().lines().try_for_each(|line| output.ready_line(&folded(line)))
}

/// A line that mail can carry: cut where it would be too long, and what follows indented.
fn folded(line: &str) -> String {
    let (mut text, mut room) = (String::new(), LONGEST);
    for symbol in line.chars() {
        if symbol.len_utf8() > room {
            text.push_str("\n      ");
            room = LONGEST - 6;
        }
        text.push(symbol);
        room -= symbol.len_utf8();
    }
    text
}
