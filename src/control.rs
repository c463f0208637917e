//! What a running gateway answers `gatewayctl`: `admin` writes it, and `ctl` reads it.
//!
//! Field names are public API. What is missing from the answer of an older gateway has its default.

use crate::fleet::FleetStatus;
use crate::policy::{LastReload, Modes, Override, SiteModes};
use crate::record::{ConnectionSnapshot, StoreStatus, TotalsSnapshot, UnknownHost};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The answer of `gatewayctl status`; its field names are public API.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusReport {
    /// Rises with every policy that comes into force.
    pub generation: u64,
    /// Seconds since the gateway started.
    pub uptime_seconds: u64,
    /// Version of the program.
    pub version: Cow<'static, str>,
    /// All sites.
    pub sites: Vec<SiteStatus>,
    /// The servers of all origins.
    pub origins: Vec<OriginStatus>,
    /// Hosts that were asked for and are no site's, the one that is asked for most first.
    pub unknown_hosts: Vec<UnknownHost>,
    /// Keys of the configuration that changed and take effect when the gateway is started again.
    pub restart: Vec<String>,
    /// Modes that were set with `gatewayctl mode`, over those of the configuration.
    pub overrides: Vec<Override>,
    /// The last reload that changed or refused something.
    pub last_reload: Option<LastReload>,
    /// Why nobody is called an impersonator because of reverse DNS, where name servers deny what all others know.
    pub resolver_error: Option<Cow<'static, str>>,
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
    /// Exceptions that have ended, or end soon.
    pub exceptions: Vec<String>,
    /// Counts since the start.
    pub totals: TotalsSnapshot,
    /// What became of connections since the start.
    pub connections: ConnectionSnapshot,
}

/// One site in a [`StatusReport`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteStatus {
    /// Its name.
    pub site: String,
    /// Its mode.
    pub mode: Cow<'static, str>,
    /// The version in force; null for a site without a file.
    pub robots_version: Option<String>,
    /// When that version came into force.
    pub since: Option<String>,
    /// Where its own rules come from: `file`, `origin`, `none`.
    pub source: Cow<'static, str>,
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
    /// What is not known of the time before, and until when nobody is accused because of it.
    pub unknown: Vec<UnknownPast>,
    /// Every mode that has a say, in the order in which they win, and why.
    pub modes: Modes,
    /// The name under which something in front sent its visitors in the last day, whoever they were.
    pub stand_in: Option<Cow<'static, str>>,
}

/// Something that nobody knows of what a site served before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnknownPast {
    /// What, as the subject of a sentence.
    pub what: Cow<'static, str>,
    /// Until when nobody is accused because of it; null while that goes on.
    pub until: Option<String>,
}

/// One server of an origin in a [`StatusReport`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
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
    pub error: Option<Cow<'static, str>>,
}

/// The access log in a [`StatusReport`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessLogStatus {
    /// Lines waiting to be written.
    pub queue: usize,
    /// Lines that were lost since the start: the disk was too slow, or refused them.
    pub lines_lost: u64,
}

/// What other proxies ask, in a [`StatusReport`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AuthorizeStatus {
    /// Questions since the start, by door.
    pub asked: BTreeMap<Cow<'static, str>, u64>,
    /// What was wrong with questions.
    pub faults: BTreeMap<Cow<'static, str>, u64>,
    /// Whether requests for robots.txt come here, by hosts.
    pub robots_txt: Vec<RobotsTxtSeen>,
}

/// When robots.txt of some hosts was last asked for through another proxy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RobotsTxtSeen {
    /// The hosts: `example.org`, `*.example.org`, or `*` for every other host.
    pub hosts: String,
    /// How many seconds ago; null where it was not within 24 hours, so that nobody is accused.
    pub seconds_ago: Option<u64>,
    /// For how long it has been, without a day between one request and the next; of several hosts, that of the one that was
    /// last asked for.
    pub for_seconds: Option<u64>,
}

/// One certificate in a [`StatusReport`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
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

/// The answer of `gatewayctl mode`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModeReport {
    /// Whether anything changed; null where it was only asked what is in force.
    pub result: Option<Cow<'static, str>>,
    /// The modes over those of the configuration, the general ones first.
    pub overrides: Vec<Override>,
    /// The mode of every site; crawlers, purposes and kinds of client may have others.
    pub sites: Vec<SiteMode>,
    /// Every mode that has a say, site by site, the strongest first, and why.
    pub in_force: Vec<SiteModes>,
    /// What an operator may not have meant.
    pub warnings: BTreeSet<String>,
}

/// The mode of one site in a [`ModeReport`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteMode {
    /// The site.
    pub site: String,
    /// Its mode.
    pub mode: Cow<'static, str>,
    /// From when on its version in force binds everyone, and until when nobody is accused.
    pub notice: String,
}
