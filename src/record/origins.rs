//! Counts of what is asked of origins, since the start of the process.

use super::latency::OriginLatency;
use super::sharded::{Counters, Sharded};
use strum::EnumCount as _;

/// Why a request failed at its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::Display, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum OriginFault {
    /// No server, or none with an address.
    NoAddress,
    /// It refuses connections.
    Refused,
    /// It takes no connection in time.
    ConnectTimeout,
    /// There is no way to it.
    NoRoute,
    /// The TLS handshake failed.
    Tls,
    /// Its certificate is not one to trust.
    Certificate,
    /// It does not answer, or take the request, in time.
    Timeout,
    /// It closed the connection before it had answered.
    Closed,
    /// What it answers is no HTTP.
    Malformed,
    /// It speaks HTTP/2 alone.
    Http2Only,
    /// Anything else.
    Other,
}

/// Counters that any thread may raise.
#[derive(Debug, Default)]
pub struct OriginTotals {
    attempts: Sharded<1>,
    /// Attempts that failed.
    pub faults: Counters<OriginFault, { OriginFault::COUNT }>,
    /// From the moment that a request was sent to the first byte of its answer.
    pub first_byte: OriginLatency,
}

impl OriginTotals {
    /// Counts an attempt to have a request answered by a server.
    pub fn attempt(&self) {
        self.attempts.add(0, 1);
    }

    /// How many attempts there were.
    pub fn attempts(&self) -> u64 {
        self.attempts.get(0)
    }
}
