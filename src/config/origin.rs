//! Where a site's requests go: one server by its URL, or a table of several.

use super::error::{Faults, rebase};
use super::origin_url::OriginUrl;
use super::values::{DurationValue, TableOrText, TextOrTable, written_as};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The origin of a site: its servers, and how they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HealthCheck {
    /// What is asked.
    #[serde(rename = "check")]
    pub probe: Probe,
    /// For what path, where the probe is a request.
    pub path: String,
    /// How often.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub interval: Duration,
    /// How long an answer may take.
    #[serde(deserialize_with = "written_as::<DurationValue, _, _>")]
    pub timeout: Duration,
    /// After how many bad answers in a row it gets no requests.
    pub failures: u32,
    /// After how many good answers in a row it gets requests again.
    pub successes: u32,
}

/// What a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OriginTable {
    servers: Vec<TextOrTable<ServerTable>>,
    ca: Option<PathBuf>,
    #[serde(default)]
    health: HealthCheck,
    #[serde(default)]
    timeouts: OriginTimeouts,
}

impl From<String> for OriginTable {
    fn from(url: String) -> Self {
        let servers = vec![TextOrTable(url.into())];
        Self { servers, ca: None, health: HealthCheck::default(), timeouts: OriginTimeouts::default() }
    }
}

impl TableOrText for OriginTable {
    const WANTED: &'static str = "a URL such as \"http://127.0.0.1:3000\", or a table with `servers`";
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServerTable {
    url: String,
    weight: Option<u32>,
    server_name: Option<String>,
}

impl From<String> for ServerTable {
    fn from(url: String) -> Self {
        Self { url, weight: None, server_name: None }
    }
}

impl TableOrText for ServerTable {
    const WANTED: &'static str = "a URL, or a table with `url`";
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            probe: Probe::Off,
            // The page that every origin has.
            path: "/".to_owned(),
            // A broken server is out after a quarter of a minute.
            interval: Duration::from_secs(5),
            // A server that needs longer is not well.
            timeout: Duration::from_secs(2),
            // One bad answer can be chance, three in a row are not.
            failures: 3,
            // A server that is starting may fail again at once.
            successes: 2,
        }
    }
}

/// The largest weight: a hundred to one is a drained server.
const HEAVIEST: u32 = 100;

impl Origin {
    /// The origin that is one server with the defaults.
    pub fn single(url: OriginUrl) -> Self {
        Self { servers: vec![OriginServer::new(url)], ..Self::default() }
    }

    /// Checks what is written; `None` when it has a fault, which is noted.
    pub(super) fn from_key(
        key: Spanned<TextOrTable<OriginTable>>,
        base: &Path,
        faults: &mut Faults<'_>,
    ) -> Option<Self> {
        let span = key.span();
        let TextOrTable(OriginTable { servers: written, mut ca, health, timeouts }) = key.into_inner();
        let mut found = Vec::new();
        let (is_empty, servers) = (written.is_empty(), written.into_iter());
        let servers: Vec<OriginServer> = servers
            .filter_map(|TextOrTable(table)| {
                OriginServer::from_table(table).map_err(|fault| found.push(fault)).ok()
            })
            .collect();
        if is_empty {
            found.push(
                "an origin without `servers`; write `servers = [\"http://127.0.0.1:3000\"]`".to_owned(),
            );
        }
        if !servers.is_empty() && servers.iter().all(|server| server.weight == 0) {
            found.push("all servers have weight 0; give one at least a weight of 1".to_owned());
        }
        health.check(&mut found);
        let is_fine = found.is_empty();
        for message in found {
            faults.value_or_fault::<(), _>(span.clone(), Err(message));
        }
        rebase(base, &mut ca);
        is_fine.then_some(Self { servers, ca, health, timeouts })
    }
}

impl OriginServer {
    /// A server with the defaults.
    pub fn new(url: OriginUrl) -> Self {
        let server_name = match &url {
            OriginUrl::Tcp { host, .. } => host.clone(),
            OriginUrl::Socket(_) => "localhost".into(),
        };
        Self { url, weight: 1, server_name }
    }

    fn from_table(table: ServerTable) -> Result<Self, String> {
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

impl HealthCheck {
    fn check(&self, faults: &mut Vec<String>) {
        let Self { path, interval, timeout, failures, successes, .. } = self;
        if *interval < Duration::from_millis(100) || timeout.is_zero() {
            let message = "`health`: an interval below 100ms, or no time to answer; write `5s` and `2s`";
            faults.push(message.to_owned());
        }
        if *failures == 0 || *successes == 0 {
            faults.push("`health`: `failures` and `successes` count from 1".to_owned());
        }
        if !path.starts_with('/') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            faults.push(format!("`health`: invalid path `{path}`: expected one such as `/healthz`"));
        }
    }
}
