//! `/metrics`: what a running gateway counts, for Prometheus.
//!
//! Labels have values that the configuration bounds: sites, kinds of client, words of ours. Never a path, a
//! User-Agent or the name of a crawler, which clients make up; those are the report's. `docs/metrics.md`
//! lists what is here, and a test compares the two. Names of metrics and labels are public API.

use super::exposition::{CONTENT_TYPE, Exposition, Kind};
use super::{Admin, response};
use crate::policy::Policy;
use crate::record::{AccessLog, SiteTotals};
use http::{Response, StatusCode};
use std::time::{Duration, SystemTime};

pub(super) fn answer(admin: &Admin) -> Response<Vec<u8>> {
    let policy = admin.reloader.current();
    let mut text = Exposition::default();
    process(&mut text, admin);
    in_force(&mut text, &policy);
    certificates(&mut text, &policy);
    reloads(&mut text, admin);
    requests(&mut text, admin, &policy);
    judging(&mut text, admin);
    connections(&mut text, admin);
    proof(&mut text, admin, &policy);
    recording(&mut text, admin);
    response(StatusCode::OK, CONTENT_TYPE, text.into_text().into_bytes())
}

fn process(text: &mut Exposition, admin: &Admin) {
    text.family("robots_gateway_build_info", Kind::Gauge, "The program that runs; always 1.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.family("robots_gateway_start_time_seconds", Kind::Gauge, "When the process started, in Unix time.")
        .sample(&[], seconds(admin.started_at));
    text.family("robots_gateway_uptime_seconds", Kind::Gauge, "How long the process has run.")
        .sample(&[], admin.started.elapsed().as_secs_f64());
}

/// The policy, and what each site does and serves by it.
fn in_force(text: &mut Exposition, policy: &Policy) {
    let now = SystemTime::now();
    let age = |since: SystemTime| now.duration_since(since).unwrap_or_default().as_secs_f64();
    text.family(
        "robots_gateway_policy_generation",
        Kind::Gauge,
        "Number of the policy in force; rises by one with every change.",
    )
    .sample(&[], policy.generation);
    text.family("robots_gateway_policy_age_seconds", Kind::Gauge, "How long the policy has been in force.")
        .sample(&[], age(policy.since));
    let help = "Mode and version of robots.txt in force at a site; always 1.";
    text.family("robots_gateway_site_info", Kind::Gauge, help);
    for site in policy.sites() {
        let version = site.version().map(|id| id.to_string()).unwrap_or_default();
        let labels = [
            ("site", &*site.config.name),
            ("mode", site.modes.general().as_str()),
            ("robots_version", &*version),
        ];
        text.sample(&labels, 1);
    }
    let help = "How long the version of robots.txt in force has been so.";
    text.family("robots_gateway_robots_age_seconds", Kind::Gauge, help);
    for site in policy.sites().iter().filter(|site| site.version().is_some()) {
        text.sample(&[("site", &site.config.name)], age(site.since));
    }
    let help = "Whether a site keeps a former robots.txt because the one on disk was refused.";
    text.family("robots_gateway_robots_refused", Kind::Gauge, help);
    for site in policy.sites() {
        text.sample(&[("site", &site.config.name)], u8::from(site.error.is_some()));
    }
    let help = "Findings in the robots.txt in force that deserve a look.";
    text.family("robots_gateway_robots_findings", Kind::Gauge, help);
    for site in policy.sites() {
        text.sample(&[("site", &site.config.name)], site.warnings().count());
    }
}

fn certificates(text: &mut Exposition, policy: &Policy) {
    let help = "When a certificate that TLS shows expires, in Unix time.";
    text.family("robots_gateway_certificate_expiry_time_seconds", Kind::Gauge, help);
    for shown in policy.certificates.shown() {
        if let Some(validity) = shown.validity {
            text.sample(&[("certificate", &shown.file.to_string_lossy())], seconds(validity.until));
        }
    }
}

fn reloads(text: &mut Exposition, admin: &Admin) {
    let counts = admin.reloader.counts();
    let help = "Reloads since the start, by what came of them.";
    text.family("robots_gateway_reloads_total", Kind::Counter, help)
        .sample(&[("result", "changed")], counts.changed)
        .sample(&[("result", "unchanged")], counts.unchanged)
        .sample(&[("result", "refused")], counts.refused);
}

/// Counters of sites, also of those that a reload has taken away: a counter that vanishes looks like a
/// restart.
fn requests(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    for site in policy.sites() {
        // So that a site that nobody has asked for yet shows zeros.
        let _ = admin.totals.site(&site.config.name);
    }
    let sites = admin.totals.sites();
    let sites: Vec<(&str, &SiteTotals)> = sites.iter().map(|(name, site)| (&**name, &**site)).collect();
    let help = "Requests that reached a site, by kind of client and by what the rules said.";
    text.family("robots_gateway_requests_total", Kind::Counter, help);
    for (name, site) in &sites {
        for (client, verdict, count) in site.verdicts() {
            text.sample(&[("site", name), ("client", client.as_str()), ("verdict", verdict)], count);
        }
    }
    text.family("robots_gateway_refusals_total", Kind::Counter, "Requests that were refused.");
    for (name, site) in &sites {
        for (client, count) in site.refusals() {
            text.sample(&[("site", name), ("client", client.as_str())], count);
        }
    }
    let help = "Judged requests by what supported the name they gave.";
    text.family("robots_gateway_proofs_total", Kind::Counter, help);
    for (name, site) in &sites {
        for (proof, count) in site.proofs() {
            text.sample(&[("site", name), ("proof", proof.as_str())], count);
        }
    }
    text.family("robots_gateway_robots_txt_total", Kind::Counter, "Answers to /robots.txt by status.");
    for (name, site) in &sites {
        for (status, count) in site.robots() {
            text.sample(&[("site", name), ("status", &status.to_string())], count);
        }
    }
}

fn judging(text: &mut Exposition, admin: &Admin) {
    let totals = admin.totals.snapshot();
    let help = "Requests that reached no site: no valid request, or a host that is no site's.";
    text.family("robots_gateway_turned_away_total", Kind::Counter, help)
        .sample(&[("reason", "malformed")], totals.malformed)
        .sample(&[("reason", "no-site")], totals.no_site);
    let help = "Faults of the gateway's own stages that were caught; the request went on unjudged.";
    text.family("robots_gateway_faults_total", Kind::Counter, help).sample(&[], totals.faults);
    let latency = admin.totals.judging.snapshot();
    let help = "How long judging a request took, recording in memory included.";
    text.family("robots_gateway_judging_seconds", Kind::Histogram, help);
    for (bound, count) in latency.buckets {
        text.suffixed("_bucket", &[("le", bound)], count);
    }
    text.suffixed("_bucket", &[("le", "+Inf")], latency.count).suffixed("_sum", &[], latency.sum).suffixed(
        "_count",
        &[],
        latency.count,
    );
}

fn connections(text: &mut Exposition, admin: &Admin) {
    let counts = admin.connections.snapshot();
    text.family("robots_gateway_connections_open", Kind::Gauge, "Connections of clients that are open.")
        .sample(&[], counts.open);
    text.family("robots_gateway_connections_total", Kind::Counter, "Connections that were accepted.")
        .sample(&[], counts.accepted);
    let help = "What went wrong with connections, by reason.";
    text.family("robots_gateway_connection_faults_total", Kind::Counter, help);
    for (reason, count) in [
        ("over-total", counts.over_total),
        ("over-address", counts.over_address),
        ("made-room", counts.made_room),
        ("silent", counts.silent),
        ("no-request", counts.no_request),
        ("header-timeout", counts.header_timeouts),
        ("header-too-large", counts.headers_too_large),
        ("body-too-slow", counts.bodies_too_slow),
        ("body-too-large", counts.bodies_too_large),
        ("tls-failed", counts.tls_failed),
        ("proxy-header-refused", counts.proxy_headers_refused),
        ("h2-over-total", counts.h2_over_total),
        ("h2-over-address", counts.h2_over_address),
        ("h2-flood", counts.h2_floods),
        ("h2-error", counts.h2_errors),
    ] {
        text.sample(&[("reason", reason)], count);
    }
}

/// What names are proved by, and whether that works.
fn proof(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    let questions = admin.prover.questions();
    let help = "Questions to name servers about who a crawler is, by what became of them.";
    text.family("robots_gateway_name_questions_total", Kind::Counter, help)
        .sample(&[("result", "answered")], questions.answered)
        .sample(&[("result", "failed")], questions.failed)
        .sample(&[("result", "left")], questions.left);
    let now = SystemTime::now();
    let (mut recent, mut old, mut missing) = (0, 0, 0);
    for source in policy.evidence.sources() {
        *match &source.list {
            Some(list) if list.is_recent(now) => &mut recent,
            Some(_) => &mut old,
            None => &mut missing,
        } += 1;
    }
    let help = "Lists of address ranges: recent, too old to contradict anybody, or not there.";
    text.family("robots_gateway_range_lists", Kind::Gauge, help)
        .sample(&[("state", "recent")], recent)
        .sample(&[("state", "old")], old)
        .sample(&[("state", "missing")], missing);
}

fn recording(text: &mut Exposition, admin: &Admin) {
    let (journal, store) = (admin.journal.status(), admin.recorder.status());
    text.family("robots_gateway_journal_queue", Kind::Gauge, "Events that wait for the journal.")
        .sample(&[], journal.queue);
    text.family("robots_gateway_journal_queue_capacity", Kind::Gauge, "How many events may wait for it.")
        .sample(&[], journal.capacity);
    let help = "Events whose details were lost, by where; they are counted all the same.";
    text.family("robots_gateway_details_dropped_total", Kind::Counter, help)
        .sample(&[("from", "journal")], journal.details_dropped.saturating_sub(journal.beyond_rate))
        .sample(&[("from", "journal-rate")], journal.beyond_rate)
        .sample(&[("from", "store")], store.details_dropped);
    let access_log = admin.access_log.as_deref().map(AccessLog::status);
    let lost = access_log.map_or(0, |status| status.details_dropped);
    let help = "Lines of the access log that were lost; 0 also where there is none.";
    text.family("robots_gateway_access_log_lines_lost_total", Kind::Counter, help).sample(&[], lost);
    let help = "Requests that are missing from reports; the counters here have them.";
    text.family("robots_gateway_counts_lost_total", Kind::Counter, help).sample(&[], store.counts_lost);
    text.family("robots_gateway_store_failing", Kind::Gauge, "Whether the store cannot be written now.")
        .sample(&[], u8::from(store.error.is_some()));
    text.family("robots_gateway_store_bytes", Kind::Gauge, "Size of the store's database.")
        .sample(&[], store.bytes);
    let help = "What the size cap took out of the store since it was begun: details, or requests.";
    text.family("robots_gateway_store_removed", Kind::Gauge, help)
        .sample(&[("kind", "details")], store.details_removed)
        .sample(&[("kind", "counts")], store.counts_removed);
    let help = "Broken stores that were set aside since the start.";
    text.family("robots_gateway_stores_set_aside_total", Kind::Counter, help)
        .sample(&[], store.set_aside.len());
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
