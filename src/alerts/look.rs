//! Looks at status, store, certificates and catalogue once, and finds the conditions that an operator has to know.

use super::WatchedGateway;
use crate::control::StatusReport;
use crate::policy::Policy;
use crate::record::{StoreError, StoreReader};
use crate::report::{CatalogueView, Conduct, Report, ReportEntry, ReportQuestion};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// How far back the store is read: what a crawler did before was told before.
const WINDOW: Duration = Duration::from_secs(3_600);

/// How long reading the store may take.
const LIMIT: Duration = Duration::from_secs(5);

/// A server that does not answer is told of after so many failed requests.
const ERRORS: u64 = 2;

/// How many visits in disguise in an hour are told of.
const HIDDEN: u64 = 100;

/// What a condition is about; the word is the `kind` of an alert, and public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum AlertKind {
    /// A crawler breaks rules that it has read.
    IgnoresRules,
    /// Somebody uses a crawler's name.
    Impersonation,
    /// A crawler's own addresses come with a browser's header.
    Hidden,
    /// A file or configuration was refused, and the former one is kept.
    Refused,
    /// A server of an origin answers no requests.
    OriginFailing,
    /// Something that should have been recorded was not.
    Losses,
    /// The report cannot be made, so nothing is known of crawlers.
    ReportFailing,
    /// A certificate runs out, or has.
    Certificate,
    /// The catalogue of crawlers is old.
    Catalogue,
    /// Somebody asked for it.
    Test,
}

impl AlertKind {
    /// One request, or one look at a busy disk, may fail by chance.
    pub(super) const fn needs_two_looks(self) -> bool {
        matches!(self, Self::OriginFailing | Self::ReportFailing)
    }

    /// How long it has to be gone before it is told again.
    pub(super) const fn quiet(self) -> Duration {
        match self {
            Self::OriginFailing | Self::Refused => Duration::from_secs(600),
            Self::Losses | Self::ReportFailing => Duration::from_secs(3_600),
            _ => Duration::from_secs(86_400),
        }
    }
}

/// Something that holds now, and that an operator should know of.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) kind: AlertKind,
    pub(super) site: Option<String>,
    pub(super) crawler: Option<String>,
    /// What else tells it from others of its kind.
    pub(super) subject: String,
    /// One sentence.
    pub(super) text: String,
    pub(super) details: Value,
}

impl Condition {
    pub(super) fn new(kind: AlertKind, subject: &str, text: String, details: Value) -> Self {
        Self { kind, site: None, crawler: None, subject: subject.to_owned(), text, details }
    }

    /// What is the same as long as it is the same condition.
    pub(super) fn key(&self) -> String {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        [<&str>::from(self.kind), &part(&self.site), &part(&self.crawler), &self.subject].join("\t")
    }
}

/// How many records were lost by the time of the last look: only an increase is news.
#[derive(Debug, Default)]
pub(super) struct Look {
    lost: u64,
}

impl Look {
    pub(super) fn conditions(
        &mut self,
        watched: &WatchedGateway,
        policy: &Policy,
        now: SystemTime,
    ) -> Vec<Condition> {
        let status = (watched.status)();
        let mut found = refusals(&status);
        found.extend(origins(&status));
        found.extend(self.losses(watched, &status));
        found.extend(age(policy, &status, now));
        found.extend(crawlers(watched, policy, now).unwrap_or_else(|error| {
            let text = format!(
                "The report of the last hour cannot be made, so there are no alerts about crawlers: {error}"
            );
            vec![Condition::new(AlertKind::ReportFailing, "", text, json!({ "error": error.to_string() }))]
        }));
        found
    }

    fn losses(&mut self, watched: &WatchedGateway, status: &StatusReport) -> Option<Condition> {
        // Lines beyond `journal_rate` were left out as they should be.
        let details = status.details_dropped.saturating_sub(watched.journal.status().beyond_rate);
        let lines = status.access_log.map_or(0, |log| log.lines_lost);
        let counts = status.counts_lost;
        let lost = counts.saturating_add(details).saturating_add(lines);
        let grew = lost > std::mem::replace(&mut self.lost, lost);
        let text = match &status.store.error {
            Some(error) => format!("The store cannot be written, and counts wait in memory: {error}"),
            None if grew => format!(
                "Records were lost: {counts} counts, {details} details, {lines} lines of the access log."
            ),
            None => return None,
        };
        let details = json!({
            "counts_lost": counts,
            "details_dropped": details,
            "access_log_lines_lost": lines,
            "store_error": status.store.error,
        });
        Some(Condition::new(AlertKind::Losses, "", text, details))
    }
}

/// A fault of the configuration is every site's, and is told once.
fn refusals(status: &StatusReport) -> Vec<Condition> {
    let mut faults: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for site in &status.sites {
        if let Some(error) = &site.error {
            faults.entry(error).or_default().push(&site.site);
        }
    }
    let told = faults.into_iter().map(|(error, sites)| {
        let text = format!("A file was refused, and the last good one is kept: {error}");
        let site = if let [one] = sites[..] { Some(one.to_owned()) } else { None };
        let details = json!({ "error": error, "sites": sites });
        Condition { site, ..Condition::new(AlertKind::Refused, error, text, details) }
    });
    told.collect()
}

fn origins(status: &StatusReport) -> impl Iterator<Item = Condition> + '_ {
    let failing = status.origins.iter().filter(|origin| {
        let (errors, since) = (origin.errors, origin.failing_since.is_some());
        (since && errors >= ERRORS) || (!since && origin.error.is_some())
    });
    failing.map(|origin| {
        let (site, server, why) =
            (&origin.site, &origin.server, origin.error.as_deref().unwrap_or("it does not answer"));
        let text = format!("The origin {server} of site {site} fails: {why}.");
        let details =
            json!({ "server": server, "error": why, "since": origin.failing_since, "errors": origin.errors });
        let site = Some(site.clone());
        Condition { site, ..Condition::new(AlertKind::OriginFailing, server, text, details) }
    })
}

fn age(policy: &Policy, status: &StatusReport, now: SystemTime) -> Vec<Condition> {
    let certificates = status.certificates.iter().filter_map(|certificate| {
        let trouble = certificate.trouble.as_ref()?;
        let file = &certificate.certificate;
        let text = format!("The certificate {file} {trouble}.");
        let details = json!({ "certificate": file, "expires": certificate.expires });
        Some(Condition::new(AlertKind::Certificate, file, text, details))
    });
    let catalogue =
        policy.stale_catalogue(now).map(|stale| Condition::new(AlertKind::Catalogue, "", stale, Value::Null));
    certificates.chain(catalogue).collect()
}

/// Crawlers that ignore rules they have read, and names that are borrowed, in the last hour.
fn crawlers(
    watched: &WatchedGateway,
    policy: &Policy,
    now: SystemTime,
) -> Result<Vec<Condition>, StoreError> {
    let from = now.checked_sub(WINDOW).unwrap_or(SystemTime::UNIX_EPOCH);
    let known = CatalogueView::of(policy.identifier.catalogue());
    let question = ReportQuestion::of_all((from, ReportQuestion::open_end()), Some(now), 1, known);
    let store = StoreReader::open(&watched.store)?;
    store.give_up_after(LIMIT)?;
    let stores = [store];
    let report = Report::of(&stores, &question)?;
    let hidden = report.crawlers.iter().filter_map(hidden);
    Ok(report.crawlers.iter().filter_map(conduct).chain(hidden).collect())
}

/// A crawler that comes in disguise; a few such visits may be of somebody who looks at a page.
fn hidden(entry: &ReportEntry) -> Option<Condition> {
    let (site, name) = (&*entry.subject.site, entry.subject.crawler.as_deref()?);
    let requests: u64 = entry.hidden.values().sum();
    let words = entry.hidden_words().filter(|_| requests >= HIDDEN)?;
    let text = format!("{name} at {site}: {words}, in the last hour. Nobody is judged for them.");
    let details = json!({ "requests": requests, "as": entry.hidden });
    let (site, crawler) = (Some(site.to_owned()), Some(name.to_owned()));
    Some(Condition { site, crawler, ..Condition::new(AlertKind::Hidden, "", text, details) })
}

fn conduct(entry: &ReportEntry) -> Option<Condition> {
    let (site, name) = (&*entry.subject.site, entry.subject.crawler.as_deref()?);
    if !entry.subject.is_crawler() || entry.requests == 0 {
        return None;
    }
    let details = json!({
        "proof": entry.subject.proof.as_str(),
        "requests": entry.requests,
        "violations": entry.violations,
        "refused": entry.refused,
        "target": entry.paths.first().map(|path| &path.target),
    });
    let (requests, violations) = (entry.requests, entry.violations);
    let (kind, text) = if entry.subject.is_borrowed() {
        let text =
            format!("Someone is impersonating {name} at {site}: {requests} requests in the last hour.");
        (AlertKind::Impersonation, text)
    } else if entry.conduct == Conduct::Ignored {
        let broken = format!("{violations} requests in the last hour");
        let text = format!("{name} ignores the robots.txt of {site}, which it has read: {broken}.");
        (AlertKind::IgnoresRules, text)
    } else {
        return None;
    };
    let (site, crawler) = (Some(site.to_owned()), Some(name.to_owned()));
    Some(Condition { site, crawler, ..Condition::new(kind, "", text, details) })
}
