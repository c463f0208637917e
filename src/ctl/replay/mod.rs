//! `gatewayctl replay`: access logs through the gateway's own stages, and the report of what it would have done in enforce
//! mode.
//!
//! Every line is judged by the functions the daemon calls. What a log does not hold is not made up: nobody's name is
//! proved, and a fetch of robots.txt is a read of the file that is judged by only where the operator says that this file was
//! published all the time.

mod judge;
mod sites;
mod told;

pub(super) use sites::{LineCounts, Sites};

use super::args::{Cli, Format, ReplayArgs};
use super::logs::{EndOfLog, LogWalk};
use super::output::{Output, escape_harmful};
use super::style::STRONG;
use super::{VerbFailure, VerbOutcome, VerbResult, report};
use crate::identify::{Purpose, PurposeSet};
use crate::report::{Blocked, Report, ReportQuestion, amount, html, purpose_label};
use judge::Judge;
use told::{ReplayFields, ReplayReport};

pub(super) fn run(cli: &Cli, arguments: &ReplayArgs, output: &mut Output<'_>) -> VerbResult {
    let block = PurposeSet::all_of(&arguments.block);
    let sites = Sites::load(cli, arguments.robots.as_deref(), arguments.site.as_deref(), &block)?;
    let mut judge = Judge::new(&sites, arguments);
    let ends = LogWalk::open(&arguments.logs, arguments.log_format.as_deref())?.each(|entry| {
        let written = judge.request(entry).map_or(Ok(()), |event| output.bytes(&event));
        written.map_err(|error| VerbFailure(format!("the events cannot be written: {error}")))
    })?;
    let faults: Vec<(String, &str)> = ends.iter().filter_map(EndOfLog::fault).collect();
    let is_any_read = faults.is_empty() || ends.iter().any(|end| end.fault().is_none() && end.read > 0);
    if is_any_read && (!arguments.events || output.is_json()) {
        print(cli.format, &judge, &ends, output)?;
        output.flush()?;
    }
    if let Some((_, remedy)) = faults.first() {
        let whats: Vec<&str> = faults.iter().map(|(what, _)| what.as_str()).collect();
        let example = ends.iter().find_map(|end| end.example.as_deref());
        let example = example.map(|example| format!("\n  the first: {}", escape_harmful(example)));
        return Err(VerbFailure::with_hint(whats.join("\n") + &example.unwrap_or_default(), *remedy));
    }
    let broken: Vec<String> = ends.iter().filter_map(|end| Some(end.broken.as_ref()?.to_string())).collect();
    if broken.is_empty() {
        return Ok(VerbOutcome::Fine);
    }
    Err(VerbFailure::with_hint(broken.join("; "), "the report is of the lines before"))
}

fn print(
    format: Format,
    judge: &Judge<'_>,
    ends: &[EndOfLog],
    output: &mut Output<'_>,
) -> Result<(), VerbFailure> {
    let Judge { sites, arguments, .. } = judge;
    let window = judge.counts.window();
    let known = sites.policy.identifier.catalogue().clone();
    let top = arguments.top.unwrap_or_else(|| report::default_top(format));
    let question = ReportQuestion::of_all((window.from, window.to), None, Some(top), known);
    let versions = sites.all.iter().filter_map(sites::version).collect();
    let report = Report::of_log(judge.counts.counted(!arguments.published), versions, &question, window);
    let told = &ReplayFields::of(judge, ends, &report);
    let block = PurposeSet::all_of(&arguments.block);
    let blocked = (!block.is_empty()).then(|| if_blocked(&report, &block));
    match format {
        Format::Json => output.json(&ReplayReport { report: &report, replay: told })?,
        Format::Csv => report::as_csv(&report, output)?,
        Format::Html => {
            // What a reader of the page has to know before its numbers: nothing of this has happened.
            let first = format!("A replay of access logs: {}. Nothing was refused.", told.headline());
            let notes = blocked.into_iter().chain([first]).chain(told.sentences());
            let notes: Vec<String> = notes.map(|note| escape_harmful(&note)).collect();
            let page = html::page(&question, &report, &notes, &html::Frame::default())?;
            output.ready_line(&page)?;
        }
        Format::Text | Format::Sarif | Format::Github => {
            blocked
                .iter()
                .chain([&told.headline()])
                .try_for_each(|line| output.painted_line(STRONG, line))?;
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
    let more = met.len().checked_sub(NAMED).filter(|more| *more > 0);
    let more = more.map(|more| amount(more as u64, "other crawler", "other crawlers"));
    let told = met.iter().take(NAMED).map(one).chain(more).collect::<Vec<_>>().join(", ");
    let told = if told.is_empty() { "no request of this log" } else { &told };
    format!("if you had blocked {}: {told}", purposes.join(" and "))
}
