//! Exact counts of connections since the start of the process, by what became of them.
//!
//! What never became a request leaves no other trace: it has no host, no path and no client to name.

use super::sharded::Counters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::EnumCount as _;

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::Display, strum::IntoStaticStr, strum::EnumCount, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ConnectionEvent {
    /// It was accepted.
    Accepted,
    /// It is over.
    Closed,
    /// Turned away: as many are open as may be.
    OverTotal,
    /// Turned away: its address has as many open as it may.
    OverAddress,
    /// Turned away: connections of its address end in errors of HTTP/2 again and again.
    OverErrors,
    /// It never sent a byte, and was closed for that. Whoever leaves before is not counted.
    Silent,
    /// It sent something, and left before that was a request. What is malformed is counted as that.
    NoRequest,
    /// A request's head did not arrive in time.
    HeaderTimeout,
    /// A request's head was larger than it may be.
    HeaderTooLarge,
    /// A request's body came too slowly.
    BodyTooSlow,
    /// A request's body was larger than it may be.
    BodyTooLarge,
    /// It was idle, and others needed the room.
    MadeRoom,
    /// Nothing came through its tunnel, such as a WebSocket, for as long as it may be idle.
    IdleTunnel,
    /// The TLS handshake failed, or took too long.
    TlsFailed,
    /// The header of the PROXY protocol was missing, malformed, late, or came from nobody trusted.
    ProxyHeaderRefused,
    /// A request over HTTP/2 was turned away: as many are under way as may be.
    H2OverTotal,
    /// A request over HTTP/2 was turned away: its address has as many under way as it may.
    H2OverAddress,
    /// More cancelled streams, requests or frames of HTTP/2 than a client has use for.
    H2Flood,
    /// A stream of HTTP/2, or a whole connection, was ended because the client broke the protocol.
    H2Error,
}

/// Counters that any thread may raise.
pub type ConnectionTotals = Counters<ConnectionEvent, { ConnectionEvent::COUNT }>;

/// The counters at one moment, by their words, which are public API; and how many are `open`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSnapshot(BTreeMap<String, u64>);

/// How many connections are open, among the counters.
const OPEN: &str = "open";

impl ConnectionTotals {
    /// The counts now.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        // Closed ones first: one that ends in between would make the difference negative.
        let closed = self.of(ConnectionEvent::Closed);
        let mut counts: BTreeMap<String, u64> =
            self.all().map(|(event, count)| (event.to_string(), count)).collect();
        counts.insert(OPEN.to_owned(), self.of(ConnectionEvent::Accepted).saturating_sub(closed));
        ConnectionSnapshot(counts)
    }
}

impl ConnectionSnapshot {
    /// How often this happened since the start; of connections that are over see [`Self::open`].
    pub fn of(&self, event: ConnectionEvent) -> u64 {
        self.0.get(<&str>::from(event)).copied().unwrap_or_default()
    }

    /// How many are open now.
    pub fn open(&self) -> u64 {
        self.0.get(OPEN).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_counter() {
        let totals = ConnectionTotals::default();
        totals.count(ConnectionEvent::Accepted);
        totals.count(ConnectionEvent::H2Error);
        let counts = serde_json::to_value(totals.snapshot()).unwrap();
        assert_eq!(
            (&counts["open"], &counts["accepted"], &counts["h2-error"]),
            (&1.into(), &1.into(), &1.into())
        );
        let names = ["over-total", "header-timeout", "proxy-header-refused", "h2-over-address"];
        assert!(names.iter().all(|name| counts[name] == 0) && counts.as_object().unwrap().len() == 20);
        totals.count(ConnectionEvent::Closed);
        assert_eq!(totals.snapshot().open(), 0);
        let told = serde_json::to_value(totals.snapshot()).unwrap();
        assert_eq!(serde_json::from_value::<ConnectionSnapshot>(told).unwrap(), totals.snapshot());
    }
}
