//! `[[listeners]]` and `[[certificates]]`: addresses that need more than a number, and what TLS shows there.

use super::arguments::Arguments;
use super::authorize::{self, AuthorizeConfig};
use super::defaults;
use super::error::{Faults, rebase};
use super::file::ConfigFile;
use super::host_pattern::HostPattern;
use super::values::{ListenValue, written_as};
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// An address to listen on, and what is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ListenerConfig {
    /// The address.
    #[serde(deserialize_with = "written_as::<ListenValue, _, _>")]
    pub address: SocketAddr,
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
    /// A listener for plain HTTP/1.1.
    pub const fn plain(address: SocketAddr) -> Self {
        let (tls, proxy_protocol, believe_named_proxies) = (false, false, false);
        Self { address, tls, proxy_protocol, believe_named_proxies, is_for_proxies: false }
    }

    /// A listener that answers other proxies.
    pub const fn for_proxies(address: SocketAddr) -> Self {
        Self { is_for_proxies: true, ..Self::plain(address) }
    }
}

/// A certificate chain and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateConfig {
    /// The hosts it is shown for. None here means those it names itself.
    pub hosts: Vec<HostPattern>,
    /// The chain, in PEM, the server's own certificate first.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CertificateTable {
    #[serde(default)]
    hosts: Vec<Spanned<String>>,
    certificate: PathBuf,
    key: PathBuf,
}

/// Where clients are listened for, and with which certificates.
pub(super) struct Listening {
    pub(super) listen: Vec<SocketAddr>,
    pub(super) listeners: Vec<ListenerConfig>,
    pub(super) authorize: Option<AuthorizeConfig>,
    pub(super) certificates: Vec<CertificateConfig>,
}

impl Listening {
    /// Takes the keys that speak of it out of `file`; paths are relative to `base`.
    pub(super) fn build(
        file: &mut ConfigFile,
        base: &Path,
        arguments: &Arguments,
        faults: &mut Faults<'_>,
    ) -> Self {
        let listeners = std::mem::take(&mut file.listeners);
        let is_needed = listeners.is_empty() && !is_beside_only(file, arguments);
        let listen = listen(file, arguments, is_needed);
        let certificates = certificates(std::mem::take(&mut file.certificates), base, faults);
        let authorize = authorize::build(file.authorize.take(), base, arguments);
        let has_proxies = !(file.trusted_proxies.is_empty() && arguments.trusted_proxy.is_empty());
        check(&listeners, !certificates.is_empty(), has_proxies, faults);
        let listening = Self { listen, listeners, authorize, certificates };
        listening.check_addresses(arguments, faults);
        listening
    }

    /// Tells of addresses that are listened on twice. With port 0 each is another one.
    fn check_addresses(&self, arguments: &Arguments, faults: &mut Faults<'_>) {
        let plain = self.listen.iter().enumerate().map(|(at, own)| (*own, format!("listen.{at}")));
        let others = self.listeners.iter().enumerate();
        let others = others.map(|(at, own)| (own.address, format!("listeners.{at}.address")));
        let mut seen: Vec<SocketAddr> = Vec::new();
        for (address, key) in plain.chain(others) {
            let is_option = seen.len() < arguments.listen.len();
            let is_new = is_option || address.port() == 0 || !seen.contains(&address);
            let message = format!("`{address}` is listened on twice");
            faults.require(is_new, &key, message, "remove one of the two");
            seen.push(address);
        }
        let doors = self.authorize.as_ref().map(|doors| doors.listen);
        if let Some(address) = doors.filter(|doors| doors.port() != 0 && seen.contains(doors)) {
            let key = arguments.authorize.is_none().then_some("authorize.listen");
            let message = format!("`{address}` is listened on twice");
            faults.push_at(key, message, "give [authorize] another address");
        }
    }
}

/// Whether nobody is to be served here: other proxies ask, and `listen` is empty, or no site has an origin.
fn is_beside_only(file: &ConfigFile, arguments: &Arguments) -> bool {
    let has_origin =
        || arguments.origin.is_some() || file.sites.iter().any(|site| site.as_ref().origin.is_some());
    authorize::is_wanted(file, arguments) && file.listen.as_ref().map_or_else(|| !has_origin(), Vec::is_empty)
}

/// Where `[[listeners]]` say where to listen, nothing is added that nobody asked for.
fn listen(file: &ConfigFile, arguments: &Arguments, is_needed: bool) -> Vec<SocketAddr> {
    let written = if arguments.listen.is_empty() { file.listen.as_ref() } else { Some(&arguments.listen) };
    let mut addresses: Vec<SocketAddr> = written.into_iter().flatten().map(|value| value.0).collect();
    if addresses.is_empty() && is_needed {
        addresses.extend(defaults::LISTEN.parse::<SocketAddr>());
    }
    addresses
}

/// Tells of listeners that lack what they depend on.
fn check(listeners: &[ListenerConfig], has_certificates: bool, has_proxies: bool, faults: &mut Faults<'_>) {
    for (at, listener) in listeners.iter().enumerate() {
        let ListenerConfig { tls, proxy_protocol, believe_named_proxies, .. } = *listener;
        let key = format!("listeners.{at}");
        faults.require(
            has_certificates || !tls,
            &key,
            "a listener with `tls = true`, and no certificate to show there",
            "add a [[certificates]] table with `certificate` and `key`",
        );
        faults.require(
            has_proxies || !proxy_protocol,
            &key,
            "a listener with `proxy_protocol = true`, and no proxy that may use it",
            "name the proxy's address in `trusted_proxies`",
        );
        faults.require(
            proxy_protocol || !believe_named_proxies,
            &key,
            "a listener with `believe_named_proxies = true`, where no header names anybody",
            "add `proxy_protocol = true`, or remove the key",
        );
    }
}

fn certificates(
    tables: Vec<CertificateTable>,
    base: &Path,
    faults: &mut Faults<'_>,
) -> Vec<CertificateConfig> {
    let certificate = |CertificateTable { hosts, mut certificate, mut key }| {
        rebase(base, [&mut certificate, &mut key]);
        let hosts = faults.values_or_faults(&hosts, str::parse);
        CertificateConfig { hosts: hosts.unwrap_or_default(), certificate, key }
    };
    tables.into_iter().map(certificate).collect()
}
