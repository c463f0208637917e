//! The `[verify]` table: how the gateway finds out whether a client is the crawler it says it is.

use super::error::without_user_info;
use super::values::{DurationValue, seconds, web_url, written};
use crate::request::address::is_near;
use serde::Deserialize;
use smart_default::SmartDefault;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// How the names of crawlers are verified.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct VerifyOptions {
    /// Whether name servers are asked for the names of addresses.
    #[default(true)]
    pub dns: bool,
    /// Which ones; none for those of the system.
    pub resolvers: Vec<ResolverValue>,
    /// How long one question may take.
    // No request waits for it, so it may be long enough for a resolver that has to ask its way down from the root.
    #[default(seconds::<2>())]
    pub timeout: DurationValue,
    /// How long it is remembered that an address belongs to a crawler.
    // Operators move addresses over days; half a day spares the name servers without outliving many a move.
    #[default(seconds::<{ 12 * 3_600 }>())]
    pub cache: DurationValue,
    /// How long it is remembered that it does not.
    // Short, because this is the answer that accuses: a name that was entered late is believed within the hour.
    #[default(seconds::<3_600>())]
    pub cache_negative: DurationValue,
    /// How often published ranges are fetched; `None` leaves that to `gatewayctl crawlers refresh`.
    pub refresh: RefreshValue,
    /// URL of a folder that holds the lists, in place of their publishers; ends with `/`.
    pub mirror: Option<MirrorValue>,
    /// PEM file of the certificates that publishers, or the mirror, are believed by in place of the
    /// built-in ones.
    pub ca: Option<PathBuf>,
    /// Lists of the operator's own, by the crawler's name.
    pub ranges: BTreeMap<String, Vec<PathBuf>>,
}

/// The name servers that are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServers {
    /// Their addresses; none for those of the system.
    pub addresses: Vec<SocketAddr>,
    /// How long one question may take.
    pub timeout: Duration,
}

impl VerifyOptions {
    /// Whom to ask for the names of addresses; `None` asks nobody.
    pub fn name_servers(&self) -> Option<NameServers> {
        let addresses = self.resolvers.iter().map(|resolver| **resolver).collect();
        self.dns.then_some(NameServers { addresses, timeout: *self.timeout })
    }
}

/// The URL of a folder that holds copies of published lists, ending with `/`.
///
/// # Errors
/// What is wrong with it. Lists prove who a client is, so plain HTTP will do only where nobody can stand
/// between: to the machine itself and to private addresses.
pub fn mirror_folder(url: &str) -> Result<String, String> {
    check_fetched_url(url, "the URL of a folder, such as `https://mirror.example/lists/`")?;
    Ok(format!("{}/", url.trim_end_matches('/')))
}

/// Whether something may be fetched from a URL.
pub(super) fn check_fetched_url(url: &str, expected: &str) -> Result<(), String> {
    let shown = without_user_info(url);
    let parsed = web_url(url).filter(|_| !url.contains(['?', '#', '@']));
    let parsed = parsed.ok_or_else(|| format!("invalid URL `{shown}`: expected {expected}"))?;
    // This machine, or one with a private address.
    let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if parsed.scheme() == "http" && host != "localhost" && !host.parse().is_ok_and(is_near) {
        return Err(format!("`{shown}` is plain HTTP, which anybody on the way could change: use https"));
    }
    Ok(())
}

written! {
    /// A folder that holds the lists.
    pub MirrorValue(String) = mirror_folder;

    /// A name server: `"192.0.2.53:53"`, or an address alone for port 53.
    pub ResolverValue(SocketAddr) = |text| {
        let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53));
        let expected = "expected an IP address and a port, such as `127.0.0.1:53`";
        text.parse().or_else(|_| alone()).map_err(|_| format!("invalid name server `{text}`: {expected}"))
    };

    /// How often to fetch: `"24h"`, or `"off"`.
    #[derive(Copy, Default)]
    pub RefreshValue(Option<Duration>) = |text| {
        if text == "off" { Ok(None) } else { text.parse().map(|DurationValue(every)| Some(every)) }
    };
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Config};
    use super::*;

    fn load(table: &str) -> Result<VerifyOptions, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        let text = format!("[verify]\n{table}\n[[sites]]\norigin = \"http://127.0.0.1:3000\"\n");
        std::fs::write(&path, text).unwrap();
        let arguments = Arguments { config: Some(path), ..Arguments::default() };
        Config::load(&arguments).map(|config| config.verify).map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_default_is_filled_in() {
        let options = load("").unwrap();
        assert_eq!(
            options.name_servers(),
            Some(NameServers { addresses: vec![], timeout: Duration::from_secs(2) })
        );
        assert_eq!((*options.refresh, options.mirror), (None, None));
        assert_eq!(load("dns = false").unwrap().name_servers(), None);
    }

    #[test]
    fn good_values() {
        let options = load(
            "resolvers = [\"127.0.0.1:5353\", \"::1\"]\nrefresh = \"24h\"\nmirror = \"http://127.0.0.1:9/x\"\n\
             ranges = { OurBot = [\"ours.txt\"] }",
        )
        .unwrap();
        let servers = options.name_servers().unwrap().addresses;
        assert_eq!(servers, ["127.0.0.1:5353".parse().unwrap(), "[::1]:53".parse().unwrap()]);
        assert_eq!(*options.refresh, Some(Duration::from_secs(86_400)));
        assert_eq!(options.mirror.unwrap().0, "http://127.0.0.1:9/x/");
        assert!(options.ranges["OurBot"][0].is_absolute());
    }

    #[test]
    fn plain_http_is_for_neighbours() {
        for near in
            ["localhost:8080/x", "127.0.0.1", "10.1.2.3/lists", "[::1]:9", "[fd00::1]/x", "192.168.0.1:80"]
        {
            assert!(mirror_folder(&format!("http://{near}")).is_ok(), "{near}");
        }
        for far in ["localhost.example", "127.0.0.1.example/x", "11.0.0.1", "[2001:db8::1]", "mirror"] {
            assert!(mirror_folder(&format!("http://{far}")).is_err(), "{far}");
            assert!(mirror_folder(&format!("https://{far}")).is_ok(), "{far}");
        }
    }

    #[test]
    fn bad_values_are_named_with_their_place() {
        for (table, expected) in [
            ("resolvers = [\"localhost\"]", "gateway.toml:2:14: invalid name server `localhost`"),
            ("refresh = \"59m\"", "gateway.toml:2:11: `refresh` is out of range"),
            ("refresh = \"daily\"", "gateway.toml:2:11: invalid duration `daily`: expected a number"),
            ("timeout = \"0s\"", "gateway.toml:2:11: `timeout` is out of range"),
            ("timeout = \"2d\"", "gateway.toml:2:11: `timeout` is out of range"),
            ("mirror = \"ftp://x/\"", "gateway.toml:2:10: invalid URL `ftp://x/`"),
            (
                "mirror = \"http://mirror.example/\"",
                "gateway.toml:2:10: `http://mirror.example/` is plain HTTP",
            ),
            ("mirror = \"http://192.0.2.1/\"", "is plain HTTP"),
            ("mirror = \"http://127.0.0.1@mirror.example/\"", "invalid URL"),
            ("nonces = 0", "gateway.toml:2:1: `nonces` is a key no more; remove it"),
            ("resolver = []", "gateway.toml:2:1: unknown key `resolver`; did you mean `resolvers`?"),
        ] {
            let error = load(table).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
