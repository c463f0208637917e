//! What a replay has to say beside the report: what would be refused, who would be spared and why, and which
//! lines were no part of it.

use super::ledger::Ledger;
use super::part::{Spared, Tally};
use super::publication::Published;
use crate::ctl::output::harmless;
use crate::enforce::Action;
use crate::record::printable;
use crate::report::{Report, amount, grouped};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many names are told of those who would be spared for one reason.
const NAMES: usize = 5;

/// The whole answer; field names are public API.
#[derive(Serialize)]
pub(super) struct Replayed {
    #[serde(flatten)]
    report: Report,
    replay: Told,
}

#[derive(Clone, Serialize)]
pub(super) struct Told {
    lines: u64,
    unread: Unread,
    before_since: u64,
    other_hosts: u64,
    no_request: u64,
    without_user_agent: u64,
    browsers: u64,
    apps: u64,
    exempt: u64,
    off: u64,
    judged: u64,
    robots_txt: u64,
    refused: u64,
    violations_after_read: u64,
    published: Vec<Published>,
    spared: Vec<Kept>,
    /// Logs that could not be read to their end.
    broken: Vec<Broken>,
}

#[derive(Clone, Serialize)]
struct Broken {
    log: String,
    /// Lines that were read of it.
    lines: u64,
    error: String,
}

#[derive(Clone, Serialize)]
struct Unread {
    count: u64,
    /// `log:line: text` of the first.
    example: Option<String>,
}

/// Requests that robots.txt disallows and enforce mode would forward.
#[derive(Clone, Serialize)]
struct Kept {
    reason: &'static str,
    site: String,
    client: &'static str,
    crawler: Option<String>,
    count: u64,
}

impl Told {
    pub(super) fn of(ledger: &Ledger<'_>, logs: &[PathBuf]) -> Self {
        let Tally {
            lines,
            unread,
            early,
            elsewhere,
            no_request,
            unlogged,
            browsers,
            apps,
            exempt,
            off,
            judged,
            robots_txt,
        } = ledger.tally;
        let is_refused = |number: &u32| {
            ledger.decision(*number, false).is_some_and(|decided| decided.action == Action::Refuse)
        };
        let decisions = ledger.accounts.iter().flat_map(|account| &account.decisions);
        let name = |log: usize| logs.get(log).map(|path| path.display().to_string()).unwrap_or_default();
        let example = ledger
            .unread
            .as_ref()
            .map(|(log, line, text)| format!("{}:{line}: {}", name(*log), printable(text)));
        let broken = ledger
            .broken
            .iter()
            .map(|(log, lines, error)| Broken { log: name(*log), lines: *lines, error: error.clone() })
            .collect();
        let kept = |((reason, subject), count): (&(Spared, u32), &u64)| {
            let subject = &ledger.accounts.get(*subject as usize)?.subject;
            Some(Kept {
                reason: word(*reason),
                site: subject.site.to_string(),
                client: subject.client.as_str(),
                crawler: subject.crawler.as_deref().map(str::to_owned),
                count: *count,
            })
        };
        let mut spared: Vec<Kept> = ledger.spared.iter().filter_map(kept).collect();
        spared.sort_by(|one, two| (two.count, &one.crawler).cmp(&(one.count, &two.crawler)));
        Self {
            lines,
            unread: Unread { count: unread, example },
            before_since: early,
            other_hosts: elsewhere,
            no_request,
            without_user_agent: unlogged,
            browsers,
            apps,
            exempt,
            off,
            judged,
            robots_txt,
            refused: decisions.filter(|(number, _)| is_refused(number)).map(|(_, seen)| seen.count).sum(),
            violations_after_read: ledger.after_read(),
            published: Published::all(ledger),
            spared,
            broken,
        }
    }

    /// What was lost of logs that could not be read to their end.
    pub(super) fn losses(&self) -> Vec<String> {
        let told = |broken: &Broken| {
            let (log, lines) = (harmless(&broken.log), grouped(broken.lines));
            format!("{log}: cannot be read on after {lines} lines: {}", harmless(&broken.error))
        };
        self.broken.iter().map(told).collect()
    }

    /// The first line that could not be read.
    pub(super) fn example(&self) -> String {
        harmless(self.unread.example.as_deref().unwrap_or("(none)"))
    }

    pub(super) fn with(self, report: Report) -> Replayed {
        Replayed { report, replay: self }
    }

    /// The answer in one line.
    pub(super) fn headline(&self) -> String {
        let read = self.lines - self.unread.count - self.before_since;
        let all = amount(read, "request", "requests");
        if read > 0 && self.judged + self.robots_txt + self.browsers + self.apps + self.exempt + self.off == 0
        {
            return format!("none of {all} could be judged; see what was left out");
        }
        format!("enforce mode would have refused {} of {all}", grouped(self.refused))
    }

    /// What else there is to say, for people.
    pub(super) fn sentences(&self) -> Vec<String> {
        let several = self.published.len() > 1;
        let mut said: Vec<String> = self.published.iter().map(|site| site.sentence(several)).collect();
        if self.published.iter().any(Published::is_shown) {
            said.push(format!(
                "read, then ignored: {} of the violations came after the same crawler had fetched this very file",
                grouped(self.violations_after_read)
            ));
        }
        said.extend(self.spared());
        said.push(format!(
            "never judged: {} of browsers, {} of apps",
            grouped(self.browsers),
            grouped(self.apps)
        ));
        let left_out = [
            (self.exempt, "of exempt addresses"),
            (self.off, "of crawlers or sites whose mode is off"),
            (self.without_user_agent, "in lines that do not tell the User-Agent; log it to have them judged"),
            (self.other_hosts, "for hosts that none of the sites has; --site takes them for one"),
            (self.no_request, "that were no HTTP, or for no path"),
            (self.before_since, "before --since"),
        ];
        let left_out = left_out.iter().filter(|(count, _)| *count > 0);
        said.extend(left_out.map(|(count, what)| format!("left out: {} {what}", grouped(*count))));
        said.extend(self.losses());
        if self.unread.count > 0 {
            let count = grouped(self.unread.count);
            said.push(format!("lines not read: {count}, such as {}", self.example()));
        }
        said
    }

    fn spared(&self) -> Vec<String> {
        let mut reasons: BTreeMap<&str, (u64, Vec<String>)> = BTreeMap::new();
        for kept in &self.spared {
            let (count, names) = reasons.entry(sentence(kept.reason, kept.client)).or_default();
            *count += kept.count;
            let name = kept.crawler.as_deref().unwrap_or("no name");
            names.push(format!("{} {}", harmless(name), grouped(kept.count)));
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let told = |(reason, (count, names)): (&str, (u64, Vec<String>))| {
            let more = names.len().saturating_sub(NAMES);
            let names = names.into_iter().take(NAMES).collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("spared: {} {reason} ({names}{more})", grouped(count))
        };
        reasons.into_iter().map(told).collect()
    }
}

const fn word(reason: Spared) -> &'static str {
    match reason {
        Spared::Kind => "client",
        Spared::Crawler => "crawler",
        Spared::Purpose => "purpose",
        Spared::Site => "site",
        Spared::Doubt => "doubt",
        Spared::Variant => "variant",
        Spared::Certificate => "certificate",
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
