//! What a replay has to say beside the report: what would be refused, who would be spared and why, and which
//! lines were no part of it.

use super::judge::{ForwardReason, Judge};
use super::lines::LineKind::{
    Apps, BeforeSince, Browsers, Exempt, Judged, Lines, NoRequest, Off, OtherHosts, RobotsTxt,
    WithoutUserAgent,
};
use super::lines::{LineCounts, LineKind};
use crate::ctl::logs::EndOfLog;
use crate::decide::Notice;
use crate::identify::Purpose;
use crate::record::{EventKind, printable};
use crate::report::{Report, amount, byte_words, grouped};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

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

impl PurposeShare {
    /// `ai-train: 4,120 requests (12.5 % of all), 3.1 GB (40.0 %)`.
    fn sentence(&self) -> String {
        let requests = amount(self.requests, "request", "requests");
        let sent = self.bytes.zip(self.bytes_share);
        let sent = sent.map(|(bytes, share)| format!(", {} ({:.1} %)", byte_words(bytes), share * 100.0));
        let (purpose, share) = (self.purpose, self.requests_share * 100.0);
        format!("crawlers for {purpose}: {requests} ({share:.1} % of all){}", sent.unwrap_or_default())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share_of(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl SlowedCrawler {
    /// `with Crawl-delay: 10 AhrefsBot would have been slowed 4,120 times`.
    fn sentence(&self) -> String {
        let who = self.crawler.as_deref().unwrap_or("(no name)");
        let (rule, times) = (self.rule.as_deref().unwrap_or("its rate"), amount(self.count, "time", "times"));
        format!("with {rule} {who} would have been slowed {times} at {}", self.site)
    }
}

impl ReplayFields {
    pub(super) fn of(judge: &Judge<'_>, ends: &[EndOfLog], logs: &[PathBuf], is_published: bool) -> Self {
        let name = |log: usize| logs.get(log).map(|path| path.display().to_string()).unwrap_or_default();
        let example = judge.unread.as_ref().map(|unread| {
            let place = format!("{}:{}:{}", name(unread.log), unread.number, unread.column);
            format!("{place}: expected {}: {}", unread.expected, printable(&unread.text))
        });
        let broken = |end: &EndOfLog| {
            let (lines, error) = end.broken.clone()?;
            Some(UnfinishedLogs { log: name(end.log), lines, error })
        };
        let subject = |number: u32| judge.counts.subject(number);
        let kept = |((reason, number), count): (&(ForwardReason, u32), &u64)| {
            let subject = subject(*number)?;
            Some(ForwardedDisallowed {
                reason: reason.into(),
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
            unread: UnreadLog { count: judge.lines.of(LineKind::Unread), example },
            refused: judge.counts.count_of(is_refused),
            violations_after_read: judge.counts.count_of(|decided| decided.notice == Some(Notice::Read)),
            published: is_published,
            without_address: ends.iter().map(|end| end.seen.read - end.seen.with_address).sum(),
            spared,
            slowed,
            purposes: Vec::new(),
            broken: ends.iter().filter_map(broken).collect(),
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
        purposes.sort_by_key(|one| std::cmp::Reverse((one.bytes, one.requests)));
        Self { purposes, ..self.clone() }
    }

    /// How many requests were read.
    fn requests(&self) -> u64 {
        self.lines.of(Lines) - self.unread.count - self.lines.of(BeforeSince)
    }

    /// What was lost of logs that could not be read to their end.
    pub(super) fn losses(&self) -> Vec<String> {
        let told = |broken: &UnfinishedLogs| {
            let UnfinishedLogs { log, lines, error } = broken;
            format!("{log}: cannot be read on after {} lines: {error}", grouped(*lines))
        };
        self.broken.iter().map(told).collect()
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
        let mut said = vec![if self.published {
            "published: you say that this robots.txt was served throughout the log (--published)".to_owned()
        } else {
            "hypothetical: a log does not show which robots.txt was served. If it was this one throughout, add --published"
                .to_owned()
        }];
        if self.published {
            said.push(format!(
                "read, then ignored: {} of the violations came after the same crawler had fetched this file",
                grouped(self.violations_after_read)
            ));
        }
        said.extend(self.purposes.iter().map(PurposeShare::sentence));
        said.extend(self.sentences_of_forwarded());
        said.extend(self.slowed.iter().take(NAMES).map(SlowedCrawler::sentence));
        if let Some(more) = self.slowed.len().checked_sub(NAMES).filter(|more| *more > 0) {
            let crawlers = amount(more as u64, "more crawler", "more crawlers");
            said.push(format!("and {crawlers} would have been slowed; see --format json"));
        }
        if self.without_address > 0 {
            let count = grouped(self.without_address);
            said.push(format!("without an address: {count} lines; log addresses, not names of hosts"));
        }
        said.push(format!(
            "never judged: {} of browsers, {} of apps",
            grouped(self.lines.of(Browsers)),
            grouped(self.lines.of(Apps))
        ));
        let left_out = [
            (Exempt, "of exempt addresses"),
            (Off, "of crawlers or sites whose mode is off"),
            (WithoutUserAgent, "in lines without the User-Agent; log it to have them judged"),
            (OtherHosts, "for hosts that none of the sites has; --site takes them for one"),
            (NoRequest, "that were no HTTP, or for no path"),
            (BeforeSince, "before --since"),
        ];
        let left_out = left_out.map(|(kind, what)| (self.lines.of(kind), what));
        let left_out = left_out.iter().filter(|(count, _)| *count > 0);
        said.extend(left_out.map(|(count, what)| format!("left out: {} {what}", grouped(*count))));
        said.extend(self.losses());
        if self.unread.count > 0 {
            let count = grouped(self.unread.count);
            said.push(format!("lines not read: {count}, the first {}", self.example().unwrap_or("(none)")));
        }
        said
    }

    fn sentences_of_forwarded(&self) -> Vec<String> {
        let mut reasons: BTreeMap<&str, (u64, Vec<String>)> = BTreeMap::new();
        for kept in &self.spared {
            let (count, names) = reasons.entry(sentence(kept.reason, kept.client)).or_default();
            *count += kept.count;
            let name = kept.crawler.as_deref().unwrap_or("no name");
            names.push(format!("{name} {}", grouped(kept.count)));
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let told = |(reason, (count, names)): (&str, (u64, Vec<String>))| {
            let more = names.len().saturating_sub(NAMES);
            let names = names.into_iter().take(NAMES).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("still let through: {} {reason} ({names}{more})", grouped(count))
        };
        reasons.into_iter().map(told).collect()
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
