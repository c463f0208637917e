//! Requests of the past that two files judge differently, by crawler and target: from access logs, or from the store, which
//! keeps the targets of each crawler and day up to a number.

use crate::ctl::VerbFailure;
use crate::ctl::args::DiffArgs;
use crate::ctl::explain::{ToldFact, facts, judge_trial};
use crate::ctl::logs::{EndOfLog, decoded, walk};
use crate::ctl::replay::{LineCounts, Sites};
use crate::ctl::report::share_of;
use crate::decide::{Verdict, VerdictOutcome};
use crate::identify::{Basis, ClientKind, Identifier, Identity, Proof, Purpose};
use crate::policy::{Policy, Site};
use crate::record::{CountSubject, Filter, OTHER_PATHS, StoreReader, printable};
use crate::report::amount;
use crate::request::RequestFacts;
use serde::Serialize;
use serde_json::json;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

/// One kind of request; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Flip {
    pub(super) client: &'static str,
    pub(super) crawler: Option<String>,
    pub(super) purpose: Option<&'static str>,
    pub(super) target: String,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    /// The line of the rule that decided, in the old file and in the new.
    pub(super) old_line: Option<u32>,
    pub(super) new_line: Option<u32>,
    pub(super) count: u64,
}

/// The requests that were judged by both files; field names are public API.
#[derive(Debug, Default, Serialize)]
pub(super) struct JudgedRequests {
    /// `log` or `store`.
    pub(super) source: &'static str,
    /// How many of judged clients.
    pub(super) judged: u64,
    /// Which share of these could be looked at: 1 of logs.
    pub(super) share: f64,
    /// How many would be judged differently.
    pub(super) flipped: u64,
    /// Lines that could not be read.
    pub(super) unread: u64,
    /// Lines that do not tell the User-Agent, and those for hosts that are not the site's.
    pub(super) without_user_agent: u64,
    pub(super) other_hosts: u64,
    /// Logs that could not be read to their end, and why.
    pub(super) broken: Vec<String>,
}

/// One site under two files, and the requests that they judge differently.
pub(super) struct PastRequests<'a> {
    policy: &'a Policy,
    old: &'a Site,
    new: &'a Site,
    told: JudgedRequests,
    /// By what they are, with no count.
    flips: HashMap<Flip, u64>,
}

impl<'a> PastRequests<'a> {
    pub(super) fn of(policy: &'a Policy, old: &'a Site, new: &'a Site) -> Self {
        Self { policy, old, new, told: JudgedRequests::default(), flips: HashMap::new() }
    }

    /// Judges the requests of logs.
    pub(super) fn of_logs(&mut self, sites: &Sites, arguments: &DiffArgs) -> Result<(), VerbFailure> {
        let mut lines = LineCounts::default();
        let ends = walk(&arguments.logs, arguments.log_format.as_deref(), |entry| {
            if let Some((_, facts)) = sites.request(entry, i64::MIN, &mut lines) {
                self.judge(&facts, None, 1);
            }
            Ok(())
        })?;
        if let Some((what, remedy)) = ends.iter().find_map(EndOfLog::fault) {
            return Err(VerbFailure::with_hint(what, remedy));
        }
        let told = &mut self.told;
        (told.source, told.share) = ("log", 1.0);
        told.unread = ends.iter().map(|end| end.unread).sum();
        told.without_user_agent = lines.without_user_agent;
        told.other_hosts = lines.other_hosts;
        told.broken = ends.iter().filter_map(|end| Some(end.broken.as_ref()?.to_string())).collect();
        Ok(())
    }

    /// Judges what the store remembers since then.
    pub(super) fn of_store(&mut self, store: &StoreReader, since: SystemTime) -> Result<(), VerbFailure> {
        // A clock that was ahead has dated what it counted later than now.
        let last = store.last()?;
        let window = store.window(since, SystemTime::now().max(last.unwrap_or(since)))?;
        let filter = Filter { site: Some(self.old.config.name.clone()), ..Filter::default() };
        let mut others = 0;
        for (subject, activity) in store.activities(&window, &filter, Some(usize::MAX))? {
            // A visit in disguise is judged by neither.
            if subject.client == ClientKind::Browser {
                continue;
            }
            let identity = identity(&self.policy.identifier, &subject);
            for (target, counts) in activity.paths {
                // Bytes that are no UTF-8 stand there by their numbers.
                let written = decoded(target.as_bytes(), b"\\x");
                if target == OTHER_PATHS {
                    others += counts.requests();
                } else if let Ok(facts) = facts("", &written, None, None) {
                    self.judge(&facts, Some(&identity), counts.requests());
                }
            }
        }
        let all = self.told.judged + others;
        self.told.share = if all == 0 { 1.0 } else { share_of(self.told.judged, all) };
        self.told.judged += others;
        self.told.source = "store";
        Ok(())
    }

    /// Judges requests by both files, and counts them where these say two things.
    fn judge(&mut self, facts: &RequestFacts<'_>, named: Option<&Arc<Identity>>, count: u64) {
        let by = |site| judge_trial(self.policy, site, facts, named, None, Proof::Unchecked);
        let (was, is) = (by(self.old), by(self.new));
        if was.verdict.is_judged() || is.verdict.is_judged() {
            self.told.judged += count;
        }
        let ((from, old_line), (to, new_line)) = (said(&was.verdict), said(&is.verdict));
        if from == to {
            return;
        }
        self.told.flipped += count;
        let who = if is.identity.client.is_judged() { is.identity } else { was.identity };
        let key = Flip {
            client: who.client.as_str(),
            crawler: who.crawler.as_deref().map(str::to_owned),
            purpose: who.purpose.map(Purpose::as_str),
            target: printable(&facts.target),
            from,
            to,
            old_line,
            new_line,
            count: 0,
        };
        *self.flips.entry(key).or_default() += count;
    }

    /// What was judged, and what differently, the most frequent first.
    pub(super) fn told(self) -> (JudgedRequests, Vec<Flip>) {
        let flips = self.flips.into_iter().map(|(flip, count)| Flip { count, ..flip });
        let mut flips: Vec<Flip> = flips.collect();
        let rank = |flip: &Flip| (Reverse(flip.count), flip.crawler.clone(), flip.target.clone(), flip.to);
        flips.sort_by_cached_key(rank);
        (self.told, flips)
    }
}

/// What search engines would lose, most first.
pub(super) fn losses(flips: &[Flip]) -> Vec<ToldFact> {
    let is_lost = |flip: &&Flip| flip.purpose == Some(Purpose::Search.as_str()) && flip.to == "disallowed";
    let mut lost: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for flip in flips.iter().filter(is_lost) {
        let (requests, pages) = lost.entry(flip.crawler.as_deref().unwrap_or_default()).or_default();
        (*requests, *pages) = (*requests + flip.count, *pages + 1);
    }
    let mut losses: Vec<(&str, (u64, u64))> = lost.into_iter().collect();
    losses.sort_by_key(|(_, lost)| Reverse(*lost));
    let told = |(crawler, (requests, pages))| ToldFact {
        json: json!({ "crawler": crawler, "pages": pages, "requests": requests }),
        text: format!(
            "WARNING: {crawler} is a search engine and would lose {} that it fetches today ({})",
            amount(pages, "page", "pages"),
            amount(requests, "request", "requests")
        ),
    };
    losses.into_iter().map(told).collect()
}

/// What a verdict says, and the line of the rule that says it. A variant is disallowed only in another spelling, and does not
/// count as a violation.
fn said(verdict: &Verdict<'_>) -> (&'static str, Option<u32>) {
    let word = match verdict.outcome {
        _ if !verdict.is_judged() => return ("allowed", None),
        VerdictOutcome::Allow | VerdictOutcome::Stale(_) => "allowed",
        VerdictOutcome::Variant => "variant",
        VerdictOutcome::Violation(_) => "disallowed",
    };
    let rule = verdict.ruling.as_ref().and_then(|ruling| ruling.rule.as_ref());
    (word, rule.map(|rule| rule.line))
}

/// Who a subject is: as the catalogue knows it, or by its name alone.
fn identity(identifier: &Identifier, subject: &CountSubject) -> Arc<Identity> {
    let &CountSubject { client, purpose, ref crawler, .. } = subject;
    let known = crawler.as_deref().and_then(|name| identifier.catalogue().get(name));
    let (tokens, star) = match known {
        Some(known) => (Arc::clone(&known.tokens), known.star),
        None => (crawler.iter().cloned().collect(), true),
    };
    let crawler = crawler.as_deref().map(Into::into);
    Arc::new(Identity { client, crawler, purpose, tokens, star, basis: Basis::Catalogue })
}
