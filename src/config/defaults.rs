//! The defaults of single keys, and why each is what it is; those of `[limits]` and `[timeouts]` stand with their tables.
//!
//! `conf/gateway.toml` shows the same values; a test compares the two.

use super::{Config, ConnectionLimits, VerifyOptions, WrittenConfig};
use crate::enforce::{ClientModes, Mode};
use crate::http::claims::FieldPatterns;
use crate::record::{AccessFormat, AddressDetail, JournalRate, LogOptions};
use crate::request::forwarded::ForwardedField;
use crate::request::prefixes::Prefixes;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Loopback: a gateway started to be tried out is not on the internet by accident.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// Loopback, and a port that recalls RFC 9309.
pub const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9309);
/// RFC 9309 §2.4: a crawler should not use a cached copy for more than 24 hours.
pub const NOTICE: Duration = Duration::from_secs(24 * 3_600);
/// The time between a crawler's read and the moment its queues can know of it.
pub const SETTLE: Duration = Duration::from_secs(60);
/// Long enough to spare the origin of questions, short beside the notice.
pub const ROBOTS_MAX_AGE: Duration = Duration::from_secs(3_600);
/// RFC 9309 §2.5: at least 500 kibibytes must be parsed.
pub const ROBOTS_MAX_SIZE: usize = 500 * 1024;
/// The journal's name in the state folder.
pub const JOURNAL: &str = "journal.jsonl";
/// Size at which the journal is rotated: some 150,000 lines.
pub const JOURNAL_MAX_SIZE: u64 = 100 * 1024 * 1024;
/// How many rotated journals are kept.
pub const JOURNAL_KEEP: usize = 5;
/// How many lines of the journal a crawler of one network may have. A crawl at full speed has some tens of violations in
/// a second; a flood would have the lines of all others rotated away within minutes.
pub const JOURNAL_RATE: JournalRate = JournalRate { lines: 100, period: Duration::from_secs(1) };
/// How long counts, events, reads and former versions are kept: a season, which is as long as an abuse
/// report takes to be answered.
pub const RETENTION: Duration = Duration::from_secs(90 * 86_400);
/// Cap of the store: 90 days of 300 crawlers with a thousand paths a day each stay far below it on most
/// sites, and it is nothing beside the logs of a site that needs more.
pub const STORE_MAX_SIZE: u64 = 1024 * 1024 * 1024;
/// For how long a member of a fleet that falls silent still counts as serving what it served: a database may take that
/// long to start again, or to hand over to a standby.
pub const FLEET_LEASE: Duration = Duration::from_secs(300);
/// For how long a member that joins a fleet accuses nobody: longer than news takes to get to all, and than what a standby
/// may lose.
pub const FLEET_SETTLE: Duration = Duration::from_secs(10);
/// How long requests in flight may take to finish after SIGTERM.
pub const GRACE: Duration = Duration::from_secs(30);
/// How often an origin is asked for its robots.txt: a change made there is served, and judged by, soon enough not to be
/// missed, and one request in ten minutes is nothing to an origin.
pub const ROBOTS_EVERY: Duration = Duration::from_secs(600);
/// How often the names of origins are resolved again: the least time to live that name servers commonly give.
pub const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
/// How long one question to a name server may take. No request waits for it, so it may be long enough for
/// a resolver that has to ask its way down from the root.
pub const VERIFY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it is remembered that an address belongs to a crawler. Operators move addresses over days;
/// half a day spares the name servers without outliving many a move.
pub const VERIFY_CACHE: Duration = Duration::from_secs(12 * 3_600);
/// How long it is remembered that an address does not belong. Short, because this is the answer that
/// accuses: a name that was entered late is believed within the hour.
pub const VERIFY_CACHE_NEGATIVE: Duration = Duration::from_secs(3_600);
/// The least time between two fetches of published address ranges. Their publishers ask for about one a
/// day, and never more than one an hour.
pub const VERIFY_REFRESH_LEAST: Duration = Duration::from_secs(3_600);

/// No folder of the user's own is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no folder to keep state in: neither HOME nor XDG_STATE_HOME is set")]
pub struct NoHome;

/// Where state is kept when nobody says where. Never below a folder that all users share: another one could have made it.
///
/// # Errors
/// When no folder of the user's own is known.
pub fn state_dir() -> Result<PathBuf, NoHome> {
    if let Some(folder) = folder_variable("STATE_DIRECTORY") {
        return Ok(folder);
    }
    if runs_as_root() {
        return Ok(PathBuf::from("/var/lib/robots-gateway"));
    }
    below_home("XDG_STATE_HOME", ".local/state").ok_or(NoHome)
}

/// Where the control socket is when nobody says where.
///
/// # Errors
/// When no folder of the user's own is known.
pub fn control() -> Result<PathBuf, NoHome> {
    let folder = if let Some(folder) = folder_variable("RUNTIME_DIRECTORY") {
        folder
    } else if runs_as_root() {
        PathBuf::from("/run/robots-gateway")
    } else if let Some(run) = folder_variable("XDG_RUNTIME_DIR") {
        run.join("robots-gateway")
    } else {
        state_dir()?
    };
    Ok(folder.join("control.sock"))
}

/// One worker for each processor.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn below_home(variable: &str, below_home: &str) -> Option<PathBuf> {
    let folder = folder_variable(variable)
        .filter(|folder| folder.is_absolute())
        .or_else(|| folder_variable("HOME").map(|home| home.join(below_home)));
    folder.map(|folder| folder.join("robots-gateway"))
}

/// Whether this process is root's, told by the owner of its own entry in `/proc`.
fn runs_as_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: None,
            written: WrittenConfig::default(),
            listen: Vec::new(),
            listeners: Vec::new(),
            certificates: Vec::new(),
            authorize: None,
            alerts: None,
            public: None,
            fleet: None,
            mode: Mode::Audit,
            notice: NOTICE,
            settle: SETTLE,
            state_dir: PathBuf::new(),
            control: PathBuf::new(),
            journal: JOURNAL.into(),
            journal_max_size: JOURNAL_MAX_SIZE,
            journal_keep: JOURNAL_KEEP,
            journal_rate: Some(JOURNAL_RATE),
            retention: RETENTION,
            store_max_size: STORE_MAX_SIZE,
            admin: Some(ADMIN),
            admin_token: None,
            threads: threads(),
            trusted_proxies: Prefixes::default(),
            forwarded_header: ForwardedField::default(),
            remove_fields: FieldPatterns::default(),
            keep_fields: FieldPatterns::default(),
            via: true,
            content_usage: false,
            robots_tags: Vec::new(),
            access_log: None,
            access_log_format: AccessFormat::default(),
            exempt: Vec::new(),
            addresses: AddressDetail::default(),
            log_allowed: false,
            verdict_headers: false,
            robots_max_age: ROBOTS_MAX_AGE,
            robots_max_size: ROBOTS_MAX_SIZE,
            catalogue: super::CatalogueConfig::default(),
            grace: GRACE,
            log: LogOptions::default(),
            timeouts: Arc::default(),
            limits: ConnectionLimits::default(),
            verify: VerifyOptions::default(),
            clients: ClientModes::default(),
            purposes: BTreeMap::new(),
            crawlers: BTreeMap::new(),
            sites: Vec::new(),
        }
    }
}
