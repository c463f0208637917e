//! Looks at status, store, certificates and catalogue once, and finds what an operator has to know.

use crate::control::{CertificateStatus, OriginStatus, SiteStatus, StatusReport};
use crate::policy::Policy;
use crate::record::{StoreError, StoreReader, hexadecimal, timestamp};
use crate::report::{Conduct, Report, ReportEntry, ReportQuestion};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
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
#[derive(Clone, Copy, Debug, Serialize)]
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

/// Something that holds now, and that an operator should know of: as JSON what the receiver gets.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Alert {
    v: u32,
    id: String,
    time: String,
    pub(super) kind: AlertKind,
    gateway: Option<String>,
    site: Option<String>,
    pub(super) crawler: Option<String>,
    /// One sentence.
    text: String,
    details: Value,
    /// What is the same as long as it is the same condition.
    #[serde(skip)]
    pub(super) key: String,
}

impl Alert {
    pub(super) fn new(kind: AlertKind, subject: &str, text: String, details: Value) -> Self {
        let (id, time, key) = (String::new(), String::new(), format!("{kind:?}\t{subject}"));
        Self { v: 1, id, time, kind, gateway: None, site: None, crawler: None, text, details, key }
    }

    /// The same as it is sent.
    pub(super) fn told(mut self, now: SystemTime, gateway: Option<&str>) -> Self {
        self.time = timestamp(now);
        let digest = Sha256::digest(format!("{}\t{}", self.time, self.key));
        self.id = hexadecimal(digest.get(..16).unwrap_or_default());
        self.gateway = gateway.map(str::to_owned);
        self
    }
}

/// What holds now. `lost` is how many records were lost by the time of the last look: only an increase is news.
pub(super) fn look(status: &StatusReport, beyond_rate: u64, policy: &Policy, lost: &mut u64) -> Vec<Alert> {
    let now = SystemTime::now();
    let mut found: Vec<Alert> = status.sites.iter().filter_map(refused).collect();
    found.extend(status.origins.iter().filter_map(origin));
    found.extend(losses(status, beyond_rate, lost));
    found.extend(status.certificates.iter().filter_map(certificate));
    let stale = policy.stale_catalogue(now);
    found.extend(stale.map(|stale| Alert::new(AlertKind::Catalogue, "", stale, Value::Null)));
    found.extend(crawlers(policy, now).unwrap_or_else(|error| {
        let text = format!(
            "The report of the last hour cannot be made, so there are no alerts about crawlers: {error}"
        );
        vec![Alert::new(AlertKind::ReportFailing, "", text, json!({ "error": error.to_string() }))]
    }));
    found
}

/// A fault of the configuration is every site's, and is told once: it is one subject.
fn refused(site: &SiteStatus) -> Option<Alert> {
    let error = site.error.as_ref()?;
    let text = format!("A file was refused, and the last good one is kept: {error}");
    Some(Alert::new(AlertKind::Refused, error, text, json!({ "error": error, "site": site.site })))
}

fn origin(origin: &OriginStatus) -> Option<Alert> {
    let (OriginStatus { site, server, error, errors, .. }, since) = (origin, origin.failing_since.is_some());
    if !(since && *errors >= ERRORS || !since && error.is_some()) {
        return None;
    }
    let why = error.as_deref().unwrap_or("it does not answer");
    let text = format!("The origin {server} of site {site} fails: {why}.");
    let alert = Alert::new(AlertKind::OriginFailing, &format!("{site}\t{server}"), text, json!(origin));
    Some(Alert { site: Some(site.clone()), ..alert })
}

fn losses(status: &StatusReport, beyond_rate: u64, lost: &mut u64) -> Option<Alert> {
    let details = status.details_dropped.saturating_sub(beyond_rate);
    let lines = status.access_log.map_or(0, |log| log.lines_lost);
    let now = status.counts_lost.saturating_add(details).saturating_add(lines);
    let grew = now > std::mem::replace(lost, now);
    let text = match &status.store.error {
        Some(error) => format!("The store cannot be written, and counts wait in memory: {error}"),
        None if grew => {
            let counts = status.counts_lost;
            format!("Records were lost: {counts} counts, {details} details, {lines} lines of the access log.")
        }
        None => return None,
    };
    let details = json!({ "access_log_lines_lost": lines, "store": status.store });
    Some(Alert::new(AlertKind::Losses, "", text, details))
}

fn certificate(certificate: &CertificateStatus) -> Option<Alert> {
    let (file, trouble) = (&certificate.certificate, certificate.trouble.as_ref()?);
    let text = format!("The certificate {file} {trouble}.");
    Some(Alert::new(AlertKind::Certificate, file, text, json!(certificate)))
}

/// What crawlers did in the last hour.
fn crawlers(policy: &Policy, now: SystemTime) -> Result<Vec<Alert>, StoreError> {
    let from = now.checked_sub(WINDOW).unwrap_or(SystemTime::UNIX_EPOCH);
    let known = policy.identifier.catalogue().clone();
    let question = ReportQuestion::of_all((from, ReportQuestion::open_end()), Some(now), Some(1), known);
    let store = StoreReader::open(&policy.config.store_path())?;
    store.give_up_after(LIMIT)?;
    let report = Report::of(&[store], &question)?;
    Ok(report.crawlers.iter().flat_map(deeds).collect())
}

/// Crawlers that ignore rules they have read, names that are borrowed, and crawlers in disguise; a few visits in disguise may
/// be of somebody who looks at a page.
fn deeds(entry: &ReportEntry) -> Vec<Alert> {
    let (site, requests, subject) = (&*entry.subject.site, entry.requests, &entry.subject);
    let Some(name) = subject.crawler.as_deref() else { return Vec::new() };
    let is_judged = subject.is_crawler() && requests > 0;
    let ignored = (is_judged && entry.conduct == Conduct::Ignored).then(|| {
        let broken = format!("{} requests in the last hour", entry.violations);
        let text = format!("{name} ignores the robots.txt of {site}, which it has read: {broken}.");
        (AlertKind::IgnoresRules, text)
    });
    let borrowed = (is_judged && subject.is_borrowed()).then(|| {
        let text =
            format!("Someone is impersonating {name} at {site}: {requests} requests in the last hour.");
        (AlertKind::Impersonation, text)
    });
    let is_many = entry.hidden.values().sum::<u64>() >= HIDDEN;
    let hidden = entry.hidden_words().filter(|_| is_many).map(|words| {
        let text = format!("{name} at {site}: {words}, in the last hour. Nobody is judged for them.");
        (AlertKind::Hidden, text)
    });
    let alert = |(kind, text)| Alert {
        site: Some(site.to_owned()),
        crawler: Some(name.to_owned()),
        ..Alert::new(kind, &format!("{site}\t{name}"), text, json!(entry))
    };
    ignored.into_iter().chain(borrowed).chain(hidden).map(alert).collect()
}
