//! Where a site's requests go: one server by its URL, or a table of several.

use super::Timeouts;
use super::faults::{Faults, without_user_info};
use super::values::{DurationValue, from_text, seconds, text_or_table, web_url};
use serde::Deserialize;
use smart_default::SmartDefault;
use std::fmt;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use url::Url;

/// The origin of a site: its servers, and how they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "Origin", deny_unknown_fields, default)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "OriginServer", deny_unknown_fields)]
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
    // A broken server is out after a quarter of a minute.
    #[default(seconds::<5>())]
    pub interval: DurationValue,
    /// How long an answer may take.
    // A server that needs longer is not well.
    #[default(seconds::<2>())]
    pub timeout: DurationValue,
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
    pub connect: Option<DurationValue>,
    /// Silence while it answers.
    pub read: Option<DurationValue>,
    /// Time to take a piece of a request.
    pub write: Option<DurationValue>,
    /// How long an idle connection is kept.
    pub idle: Option<DurationValue>,
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

text_or_table!(Origin, "a URL such as \"http://127.0.0.1:3000\", or a table with `servers`", |url| (
    "servers",
    vec![url]
));

text_or_table!(OriginServer, "a URL, or a table with `url`", |url| ("url", url));

/// The weight where none is written.
const fn equal() -> u32 {
    1
}

impl Origin {
    /// The origin that is one server with the defaults.
    pub fn single(url: OriginUrl) -> Self {
        Self { servers: vec![OriginServer::new(url)], ..Self::default() }
    }

    /// Notes what is wrong with what is written as `key`.
    pub(super) fn check(&self, key: &str, faults: &mut Faults<'_>) {
        let Self { servers, health, .. } = self;
        let hint = "write `servers = [\"http://127.0.0.1:3000\"]`";
        faults.require(!servers.is_empty(), key, "an origin without `servers`", hint);
        let is_weighted = servers.is_empty() || servers.iter().any(|server| server.weight > 0);
        faults.require(is_weighted, key, "all servers have weight 0", "give one at least a weight of 1");
        for OriginServer { url, weight, server_name } in servers {
            let message = format!("`weight = {weight}` of {url}");
            // A hundred to one is a drained server.
            faults.require(*weight <= 100, key, message, "write a number from 0 to 100");
            // Without a name nobody would check whose certificate it is.
            let is_fine = server_name.as_ref().is_none_or(|name| !name.is_empty() && url.is_tls());
            let message = format!("`server_name` of {url} needs a name and an https:// URL");
            faults.require(is_fine, key, message, "write both, or remove `server_name`");
        }
        let HealthCheck { path, interval, timeout, failures, successes, .. } = health;
        let key = &format!("{key}.health");
        let is_fine = **interval >= Duration::from_millis(100) && !timeout.is_zero();
        let message = "`health`: an interval below 100ms, or no time to answer";
        faults.require(is_fine, key, message, "write `5s` and `2s`");
        let message = "`health`: `failures` and `successes` count from 1";
        faults.require(*failures > 0 && *successes > 0, key, message, "write 1 or more");
        let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        let message = format!("`health`: invalid path `{path}`");
        faults.require(is_path, key, message, "write one such as `/healthz`");
    }
}

impl OriginServer {
    /// A server with the defaults.
    pub const fn new(url: OriginUrl) -> Self {
        Self { url, weight: equal(), server_name: None }
    }
}

/// Where one server of an origin is reached. Names are resolved while the gateway runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OriginUrl {
    /// A server that listens on TCP.
    Tcp {
        /// Whether it speaks TLS.
        tls: bool,
        /// Host name or IP address, an IPv6 address without brackets.
        host: Box<str>,
        /// TCP port.
        port: u16,
    },
    /// A server that listens on a Unix socket.
    Socket(PathBuf),
}

impl fmt::Display for OriginUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(out, "unix:{}", path.display()),
            Self::Tcp { tls, host, port } => {
                let scheme = if *tls { "https" } else { "http" };
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(out, "{scheme}://{open}{host}{close}:{port}")
            }
        }
    }
}

impl OriginUrl {
    /// Whether it speaks TLS.
    pub const fn is_tls(&self) -> bool {
        matches!(self, Self::Tcp { tls: true, .. })
    }

    /// What a request that names no host is for: the host and port of the URL, the port only where it is not
    /// the scheme's own (RFC 9110 §4.2.1).
    pub fn authority(&self) -> String {
        let url = Url::parse(&self.to_string()).ok().filter(Url::has_host);
        url.map_or_else(|| "localhost".to_owned(), |url| url.authority().to_owned())
    }
}

from_text!(OriginUrl: str::parse);

impl FromStr for OriginUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = without_user_info(text);
        let fault = |expected: &str| Err(format!("`{shown}`: {expected}"));
        if let Some(path) = text.strip_prefix("unix:") {
            let path = Path::new(path.strip_prefix("//").unwrap_or(path));
            if path.is_absolute() && path.file_name().is_some() && SocketAddr::from_pathname(path).is_ok() {
                return Ok(Self::Socket(path.to_owned()));
            }
            return fault("write the whole path, of 107 bytes at most, such as `unix:/run/app.sock`");
        }
        let no_url = || format!("invalid origin `{shown}`: expected a URL such as `http://127.0.0.1:3000`");
        let url = web_url(text).filter(|url| url.port() != Some(0)).ok_or_else(no_url)?;
        if url.path() != "/" || url.query().is_some() || text.contains(['@', '#']) {
            return fault("an origin has no path, query or user; write only scheme, host and port");
        }
        let tls = url.scheme() == "https";
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).into();
        Ok(Self::Tcp { tls, host, port: url.port_or_known_default().unwrap_or(80) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        text.parse::<OriginUrl>().ok().map(|origin| origin.to_string())
    }

    #[test]
    fn reads_urls_of_scheme_host_and_port() {
        assert_eq!(shown("http://127.0.0.1:3000").as_deref(), Some("http://127.0.0.1:3000"));
        assert_eq!(shown("http://example.org/").as_deref(), Some("http://example.org:80"));
        assert_eq!(shown("http://[::1]:3000").as_deref(), Some("http://[::1]:3000"));
        assert_eq!(shown("https://example.org").as_deref(), Some("https://example.org:443"));
        assert_eq!(shown("unix:/run/app.sock").as_deref(), Some("unix:/run/app.sock"));
        assert_eq!(shown("unix:///run/app.sock").as_deref(), Some("unix:/run/app.sock"));
    }

    #[test]
    fn refuses_what_it_could_not_honour() {
        for (bad, told) in [
            ("http://example.org/app", "`http://example.org/app`: an origin has no path"),
            ("http://u:s3cret@example.org", "`http://(hidden)@example.org`: an origin has no path"),
            ("unix:app.sock", "`unix:app.sock`: write the whole path"),
        ] {
            let error = bad.parse::<OriginUrl>().unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
        for bad in [
            "",
            "example.org:80",
            "127.0.0.1:3000",
            "ftp://h",
            "http://",
            "http://h:0",
            "http://h:99999",
            "unix:/",
            &format!("unix:/{}", "a".repeat(107)),
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_authority_has_a_port_only_where_it_is_needed() {
        let authority = |text: &str| text.parse::<OriginUrl>().unwrap().authority();
        assert_eq!(authority("http://a"), "a");
        assert_eq!(authority("https://a:80"), "a:80");
        assert_eq!(authority("http://[::1]:3000"), "[::1]:3000");
        assert_eq!(authority("unix:/a"), "localhost");
    }
}
