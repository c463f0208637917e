//! What a replay has to say beside the report: what would be refused, and which lines were no part of it.

use super::judge::Judge;
use super::sites::LineCounts;
use crate::ctl::logs::{BrokenLog, EndOfLog};
use crate::ctl::report::PurposeShare;
use crate::decide::Notice;
use crate::record::{CountedDecision, EventKind};
use crate::report::{self, Report, amount, grouped};
use askama::Template;
use serde::Serialize;

/// The whole answer; field names are public API.
#[derive(Serialize)]
pub(super) struct ReplayReport<'r> {
    #[serde(flatten)]
    pub(super) report: &'r Report,
    pub(super) replay: &'r ReplayFields,
}

/// What stands beside the report; for people a sentence a line.
#[derive(Serialize, Template)]
#[template(path = "replay/told.txt", config = "src/ctl/askama.toml")]
pub(super) struct ReplayFields {
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
    pub(super) fn of(judge: &Judge<'_>, ends: &[EndOfLog], report: &Report) -> Self {
        let unread = ends.iter().map(|end| end.unread).sum();
        let lines = LineCounts { lines: judge.lines.lines + unread, ..judge.lines };
        let is_disallowed =
            |decided: &CountedDecision| !matches!(decided.kind, EventKind::Pace | EventKind::Allowed);
        let count = |is_so: &dyn Fn(&CountedDecision) -> bool| judge.counts.count_of(is_so);
        Self {
            lines,
            unread: UnreadLines { count: unread, example: ends.iter().find_map(|end| end.example.clone()) },
            refused: count(&|decided| is_disallowed(decided) && decided.action.keeps_out()),
            forwarded: count(&|decided| is_disallowed(decided) && !decided.action.keeps_out()),
            violations_after_read: count(&|decided| decided.notice == Some(Notice::Read)),
            published: judge.arguments.published,
            without_address: ends.iter().map(|end| end.without_address).sum(),
            purposes: PurposeShare::all(report, judge.lines.lines - lines.before_since, judge.bytes),
            broken: ends.iter().filter_map(|end| end.broken.clone()).collect(),
        }
    }

    /// The answer in one line.
    pub(super) fn headline(&self) -> String {
        let LineCounts { lines, before_since, other_hosts, no_request, without_user_agent, .. } = self.lines;
        let all = lines - before_since - self.unread.count;
        let requests = amount(all, "request", "requests");
        if all > 0 && all == other_hosts + no_request + without_user_agent {
            return format!("none of {requests} could be judged; see what was left out");
        }
        format!("enforce mode would have refused {} of {requests}", grouped(self.refused))
    }

    /// What else there is to say, for people.
    pub(super) fn sentences(&self) -> Vec<String> {
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
