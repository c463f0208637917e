//! `[[listeners]]`, `[[certificates]]` and `[authorize]`: addresses that need more than a number, and what TLS shows there.
//! `[limits]`: how much of the gateway one client, and all of them, may take. `[timeouts]`: how long clients and origins may
//! take.

use super::faults::Faults;
use super::values::{DurationValue, ListenValue, MemorySize, SizeValue, seconds};
use super::{Config, HostPattern};
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
pub(super) fn check_listeners(config: &Config, faults: &mut Faults<'_>) {
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

/// Bounds on connections and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ConnectionLimits {
    /// Connections of clients that may be open at once.
    // At some 5 KiB each when idle, 15 with TLS, 60 of HTTP/2, whose library keeps 28 KiB of buffers, they fit
    // into a small machine, and they stay below the files that a service manager lets a service open.
    #[default(16_384)]
    pub connections: usize,
    /// Of those, how many from one address, or from one /64 of IPv6.
    // A browser opens six, an office or a carrier behind one address some hundreds; thousands are an attack.
    #[default(512)]
    pub connections_per_address: usize,
    /// Requests on one connection, whatever it speaks.
    // After so many a connection is closed to give back what it has gathered; over HTTP/2 a client is told
    // beforehand, and opens another meanwhile. Common servers have this very number.
    #[default(1_000)]
    pub requests_per_connection: u32,
    /// Size of a request's head, in bytes.
    // Common servers take between 8 and 32 KiB, and cookies keep growing.
    #[default(MemorySize(32 << 10))]
    pub header_size: MemorySize,
    /// Number of a request's header fields.
    // Browsers send about twenty. Common servers bound the size alone, and the number where it costs them.
    #[default(1_000)]
    pub header_fields: usize,
    /// Size of a request's body, in bytes; `None` leaves it to the origin.
    pub body_size: Option<SizeValue>,
    /// How many bytes of a body a client must send in a second, once it has had time to start.
    // Clients that pass on speech or typing send slowly: only those that send next to nothing are to be cut off.
    #[default(SizeValue(1))]
    pub body_rate: SizeValue,
    /// Streams of one HTTP/2 connection that may be open at once (RFC 9113 §5.1.2).
    // What RFC 9113 §6.5.2 recommends as the least.
    #[default(100)]
    pub h2_streams: u32,
    /// Requests over HTTP/2 that may be under way at once, on all connections together.
    // Where clients take nothing of large answers, each holds 256 KiB: 1 GiB at most. At a tenth of a second
    // each, so many are 40,000 in a second.
    #[default(4_096)]
    pub h2_requests: usize,
    /// Of those, how many from one address, or from one /64 of IPv6.
    // As many as connections of one address, so that an office has over HTTP/2 what it has over HTTP/1. They
    // hold 128 MiB at most.
    #[default(512)]
    pub h2_requests_per_address: usize,
    /// Streams that a client of HTTP/2 may cancel within ten seconds.
    // A page left early cancels what is open, a hundred streams at most; this allows for leaving it often.
    #[default(500)]
    pub h2_resets: u32,
    /// `PING`, `SETTINGS` and `PRIORITY` frames that a client of HTTP/2 may send within ten seconds.
    // A client that measures its line sends one `PING` a second at most.
    #[default(200)]
    pub h2_control_frames: u32,
}

/// Time limits towards clients and origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Idle time of a client's connection between requests.
    // Browsers silently reconnect.
    #[default(seconds::<60>())]
    pub keepalive: DurationValue,
    /// Time for the whole head of a request, for the first one from the moment of connecting.
    // A head is a packet or two, even over a bad mobile line.
    #[default(seconds::<20>())]
    pub client_header: DurationValue,
    /// Time for a TLS handshake.
    // Two round trips and some arithmetic.
    #[default(seconds::<10>())]
    pub tls_handshake: DurationValue,
    /// Silence of a client within a request.
    #[default(seconds::<60>())]
    pub client_read: DurationValue,
    /// Time for a client to take a piece of an answer.
    #[default(seconds::<60>())]
    pub client_write: DurationValue,
    /// Time to connect to an origin.
    // A connection to an origin in the same network is there at once or not at all.
    #[default(seconds::<5>())]
    pub origin_connect: DurationValue,
    /// Silence of an origin.
    // Long enough for a slow page.
    #[default(seconds::<60>())]
    pub origin_read: DurationValue,
    /// Time for an origin to take a piece of a request.
    #[default(seconds::<60>())]
    pub origin_write: DurationValue,
    /// Silence of both sides of a WebSocket.
    // Nothing need happen on one that is open.
    #[default(seconds::<3_600>())]
    pub tunnel: DurationValue,
    /// How long an idle connection to an origin is kept.
    // Below the five seconds after which Apache, Node and uvicorn close an idle connection themselves.
    #[default(seconds::<4>())]
    pub origin_idle: DurationValue,
}
