//! Where a site's requests go: one server by its URL, or a table of several.

use super::build::Faults;
use super::defaults;
use super::origin_url::OriginUrl;
use super::values::{DurationValue, TextOrTable, written_as};
use serde::Deserialize;
use serde::de::Deserializer;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The origin of a site: its servers, and how they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// At least one, but for a site that only other proxies ask about.
    pub servers: Vec<OriginServer>,
    /// Certificates that sign those of the servers; none for what the system trusts.
    pub ca: Option<PathBuf>,
    /// Whether and how servers are asked if they are well.
    pub health: HealthCheck,
    /// Time limits that differ from those of all sites.
    pub timeouts: OriginTimeouts,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OriginServer {
    /// Where it is.
    pub url: OriginUrl,
    /// Its share of the requests, beside the weights of the others.
    pub weight: u32,
    /// The name that its certificate must be for.
    pub server_name: Box<str>,
}

/// How a server is asked if it is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// What is asked.
    pub probe: Probe,
    /// How often.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// After how many bad answers in a row it gets no requests.
    pub failures: u32,
    /// After how many good answers in a row it gets requests again.
    pub successes: u32,
}

/// What a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Nothing: it is taken to be well.
    Off,
    /// Whether it accepts a connection.
    Tcp,
    /// Whether it answers a GET for this path with 200 to 399.
    Http(Box<str>),
}

/// Time limits of one origin; `None` is that of all sites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OriginTimeouts {
    /// Time to connect.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub connect: Option<Duration>,
    /// Silence while it answers.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub read: Option<Duration>,
    /// Time to take a piece of a request.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub write: Option<Duration>,
    /// How long an idle connection is kept.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub idle: Option<Duration>,
}

/// `origin = …` as it is written.
#[derive(Debug)]
pub(super) enum OriginKey {
    Url(String),
    Table(Box<OriginTable>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OriginTable {
    servers: Vec<ServerKey>,
    ca: Option<PathBuf>,
    #[serde(default)]
    health: HealthTable,
    #[serde(default)]
    timeouts: OriginTimeouts,
}

#[derive(Debug)]
enum ServerKey {
    Url(String),
    Table(ServerTable),
}

impl<'de> Deserialize<'de> for OriginKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let made = |written: Result<String, OriginTable>| match written {
            Ok(url) => Self::Url(url),
            Err(table) => Self::Table(Box::new(table)),
        };
        let wanted = "a URL such as \"http://127.0.0.1:3000\", or a table with `servers`";
        deserializer.deserialize_any(TextOrTable::new(made, wanted))
    }
}

impl<'de> Deserialize<'de> for ServerKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let made = |written: Result<String, ServerTable>| written.map_or_else(Self::Table, Self::Url);
        deserializer.deserialize_any(TextOrTable::new(made, "a URL, or a table with `url`"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    url: String,
    weight: Option<u32>,
    server_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct HealthTable {
    check: Option<ProbeKey>,
    path: Option<String>,
    interval: Option<DurationValue>,
    timeout: Option<DurationValue>,
    failures: Option<u32>,
    successes: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ProbeKey {
    Off,
    Tcp,
    Http,
}

/// The largest weight: a hundred to one is a drained server.
const HEAVIEST: u32 = 100;

impl Origin {
    /// The origin that is one server with the defaults.
    pub fn single(url: OriginUrl) -> Self {
        Self { servers: vec![OriginServer::new(url)], ..Self::without_servers() }
    }

    /// No origin: another proxy has one, and asks.
    pub fn without_servers() -> Self {
        Self {
            servers: Vec::new(),
            ca: None,
            health: HealthTable::default().into_health_check(&mut |_| {}),
            timeouts: OriginTimeouts::default(),
        }
    }

    /// Checks what is written; `None` when it has a fault, which is noted.
    pub(super) fn from_key(key: Spanned<OriginKey>, base: &Path, faults: &mut Faults<'_>) -> Option<Self> {
        let span = key.span();
        let mut table = match key.into_inner() {
            OriginKey::Url(url) => return faults.value_or_fault(span, url.parse().map(Self::single)),
            OriginKey::Table(table) => table,
        };
        let mut found = Vec::new();
        let mut servers = Vec::new();
        for key in std::mem::take(&mut table.servers) {
            match OriginServer::from_key(key) {
                Ok(server) => servers.push(server),
                Err(message) => found.push(message),
            }
        }
        if servers.is_empty() && found.is_empty() {
            found.push(
                "an origin without `servers`; write `servers = [\"http://127.0.0.1:3000\"]`".to_owned(),
            );
        }
        if !servers.is_empty() && servers.iter().all(|server| server.weight == 0) {
            found.push("all servers have weight 0; give one at least a weight of 1".to_owned());
        }
        let health = std::mem::take(&mut table.health).into_health_check(&mut |message| found.push(message));
        let is_fine = found.is_empty();
        for message in found {
            faults.value_or_fault::<(), _>(span.clone(), Err(message));
        }
        is_fine.then(|| Self {
            servers,
            ca: table.ca.map(|path| base.join(path)),
            health,
            timeouts: table.timeouts,
        })
    }
}

impl OriginServer {
    fn new(url: OriginUrl) -> Self {
        let server_name = match &url {
            OriginUrl::Tcp { host, .. } => host.clone(),
            OriginUrl::Socket(_) => "localhost".into(),
        };
        Self { url, weight: 1, server_name }
    }

    fn from_key(key: ServerKey) -> Result<Self, String> {
        let table = match key {
            ServerKey::Url(url) => ServerTable { url, weight: None, server_name: None },
            ServerKey::Table(table) => table,
        };
        let mut server = Self::new(table.url.parse().map_err(|error| format!("{error}"))?);
        if let Some(weight) = table.weight {
            if weight > HEAVIEST {
                return Err(format!(
                    "`weight = {weight}` of {}; write a number from 0 to {HEAVIEST}",
                    table.url
                ));
            }
            server.weight = weight;
        }
        if let Some(name) = table.server_name {
            // Without a name nobody would check whose certificate it is.
            if name.is_empty() || !server.url.is_tls() {
                return Err(format!("`server_name` of {} needs a name and an https:// URL", table.url));
            }
            server.server_name = name.into();
        }
        Ok(server)
    }
}

impl HealthTable {
    fn into_health_check(self, fault: &mut dyn FnMut(String)) -> HealthCheck {
        let positive = |value: Option<DurationValue>, default| value.map_or(default, |value| value.0);
        let interval = positive(self.interval, defaults::HEALTH_INTERVAL);
        let timeout = positive(self.timeout, defaults::HEALTH_TIMEOUT);
        let (failures, successes) = (
            self.failures.unwrap_or(defaults::HEALTH_FAILURES),
            self.successes.unwrap_or(defaults::HEALTH_SUCCESSES),
        );
        if interval < Duration::from_millis(100) || timeout.is_zero() {
            fault("`health`: an interval below 100ms, or no time to answer; write `5s` and `2s`".to_owned());
        }
        if failures == 0 || successes == 0 {
            fault("`health`: `failures` and `successes` count from 1".to_owned());
        }
        let path = self.path.unwrap_or_else(|| defaults::HEALTH_PATH.to_owned());
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_path {
            fault(format!("`health`: invalid path `{path}`: expected one such as `/healthz`"));
        }
        let probe = match self.check {
            None | Some(ProbeKey::Off) => Probe::Off,
            Some(ProbeKey::Tcp) => Probe::Tcp,
            Some(ProbeKey::Http) => Probe::Http(path.into()),
        };
        HealthCheck { probe, interval, timeout, failures, successes }
    }
}
