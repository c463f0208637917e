//! Exact counts of connections since the start of the process, by what became of them.
//!
//! What never became a request leaves no other trace: it has no host, no path and no client to name.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It was accepted.
    Accepted,
    /// It is over.
    Closed,
    /// Turned away: as many are open as may be.
    OverTotal,
    /// Turned away: its address has as many open as it may.
    OverAddress,
    /// It never sent an octet, whoever lost patience first.
    Silent,
    /// It sent something, and never a request that could be read.
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
    /// The TLS handshake failed, or took too long.
    TlsFailed,
    /// The header of the PROXY protocol was missing, malformed, late, or came from nobody trusted.
    ProxyHeaderRefused,
    /// More cancelled streams, requests or frames of HTTP/2 than a client has use for.
    H2Flood,
    /// A stream of HTTP/2, or a whole connection, was ended because the client broke the protocol.
    H2Error,
}

/// How many kinds of events there are.
const KINDS: usize = 15;

/// Counters that any thread may raise.
#[derive(Debug, Default)]
pub struct ConnectionTotals([AtomicU64; KINDS]);

/// The counters at one moment; field names are public API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConnectionSnapshot {
    /// Open now.
    pub open: u64,
    /// Accepted since the start.
    pub accepted: u64,
    /// Turned away, because too many were open.
    pub over_total: u64,
    /// Turned away, because too many were open from one address.
    pub over_address: u64,
    /// Never sent an octet.
    pub silent: u64,
    /// Gone without a request that could be read.
    pub no_request: u64,
    /// Closed for a late head.
    pub header_timeouts: u64,
    /// Closed for a head that was too large.
    pub headers_too_large: u64,
    /// Closed for a body that came too slowly.
    pub bodies_too_slow: u64,
    /// Requests refused for a body that was too large.
    pub bodies_too_large: u64,
    /// Idle ones that were closed to make room.
    pub made_room: u64,
    /// Failed TLS handshakes.
    pub tls_failed: u64,
    /// Refused headers of the PROXY protocol.
    pub proxy_headers_refused: u64,
    /// Floods of HTTP/2 frames.
    pub h2_floods: u64,
    /// Streams and connections of HTTP/2 that were ended because the client broke the protocol.
    pub h2_errors: u64,
}

impl ConnectionTotals {
    /// Counts one event.
    pub fn count(&self, event: ConnectionEvent) {
        if let Some(counter) = self.0.get(event as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts now.
    #[must_use]
    pub fn snapshot(&self) -> ConnectionSnapshot {
        use ConnectionEvent as Event;
        let read = |event: Event| self.0.get(event as usize).map_or(0, |count| count.load(Ordering::Relaxed));
        // Closed first: a connection that ends in between would otherwise make the difference negative.
        let closed = read(Event::Closed);
        ConnectionSnapshot {
            open: read(Event::Accepted).saturating_sub(closed),
            accepted: read(Event::Accepted),
            over_total: read(Event::OverTotal),
            over_address: read(Event::OverAddress),
            silent: read(Event::Silent),
            no_request: read(Event::NoRequest),
            header_timeouts: read(Event::HeaderTimeout),
            headers_too_large: read(Event::HeaderTooLarge),
            bodies_too_slow: read(Event::BodyTooSlow),
            bodies_too_large: read(Event::BodyTooLarge),
            made_room: read(Event::MadeRoom),
            tls_failed: read(Event::TlsFailed),
            proxy_headers_refused: read(Event::ProxyHeaderRefused),
            h2_floods: read(Event::H2Flood),
            h2_errors: read(Event::H2Error),
        }
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
        assert_eq!(ConnectionEvent::H2Error as usize, KINDS - 1);
        let counts = totals.snapshot();
        assert_eq!((counts.open, counts.accepted, counts.h2_errors), (1, 1, 1));
        totals.count(ConnectionEvent::Closed);
        assert_eq!(totals.snapshot().open, 0);
    }
}
