//! `[[listeners]]` and `[[certificates]]`: addresses that need more than a number, and what TLS shows there.

use super::arguments::Arguments;
use super::authorize::{self, AuthorizeConfig};
use super::build::Faults;
use super::defaults;
use super::file::ConfigFile;
use super::host_pattern::HostPattern;
use super::values::ListenValue;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// An address to listen on, and what is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ListenerConfig {
    /// The address.
    pub address: SocketAddr,
    /// Whether clients speak TLS (RFC 8446), and within it HTTP/2 or HTTP/1.1.
    pub tls: bool,
    /// Whether every connection begins with a header of the PROXY protocol, version 1 or 2.
    pub proxy_protocol: bool,
    /// Whether one of `trusted_proxies` that such a header names is believed in its fields.
    pub believe_named_proxies: bool,
    /// Whether other proxies ask here about the requests of their clients.
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
pub(super) struct ListenerTable {
    address: Spanned<ListenValue>,
    #[serde(default)]
    tls: bool,
    #[serde(default)]
    proxy_protocol: bool,
    #[serde(default)]
    believe_named_proxies: bool,
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
        let tables = std::mem::take(&mut file.listeners);
        let is_needed = tables.is_empty() && !is_beside_only(file, arguments);
        let listen = listen(file, arguments, is_needed, faults);
        let certificates = certificates(std::mem::take(&mut file.certificates), base, faults);
        let context = ListenerContext {
            plain: &listen,
            has_certificates: !certificates.is_empty(),
            has_proxies: !(file.trusted_proxies.is_empty() && arguments.trusted_proxy.is_empty()),
        };
        let listeners = listeners(tables, &context, faults);
        let others = listen.iter().chain(listeners.iter().map(|listener| &listener.address));
        let authorize = authorize::build(file, base, arguments, others, faults);
        Self { listen, listeners, authorize, certificates }
    }
}

/// Whether nobody is to be served here: other proxies ask, and `listen` is empty, or no site has an origin.
fn is_beside_only(file: &ConfigFile, arguments: &Arguments) -> bool {
    let has_origin =
        || arguments.origin.is_some() || file.sites.iter().any(|site| site.as_ref().origin.is_some());
    authorize::is_wanted(file, arguments) && file.listen.as_ref().map_or_else(|| !has_origin(), Vec::is_empty)
}

/// Where `[[listeners]]` say where to listen, nothing is added that nobody asked for.
fn listen(
    file: &mut ConfigFile,
    arguments: &Arguments,
    is_needed: bool,
    faults: &mut Faults<'_>,
) -> Vec<SocketAddr> {
    if !arguments.listen.is_empty() {
        return arguments.listen.iter().map(|value| value.0).collect();
    }
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for value in file.listen.take().into_iter().flatten() {
        let address = value.as_ref().0;
        if addresses.contains(&address) && address.port() != 0 {
            faults.push(value.span(), format!("`{address}` is listened on twice"), "remove one of the two");
        }
        addresses.push(address);
    }
    if addresses.is_empty() && is_needed {
        addresses.extend(defaults::LISTEN.parse::<SocketAddr>());
    }
    addresses
}

/// What a listener depends on.
struct ListenerContext<'a> {
    plain: &'a [SocketAddr],
    has_certificates: bool,
    has_proxies: bool,
}

fn listeners(
    tables: Vec<Spanned<ListenerTable>>,
    context: &ListenerContext<'_>,
    faults: &mut Faults<'_>,
) -> Vec<ListenerConfig> {
    let mut listeners: Vec<ListenerConfig> = Vec::new();
    for table in tables {
        let span = table.span();
        let ListenerTable { address, tls, proxy_protocol, believe_named_proxies } = table.into_inner();
        let written = address.span();
        let address = address.into_inner().0;
        let twice =
            context.plain.contains(&address) || listeners.iter().any(|other| other.address == address);
        if twice && address.port() != 0 {
            faults.push(written, format!("`{address}` is listened on twice"), "remove one of the two");
        }
        if tls && !context.has_certificates {
            faults.push(
                span.clone(),
                "a listener with `tls = true`, and no certificate to show there",
                "add a [[certificates]] table with `certificate` and `key`",
            );
        }
        if proxy_protocol && !context.has_proxies {
            faults.push(
                span.clone(),
                "a listener with `proxy_protocol = true`, and no proxy that may use it",
                "name the proxy's address in `trusted_proxies`",
            );
        }
        if believe_named_proxies && !proxy_protocol {
            faults.push(
                span,
                "a listener with `believe_named_proxies = true`, where no header names anybody",
                "add `proxy_protocol = true`, or remove the key",
            );
        }
        let plain = ListenerConfig::plain(address);
        listeners.push(ListenerConfig { tls, proxy_protocol, believe_named_proxies, ..plain });
    }
    listeners
}

fn certificates(
    tables: Vec<CertificateTable>,
    base: &Path,
    faults: &mut Faults<'_>,
) -> Vec<CertificateConfig> {
    let mut certificates = Vec::new();
    for table in tables {
        let hosts =
            faults.values_or_faults(table.hosts.iter().map(|host| (host.span(), host.as_ref().parse())));
        certificates.push(CertificateConfig {
            hosts: hosts.unwrap_or_default(),
            certificate: base.join(table.certificate),
            key: base.join(table.key),
        });
    }
    certificates
}
