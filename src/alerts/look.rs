//! Looks at status, store, certificates and catalogue once, and finds the conditions that an operator has to know.

use super::condition::{AlertKind, Condition};
use crate::admin::Admin;
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

/// How many records were lost by the time of the last look: only an increase is news.
#[derive(Debug, Default)]
pub(super) struct Look {
    lost: u64,
}

impl Look {
    pub(super) fn conditions(&mut self, admin: &Admin, policy: &Policy, now: SystemTime) -> Vec<Condition> {
        let status = admin.status();
        let mut found = refusals(&status);
        found.extend(origins(&status));
        found.extend(self.losses(admin, &status));
        found.extend(age(policy, &status, now));
        // A store that cannot be read is among the losses.
        found.extend(crawlers(admin, policy, now).unwrap_or_default());
        found
    }

    fn losses(&mut self, admin: &Admin, status: &StatusReport) -> Option<Condition> {
        // Lines beyond `journal_rate` were left out as they should be.
        let details = status.details_dropped.saturating_sub(admin.journal.status().beyond_rate);
        let lines = status.access_log.map_or(0, |log| log.lines_lost);
        let lost = status.counts_lost.saturating_add(details).saturating_add(lines);
        let grew = lost > std::mem::replace(&mut self.lost, lost);
        let error = status.store.error.as_ref().map(ToString::to_string);
        if !grew && error.is_none() {
            return None;
        }
        let text = error.as_ref().map_or_else(
            || {
                format!(
                    "Records were lost: {} counts, {details} details, {lines} lines of the access log.",
                    status.counts_lost
                )
            },
            |error| format!("The store cannot be written, and counts wait in memory: {error}"),
        );
        let details = json!({
            "counts_lost": status.counts_lost,
            "details_dropped": details,
            "access_log_lines_lost": lines,
            "store_error": error,
        });
        Some(condition(AlertKind::Losses, None, None, "", text, details))
    }
}

fn condition(
    kind: AlertKind,
    site: Option<&str>,
    crawler: Option<&str>,
    subject: &str,
    text: String,
    details: Value,
) -> Condition {
    let (site, crawler) = (site.map(str::to_owned), crawler.map(str::to_owned));
    Condition { kind, site, crawler, subject: subject.to_owned(), text, details }
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
        let site = if let [one] = sites[..] { Some(one) } else { None };
        condition(AlertKind::Refused, site, None, error, text, json!({ "error": error, "sites": sites }))
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
        condition(AlertKind::OriginFailing, Some(site), None, server, text, details)
    })
}

fn age(policy: &Policy, status: &StatusReport, now: SystemTime) -> Vec<Condition> {
    let certificates = status.certificates.iter().filter_map(|certificate| {
        let trouble = certificate.trouble.as_ref()?;
        let file = &certificate.certificate;
        let text = format!("The certificate {file} {trouble}.");
        let details = json!({ "certificate": file, "expires": certificate.expires });
        Some(condition(AlertKind::Certificate, None, None, file, text, details))
    });
    let catalogue = policy
        .stale_catalogue(now)
        .map(|stale| condition(AlertKind::Catalogue, None, None, "", stale, Value::Null));
    certificates.chain(catalogue).collect()
}

/// Crawlers that ignore rules they have read, and names that are borrowed, in the last hour.
fn crawlers(admin: &Admin, policy: &Policy, now: SystemTime) -> Result<Vec<Condition>, StoreError> {
    let from = now.checked_sub(WINDOW).unwrap_or(SystemTime::UNIX_EPOCH);
    let known = CatalogueView::of(policy.identifier.catalogue());
    let question = ReportQuestion::of_all((from, ReportQuestion::open_end()), Some(now), 1, known);
    let store = StoreReader::open(admin.page.store())?;
    store.give_up_after(LIMIT)?;
    let stores = [store];
    let report = Report::of(&stores, &question)?;
    Ok(report.crawlers.iter().filter_map(conduct).collect())
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
    if entry.subject.is_borrowed() {
        let text =
            format!("Someone is impersonating {name} at {site}: {requests} requests in the last hour.");
        return Some(condition(AlertKind::Impersonation, Some(site), Some(name), "", text, details));
    }
    let text = format!(
        "{name} ignores the robots.txt of {site}, which it has read: {violations} requests in the last hour."
    );
    let ignores = entry.conduct == Conduct::Ignored;
    ignores.then(|| condition(AlertKind::IgnoresRules, Some(site), Some(name), "", text, details))
}
