//! `/metrics`: what a running gateway counts, for Prometheus.
//!
//! Labels have values that the configuration bounds: sites, kinds of client, words of ours. Crawlers are named where the
//! catalogue has them. Never a path, a User-Agent or another name, which clients make up; those are the report's. `docs/metrics.md`
//! lists what is here, and a test compares the two. Names of metrics and labels are public API.

use super::exposition::{CONTENT_TYPE, Exposition};
use super::{Admin, response};
use crate::policy::{OriginState, Policy};
use crate::process::ProcessUsage;
use crate::record::{AccessLog, ConnectionEvent, Latency, SiteTotals};
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
    doors(&mut text, admin);
    origins(&mut text, admin);
    origin_files(&mut text, admin, &policy);
    proof(&mut text, admin, &policy);
    recording(&mut text, admin);
    alerts(&mut text, admin);
    fleet(&mut text, admin);
    response(StatusCode::OK, CONTENT_TYPE, text.into_text().into_bytes())
}

fn process(text: &mut Exposition, admin: &Admin) {
    text.gauge("build_info", "The program that runs; always 1.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.gauge("start_time_seconds", "When the process started, in Unix time.")
        .sample(&[], seconds(admin.started_at));
    text.gauge("uptime_seconds", "How long the process has run.")
        .sample(&[], admin.started.elapsed().as_secs_f64());
    let usage = ProcessUsage::now();
    text.counter("process_cpu_seconds_total", "Processor time that the process has used.")
        .sample(&[], usage.cpu.as_secs_f64());
    text.gauge("process_start_time_seconds", "When the process started, in Unix time.")
        .sample(&[], seconds(admin.started_at));
    text.gauge("process_open_fds", "Files that the process has open.").sample(&[], usage.open_files);
    if let Some(most) = usage.most_files {
        text.gauge("process_max_fds", "How many files it may have open.").sample(&[], most);
    }
    if let Some(resident) = usage.resident {
        text.gauge("process_resident_memory_bytes", "Memory that the process has.").sample(&[], resident);
    }
}

/// The policy, and what each site does and serves by it.
fn in_force(text: &mut Exposition, policy: &Policy) {
    let now = SystemTime::now();
    let age = |since: SystemTime| now.duration_since(since).unwrap_or_default().as_secs_f64();
    text.gauge("policy_generation", "Number of the policy in force; rises by one with every change.")
        .sample(&[], policy.generation);
    text.gauge("policy_age_seconds", "How long the policy has been in force.").sample(&[], age(policy.since));
    text.gauge("site_info", "Mode and version of robots.txt in force at a site; always 1.");
    for site in policy.sites() {
        let version = site.version().map(|id| id.to_string()).unwrap_or_default();
        let labels = [
            ("site", &*site.config.name),
            ("mode", site.modes.general().as_str()),
            ("robots_version", &*version),
        ];
        text.sample(&labels, 1);
    }
    text.gauge("robots_age_seconds", "How long the version of robots.txt in force has been so.");
    for site in policy.sites().iter().filter(|site| site.version().is_some()) {
        text.sample(&[("site", &site.config.name)], age(site.since));
    }
    let help = "Whether a site keeps a former robots.txt because the one on disk was refused.";
    text.gauge("robots_refused", help);
    for site in policy.sites() {
        text.sample(&[("site", &site.config.name)], u8::from(site.error.is_some()));
    }
    text.gauge("robots_findings", "Findings in the robots.txt in force that deserve a look.");
    for site in policy.sites() {
        text.sample(&[("site", &site.config.name)], site.warnings().count());
    }
}

/// Membership in a fleet; nothing of a gateway that is in none.
fn fleet(text: &mut Exposition, admin: &Admin) {
    let Some(fleet) = &admin.fleet else { return };
    let status = fleet.status();
    text.gauge("fleet_standing", "How far a fleet lets this gateway go; 1 for what is so.");
    for standing in ["joining", "member", "isolated"] {
        text.sample(&[("standing", standing)], u8::from(standing == status.standing));
    }
    if let Some(lag) = status.lag_seconds {
        text.gauge("fleet_lag_seconds", "How long ago the fleet's database last answered.").sample(&[], lag);
    }
    if let Some(lag) = status.reads_lag_seconds {
        let help = "How late reads of robots.txt at other members arrived last.";
        text.gauge("fleet_reads_lag_seconds", help).sample(&[], lag);
    }
    text.gauge("fleet_outbox_batches", "Batches of counts that wait for the fleet's database.")
        .sample(&[], status.outbox);
    text.gauge("fleet_outbox_age_seconds", "How long the oldest of them has waited.")
        .sample(&[], status.outbox_seconds);
    text.gauge("fleet_mark", "The last piece of the outbox that the fleet's database has.")
        .sample(&[], status.mark);
    let help = "How far the time of day is ahead of that of the fleet's database.";
    text.gauge("fleet_clock_offset_seconds", help).sample(&[], status.clock_offset_seconds);
}

fn certificates(text: &mut Exposition, policy: &Policy) {
    text.gauge("certificate_expiry_time_seconds", "When a certificate that TLS shows expires, in Unix time.");
    for shown in policy.certificates.shown() {
        if let Some(validity) = shown.validity {
            text.sample(&[("certificate", &shown.file.to_string_lossy())], seconds(validity.until));
        }
    }
}

fn reloads(text: &mut Exposition, admin: &Admin) {
    let counts = admin.reloader.counts();
    text.counter("reloads_total", "Reloads since the start, by what came of them.")
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
    text.counter("requests_total", help);
    for (name, site) in &sites {
        for (client, verdict, count) in site.verdicts() {
            text.sample(&[("site", name), ("client", client.as_str()), ("verdict", verdict)], count);
        }
    }
    text.counter("refusals_total", "Requests that were refused.");
    for (name, site) in &sites {
        for (client, count) in site.refusals() {
            text.sample(&[("site", name), ("client", client.as_str())], count);
        }
    }
    text.counter("slowed_total", "Requests that were answered 429 because they came too fast.");
    for (name, site) in &sites {
        for (client, count) in site.slowed() {
            text.sample(&[("site", name), ("client", client.as_str())], count);
        }
    }
    text.counter(
        "crawler_requests_total",
        "Judged requests of crawlers of the catalogue, as of a second ago.",
    );
    for ((crawler, verdict, action), count) in admin.recorder.by_crawler() {
        text.sample(&[("crawler", &crawler), ("verdict", verdict), ("action", action)], count);
    }
    text.counter("proofs_total", "Judged requests by what supported the name they gave.");
    for (name, site) in &sites {
        for (proof, count) in site.proofs() {
            text.sample(&[("site", name), ("proof", proof.as_str())], count);
        }
    }
    text.counter("robots_txt_total", "Answers to /robots.txt by status.");
    for (name, site) in &sites {
        for (status, count) in site.robots() {
            text.sample(&[("site", name), ("status", &status.to_string())], count);
        }
    }
}

/// What is known of the robots.txt files that origins make.
fn origin_files(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    let files = admin.reloader.origin_files();
    let told = |site: &std::sync::Arc<crate::policy::Site>| {
        let told = files.state_of(&site.config.name, policy.clock.now())?;
        Some((site.config.name.clone(), told))
    };
    let told: Vec<_> = policy.sites().iter().filter_map(told).collect();
    let mut family = |is_counter: bool, name, help, value: fn(&OriginState) -> u64| {
        if is_counter {
            text.counter(name, help)
        } else {
            text.gauge(name, help)
        };
        for (site, told) in &told {
            text.sample(&[("site", site)], value(told));
        }
    };
    let help = "How long ago the origin last said what robots.txt it has.";
    family(false, "origin_robots_age_seconds", help, |told| told.age_seconds.unwrap_or_default());
    let help = "In how many seconds the origin is asked for its robots.txt again.";
    family(false, "origin_robots_next_fetch_seconds", help, |told| {
        told.next_fetch_seconds.unwrap_or_default()
    });
    let help =
        "1 while what the origin last said of its robots.txt is of no use, or it alternates between files.";
    family(false, "origin_robots_error", help, |told| u64::from(told.error.is_some()));
    let help = "Fetches of robots.txt from origins.";
    family(true, "origin_robots_fetches_total", help, |told| told.fetches);
    let help = "Fetches of robots.txt from origins that brought nothing of use.";
    family(true, "origin_robots_failures_total", help, |told| told.failures);
}

fn judging(text: &mut Exposition, admin: &Admin) {
    let totals = admin.totals.snapshot();
    let help = "Requests that reached no site: no valid request, or a host that is no site's.";
    text.counter("turned_away_total", help)
        .sample(&[("reason", "malformed")], totals.malformed)
        .sample(&[("reason", "no-site")], totals.no_site);
    let help = "Faults of the gateway's own stages that were caught; the request went on unjudged.";
    text.counter("faults_total", help).sample(&[], totals.faults);
    text.histogram("judging_seconds", "How long judging a request took, recording in memory included.");
    histogram(text, &admin.totals.judging);
}

fn histogram(text: &mut Exposition, latency: &Latency) {
    let latency = latency.snapshot();
    for (bound, count) in latency.buckets {
        text.suffixed("_bucket", &[("le", bound)], count);
    }
    text.suffixed("_bucket", &[("le", "+Inf")], latency.count).suffixed("_sum", &[], latency.sum).suffixed(
        "_count",
        &[],
        latency.count,
    );
}

/// What origins are asked, and how they answer.
fn origins(text: &mut Exposition, admin: &Admin) {
    let origins = &admin.totals.origins;
    let help = "Attempts to have a request answered by a server of an origin.";
    text.counter("origin_attempts_total", help).sample(&[], origins.attempts());
    text.counter("origin_faults_total", "Attempts that failed, by reason.");
    for (reason, count) in origins.faults() {
        text.sample(&[("reason", reason)], count);
    }
    text.histogram("origin_first_byte_seconds", "How long origins took to begin an answer.");
    histogram(text, &origins.first_byte);
}

fn connections(text: &mut Exposition, admin: &Admin) {
    let counts = admin.connections.snapshot();
    text.gauge("connections_open", "Connections of clients that are open.").sample(&[], counts.open());
    text.counter("connections_total", "Connections that were accepted.")
        .sample(&[], counts.of(ConnectionEvent::Accepted));
    text.counter("connection_faults_total", "What went wrong with connections, by reason.");
    for (reason, count) in counts.faults() {
        text.sample(&[("reason", reason)], count);
    }
}

/// What other proxies ask.
fn doors(text: &mut Exposition, admin: &Admin) {
    let doors = &admin.totals.doors;
    text.counter("authorize_requests_total", "Questions of other proxies, by door.");
    for (door, count) in doors.asked() {
        text.sample(&[("door", door.as_str())], count);
    }
    text.counter("authorize_faults_total", "What was wrong with questions of other proxies.");
    for (fault, count) in doors.faults() {
        text.sample(&[("reason", fault.as_str())], count);
    }
}

/// What names are proved by, and whether that works.
fn proof(text: &mut Exposition, admin: &Admin, policy: &Policy) {
    let questions = admin.prover.questions();
    let help = "Questions to name servers about who a crawler is, by what became of them.";
    text.counter("name_questions_total", help)
        .sample(&[("result", "answered")], questions.answered)
        .sample(&[("result", "failed")], questions.failed)
        .sample(&[("result", "left")], questions.left);
    text.counter("signatures_total", "Requests that came with a signature, by what came of it.");
    for (outcome, count) in admin.prover.signatures() {
        text.sample(&[("result", outcome.as_str())], count);
    }
    let directories = policy.evidence.directories();
    let fetched = directories.iter().filter(|directory| directory.keys.is_some()).count() as u64;
    text.gauge("key_directories", "Directories of keys that agents sign by: fetched, or not there.")
        .sample(&[("state", "fetched")], fetched)
        .sample(&[("state", "missing")], directories.len() as u64 - fetched);
    let now = SystemTime::now();
    let (mut recent, mut old, mut missing) = (0, 0, 0);
    for source in policy.evidence.sources() {
        *match &source.list {
            Some(list) if list.is_recent(now) => &mut recent,
            Some(_) => &mut old,
            None => &mut missing,
        } += 1;
    }
    text.gauge(
        "range_lists",
        "Lists of address ranges: recent, too old to contradict anybody, or not there.",
    )
    .sample(&[("state", "recent")], recent)
    .sample(&[("state", "old")], old)
    .sample(&[("state", "missing")], missing);
}

fn recording(text: &mut Exposition, admin: &Admin) {
    let (journal, store) = (admin.journal.status(), admin.recorder.status());
    text.gauge("journal_queue", "Events that wait for the journal.").sample(&[], journal.queue);
    text.gauge("journal_queue_capacity", "How many events may wait for it.").sample(&[], journal.capacity);
    let help = "Events whose details were lost, by where; they are counted all the same.";
    text.counter("details_dropped_total", help)
        .sample(&[("from", "journal")], journal.details_dropped.saturating_sub(journal.beyond_rate))
        .sample(&[("from", "journal-rate")], journal.beyond_rate)
        .sample(&[("from", "store")], store.details_dropped);
    let access_log = admin.access_log.as_deref().map(AccessLog::status);
    let lost = access_log.map_or(0, |status| status.details_dropped);
    let help = "Lines of the access log that were lost; 0 also where there is none.";
    text.counter("access_log_lines_lost_total", help).sample(&[], lost);
    let help = "Requests that are missing from reports; the counters here have them.";
    text.counter("counts_lost_total", help).sample(&[], store.counts_lost);
    text.gauge("store_failing", "Whether the store cannot be written now.")
        .sample(&[], u8::from(store.error.is_some()));
    text.gauge("store_bytes", "Size of the store's database.").sample(&[], store.bytes);
    let help = "What the size cap took out of the store since it was begun: details, or requests.";
    text.gauge("store_removed", help)
        .sample(&[("kind", "details")], store.details_removed)
        .sample(&[("kind", "counts")], store.counts_removed);
    text.counter("stores_set_aside_total", "Broken stores that were set aside since the start.")
        .sample(&[], store.set_aside.len());
}

fn alerts(text: &mut Exposition, admin: &Admin) {
    let (sent, lost, waiting) = admin.alerts.snapshot();
    text.counter("alerts_total", "Alerts for the webhook, by what became of them.")
        .sample(&[("result", "sent")], sent)
        .sample(&[("result", "lost")], lost);
    text.gauge("alerts_waiting", "Alerts that wait for the webhook.").sample(&[], waiting);
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
