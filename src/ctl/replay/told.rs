//! What a replay has to say beside the report: what would be refused, who would be spared and why, and which
//! lines were no part of it.

use super::judge::Judge;
use super::lines::LineKind::{
    Apps, BeforeSince, Browsers, Exempt, Judged, Lines, NoRequest, Off, OtherHosts, RobotsTxt,
    WithoutUserAgent,
};
use super::lines::{LineCounts, LineKind};
use crate::ctl::logs::EndOfLog;
use crate::decide::Notice;
use crate::identify::Purpose;
use crate::record::EventKind;
use crate::report::{self, Report, amount, byte_words, grouped};
use askama::Template;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many names are told of those who would be spared for one reason.
const NAMES: usize = 5;

/// The whole answer; field names are public API.
#[derive(Serialize)]
pub(super) struct ReplayReport {
    #[serde(flatten)]
    report: Report,
    replay: ReplayFields,
}

#[derive(Clone, Serialize)]
pub(super) struct ReplayFields {
    #[serde(flatten)]
    lines: LineCounts,
    unread: UnreadLog,
    refused: u64,
    violations_after_read: u64,
    /// Whether the operator says that the rules were published all the time (`--published`).
    published: bool,
    /// Requests of logs that name no address of the client, such as names of hosts.
    without_address: u64,
    spared: Vec<ForwardedDisallowed>,
    slowed: Vec<SlowedCrawler>,
    /// What crawlers took, by what they fetch for, most first.
    purposes: Vec<PurposeShare>,
    /// Logs that could not be read to their end.
    broken: Vec<UnfinishedLogs>,
    #[serde(skip)]
    losses: Vec<String>,
}

#[derive(Clone, Serialize)]
struct UnfinishedLogs {
    log: String,
    /// Lines that were read of it.
    lines: u64,
    error: String,
}

#[derive(Clone, Serialize)]
struct UnreadLog {
    count: u64,
    /// `log:line: text` of the first.
    example: Option<String>,
}

/// Requests that robots.txt disallows and enforce mode would forward.
#[derive(Clone, Serialize)]
struct ForwardedDisallowed {
    reason: &'static str,
    site: String,
    client: &'static str,
    crawler: Option<String>,
    count: u64,
}

/// Whose requests would be answered 429 where pace is enforced; field names are public API.
#[derive(Clone, Debug, Serialize)]
struct SlowedCrawler {
    site: String,
    crawler: Option<String>,
    /// Its `Crawl-delay` as written; null of a `rate`.
    rule: Option<String>,
    count: u64,
}

/// What crawlers that fetch for one purpose took; field names are public API.
#[derive(Clone, Debug, Serialize)]
struct PurposeShare {
    /// A word of the catalogue, or `unknown`.
    purpose: &'static str,
    requests: u64,
    /// Of all requests of the log, people's too.
    requests_share: f64,
    /// Null where the log does not say how much was sent.
    bytes: Option<u64>,
    bytes_share: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share_of(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl PurposeShare {
    /// `, 3.1 GB (40.0 %)`.
    fn sent(&self) -> String {
        let sent = self.bytes.zip(self.bytes_share);
        let sent = sent.map(|(bytes, share)| format!(", {} ({:.1} %)", byte_words(bytes), share * 100.0));
        sent.unwrap_or_default()
    }
}

/// What else there is to say, for people: a sentence a line.
#[derive(Template)]
#[template(path = "replay/told.txt", config = "src/ctl/askama.toml")]
struct ReplaySentences<'t> {
    told: &'t ReplayFields,
    /// Disallowed requests that would be forwarded: how many, why, and whose.
    forwarded: Vec<(u64, &'static str, String)>,
    /// Whose requests would be slowed, and how many more there are.
    slowed: &'t [SlowedCrawler],
    more: u64,
    /// Of browsers, and of apps.
    people: (u64, u64),
    /// What was no part of the report.
    left_out: Vec<(u64, &'static str)>,
}

impl ReplayFields {
    pub(super) fn of(judge: &Judge<'_>, ends: &[EndOfLog], is_published: bool) -> Self {
        let broken = |end: &EndOfLog| {
            let (lines, error) = end.broken.clone()?;
            Some(UnfinishedLogs { log: end.name.clone(), lines, error })
        };
        let subject = |number: u32| judge.counts.subject(number);
        let kept = |((reason, number), count): (&(&'static str, u32), &u64)| {
            let subject = subject(*number)?;
            Some(ForwardedDisallowed {
                reason,
                site: subject.site.to_string(),
                client: subject.client.as_str(),
                crawler: subject.crawler.as_deref().map(str::to_owned),
                count: *count,
            })
        };
        let mut spared: Vec<ForwardedDisallowed> = judge.spared.iter().filter_map(kept).collect();
        spared.sort_by(|one, two| (two.count, &one.crawler).cmp(&(one.count, &two.crawler)));
        let slowed = |(number, (rule, count)): (&u32, &(Option<String>, u64))| {
            let subject = subject(*number)?;
            let crawler = subject.crawler.as_deref().map(str::to_owned);
            Some(SlowedCrawler { site: subject.site.to_string(), crawler, rule: rule.clone(), count: *count })
        };
        let mut slowed: Vec<SlowedCrawler> = judge.slowed.iter().filter_map(slowed).collect();
        slowed.sort_by(|one, two| (two.count, &one.crawler).cmp(&(one.count, &two.crawler)));
        let is_refused = |decided: &crate::record::CountedDecision| {
            decided.action.keeps_out() && decided.kind != EventKind::Pace
        };
        Self {
            lines: judge.lines,
            unread: UnreadLog { count: judge.lines.of(LineKind::Unread), example: judge.unread.clone() },
            refused: judge.counts.count_of(is_refused),
            violations_after_read: judge.counts.count_of(|decided| decided.notice == Some(Notice::Read)),
            published: is_published,
            without_address: ends.iter().map(|end| end.seen.read - end.seen.with_address).sum(),
            spared,
            slowed,
            purposes: Vec::new(),
            broken: ends.iter().filter_map(broken).collect(),
            losses: ends.iter().filter_map(EndOfLog::loss).collect(),
        }
    }

    /// The same with what crawlers took, by what they fetch for. `bytes` were sent to everybody.
    pub(super) fn with_shares(&self, report: &Report, bytes: u64) -> Self {
        let all = self.requests();
        let mut purposes: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
        for entry in report.named() {
            let purpose = entry.subject.purpose.map_or("unknown", Purpose::as_str);
            let (requests, sent) = purposes.entry(purpose).or_default();
            (*requests, *sent) = (*requests + entry.requests, *sent + entry.bytes.unwrap_or_default());
        }
        let share = |(purpose, (requests, sent)): (&'static str, (u64, u64))| PurposeShare {
            purpose,
            requests,
            requests_share: share_of(requests, all),
            bytes: (bytes > 0).then_some(sent),
            bytes_share: (bytes > 0).then(|| share_of(sent, bytes)),
        };
        let mut purposes: Vec<PurposeShare> = purposes.into_iter().map(share).collect();
        purposes.sort_by_key(|one| Reverse((one.bytes, one.requests)));
        Self { purposes, ..self.clone() }
    }

    /// How many requests were read.
    fn requests(&self) -> u64 {
        self.lines.of(Lines) - self.unread.count - self.lines.of(BeforeSince)
    }

    /// The first line that could not be read.
    pub(super) fn example(&self) -> Option<&str> {
        self.unread.example.as_deref()
    }

    pub(super) fn into_report(self, report: Report) -> ReplayReport {
        ReplayReport { report, replay: self }
    }

    /// The answer in one line.
    pub(super) fn headline(&self) -> String {
        let read = self.requests();
        let all = amount(read, "request", "requests");
        if read > 0 && self.lines.sum(&[Judged, RobotsTxt, Browsers, Apps, Exempt, Off]) == 0 {
            return format!("none of {all} could be judged; see what was left out");
        }
        format!("enforce mode would have refused {} of {all}", grouped(self.refused))
    }

    /// What else there is to say, for people.
    pub(super) fn sentences(&self) -> Vec<String> {
        let left_out = [
            (Exempt, "of exempt addresses"),
            (Off, "of crawlers or sites whose mode is off"),
            (WithoutUserAgent, "in lines without the User-Agent; log it to have them judged"),
            (OtherHosts, "for hosts that none of the sites has; --site takes them for one"),
            (NoRequest, "that were no HTTP, or for no path"),
            (BeforeSince, "before --since"),
        ];
        let left_out = left_out.map(|(kind, what)| (self.lines.of(kind), what)).into_iter();
        let left_out = left_out.filter(|(count, _)| *count > 0).collect();
        let slowed = self.slowed.get(..NAMES).unwrap_or(&self.slowed);
        let more = (self.slowed.len() - slowed.len()) as u64;
        let people = (self.lines.of(Browsers), self.lines.of(Apps));
        let text =
            ReplaySentences { told: self, forwarded: self.forwarded(), slowed, more, people, left_out };
        text.render().unwrap_or_default().lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    fn forwarded(&self) -> Vec<(u64, &'static str, String)> {
        let mut reasons: BTreeMap<&str, (u64, Vec<String>)> = BTreeMap::new();
        for kept in &self.spared {
            let (count, names) = reasons.entry(sentence(kept.reason, kept.client)).or_default();
            *count += kept.count;
            let name = kept.crawler.as_deref().unwrap_or("no name");
            names.push(format!("{name} {}", grouped(kept.count)));
        }
        let told = |(reason, (count, mut names)): (&'static str, (u64, Vec<String>))| {
            let more = names.split_off(names.len().min(NAMES)).len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (count, reason, names.join(", ") + &more)
        };
        let mut told: Vec<_> = reasons.into_iter().map(told).collect();
        told.sort_by_key(|(count, ..)| Reverse(*count));
        told
    }
}

fn sentence(reason: &str, client: &str) -> &'static str {
    match (reason, client) {
        ("client", "tool") => "of tools, which are only audited unless [clients] says otherwise",
        ("client", "fetcher") => "of fetchers, which act for a person and are only audited",
        ("client", "monitor") => "of monitors, which are only audited",
        ("client", "unnamed") => "of clients without a name, which are only audited",
        ("client", _) => "of a kind of client that [clients] has only audited",
        ("crawler", _) => "of crawlers that have a mode of their own",
        ("purpose", _) => "of crawlers whose purpose has a mode of its own",
        ("site", _) => "at a site that is not to be enforced",
        ("doubt", _) => "of clients that may be people's browsers after all",
        ("variant", _) => "for another spelling of a disallowed path, which the site forwards",
        _ => "of certificate authorities, which are never refused",
    }
}
