//! What a running gateway says of itself.

use super::Admin;
use crate::fleet::FleetStatus;
use crate::policy::{LastReload, Override, Policy, Reloader, ShownCertificate, Site, Upstream};
use crate::record::{ConnectionSnapshot, StoreStatus, TotalsSnapshot, UnknownHost, timestamp};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// The answer of `gatewayctl status`; its field names are public API.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    /// Rises with every policy that comes into force.
    pub generation: u64,
    /// Seconds since the gateway started.
    pub uptime_seconds: u64,
    /// Version of the program.
    pub version: &'static str,
    /// All sites.
    pub sites: Vec<SiteStatus>,
    /// The servers of all origins.
    pub origins: Vec<OriginStatus>,
    /// Hosts that were asked for and are no site's, the one that is asked for most first.
    pub unknown_hosts: Vec<UnknownHost>,
    /// Keys of the configuration that changed and take effect when the gateway is started again.
    pub restart: Vec<&'static str>,
    /// Modes that were set with `gatewayctl mode`, over those of the configuration.
    pub overrides: Vec<Override>,
    /// The last reload that changed or refused something.
    pub last_reload: Option<LastReload>,
    /// Why changes of files are found by looking each second, where not all of them can be watched.
    pub watch_error: Option<String>,
    /// How many reloads were refused since the start.
    pub reloads_refused: u64,
    /// Events waiting for the journal.
    pub queue: usize,
    /// Events whose details were lost; they are counted all the same.
    pub details_dropped: u64,
    /// Requests missing from reports; the counts below are complete.
    pub counts_lost: u64,
    /// The store.
    pub store: StoreStatus,
    /// The access log; null where there is none.
    pub access_log: Option<AccessLogStatus>,
    /// What other proxies ask; null where they are not answered.
    pub authorize: Option<AuthorizeStatus>,
    /// Membership in a fleet; null where there is none.
    pub fleet: Option<FleetStatus>,
    /// The certificates that TLS shows.
    pub certificates: Vec<CertificateStatus>,
    /// Counts since the start.
    pub totals: TotalsSnapshot,
    /// What became of connections since the start.
    pub connections: ConnectionSnapshot,
}

/// What other proxies ask, in a [`StatusReport`].
#[derive(Clone, Debug, Serialize)]
pub struct AuthorizeStatus {
    /// Questions since the start, by door.
    pub asked: BTreeMap<&'static str, u64>,
    /// What was wrong with questions.
    pub faults: BTreeMap<&'static str, u64>,
    /// Whether requests for robots.txt come here, by hosts.
    pub robots_txt: Vec<RobotsTxtSeen>,
}

/// When robots.txt of some hosts was last asked for through another proxy.
#[derive(Clone, Debug, Serialize)]
pub struct RobotsTxtSeen {
    /// The hosts: `example.org`, `*.example.org`, or `*` for every other host.
    pub hosts: String,
    /// How many seconds ago; null where it was not within 24 hours, so that nobody is accused.
    pub seconds_ago: Option<u64>,
    /// For how long it has been, without a day between one request and the next; of several hosts, that of the one that was
    /// last asked for.
    pub for_seconds: Option<u64>,
}

fn authorize(admin: &Admin, policy: &Policy) -> Option<AuthorizeStatus> {
    policy.config.authorize.as_ref()?;
    let (doors, now) = (&admin.totals.doors, policy.clock.now());
    let sights = admin.reloader.sights().all(now);
    let slots = policy.hosts().slots().iter().enumerate().filter(|(_, slot)| slot.site.is_some());
    let last = |index| {
        let own = sights.iter().filter(|(host, _)| policy.hosts().find(host) == Some(index));
        own.map(|(_, sight)| *sight).max_by_key(|sight| sight.last)
    };
    Some(AuthorizeStatus {
        asked: doors.asked().map(|(door, count)| (door.as_str(), count)).collect(),
        faults: doors.faults().map(|(fault, count)| (fault.as_str(), count)).collect(),
        robots_txt: slots
            .map(|(index, slot)| (slot, last(index)))
            .map(|(slot, last)| RobotsTxtSeen {
                hosts: slot.pattern.to_string(),
                seconds_ago: last.map(|sight| now.since(sight.last).as_secs()),
                for_seconds: last.map(|sight| now.since(sight.since).as_secs()),
            })
            .collect(),
    })
}

/// The access log in a [`StatusReport`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AccessLogStatus {
    /// Lines waiting to be written.
    pub queue: usize,
    /// Lines that were lost since the start: the disk was too slow, or refused them.
    pub lines_lost: u64,
}

/// One certificate in a [`StatusReport`].
#[derive(Clone, Debug, Serialize)]
pub struct CertificateStatus {
    /// Its file.
    pub certificate: String,
    /// The hosts it was configured for; none where its own names decide.
    pub hosts: Vec<String>,
    /// When it expires; null where that cannot be read.
    pub expires: Option<String>,
    /// What is to be known of that: that it expires within two weeks, has done so, or is not valid yet.
    pub trouble: Option<String>,
}

impl CertificateStatus {
    fn of(shown: ShownCertificate<'_>, now: SystemTime) -> Self {
        Self {
            certificate: shown.file.display().to_string(),
            hosts: shown.hosts.iter().map(ToString::to_string).collect(),
            expires: shown.validity.map(|validity| timestamp(validity.until)),
            trouble: shown.validity.and_then(|validity| validity.trouble(now)),
        }
    }
}

/// One server of an origin in a [`StatusReport`].
#[derive(Clone, Debug, Serialize)]
pub struct OriginStatus {
    /// The site.
    pub site: String,
    /// The server's URL.
    pub server: String,
    /// Since when it has answered no request; null while it answers.
    pub failing_since: Option<String>,
    /// How many requests failed since then.
    pub errors: u64,
    /// When the last of them did.
    pub last_error: Option<String>,
    /// What is wrong with it.
    pub error: Option<&'static str>,
}

impl OriginStatus {
    fn of(site: &Site, server: &Upstream) -> Self {
        let failure = server.failure();
        let unknown = server.is_unresolved().then_some("its name has no address");
        Self {
            site: site.config.name.clone(),
            server: server.server.url.to_string(),
            failing_since: failure.as_ref().map(|failure| timestamp(failure.since)),
            errors: failure.as_ref().map_or(0, |failure| failure.errors),
            last_error: failure.as_ref().map(|failure| timestamp(failure.last)),
            error: unknown.or_else(|| failure.map(|failure| failure.cause)),
        }
    }
}

/// One site in a [`StatusReport`].
#[derive(Clone, Debug, Serialize)]
pub struct SiteStatus {
    /// Its name.
    pub site: String,
    /// Its mode.
    pub mode: &'static str,
    /// The version in force; null for a site without a file.
    pub robots_version: Option<String>,
    /// When that version came into force.
    pub since: Option<String>,
    /// Where its own rules come from: `file`, `origin`, `none`.
    pub source: &'static str,
    /// Why the site does not follow what is on disk, or what is wrong with what its origin has.
    pub error: Option<String>,
    /// When its origin last said what it has, how old that is, and when it is asked again; null unless `source` is `origin`.
    pub fetched: Option<String>,
    /// The age of that, in seconds.
    pub age_seconds: Option<u64>,
    /// In how many seconds the origin is asked again.
    pub next_fetch_seconds: Option<u64>,
    /// How many findings of the version in force deserve a look; `gatewayctl check` prints them.
    pub findings: usize,
    /// From when on the version in force binds everyone, and who has read it.
    pub notice: String,
    /// From when on the version in force binds everyone; null where it does, or where that cannot be said.
    pub binds_from: Option<String>,
    /// How many crawlers have read it.
    pub read_by: usize,
    /// Why it does not bind everyone, beyond a former version within notice.
    pub doubt: Option<String>,
    /// Whether more versions than are kept were served within notice.
    pub diluted: bool,
}

pub(super) fn status(admin: &Admin) -> StatusReport {
    let (policy, now) = (admin.reloader.current(), SystemTime::now());
    let (journal, store) = (admin.journal.status(), admin.recorder.status());
    StatusReport {
        generation: policy.generation,
        uptime_seconds: admin.started.elapsed().as_secs(),
        version: env!("CARGO_PKG_VERSION"),
        sites: policy.sites().iter().map(|site| site_status(&policy, site, &admin.reloader)).collect(),
        origins: policy
            .sites()
            .iter()
            .flat_map(|site| site.origin.servers.iter().map(|server| OriginStatus::of(site, server)))
            .collect(),
        unknown_hosts: admin.totals.unknown_hosts(),
        restart: admin.reloader.waiting(),
        overrides: admin.reloader.overrides(),
        last_reload: admin.reloader.last(),
        watch_error: admin.reloader.unwatched(),
        reloads_refused: admin.reloader.counts().refused,
        queue: journal.queue,
        details_dropped: journal.details_dropped.saturating_add(store.details_dropped),
        counts_lost: store.counts_lost,
        store,
        access_log: admin.access_log.as_deref().map(|log| {
            let status = log.status();
            AccessLogStatus { queue: status.queue, lines_lost: status.details_dropped }
        }),
        fleet: admin.fleet.as_ref().map(|fleet| fleet.status()),
        authorize: authorize(admin, &policy),
        certificates: policy.certificates.shown().map(|shown| CertificateStatus::of(shown, now)).collect(),
        totals: admin.totals.snapshot(),
        connections: admin.connections.snapshot(),
    }
}

/// A fault of a file that is no site's own, such as the configuration: it keeps every site as it is, and this one's
/// changed robots.txt from coming into force.
fn fault_of_all(policy: &Policy, site: &Site, reloader: &Reloader) -> Option<String> {
    let last = reloader.last()?;
    let of_a_site = |path: &str| {
        let sites = policy.sites().iter();
        sites.flat_map(|site| site.config.robots.files()).any(|robots| robots.to_str() == Some(path))
    };
    let all = last.faults().find(|fault| !of_a_site(&fault.path))?;
    let is_own = |path: &str| site.config.robots.files().any(|robots| robots.to_str() == Some(path));
    let waits = last.faults().find(|fault| is_own(&fault.path));
    Some(waits.map_or_else(|| all.to_string(), |waits| format!("{all}; {waits}")))
}

fn site_status(policy: &Policy, site: &Site, reloader: &Reloader) -> SiteStatus {
    let notice = reloader.notice(policy, site);
    let fetched = reloader.origin_files().state_of(&site.config.name, policy.clock.now()).unwrap_or_default();
    SiteStatus {
        site: site.config.name.clone(),
        mode: site.modes.general().as_str(),
        robots_version: site.version().map(|id| id.to_string()),
        since: site.version().map(|_| timestamp(site.since)),
        source: site.config.robots.source_word(),
        error: site.error.clone().or(fetched.error).or_else(|| fault_of_all(policy, site, reloader)),
        fetched: fetched.fetched,
        age_seconds: fetched.age_seconds,
        next_fetch_seconds: fetched.next_fetch_seconds,
        findings: site.warnings().count(),
        notice: notice.to_string(),
        binds_from: notice.binds_from.map(timestamp),
        read_by: notice.read_by,
        doubt: notice.doubt,
        diluted: notice.is_diluted,
    }
}
