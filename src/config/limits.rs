//! `[limits]`: how much of the gateway one client, and all of them, may take. `[timeouts]`: how long clients and origins
//! may take.

use super::values::{DurationValue, MemorySize, SizeValue, WrittenAs};
use serde::Deserialize;
use smart_default::SmartDefault;
use std::time::Duration;

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
    #[serde(with = "WrittenAs::<MemorySize>")]
    // Common servers take between 8 and 32 KiB, and cookies keep growing.
    #[default(32 * 1024)]
    pub header_size: usize,
    /// Number of a request's header fields.
    // Browsers send about twenty. Common servers bound the size alone, and the number where it costs them.
    #[default(1_000)]
    pub header_fields: usize,
    /// Size of a request's body, in bytes; `None` leaves it to the origin.
    #[serde(with = "WrittenAs::<SizeValue>")]
    pub body_size: Option<u64>,
    /// How many bytes of a body a client must send in a second, once it has had time to start.
    #[serde(with = "WrittenAs::<SizeValue>")]
    // Clients that pass on speech or typing send slowly: only those that send next to nothing are to be cut off.
    #[default(1)]
    pub body_rate: u64,
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
    #[serde(with = "WrittenAs::<DurationValue>")]
    // Browsers silently reconnect.
    #[default(Duration::from_secs(60))]
    pub keepalive: Duration,
    /// Time for the whole head of a request, for the first one from the moment of connecting.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // A head is a packet or two, even over a bad mobile line.
    #[default(Duration::from_secs(20))]
    pub client_header: Duration,
    /// Time for a TLS handshake.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // Two round trips and some arithmetic.
    #[default(Duration::from_secs(10))]
    pub tls_handshake: Duration,
    /// Silence of a client within a request.
    #[serde(with = "WrittenAs::<DurationValue>")]
    #[default(Duration::from_secs(60))]
    pub client_read: Duration,
    /// Time for a client to take a piece of an answer.
    #[serde(with = "WrittenAs::<DurationValue>")]
    #[default(Duration::from_secs(60))]
    pub client_write: Duration,
    /// Time to connect to an origin.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // A connection to an origin in the same network is there at once or not at all.
    #[default(Duration::from_secs(5))]
    pub origin_connect: Duration,
    /// Silence of an origin.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // Long enough for a slow page.
    #[default(Duration::from_secs(60))]
    pub origin_read: Duration,
    /// Time for an origin to take a piece of a request.
    #[serde(with = "WrittenAs::<DurationValue>")]
    #[default(Duration::from_secs(60))]
    pub origin_write: Duration,
    /// Silence of both sides of a WebSocket.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // Nothing need happen on one that is open.
    #[default(Duration::from_secs(3_600))]
    pub tunnel: Duration,
    /// How long an idle connection to an origin is kept.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // Below the five seconds after which Apache, Node and uvicorn close an idle connection themselves.
    #[default(Duration::from_secs(4))]
    pub origin_idle: Duration,
}
