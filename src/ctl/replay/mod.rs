//! `gatewayctl replay`: access logs through the gateway's own stages, and the report of what it would have done in enforce
//! mode.
//!
//! Every line is judged by the functions the daemon calls. What a log does not hold is not made up: nobody's name is
//! proved, and a fetch of robots.txt is a read of the file that is judged by only where the operator says that this file was
//! published all the time.

mod judge;
mod sites;

pub(super) use sites::{LineCounts, Sites};

use super::args::{Cli, Format, ReplayArgs};
use super::logs::{BrokenLog, EndOfLog, walk};
use super::output::{Output, escape_harmful};
use super::report::{self, PurposeShare};
use super::style::STRONG;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::decide::Notice;
use crate::identify::{Purpose, PurposeSet};
use crate::record::{CountedDecision, EventKind};
use crate::report::{Blocked, Report, ReportQuestion, amount, grouped, html, purpose_label};
use askama::Template;
use judge::JudgedLog;
use serde::Serialize;

pub(super) fn run(cli: &Cli, arguments: &ReplayArgs, output: &mut Output<'_>) -> VerbResult {
    let block = PurposeSet::all_of(&arguments.block);
    let (robots, site) = (arguments.robots.as_deref(), arguments.site.as_deref());
    // To say what a block would do needs no rules.
    let is_bare = cli.config.is_none() && !block.is_empty();
    let sites = Sites::load(cli, robots, site, &block, robots.is_some() || site.is_some() || is_bare)?;
    let mut judged = JudgedLog::default();
    let ends = walk(&arguments.logs, arguments.log_format.as_deref(), |entry| {
        let event = judged.request(&sites, arguments, entry);
        let written = event.map_or(Ok(()), |event| output.bytes(&event));
        written.map_err(|error| VerbFailure(format!("the events cannot be written: {error}")))
    })?;
    let faults: Vec<(String, &str)> = ends.iter().filter_map(EndOfLog::fault).collect();
    let is_any_read = faults.is_empty() || ends.iter().any(|end| end.fault().is_none() && end.read > 0);
    if is_any_read && (!arguments.events || output.is_json()) {
        print(cli.format, arguments, &sites, &judged, &ends, output)?;
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
    arguments: &ReplayArgs,
    sites: &Sites,
    judged: &JudgedLog,
    ends: &[EndOfLog],
    output: &mut Output<'_>,
) -> Result<(), VerbFailure> {
    let (window, published) = (judged.counts.window(), arguments.published);
    let known = sites.policy.identifier.catalogue().clone();
    let top = arguments.top.unwrap_or_else(|| report::default_top(format));
    let question = ReportQuestion::of_all((window.from, window.to), None, Some(top), known);
    let report = Report::of_log(judged.counts.counted(!published), sites.versions(), &question, window);
    let told = ReplayFields::of(judged, published, ends, &report);
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
            for line in blocked.iter().chain([&told.headline()]) {
                output.painted_line(STRONG, line)?;
            }
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

/// The whole answer; field names are public API.
#[derive(Serialize)]
struct ReplayReport<'r> {
    #[serde(flatten)]
    report: &'r Report,
    replay: ReplayFields,
}

/// What a replay has to say beside the report: what would be refused, and which lines were no part of it. For people it is a
/// sentence a line; field names are public API.
#[derive(Serialize, Template)]
#[template(path = "replay/told.txt", config = "src/ctl/askama.toml")]
struct ReplayFields {
    #[serde(flatten)]
    lines: LineCounts,
    unread: UnreadLines,
    refused: u64,
    /// Disallowed requests that enforce mode forwards, as those of tools.
    forwarded: u64,
    violations_after_read: u64,
    /// Whether the operator says that the rules were published all the time (`--published`).
    published: bool,
    /// Requests of logs that name no address of the client, such as names of hosts.
    without_address: u64,
    /// What crawlers took, by what they fetch for, most first.
    purposes: Vec<PurposeShare>,
    /// Logs that could not be read to their end.
    broken: Vec<BrokenLog>,
}

#[derive(Serialize)]
struct UnreadLines {
    count: u64,
    /// `log:line: text` of the first.
    example: Option<String>,
}

impl ReplayFields {
    fn of(judged: &JudgedLog, published: bool, ends: &[EndOfLog], report: &Report) -> Self {
        let JudgedLog { lines, counts, bytes, .. } = judged;
        let unread = ends.iter().map(|end| end.unread).sum();
        let is_disallowed =
            |decided: &CountedDecision| !matches!(decided.kind, EventKind::Pace | EventKind::Allowed);
        let of_action = |is_kept_out| {
            counts.count_of(|decided| is_disallowed(decided) && decided.action.keeps_out() == is_kept_out)
        };
        Self {
            lines: LineCounts { lines: lines.lines + unread, ..*lines },
            unread: UnreadLines { count: unread, example: ends.iter().find_map(|end| end.example.clone()) },
            refused: of_action(true),
            forwarded: of_action(false),
            violations_after_read: counts.count_of(|decided| decided.notice == Some(Notice::Read)),
            published,
            without_address: ends.iter().map(|end| end.without_address).sum(),
            purposes: PurposeShare::all(report, lines.lines - lines.before_since, *bytes),
            broken: ends.iter().filter_map(|end| end.broken.clone()).collect(),
        }
    }

    /// The answer in one line.
    fn headline(&self) -> String {
        let LineCounts { lines, before_since, other_hosts, no_request, without_user_agent, .. } = self.lines;
        let all = lines - before_since - self.unread.count;
        let requests = amount(all, "request", "requests");
        if all > 0 && all == other_hosts + no_request + without_user_agent {
            return format!("none of {requests} could be judged; see what was left out");
        }
        format!("enforce mode would have refused {} of {requests}", grouped(self.refused))
    }

    /// What else there is to say, for people.
    fn sentences(&self) -> Vec<String> {
        let text = self.render().unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// What was no part of the report.
    fn left_out(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let lines = &self.lines;
        let left_out = [
            (lines.exempt, "of exempt addresses"),
            (lines.off, "of crawlers or sites whose mode is off"),
            (lines.without_user_agent, "in lines without the User-Agent; log it to have them judged"),
            (lines.other_hosts, "for hosts that none of the sites has; --site takes them for one"),
            (lines.no_request, "that were no HTTP, or for no path"),
            (lines.before_since, "before --since"),
        ];
        left_out.into_iter().filter(|(count, _)| *count > 0)
    }
}
