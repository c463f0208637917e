//! `/metrics`: what a running gateway counts, for Prometheus.
//!
//! Labels have values that the configuration bounds: sites, kinds of client, words of ours. Crawlers are named where the
//! catalogue has them. Never a path, a User-Agent or another name, which clients make up; those are the report's. `docs/metrics.md`
//! lists what is here, and a test compares the two. Names of metrics and labels are public API.

use super::exposition::{CONTENT_TYPE, Exposition};
use super::{Admin, response};
use crate::alerts::AlertTotals;
use crate::policy::{OriginState, Policy};
use crate::process::{cpu_time, most_open_files, open_files, resident_memory};
use crate::record::{ConnectionEvent, LatencySnapshot, SiteTotals};
use http::{Response, StatusCode};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

pub(super) fn answer(admin: &Admin) -> Response<Vec<u8>> {
    let policy = admin.reloader.current();
    let mut text = Exposition::default();
    process(&mut text, admin);
    in_force(&mut text, admin, &policy);
    requests(&mut text, admin, &policy);
    traffic(&mut text, admin);
    origin_files(&mut text, admin, &policy);
    proof(&mut text, admin, &policy);
    recording(&mut text, admin);
    fleet(&mut text, admin);
    response(StatusCode::OK, CONTENT_TYPE, text.into_text().into_bytes())
}

fn process(text: &mut Exposition, admin: &Admin) {
    let started = seconds(admin.started_at);
    text.gauge("build_info", "The program that runs; always 1.")
        .by("version", [(env!("CARGO_PKG_VERSION"), 1)]);
    text.gauge("start_time_seconds", "When the process started, in Unix time.").value(started);
    text.gauge("uptime_seconds", "How long the process has run.")
        .value(admin.started.elapsed().as_secs_f64());
    let help = "Processor time that the process has used.";
    text.counter("process_cpu_seconds_total", help).value(cpu_time().as_secs_f64());
    text.gauge("process_start_time_seconds", "When the process started, in Unix time.").value(started);
    text.gauge("process_open_fds", "Files that the process has open.").value(open_files());
    if let Some(most) = most_open_files() {
        text.gauge("process_max_fds", "How many files it may have open.").value(most);
    }
    if let Some(resident) = resident_memory() {
        text.gauge("process_resident_memory_bytes", "Memory that the process has.").value(resident);
    }
}

/// The policy, what came of reloading it, and what each site does and serves by it.
fn in_force(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    let now = SystemTime::now();
    let age = |since: SystemTime| now.duration_since(since).unwrap_or_default().as_secs_f64();
    let help = "Number of the policy in force; rises by one with every change.";
    text.gauge("policy_generation", help).value(policy.generation);
    text.gauge("policy_age_seconds", "How long the policy has been in force.").value(age(policy.since));
    text.gauge("site_info", "Mode and version of robots.txt in force at a site; always 1.");
    for site in policy.sites() {
        let version = site.version().map(|id| id.to_string()).unwrap_or_default();
        let (name, mode) = (&site.config.name, site.modes.general());
        text.sample(&[("site", name), ("mode", &mode), ("robots_version", &version)], 1);
    }
    let sites = || policy.sites().iter().map(|site| (&site.config.name, site));
    let served = sites().filter(|(_, site)| site.version().is_some());
    text.gauge("robots_age_seconds", "How long the version of robots.txt in force has been so.")
        .by("site", served.map(|(name, site)| (name, age(site.since))));
    let help = "Whether a site keeps a former robots.txt because the one on disk was refused.";
    let refused = sites().map(|(name, site)| (name, u8::from(site.error.is_some())));
    text.gauge("robots_refused", help).by("site", refused);
    text.gauge("robots_findings", "Findings in the robots.txt in force that deserve a look.")
        .by("site", sites().map(|(name, site)| (name, site.warnings().count())));
    let help = "When a certificate that TLS shows expires, in Unix time.";
    let shown = policy.certificates.shown.iter();
    let expiry =
        shown.filter_map(|shown| Some((shown.config.certificate.display(), seconds(shown.validity?.until))));
    text.gauge("certificate_expiry_time_seconds", help).by("certificate", expiry);
    text.counter("reloads_total", "Reloads since the start, by what came of them.")
        .by("result", admin.reloader.reloads.all());
}

/// Membership in a fleet; nothing of a gateway that is in none.
fn fleet(text: &mut Exposition, admin: &Admin) {
    let Some(fleet) = &admin.fleet else { return };
    let status = fleet.status();
    let standings = ["joining", "member", "isolated"];
    text.gauge("fleet_standing", "State of this gateway in its fleet: 1 for the one that applies.")
        .by("standing", standings.map(|standing| (standing, u8::from(standing == status.standing))));
    if let Some(lag) = status.lag_seconds {
        text.gauge("fleet_lag_seconds", "How long ago the fleet's database last answered.").value(lag);
    }
    if let Some(lag) = status.reads_lag_seconds {
        let help = "How late reads of robots.txt at other members arrived last.";
        text.gauge("fleet_reads_lag_seconds", help).value(lag);
    }
    let help = "Batches of counts that wait for the fleet's database.";
    text.gauge("fleet_outbox_batches", help).value(status.outbox);
    text.gauge("fleet_outbox_age_seconds", "How long the oldest of them has waited.")
        .value(status.outbox_seconds);
    text.gauge("fleet_mark", "The last piece of the outbox that the fleet's database has.")
        .value(status.mark);
    let help = "How far the time of day is ahead of that of the fleet's database.";
    text.gauge("fleet_clock_offset_seconds", help).value(status.clock_offset_seconds);
}

/// Counters of sites, also of those that a reload has taken away: a counter that vanishes looks like a
/// restart.
fn requests(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    for site in policy.sites() {
        // So that a site that nobody has asked for yet shows zeros.
        let _ = admin.gateway.totals.site(&site.config.name);
    }
    let sites = admin.gateway.totals.sites.load_full();
    let help = "Requests that reached a site, by kind of client and by what the rules said.";
    text.counter("requests_total", help);
    for (name, site) in sites.iter() {
        for (client, verdict, count) in site.verdicts() {
            text.sample(&[("site", name), ("client", &client), ("verdict", &verdict)], count);
        }
    }
    text.counter("refusals_total", "Requests that were refused.");
    of_sites(text, &sites, "client", |site| site.refusals.all().filter(|(client, _)| client.is_judged()));
    text.counter("slowed_total", "Requests that were answered 429 because they came too fast.");
    of_sites(text, &sites, "client", |site| site.slowed.all().filter(|(client, _)| client.is_judged()));
    let help = "Judged requests of crawlers of the catalogue, as of a second ago.";
    text.counter("crawler_requests_total", help);
    for ((crawler, verdict, action), count) in admin.gateway.recorder.by_crawler() {
        text.sample(&[("crawler", &crawler), ("verdict", &verdict), ("action", &action)], count);
    }
    let help = "Requests with a browser's header from addresses that a crawler has to itself; nobody is judged for them.";
    text.counter("hidden_visits_total", help).by("crawler", admin.gateway.totals.hidden.lock().iter());
    text.counter("proofs_total", "Judged requests by what supported the name they gave.");
    of_sites(text, &sites, "proof", |site| site.proofs.all());
    text.counter("robots_txt_total", "Answers to /robots.txt by status.");
    of_sites(text, &sites, "status", SiteTotals::robots);
}

/// Samples of each site, told apart by one label more.
fn of_sites<'a, L: Display, I: Iterator<Item = (L, u64)>>(
    text: &mut Exposition,
    sites: &'a BTreeMap<Box<str>, Arc<SiteTotals>>,
    label: &str,
    counts: impl Fn(&'a SiteTotals) -> I,
) {
    for (name, site) in sites {
        for (value, count) in counts(site) {
            text.sample(&[("site", name), (label, &value)], count);
        }
    }
}

/// What is known of the robots.txt files that origins make.
fn origin_files(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    let (files, now) = (&admin.reloader.origin_files, policy.clock.now());
    let names = policy.sites().iter().map(|site| &site.config.name);
    let states: Vec<(&String, OriginState)> =
        names.filter_map(|name| Some((name, files.state_of(name, now)?))).collect();
    let of = |value: fn(&OriginState) -> u64| states.iter().map(move |(name, state)| (name, value(state)));
    let help = "How long ago the origin last said what robots.txt it has.";
    text.gauge("origin_robots_age_seconds", help)
        .by("site", of(|state| state.age_seconds.unwrap_or_default()));
    let help = "In how many seconds the origin is asked for its robots.txt again.";
    text.gauge("origin_robots_next_fetch_seconds", help)
        .by("site", of(|state| state.next_fetch_seconds.unwrap_or_default()));
    let help = "1 while what the origin last said of its robots.txt is of no use.";
    text.gauge("origin_robots_error", help).by("site", of(|state| u64::from(state.error.is_some())));
    text.counter("origin_robots_fetches_total", "Fetches of robots.txt from origins.")
        .by("site", of(|state| state.fetches));
    let help = "Fetches of robots.txt from origins that brought nothing of use.";
    text.counter("origin_robots_failures_total", help).by("site", of(|state| state.failures));
}

/// Connections, what came of requests on their way, and what other proxies ask.
fn traffic(text: &mut Exposition, admin: &Admin) {
    let (totals, connections) = (&admin.gateway.totals, &admin.gateway.connections);
    let counts = totals.snapshot();
    let help = "Requests that reached no site: no valid request, or a host that is no site's.";
    text.counter("turned_away_total", help)
        .by("reason", [("malformed", counts.malformed), ("no-site", counts.no_site)]);
    let help = "Faults of the gateway's own stages that were caught; the request went on unjudged.";
    text.counter("faults_total", help).value(counts.faults);
    let help = "How long judging a request took, recording in memory included.";
    histogram(text, "judging_seconds", help, &totals.judging.snapshot());
    text.gauge("connections_open", "Connections of clients that are open.")
        .value(connections.snapshot().open());
    text.counter("connections_total", "Connections that were accepted.")
        .value(connections.of(ConnectionEvent::Accepted));
    let plain = [ConnectionEvent::Accepted, ConnectionEvent::Closed];
    text.counter("connection_faults_total", "What went wrong with connections, by reason.")
        .by("reason", connections.all().filter(|(event, _)| !plain.contains(event)));
    text.counter("authorize_requests_total", "Questions of other proxies, by door.")
        .by("door", totals.doors.asked.all());
    text.counter("authorize_faults_total", "What was wrong with questions of other proxies.")
        .by("reason", totals.doors.faults.all());
    let help = "Attempts to have a request answered by a server of an origin.";
    text.counter("origin_attempts_total", help).value(totals.origins.attempts());
    text.counter("origin_faults_total", "Attempts that failed, by reason.")
        .by("reason", totals.origins.faults.all());
    let help = "How long origins took to begin an answer.";
    histogram(text, "origin_first_byte_seconds", help, &totals.origins.first_byte.snapshot());
}

fn histogram(text: &mut Exposition, name: &'static str, help: &str, latency: &LatencySnapshot) {
    text.family(name, "histogram", help);
    for (bound, count) in latency.buckets {
        text.suffixed("_bucket", &[("le", &bound)], count);
    }
    text.suffixed("_bucket", &[("le", &"+Inf")], latency.count);
    text.suffixed("_sum", &[], latency.sum).suffixed("_count", &[], latency.count);
}

/// What names are proved by, and whether that works.
fn proof(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    let questions = admin.gateway.prover.questions();
    let (answered, failed, left) = (questions.answered, questions.failed, questions.left);
    let help = "Questions to name servers about who a crawler is, by what became of them.";
    text.counter("name_questions_total", help)
        .by("result", [("answered", answered), ("failed", failed), ("left", left)]);
    text.counter("signatures_total", "Requests that came with a signature, by what came of it.")
        .by("result", admin.gateway.prover.signatures());
    let directories = &policy.evidence.directories;
    let fetched = directories.iter().filter(|directory| directory.file.held.is_some()).count();
    text.gauge("key_directories", "Directories of keys that agents sign by: fetched, or not there.")
        .by("state", [("fetched", fetched), ("missing", directories.len() - fetched)]);
    let now = SystemTime::now();
    let is_recent =
        policy.evidence.lists.values().map(|list| list.held.as_ref().map(|_| list.is_recent(now)));
    let is_recent: Vec<Option<bool>> = is_recent.collect();
    let count = |wanted| is_recent.iter().filter(|is_recent| **is_recent == wanted).count();
    let (recent, old, missing) = (count(Some(true)), count(Some(false)), count(None));
    let help = "Lists of address ranges: recent, too old to contradict anybody, or not there.";
    text.gauge("range_lists", help).by("state", [("recent", recent), ("old", old), ("missing", missing)]);
}

fn recording(text: &mut Exposition, admin: &Admin) {
    let (journal, store) = (admin.gateway.journal.status(), admin.gateway.recorder.status());
    text.gauge("journal_queue", "Events that wait for the journal.").value(journal.queue);
    text.gauge("journal_queue_capacity", "How many events may wait for it.").value(journal.capacity);
    let (beyond_rate, dropped) = (journal.beyond_rate, store.details_dropped);
    let lost = journal.details_dropped.saturating_sub(beyond_rate);
    let help = "Events whose details were lost, by where; they are counted all the same.";
    text.counter("details_dropped_total", help)
        .by("from", [("journal", lost), ("journal-rate", beyond_rate), ("store", dropped)]);
    let access_log = admin.gateway.access_log.as_deref().map(|log| log.lines.status());
    let lost = access_log.map_or(0, |status| status.details_dropped);
    let help = "Lines of the access log that were lost; 0 also where there is none.";
    text.counter("access_log_lines_lost_total", help).value(lost);
    let help = "Requests that are missing from reports; the counters here have them.";
    text.counter("counts_lost_total", help).value(store.counts_lost);
    text.gauge("store_failing", "Whether the store cannot be written now.")
        .value(u8::from(store.error.is_some()));
    text.gauge("store_bytes", "Size of the store's database.").value(store.bytes);
    let help = "What the size cap took out of the store since it was begun: details, or requests.";
    text.gauge("store_removed", help)
        .by("kind", [("details", store.details_removed), ("counts", store.counts_removed)]);
    let AlertTotals { sent, failed, waiting } = &*admin.alerts;
    let [sent, failed, waiting] = [sent, failed, waiting].map(|count| count.load(Ordering::Relaxed));
    text.counter("alerts_total", "Alerts for the webhook, by what became of them.")
        .by("result", [("sent", sent), ("failed", failed)]);
    text.gauge("alerts_waiting", "Alerts that wait for the webhook.").value(waiting);
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
