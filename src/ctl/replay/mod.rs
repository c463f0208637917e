//! `gatewayctl replay`: access logs through the gateway's own stages, and the report of what it would have done in enforce
//! mode.
//!
//! Every line is judged by the functions the daemon calls. What a log does not hold is not made up: nobody's name is
//! proved, and a fetch of robots.txt is a read of the file that is judged by only where the operator says that this file was
//! published all the time.

mod events;
mod judge;
mod lines;
mod sites;
mod told;

pub(super) use lines::{HeaderCache, LineCounts, LineKind};
pub(super) use sites::Sites;

use super::args::{Cli, Format, ReplayArgs};
use super::logs::{EndOfLog, LogPattern, LogWalk, in_order};
use super::output::{Output, escape_harmful};
use super::style::STRONG;
use super::{VerbFailure, VerbOutcome, VerbResult, report};
use crate::decide::NoticeTime;
use crate::identify::{Purpose, PurposeSet};
use crate::record::micros;
use crate::report::{Blocked, CatalogueView, Report, ReportQuestion, Series, amount, html, purpose_label};
use judge::Judge;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use told::ReplayFields;

pub(super) fn run(cli: &Cli, arguments: &ReplayArgs, output: &mut Output<'_>) -> VerbResult {
    let block = PurposeSet::all_of(&arguments.block);
    let sites = Sites::load(cli, arguments.robots.as_deref(), arguments.site.as_deref(), &block)?;
    let pattern = arguments.log_format.as_deref().map(LogPattern::named).transpose()?.map(Arc::new);
    let logs = in_order(&arguments.logs)?;
    let walk = LogWalk::open(&logs, pattern)?;
    let since = arguments.since.map_or(i64::MIN, |since| micros(since.resolve(SystemTime::now())));
    let mut judge = Judge::new(&sites, arguments.published, since, arguments.events.is_some());
    let ends = read(walk, &logs, arguments, &mut judge, output)?;
    let told = ReplayFields::of(&judge, &ends, &logs, arguments.published);
    let faults = faults(&ends, &logs);
    if !faults.is_empty() && ends.iter().all(|end| end.seen.fault().is_some() || end.seen.lines == 0) {
        return Err(failure(&faults, &told));
    }
    if arguments.events.as_deref() != Some(Path::new("-")) {
        print(cli, arguments, &judge, &sites, &told, output)?;
        output.flush()?;
    }
    if !faults.is_empty() {
        return Err(failure(&faults, &told));
    }
    match told.losses().as_slice() {
        [] => Ok(VerbOutcome::Fine),
        losses => {
            let losses = escape_harmful(&losses.join("; "));
            Err(VerbFailure::with_hint(losses, "the report is of the lines before"))
        }
    }
}

/// Judges all lines, and writes the events where they are wanted.
fn read(
    walk: LogWalk,
    logs: &[PathBuf],
    arguments: &ReplayArgs,
    judge: &mut Judge<'_>,
    output: &mut Output<'_>,
) -> Result<Vec<EndOfLog>, VerbFailure> {
    let are_data = arguments.events.as_deref() == Some(Path::new("-"));
    let named = arguments.events.as_deref().filter(|_| !are_data);
    let mut file = named.map(|path| events::create(path, logs)).transpose()?;
    let ends = walk.each(|place, line| match (judge.line(place, &line), &mut file) {
        (None, _) => Ok(()),
        (Some(event), Some(file)) => file.write_all(&event),
        (Some(event), None) => output.bytes(&event),
    });
    let ends = ends.map_err(|error| VerbFailure(format!("the events cannot be written: {error}")))?;
    if let Some((file, path)) = file.as_mut().zip(named) {
        file.flush().map_err(|error| VerbFailure(format!("{}: {error}", path.display())))?;
    }
    output.flush()?;
    Ok(ends)
}

/// Logs of which nothing can be judged, why, and what to do.
fn faults(ends: &[EndOfLog], logs: &[PathBuf]) -> Vec<(String, &'static str)> {
    let fault = |end: &EndOfLog| {
        let (what, remedy) = end.seen.fault()?;
        let log = logs.get(end.log).map(|path| path.display().to_string()).unwrap_or_default();
        Some((escape_harmful(&format!("{log}: {what}")), remedy))
    };
    ends.iter().filter_map(fault).collect()
}

fn failure(faults: &[(String, &'static str)], told: &ReplayFields) -> VerbFailure {
    let whats: Vec<&str> = faults.iter().map(|(what, _)| what.as_str()).collect();
    let example = told.example().map(|example| format!("\n  the first: {}", escape_harmful(example)));
    let what = format!("{}{}", whats.join("\n"), example.unwrap_or_default());
    VerbFailure::with_hint(what, faults.first().map_or("", |(_, remedy)| remedy))
}

/// The moment of a line, on the clock that notice runs by: a log has no other one.
pub(super) fn notice_time(micros: i64) -> NoticeTime {
    NoticeTime(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}

fn print(
    cli: &Cli,
    arguments: &ReplayArgs,
    judge: &Judge<'_>,
    sites: &Sites,
    told: &ReplayFields,
    output: &mut Output<'_>,
) -> Result<(), VerbFailure> {
    let window = judge.counts.window();
    let known = CatalogueView::of(sites.policy.identifier.catalogue());
    let top = arguments.top.unwrap_or_else(|| report::default_top(cli.format));
    let question = ReportQuestion::of_all((window.from, window.to), None, top, known);
    let versions = sites.all.iter().filter_map(sites::version).collect();
    let report = Report::of_counts(judge.counts.counted(versions, !arguments.published), &question, window);
    let told = &told.with_shares(&report, judge.bytes);
    match cli.format {
        Format::Json => output.json(&told.clone().into_report(report))?,
        Format::Csv => report::as_csv(&report, output)?,
        Format::Html => {
            let blocked = (!arguments.block.is_empty())
                .then(|| if_blocked(&report, &PurposeSet::all_of(&arguments.block)));
            let notes = blocked.into_iter().chain(notes(told));
            let notes: Vec<String> = notes.map(|note| escape_harmful(&note)).collect();
            let (grain, points) = judge.counts.violations();
            let series = Series { grain, points };
            let page = html::page_of_series(&series, &notes, &question, &report, &html::Frame::default())?;
            output.ready_line(&page)?;
        }
        Format::Text | Format::Sarif | Format::Github => {
            if !arguments.block.is_empty() {
                output.painted_line(STRONG, if_blocked(&report, &PurposeSet::all_of(&arguments.block)))?;
            }
            output.painted_line(STRONG, told.headline())?;
            report::as_table(&report, arguments.top, arguments.all, output)?;
            output.line("")?;
            told.sentences().iter().try_for_each(|sentence| output.line(sentence))?;
            // The answer again, for whoever sees the end of a long page.
            output.line("")?;
            output.painted_line(STRONG, told.headline())?;
        }
    }
    Ok(())
}

/// How many crawlers are named in one sentence.
const NAMED: usize = 10;

/// The answer to whoever asks what a block would do.
fn if_blocked(report: &Report, block: &[Purpose]) -> String {
    let purposes: Vec<&str> = block.iter().map(|purpose| purpose_label(purpose.as_str())).collect();
    let is_asked = |blocked: &&Blocked| block.iter().any(|purpose| purpose.as_str() == blocked.purpose);
    let met: Vec<&Blocked> = report.blocked.iter().filter(is_asked).collect();
    let one = |blocked: &&Blocked| {
        let name = blocked.crawler.as_deref().unwrap_or("others");
        format!("{} of {name}", amount(blocked.requests, "request", "requests"))
    };
    let mut told: Vec<String> = met.iter().take(NAMED).map(one).collect();
    if let Some(rest) = met.get(NAMED..).filter(|rest| !rest.is_empty()) {
        let requests = rest.iter().map(|blocked| blocked.requests).sum();
        let crawlers = amount(rest.len() as u64, "other crawler", "other crawlers");
        told.push(format!("{} of {crawlers}", amount(requests, "request", "requests")));
    }
    let told = if told.is_empty() { "no request of this log".to_owned() } else { told.join(", ") };
    format!("if you had blocked {}: {told}", purposes.join(" and "))
}

/// What a reader of the page has to know before its numbers: nothing of this has happened.
fn notes(told: &ReplayFields) -> Vec<String> {
    let first = format!("A replay of access logs: {}. Nothing was refused.", told.headline());
    std::iter::once(first).chain(told.sentences()).collect()
}
