//! `gatewayctl replay`: an access log through the gateway's own stages, and the report of what it would have
//! done in enforce mode.
//!
//! Every line is judged by the functions the daemon calls. What a log does not hold is not made up: nobody's name
//! is proved, and a fetch of robots.txt is a read of the file that is judged by only where the log shows that this was the
//! one being served.

mod events;
mod headers;
mod judge;
mod ledger;
mod logs;
mod pace;
mod part;
mod publication;
mod published;
mod sites;
mod timeline;
mod told;
mod totals;

pub(super) use headers::HeaderCache;
pub(super) use logs::{OpenLogs, worker_count};
pub(super) use part::{LineCounts, LineKind};
pub(super) use sites::Sites;

use super::access_log::sorted_by_time;
use super::args::{Cli, Format, ReplayArgs};
use super::output::{Output, escape_harmful};
use super::style::STRONG;
use super::{VerbFailure, VerbOutcome, VerbResult, report};
use crate::decide::NoticeTime;
use crate::identify::Purpose;
use crate::record::micros;
use crate::report::{Blocked, CatalogueView, Report, ReportQuestion, amount, html, purpose_label};
use judge::Judge;
use ledger::ReplayTotals;
use published::ReplayFiles;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use told::ReplayFields;

pub(super) fn run(cli: &Cli, arguments: &ReplayArgs, output: &mut Output<'_>) -> VerbResult {
    let sites = Sites::load(cli, arguments.robots.as_deref(), arguments.site.as_deref(), &arguments.block)?;
    let files = ReplayFiles::of(&sites, arguments.published);
    let logs = sorted_by_time(&arguments.logs);
    let stop = Arc::new(AtomicBool::new(false));
    if arguments.follow {
        stop_on_signal(&stop)?;
    }
    let events_are_data = arguments.events.as_deref() == Some(Path::new("-"));
    let opened = OpenLogs::open(&logs)?;
    let named = arguments.events.as_deref().filter(|_| !events_are_data);
    let mut file = named.map(|path| events::create(path, &logs)).transpose()?;
    let ledger = read((&sites, &files), (opened, logs.len()), arguments, &stop, |events| {
        if let Some(file) = &mut file {
            return file.write_all(events);
        }
        if events_are_data {
            output.bytes(events)?;
            output.flush()?;
            // Where nobody reads on, there is nothing to go on for.
            stop.fetch_or(output.is_closed(), Ordering::Relaxed);
        }
        Ok(())
    });
    if let Some((file, path)) = file.as_mut().zip(arguments.events.as_deref()) {
        file.flush().map_err(|error| VerbFailure(format!("{}: {error}", path.display())))?;
    }
    let ledger = ledger?;
    let told = ReplayFields::of(&ledger, &logs);
    let lines = ledger.tally.of(LineKind::Lines);
    if lines > 0 && lines == ledger.tally.of(LineKind::Unread) {
        let example = escape_harmful(told.example());
        return Err(VerbFailure(format!("no line could be read as one of an access log: {example}")));
    }
    if !events_are_data {
        print(cli, arguments, &ledger, &sites, &told, output)?;
        output.flush()?;
    }
    match told.losses().as_slice() {
        [] => Ok(VerbOutcome::Fine),
        losses => {
            let losses = escape_harmful(&losses.join("; "));
            Err(VerbFailure::with_hint(losses, "what is told is of the lines before"))
        }
    }
}

/// Judges all lines. `events` is given the events of each chunk, in order.
fn read<'a>(
    (sites, files): (&'a Sites, &'a ReplayFiles),
    (logs, how_many): (OpenLogs, usize),
    arguments: &ReplayArgs,
    stop: &AtomicBool,
    mut events: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<ReplayTotals<'a>, VerbFailure> {
    let since = arguments.since.map(|since| since.resolve(SystemTime::now()));
    let since = since.map_or(i64::MIN, micros);
    let with_events = arguments.events.is_some();
    // To tell each event in full, what was read before it has to be known when it is judged.
    let count = if with_events { 1 } else { worker_count() };
    let judges: Vec<_> = (0..count)
        .map(|_| {
            let mut judge = Judge::new(sites, files, since, with_events);
            move |chunk: &super::access_log::Chunk| judge.chunk(chunk)
        })
        .collect();
    let mut ledger = ReplayTotals::new(sites, files, how_many);
    logs.each_part(arguments.follow, stop, judges, |part| {
        ledger.add(&part);
        // A log that grows would be waited for for ever.
        events(&part.events).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        Ok(ledger.tally.of(LineKind::Lines))
    })
    .map_err(|error| VerbFailure(format!("the events cannot be written: {error}")))?;
    Ok(ledger)
}

/// The moment of a line, on the clock that notice runs by: a log has no other one.
pub(super) fn notice_time(micros: i64) -> NoticeTime {
    NoticeTime(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}

/// Sets `stop` on SIGINT or SIGTERM: the log is read no further, and the report is printed.
fn stop_on_signal(stop: &Arc<AtomicBool>) -> Result<(), VerbFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
    Ok(())
}

fn print(
    cli: &Cli,
    arguments: &ReplayArgs,
    ledger: &ReplayTotals<'_>,
    sites: &Sites,
    told: &ReplayFields,
    output: &mut Output<'_>,
) -> Result<(), VerbFailure> {
    let window = totals::window(ledger);
    let known = CatalogueView::of(sites.policy.identifier.catalogue());
    let top = arguments.top.unwrap_or_else(|| report::default_top(cli.format));
    let question = ReportQuestion::of_all((window.from, window.to), None, top, known);
    let report = Report::of_counts(totals::counted(ledger, sites), &question, window);
    match cli.format {
        Format::Json => output.json(&told.clone().into_report(report))?,
        Format::Csv => report::as_csv(&report, output)?,
        Format::Html => {
            let blocked = (!arguments.block.is_empty()).then(|| if_blocked(&report, &arguments.block));
            let notes = blocked.into_iter().chain(notes(told));
            let notes: Vec<String> = notes.map(|note| escape_harmful(&note)).collect();
            let series = totals::series(ledger);
            let page = html::page_of_series(&series, &notes, &question, &report, &html::Frame::default())?;
            output.ready_line(&page)?;
        }
        Format::Text => {
            if !arguments.block.is_empty() {
                output.painted_line(STRONG, if_blocked(&report, &arguments.block))?;
            }
            output.painted_line(STRONG, told.headline())?;
            report::as_table(&report, arguments.top, false, output)?;
            output.line("")?;
            told.sentences().iter().try_for_each(|sentence| output.line(sentence))?;
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
