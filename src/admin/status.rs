//! What a running gateway says of itself.

use super::Admin;
use crate::config::ConfigError;
use crate::control::{
    AccessLogStatus, AuthorizeStatus, CertificateStatus, OriginStatus, RobotsTxtSeen, SiteStatus,
    StatusReport, UnknownPast,
};
use crate::policy::{Policy, ReloadResult, Reloader, ShownCertificate, Site, UnknownSpan, Upstream};
use crate::record::timestamp;
use std::borrow::Cow;
use std::time::SystemTime;

fn authorize(admin: &Admin, policy: &Policy) -> Option<AuthorizeStatus> {
    policy.config.authorize.as_ref()?;
    let (doors, now) = (&admin.gateway.totals.doors, policy.clock.now());
    let spans = admin.gateway.reads.robots_seen.all(now);
    let slots = policy.hosts.slots.iter().enumerate().filter(|(_, slot)| slot.site.is_some());
    let robots_txt = slots.map(|(index, slot)| {
        let own = spans.iter().filter(|(host, _)| policy.hosts.find(host) == Some(index));
        let last = own.map(|(_, span)| span).max_by_key(|span| span.last);
        RobotsTxtSeen {
            hosts: slot.pattern.to_string(),
            seconds_ago: last.map(|span| now.since(span.last).as_secs()),
            for_seconds: last.map(|span| now.since(span.since).as_secs()),
        }
    });
    Some(AuthorizeStatus {
        asked: doors.asked.all().map(|(door, count)| (<&str>::from(door).into(), count)).collect(),
        faults: doors.faults.all().map(|(fault, count)| (<&str>::from(fault).into(), count)).collect(),
        robots_txt: robots_txt.collect(),
    })
}

impl CertificateStatus {
    fn of(shown: &ShownCertificate, now: SystemTime) -> Self {
        Self {
            certificate: shown.config.certificate.display().to_string(),
            hosts: shown.config.hosts.iter().map(ToString::to_string).collect(),
            expires: shown.validity.map(|validity| timestamp(validity.until)),
            trouble: shown.validity.and_then(|validity| validity.trouble(now)),
        }
    }
}

impl OriginStatus {
    fn of(site: &Site, server: &Upstream) -> Self {
        let failure = server.failure.load_full();
        let unknown = server.is_unresolved().then_some("its name has no address");
        Self {
            site: site.config.name.clone(),
            server: server.server.url.to_string(),
            failing_since: failure.as_ref().map(|failure| timestamp(failure.since)),
            errors: failure.as_ref().map_or(0, |failure| failure.errors),
            last_error: failure.as_ref().map(|failure| timestamp(failure.last)),
            error: unknown.or_else(|| failure.map(|failure| failure.cause)).map(Cow::Borrowed),
        }
    }
}

pub(super) fn status(admin: &Admin) -> StatusReport {
    let (policy, now) = (admin.reloader.current(), SystemTime::now());
    let (journal, store) = (admin.gateway.journal.status(), admin.gateway.recorder.status());
    let servers =
        policy.sites().iter().flat_map(|site| site.origin.servers.iter().map(move |one| (site, one)));
    let shown = policy.certificates.shown.iter();
    StatusReport {
        generation: policy.generation,
        uptime_seconds: admin.started.elapsed().as_secs(),
        version: env!("CARGO_PKG_VERSION").into(),
        sites: policy.sites().iter().map(|site| site_status(admin, &policy, site)).collect(),
        origins: servers.map(|(site, server)| OriginStatus::of(site, server)).collect(),
        unknown_hosts: admin.gateway.totals.unknown_hosts.all(),
        restart: policy.waiting.clone(),
        overrides: admin.reloader.overrides(),
        last_reload: admin.reloader.last(),
        resolver_error: admin.gateway.prover.doubt().map(Into::into),
        watch_error: admin.reloader.unwatched(),
        reloads_refused: admin.reloader.reloads.of(ReloadResult::Refused),
        queue: journal.queue,
        details_dropped: journal.details_dropped.saturating_add(store.details_dropped),
        counts_lost: store.counts_lost,
        store,
        access_log: admin.gateway.access_log.as_deref().map(|log| {
            let status = log.lines.status();
            AccessLogStatus { queue: status.queue, lines_lost: status.details_dropped }
        }),
        fleet: admin.fleet.as_ref().map(|fleet| fleet.status()),
        authorize: authorize(admin, &policy),
        certificates: shown.map(|shown| CertificateStatus::of(shown, now)).collect(),
        exceptions: policy.ending_exceptions(now).collect(),
        totals: admin.gateway.totals.snapshot(),
        connections: admin.gateway.connections.snapshot(),
    }
}

/// A fault of a file that is no site's own, such as the configuration: it keeps every site as it is, and this one's
/// changed robots.txt from coming into force.
fn fault_of_all(policy: &Policy, site: &Site, reloader: &Reloader) -> Option<String> {
    let last = reloader.last()?;
    let is_of = |site: &Site, fault: &ConfigError| {
        let robots = &site.config.robots;
        [&robots.file, &robots.additions].into_iter().flatten().any(|file| *file == fault.path)
    };
    let of_a_site = |fault: &ConfigError| policy.sites().iter().any(|site| is_of(site, fault));
    let all = last.errors.iter().find(|fault| !of_a_site(fault))?;
    let waits = last.errors.iter().find(|fault| is_of(site, fault));
    let told = [Some(all), waits].into_iter().flatten().map(ConfigError::in_one_line);
    Some(told.collect::<Vec<_>>().join("; "))
}

fn site_status(admin: &Admin, policy: &Policy, site: &Site) -> SiteStatus {
    let reloader = &admin.reloader;
    let notice = reloader.notice(policy, site);
    let unknown =
        |span: UnknownSpan| UnknownPast { what: span.what.into(), until: span.until.map(timestamp) };
    let fetched = reloader.origin_files.state_of(&site.config.name, policy.clock.now()).unwrap_or_default();
    SiteStatus {
        site: site.config.name.clone(),
        mode: site.modes.general().as_str().into(),
        robots_version: site.version().map(|id| id.to_string()),
        since: site.version().map(|_| timestamp(site.since)),
        source: site.config.robots.source_word().into(),
        error: site.error.clone().or(fetched.error).or_else(|| fault_of_all(policy, site, reloader)),
        fetched: fetched.fetched,
        age_seconds: fetched.age_seconds,
        next_fetch_seconds: fetched.next_fetch_seconds,
        findings: site.warnings().count(),
        notice: notice.to_string(),
        binds_from: notice.binds_from.map(timestamp),
        read_by: notice.read_by,
        unknown: notice.unknown.into_iter().map(unknown).collect(),
        modes: site.modes.clone(),
        stand_in: admin.gateway.recorder.stand_in(&site.config.name, SystemTime::now()).map(Cow::Borrowed),
    }
}
