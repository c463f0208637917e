//! Looks at status, store, certificates and catalogue once, and finds what an operator has to know.

use super::WatchedGateway;
use crate::control::{CertificateStatus, OriginStatus, StatusReport};
use crate::policy::Policy;
use crate::record::{StoreError, StoreReader, hexadecimal, timestamp};
use crate::report::{CatalogueView, Conduct, Report, ReportEntry, ReportQuestion};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
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

/// What an alert is about; the word is public API. `docs/alerts.md` says of each when there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub(super) enum AlertKind {
    IgnoresRules,
    Impersonation,
    Hidden,
    Refused,
    OriginFailing,
    Losses,
    ReportFailing,
    Certificate,
    Catalogue,
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

/// Something that holds now, and that an operator should know of: as JSON what the receiver gets.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Alert {
    v: u32,
    pub(super) id: String,
    time: String,
    pub(super) kind: AlertKind,
    gateway: Option<String>,
    pub(super) site: Option<String>,
    pub(super) crawler: Option<String>,
    /// One sentence.
    text: String,
    details: Value,
    /// What else tells it from others of its kind.
    #[serde(skip)]
    subject: String,
}

impl Alert {
    pub(super) fn new(kind: AlertKind, text: String, details: Value) -> Self {
        let (id, time, subject) = Default::default();
        Self { v: 1, id, time, kind, gateway: None, site: None, crawler: None, text, details, subject }
    }

    /// What is the same as long as it is the same condition.
    pub(super) fn key(&self) -> String {
        let [site, crawler] = [&self.site, &self.crawler].map(|part| part.as_deref().unwrap_or_default());
        [self.kind.into(), site, crawler, &self.subject].join("\t")
    }

    /// The same as it is sent.
    pub(super) fn told(mut self, now: SystemTime, gateway: Option<&str>) -> Self {
        self.time = timestamp(now);
        let digest = Sha256::digest(format!("{}\t{}", self.time, self.key()));
        self.id = hexadecimal(digest.get(..16).unwrap_or_default());
        self.gateway = gateway.map(str::to_owned);
        self
    }
}

/// What holds now. `lost` is how many records were lost by the time of the last look: only an increase is news.
pub(super) fn look(watched: &WatchedGateway, policy: &Policy, lost: &mut u64) -> Vec<Alert> {
    let (status, now) = ((watched.status)(), SystemTime::now());
    let mut found = refusals(&status);
    found.extend(status.origins.iter().filter_map(origin));
    // Lines beyond `journal_rate` were left out as they should be.
    found.extend(losses(&status, watched.journal.status().beyond_rate, lost));
    found.extend(status.certificates.iter().filter_map(certificate));
    let stale = policy.stale_catalogue(now);
    found.extend(stale.map(|stale| Alert::new(AlertKind::Catalogue, stale, Value::Null)));
    found.extend(crawlers(watched, policy, now).unwrap_or_else(|error| {
        let text = format!(
            "The report of the last hour cannot be made, so there are no alerts about crawlers: {error}"
        );
        vec![Alert::new(AlertKind::ReportFailing, text, json!({ "error": error.to_string() }))]
    }));
    found
}

fn losses(status: &StatusReport, beyond_rate: u64, lost: &mut u64) -> Option<Alert> {
    let details = status.details_dropped.saturating_sub(beyond_rate);
    let lines = status.access_log.map_or(0, |log| log.lines_lost);
    let (counts, error) = (status.counts_lost, &status.store.error);
    let now = counts.saturating_add(details).saturating_add(lines);
    let grew = now > std::mem::replace(lost, now);
    let text = match error {
        Some(error) => format!("The store cannot be written, and counts wait in memory: {error}"),
        None if grew => {
            format!("Records were lost: {counts} counts, {details} details, {lines} lines of the access log.")
        }
        None => return None,
    };
    Some(Alert::new(
        AlertKind::Losses,
        text,
        json!({ "access_log_lines_lost": lines, "store": status.store }),
    ))
}

/// A fault of the configuration is every site's, and is told once.
fn refusals(status: &StatusReport) -> Vec<Alert> {
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
        Alert { site, subject: error.to_owned(), ..Alert::new(AlertKind::Refused, text, details) }
    });
    told.collect()
}

fn origin(origin: &OriginStatus) -> Option<Alert> {
    let (OriginStatus { site, server, error, errors, .. }, since) = (origin, origin.failing_since.is_some());
    if !(since && *errors >= ERRORS || !since && error.is_some()) {
        return None;
    }
    let why = error.as_deref().unwrap_or("it does not answer");
    let text = format!("The origin {server} of site {site} fails: {why}.");
    let alert = Alert::new(AlertKind::OriginFailing, text, json!(origin));
    Some(Alert { site: Some(site.clone()), subject: server.clone(), ..alert })
}

fn certificate(certificate: &CertificateStatus) -> Option<Alert> {
    let (file, trouble) = (&certificate.certificate, certificate.trouble.as_ref()?);
    let alert =
        Alert::new(AlertKind::Certificate, format!("The certificate {file} {trouble}."), json!(certificate));
    Some(Alert { subject: file.clone(), ..alert })
}

/// What crawlers did in the last hour.
fn crawlers(watched: &WatchedGateway, policy: &Policy, now: SystemTime) -> Result<Vec<Alert>, StoreError> {
    let from = now.checked_sub(WINDOW).unwrap_or(SystemTime::UNIX_EPOCH);
    let known = CatalogueView::of(policy.identifier.catalogue());
    let question = ReportQuestion::of_all((from, ReportQuestion::open_end()), Some(now), 1, known);
    let store = StoreReader::open(&watched.store)?;
    store.give_up_after(LIMIT)?;
    let report = Report::of(&[store], &question)?;
    Ok(report.crawlers.iter().flat_map(deeds).collect())
}

/// Crawlers that ignore rules they have read, names that are borrowed, and crawlers in disguise; a few visits in disguise may
/// be of somebody who looks at a page.
fn deeds(entry: &ReportEntry) -> Vec<Alert> {
    let (site, requests, subject) = (&entry.subject.site, entry.requests, &entry.subject);
    let Some(name) = subject.crawler.as_deref() else { return Vec::new() };
    let is_judged = subject.is_crawler() && requests > 0;
    let hidden: u64 = entry.hidden.values().sum();
    let mut found = Vec::new();
    let mut tell = |kind, text, details| {
        let (site, crawler) = (Some(site.to_string()), Some(name.to_owned()));
        found.push(Alert { site, crawler, ..Alert::new(kind, text, details) });
    };
    let details = || {
        json!({
            "proof": subject.proof.as_str(),
            "requests": requests,
            "violations": entry.violations,
            "refused": entry.refused,
            "target": entry.paths.first().map(|path| &path.target),
        })
    };
    if is_judged && subject.is_borrowed() {
        let text =
            format!("Someone is impersonating {name} at {site}: {requests} requests in the last hour.");
        tell(AlertKind::Impersonation, text, details());
    } else if is_judged && entry.conduct == Conduct::Ignored {
        let broken = format!("{} requests in the last hour", entry.violations);
        let text = format!("{name} ignores the robots.txt of {site}, which it has read: {broken}.");
        tell(AlertKind::IgnoresRules, text, details());
    }
    if let Some(words) = entry.hidden_words().filter(|_| hidden >= HIDDEN) {
        let text = format!("{name} at {site}: {words}, in the last hour. Nobody is judged for them.");
        tell(AlertKind::Hidden, text, json!({ "requests": hidden, "as": entry.hidden }));
    }
    found
}
