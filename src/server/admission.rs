//! How many connections are open, in total and by address, and whether one more may be.

use super::http2::{RequestPlaces, Requester};
use crate::config::ConnectionLimits;
use crate::record::{ConnectionEvent, ConnectionTotals};
use crate::request::address::{Network, NetworkList};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The table of addresses in parts, so that two accepts seldom meet at one lock. Nothing is done under it
/// but counting.
pub(super) const SHARDS: usize = 16;

/// One client: an address, or the /64 that one subscriber of IPv6 usually has to himself.
pub(super) type ClientNetwork = Network;

/// Which part of a table of addresses a client is in.
pub(super) fn shard_of(client: ClientNetwork) -> usize {
    let byte = match client.address() {
        IpAddr::V4(address) => address.octets().iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)),
        IpAddr::V6(address) => address.octets().iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)),
    };
    usize::from(byte) % SHARDS
}

/// The connections that are open.
#[derive(Debug, Default)]
pub(super) struct Admission {
    open: AtomicUsize,
    by_address: [Mutex<HashMap<ClientNetwork, usize>>; SHARDS],
    requests: Arc<RequestPlaces>,
    pub(super) totals: Arc<ConnectionTotals>,
}

/// A place among the connections that may be open; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit {
    admission: Arc<Admission>,
    client: Option<ClientNetwork>,
}

impl Admission {
    pub(super) fn new(totals: Arc<ConnectionTotals>) -> Self {
        Self { totals, ..Self::default() }
    }

    /// A place for one more connection, not yet counted for any address; `None`, and counted, when there is
    /// none.
    pub(super) fn enter(self: &Arc<Self>, limits: &ConnectionLimits) -> Option<Permit> {
        self.totals.count(ConnectionEvent::Accepted);
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        // From here on the permit sees to it that the count goes down again.
        let permit = Permit { admission: Arc::clone(self), client: None };
        if before >= limits.connections {
            self.totals.count(ConnectionEvent::OverTotal);
            return None;
        }
        Some(permit)
    }

    fn is_crowded(&self, limits: &ConnectionLimits) -> bool {
        self.open.load(Ordering::Relaxed) > limits.connections / 4 * 3
    }

    fn shard(&self, client: ClientNetwork) -> Option<&Mutex<HashMap<ClientNetwork, usize>>> {
        self.by_address.get(shard_of(client))
    }
}

impl Permit {
    /// Counts the connection for the address of its client; `false`, and counted, when that has as many as
    /// it may. Trusted proxies have no limit of their own: behind one address of theirs are all clients,
    /// and they are the ones to count them.
    pub(super) fn claim(
        &mut self,
        address: IpAddr,
        limits: &ConnectionLimits,
        trusted: &NetworkList,
    ) -> bool {
        if trusted.contain(address) {
            return true;
        }
        let client = Network::around(address, 32, 64);
        let Some(shard) = self.admission.shard(client) else { return true };
        let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(client).or_default();
        if *count >= limits.connections_per_address {
            drop(counts);
            self.admission.totals.count(ConnectionEvent::OverAddress);
            return false;
        }
        *count += 1;
        drop(counts);
        self.client = Some(client);
        true
    }

    /// Whose requests of HTTP/2 come on the connection.
    pub(super) fn requester(&self) -> Arc<Requester> {
        self.admission.requests.of(self.client)
    }

    /// Whether so many connections are open that idle ones should make room.
    pub(super) fn is_crowded(&self, limits: &ConnectionLimits) -> bool {
        self.admission.is_crowded(limits)
    }

    /// Where what becomes of connections is counted.
    pub(super) fn totals(&self) -> Arc<ConnectionTotals> {
        Arc::clone(&self.admission.totals)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some((client, shard)) =
            self.client.and_then(|client| Some((client, self.admission.shard(client)?)))
        {
            let mut counts = shard.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = counts.get_mut(&client) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&client);
                }
            }
        }
        self.admission.open.fetch_sub(1, Ordering::Relaxed);
        self.admission.totals.count(ConnectionEvent::Closed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};

    fn limits(connections: usize, per_address: usize) -> ConnectionLimits {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let limits = Config::load(&arguments).unwrap().limits;
        ConnectionLimits { connections, connections_per_address: per_address, ..limits }
    }

    #[test]
    fn places_are_counted_and_given_back() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(2, 2));
        let first = admission.enter(&limits).unwrap();
        let second = admission.enter(&limits).unwrap();
        assert!(admission.enter(&limits).is_none());
        drop(first);
        assert!(admission.enter(&limits).is_some());
        drop(second);
        let counts = admission.totals.snapshot();
        let of = |event| counts.of(event);
        let (accepted, over) = (of(ConnectionEvent::Accepted), of(ConnectionEvent::OverTotal));
        assert_eq!((counts.open(), accepted, over), (0, 4, 1));
    }

    #[test]
    fn one_client_is_one_address_or_one_64() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(100, 1));
        let claim = |address: &str, trusted: &str| {
            let mut permit = admission.enter(&limits).unwrap();
            let trusted = trusted.parse::<Network>().into_iter().collect();
            permit.claim(address.parse().unwrap(), &limits, &trusted).then_some(permit)
        };
        let held = claim("192.0.2.1", "").unwrap();
        assert!(claim("192.0.2.1", "").is_none());
        assert!(claim("::ffff:192.0.2.1", "").is_none());
        assert!(claim("192.0.2.2", "").is_some());
        let other = claim("2001:db8::1", "").unwrap();
        assert!(claim("2001:db8::ffff", "").is_none());
        assert!(claim("2001:db8:0:1::1", "").is_some());
        assert!(claim("192.0.2.1", "192.0.2.0/24").is_some(), "a trusted proxy");
        drop((held, other));
        assert!(admission.by_address.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }
}
