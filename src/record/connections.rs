//! Exact counts of connections since the start of the process, by what became of them.
//!
//! What never became a request leaves no other trace: it has no host, no path and no client to name.

use super::sharded::Sharded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{EnumCount as _, EnumMessage as _, VariantArray as _};

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::IntoStaticStr, strum::EnumMessage, strum::EnumCount, strum::VariantArray)]
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
    #[strum(message = "header_timeouts")]
    HeaderTimeout,
    /// A request's head was larger than it may be.
    #[strum(message = "headers_too_large")]
    HeaderTooLarge,
    /// A request's body came too slowly.
    #[strum(message = "bodies_too_slow")]
    BodyTooSlow,
    /// A request's body was larger than it may be.
    #[strum(message = "bodies_too_large")]
    BodyTooLarge,
    /// It was idle, and others needed the room.
    MadeRoom,
    /// Nothing came through its tunnel, such as a WebSocket, for as long as it may be idle.
    #[strum(message = "idle_tunnels")]
    IdleTunnel,
    /// The TLS handshake failed, or took too long.
    TlsFailed,
    /// The header of the PROXY protocol was missing, malformed, late, or came from nobody trusted.
    #[strum(message = "proxy_headers_refused")]
    ProxyHeaderRefused,
    /// A request over HTTP/2 was turned away: as many are under way as may be.
    H2OverTotal,
    /// A request over HTTP/2 was turned away: its address has as many under way as it may.
    H2OverAddress,
    /// More cancelled streams, requests or frames of HTTP/2 than a client has use for.
    #[strum(message = "h2_floods")]
    H2Flood,
    /// A stream of HTTP/2, or a whole connection, was ended because the client broke the protocol.
    #[strum(message = "h2_errors")]
    H2Error,
}

impl ConnectionEvent {
    /// Its name among the counters, which is public API.
    fn field(self) -> String {
        self.get_message().map_or_else(|| <&str>::from(self).replace('-', "_"), str::to_owned)
    }
}

/// Counters that any thread may raise.
#[derive(Debug, Default)]
pub struct ConnectionTotals(Sharded<{ ConnectionEvent::COUNT }>);

/// The counters at one moment, by their names, which are public API; and how many are `open`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSnapshot(BTreeMap<String, u64>);

impl ConnectionTotals {
    /// Counts one event.
    pub fn count(&self, event: ConnectionEvent) {
        self.0.add(event as usize, 1);
    }

    /// The counts now.
    pub fn snapshot(&self) -> ConnectionSnapshot {
        let of = |event: ConnectionEvent| self.0.get(event as usize);
        // Closed ones first: one that ends in between would make the difference negative.
        let closed = of(ConnectionEvent::Closed);
        let told = ConnectionEvent::VARIANTS.iter().filter(|event| **event != ConnectionEvent::Closed);
        let mut counts: BTreeMap<String, u64> = told.map(|event| (event.field(), of(*event))).collect();
        counts.insert("open".to_owned(), of(ConnectionEvent::Accepted).saturating_sub(closed));
        ConnectionSnapshot(counts)
    }
}

impl ConnectionSnapshot {
    fn named(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// How often this happened since the start; of connections that are over see [`Self::open`].
    pub fn of(&self, event: ConnectionEvent) -> u64 {
        self.named(&event.field())
    }

    /// How many are open now.
    pub fn open(&self) -> u64 {
        self.named("open")
    }

    /// What went wrong, as a word, and how often.
    pub fn faults(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let plain = [ConnectionEvent::Accepted, ConnectionEvent::Closed];
        let faults = ConnectionEvent::VARIANTS.iter().filter(move |event| !plain.contains(event));
        faults.map(|event| (event.into(), self.of(*event)))
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
            (&counts["open"], &counts["accepted"], &counts["h2_errors"]),
            (&1.into(), &1.into(), &1.into())
        );
        let names = [
            "over_total",
            "header_timeouts",
            "headers_too_large",
            "proxy_headers_refused",
            "h2_over_address",
        ];
        assert!(names.iter().all(|name| counts[name] == 0) && counts.as_object().unwrap().len() == 19);
        totals.count(ConnectionEvent::Closed);
        assert_eq!(totals.snapshot().open(), 0);
        assert!(totals.snapshot().faults().any(|fault| fault == ("h2-error", 1)));
        let told = serde_json::to_value(totals.snapshot()).unwrap();
        assert_eq!(serde_json::from_value::<ConnectionSnapshot>(told).unwrap(), totals.snapshot());
    }
}
