//! Where a site's requests go: one server by its URL, or a table of several.

use super::faults::Faults;
use super::limits::Timeouts;
use super::origin_url::OriginUrl;
use super::values::{DurationValue, ListedAs, TableOrText, TextOrTable, WrittenAs};
use serde::Deserialize;
use smart_default::SmartDefault;
use std::path::PathBuf;
use std::time::Duration;

/// The origin of a site: its servers, and how they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Origin {
    /// At least one, but for a site that only other proxies ask about.
    #[serde(with = "ListedAs::<TextOrTable<OriginServer>>")]
    pub servers: Vec<OriginServer>,
    /// Certificates that sign those of the servers; none for what the system trusts.
    pub ca: Option<PathBuf>,
    /// Whether and how servers are asked if they are well.
    pub health: HealthCheck,
    /// Time limits that differ from those of all sites.
    pub timeouts: OriginTimeouts,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OriginServer {
    /// Where it is.
    pub url: OriginUrl,
    /// Its share of the requests, beside the weights of the others.
    #[serde(default = "equal")]
    pub weight: u32,
    /// The name that its certificate must be for; `None` for that in the URL.
    pub server_name: Option<Box<str>>,
}

/// How a server is asked if it is well.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct HealthCheck {
    /// What is asked.
    #[serde(rename = "check")]
    #[default(Probe::Off)]
    pub probe: Probe,
    /// For what path, where the probe is a request.
    // The page that every origin has.
    #[default("/")]
    pub path: String,
    /// How often.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // A broken server is out after a quarter of a minute.
    #[default(Duration::from_secs(5))]
    pub interval: Duration,
    /// How long an answer may take.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // A server that needs longer is not well.
    #[default(Duration::from_secs(2))]
    pub timeout: Duration,
    /// After how many bad answers in a row it gets no requests.
    // One bad answer can be chance, three in a row are not.
    #[default(3)]
    pub failures: u32,
    /// After how many good answers in a row it gets requests again.
    // A server that is starting may fail again at once.
    #[default(2)]
    pub successes: u32,
}

/// What a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// Nothing: it is taken to be well.
    Off,
    /// Whether it accepts a connection.
    Tcp,
    /// Whether it answers a GET with 200 to 399.
    Http,
}

/// Time limits of one origin; `None` is that of all sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OriginTimeouts {
    /// Time to connect.
    #[serde(with = "WrittenAs::<DurationValue>")]
    pub connect: Option<Duration>,
    /// Silence while it answers.
    #[serde(with = "WrittenAs::<DurationValue>")]
    pub read: Option<Duration>,
    /// Time to take a piece of a request.
    #[serde(with = "WrittenAs::<DurationValue>")]
    pub write: Option<Duration>,
    /// How long an idle connection is kept.
    #[serde(with = "WrittenAs::<DurationValue>")]
    pub idle: Option<Duration>,
}

impl OriginTimeouts {
    /// The time limits of every origin, with these in the place of theirs.
    #[must_use]
    pub fn over(self, all: &Timeouts) -> Timeouts {
        Timeouts {
            origin_connect: self.connect.unwrap_or(all.origin_connect),
            origin_read: self.read.unwrap_or(all.origin_read),
            origin_write: self.write.unwrap_or(all.origin_write),
            origin_idle: self.idle.unwrap_or(all.origin_idle),
            ..*all
        }
    }
}

impl TableOrText for Origin {
    const WANTED: &'static str = "a URL such as \"http://127.0.0.1:3000\", or a table with `servers`";

    fn of_text(url: &str) -> Result<Self, String> {
        url.parse().map(Self::single)
    }
}

impl TableOrText for OriginServer {
    const WANTED: &'static str = "a URL, or a table with `url`";

    fn of_text(url: &str) -> Result<Self, String> {
        url.parse().map(Self::new)
    }
}

/// The weight where none is written.
const EQUAL: u32 = 1;

const fn equal() -> u32 {
    EQUAL
}

/// The largest weight: a hundred to one is a drained server.
const HEAVIEST: u32 = 100;

impl Origin {
    /// The origin that is one server with the defaults.
    pub fn single(url: OriginUrl) -> Self {
        Self { servers: vec![OriginServer::new(url)], ..Self::default() }
    }

    /// Notes what is wrong with what is written as `key`.
    pub(super) fn check(&self, key: &str, faults: &mut Faults<'_>) {
        let Self { servers, health, .. } = self;
        if servers.is_empty() {
            faults.push_at(
                Some(key),
                "an origin without `servers`",
                "write `servers = [\"http://127.0.0.1:3000\"]`",
            );
        } else if servers.iter().all(|server| server.weight == 0) {
            faults.push_at(Some(key), "all servers have weight 0", "give one at least a weight of 1");
        }
        for OriginServer { url, weight, server_name } in servers {
            let (message, hint) =
                (format!("`weight = {weight}` of {url}"), format!("write a number from 0 to {HEAVIEST}"));
            faults.require(*weight <= HEAVIEST, key, message, &hint);
            // Without a name nobody would check whose certificate it is.
            let is_fine = server_name.as_ref().is_none_or(|name| !name.is_empty() && url.is_tls());
            let message = format!("`server_name` of {url} needs a name and an https:// URL");
            faults.require(is_fine, key, message, "write both, or remove `server_name`");
        }
        health.check(&format!("{key}.health"), faults);
    }
}

impl OriginServer {
    /// A server with the defaults.
    pub const fn new(url: OriginUrl) -> Self {
        Self { url, weight: EQUAL, server_name: None }
    }

    /// The name that its certificate must be for.
    pub fn server_name(&self) -> &str {
        let of_url = match &self.url {
            OriginUrl::Tcp { host, .. } => &**host,
            OriginUrl::Socket(_) => "localhost",
        };
        self.server_name.as_deref().unwrap_or(of_url)
    }
}

impl HealthCheck {
    fn check(&self, key: &str, faults: &mut Faults<'_>) {
        let Self { path, interval, timeout, failures, successes, .. } = self;
        let is_fine = *interval >= Duration::from_millis(100) && !timeout.is_zero();
        let message = "`health`: an interval below 100ms, or no time to answer";
        faults.require(is_fine, key, message, "write `5s` and `2s`");
        let message = "`health`: `failures` and `successes` count from 1";
        faults.require(*failures > 0 && *successes > 0, key, message, "write 1 or more");
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        let message = format!("`health`: invalid path `{path}`");
        faults.require(is_path, key, message, "write one such as `/healthz`");
    }
}
