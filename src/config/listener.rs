//! `[[listeners]]`, `[[certificates]]` and `[authorize]`: addresses that need more than a number, and what TLS shows there.

use super::Config;
use super::faults::Faults;
use super::site::HostPattern;
use super::values::ListenValue;
use serde::Deserialize;
use smart_default::SmartDefault;
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// An address to listen on, and what is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ListenerConfig {
    /// The address.
    pub address: ListenValue,
    /// Whether clients speak TLS (RFC 8446), and within it HTTP/2 or HTTP/1.1.
    #[serde(default)]
    pub tls: bool,
    /// Whether every connection begins with a header of the PROXY protocol, version 1 or 2.
    #[serde(default)]
    pub proxy_protocol: bool,
    /// Whether one of `trusted_proxies` that such a header names is believed in its fields.
    #[serde(default)]
    pub believe_named_proxies: bool,
    /// Whether other proxies ask here about the requests of their clients.
    #[serde(skip)]
    pub is_for_proxies: bool,
}

impl ListenerConfig {
    /// A listener for plain HTTP/1.1 or, if it `is_for_proxies`, for their questions.
    pub(super) const fn bare(address: ListenValue, is_for_proxies: bool) -> Self {
        Self { address, tls: false, proxy_protocol: false, believe_named_proxies: false, is_for_proxies }
    }
}

/// A certificate chain and its key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CertificateConfig {
    /// The hosts it is shown for. None here means those it names itself.
    #[serde(default)]
    pub hosts: Vec<HostPattern>,
    /// The chain, in PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// The listener that answers for other proxies.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AuthorizeConfig {
    /// Its address: by default loopback, and the port next to the admin listener's.
    #[default(ListenValue((Ipv4Addr::LOCALHOST, 9310).into()))]
    pub listen: ListenValue,
    /// The file with the secret that a proxy has to send, where one is wanted.
    pub secret_file: Option<PathBuf>,
}

/// Tells of listeners that lack what they depend on, and of addresses that are listened on twice.
pub(super) fn check(config: &Config, faults: &mut Faults<'_>) {
    for (at, listener) in config.listeners.iter().enumerate() {
        let ListenerConfig { tls, proxy_protocol, believe_named_proxies, .. } = *listener;
        let key = format!("listeners.{at}");
        let message = "a listener with `tls = true`, and no certificate to show there";
        let hint = "add a [[certificates]] table with `certificate` and `key`";
        faults.require(!config.certificates.is_empty() || !tls, &key, message, hint);
        let message = "a listener with `proxy_protocol = true`, and no proxy that may use it";
        let hint = "name the proxy's address in `trusted_proxies`";
        faults.require(!config.trusted_proxies.is_empty() || !proxy_protocol, &key, message, hint);
        let message = "a listener with `believe_named_proxies = true`, where no header names anybody";
        let hint = "add `proxy_protocol = true`, or remove the key";
        faults.require(proxy_protocol || !believe_named_proxies, &key, message, hint);
    }
    let mut seen = HashSet::new();
    for ListenerConfig { address, is_for_proxies, .. } in config.all_listeners() {
        // With port 0 each is another one.
        let is_new = address.port() == 0 || seen.insert(address);
        let (key, hint) = match config.listeners.iter().position(|own| own.address == address) {
            _ if is_for_proxies => ("authorize.listen".to_owned(), "give [authorize] another address"),
            Some(at) => (format!("listeners.{at}.address"), "remove one of the two"),
            None => ("listen".to_owned(), "remove one of the two"),
        };
        faults.require(is_new, &key, format!("`{}` is listened on twice", *address), hint);
    }
}
