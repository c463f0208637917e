//! How many connections are open and how many requests of HTTP/2 are under way, in total and by client, and whether one
//! more may be.
//!
//! A connection of HTTP/1 carries one request at a time, so that its own place among the connections is enough. One of
//! HTTP/2 carries a hundred, each of which can be made to hold what its client does not take (RFC 9113 §10.5).
//! What one client has is counted by pingora's sketch, without a lock: with very many clients it may count a few more than
//! there are, and never fewer.
//!
//! Once half of the places are taken, clients may wait with their next request for less and less time. So a crowd that only
//! stays connected keeps nobody out for long.

use super::offenders::Offenders;
use crate::config::ConnectionLimits;
use crate::record::{ConnectionEvent, ConnectionTotals};
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use pingora_limits::inflight::{Guard, Inflight};
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What is counted for each client, by address, or by the /64 that one subscriber of IPv6 usually has to himself.
#[derive(Hash)]
enum CountedOfClient {
    Connections,
    Requests,
}

/// The connections that are open, and the requests of HTTP/2 on them.
#[derive(Default)]
pub(super) struct Admission {
    open: AtomicUsize,
    requests: AtomicUsize,
    /// Made for the first client: a socket of the file system has none.
    by_client: OnceLock<Inflight>,
    offenders: Offenders,
    pub(super) totals: Arc<ConnectionTotals>,
}

/// A place among the connections that may be open; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit {
    pub(super) admission: Arc<Admission>,
    /// Whose connection it is, and that it is counted for them.
    client: Option<(Network, Guard)>,
}

/// A place among the requests that may be under way; dropping it gives it back.
#[derive(Debug)]
pub(super) struct RequestPlace {
    admission: Arc<Admission>,
    /// That it is counted for its client.
    _of_client: Option<Guard>,
}

impl Admission {
    pub(super) fn new(totals: Arc<ConnectionTotals>) -> Self {
        Self { totals, ..Self::default() }
    }

    /// One more connection, not yet counted for any address.
    pub(super) fn enter(self: &Arc<Self>) -> Permit {
        self.totals.count(ConnectionEvent::Accepted);
        self.open.fetch_add(1, Ordering::Relaxed);
        // From here on the permit sees to it that the count goes down again.
        Permit { admission: Arc::clone(self), client: None }
    }

    /// Counts one more for a client, until the guard is dropped; how many there are with it.
    fn count(&self, what: CountedOfClient, client: Network) -> (Guard, usize) {
        let (guard, count) = self.by_client.get_or_init(Inflight::new).incr((what, client), 1);
        (guard, usize::try_from(count).unwrap_or_default())
    }
}

impl Permit {
    /// Counts the connection for the address of its client; `false`, and counted, when that has as many as
    /// it may, or has lately had too many that ended in errors. Trusted proxies have no limit of their own: behind one address of theirs are all clients,
    /// and they are the ones to count them.
    pub(super) fn claim(&mut self, address: IpAddr, limits: &ConnectionLimits, trusted: &Prefixes) -> bool {
        if trusted.contains(address) {
            return true;
        }
        let network = Network::around(address, 32, 64);
        if self.admission.offenders.contain(network, Instant::now()) {
            self.admission.totals.count(ConnectionEvent::OverErrors);
            return false;
        }
        let (guard, count) = self.admission.count(CountedOfClient::Connections, network);
        self.client = Some((network, guard));
        let has_room = count <= limits.connections_per_address;
        if !has_room {
            self.admission.totals.count(ConnectionEvent::OverAddress);
        }
        has_room
    }

    /// The connection has ended in an error of HTTP/2.
    pub(super) fn note_error(&self) {
        if let Some((network, _)) = &self.client {
            self.admission.offenders.note(*network, Instant::now());
        }
    }

    /// A place for one more request of HTTP/2, or under what it is counted that there is none.
    pub(super) fn enter_request(&self, limits: &ConnectionLimits) -> Result<RequestPlace, ConnectionEvent> {
        let client = self.client.as_ref().map(|(network, _)| *network);
        let of_client = client.map(|client| self.admission.count(CountedOfClient::Requests, client));
        let (of_client, own) = of_client.unzip();
        let all = self.admission.requests.fetch_add(1, Ordering::Relaxed);
        // From here on the place sees to it that the counts go down again.
        let place = RequestPlace { admission: Arc::clone(&self.admission), _of_client: of_client };
        if own.is_some_and(|own| own > limits.h2_requests_per_address) {
            return Err(ConnectionEvent::H2OverAddress);
        }
        if all >= limits.h2_requests {
            return Err(ConnectionEvent::H2OverTotal);
        }
        Ok(place)
    }

    /// Whether there is a place for the connection; counted where there is none.
    pub(super) fn has_room(&self, limits: &ConnectionLimits) -> bool {
        let has_room = self.admission.open.load(Ordering::Relaxed) <= limits.connections;
        if !has_room {
            self.admission.totals.count(ConnectionEvent::OverTotal);
        }
        has_room
    }

    /// How long a client may wait with its next request that has the `whole` time while half of the places are free: twice
    /// the share of it that places are free.
    pub(super) fn patience(&self, whole: Duration, limits: &ConnectionLimits) -> Duration {
        const PARTS: u32 = 64;
        let free = limits.connections.saturating_sub(self.admission.open.load(Ordering::Relaxed));
        let parts = free.saturating_mul(2 * PARTS as usize) / limits.connections.max(1);
        u32::try_from(parts).ok().filter(|parts| *parts < PARTS).map_or(whole, |parts| whole * parts / PARTS)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.open.fetch_sub(1, Ordering::Relaxed);
        self.admission.totals.count(ConnectionEvent::Closed);
    }
}

impl Drop for RequestPlace {
    fn drop(&mut self) {
        self.admission.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Admission").field("open", &self.open).finish_non_exhaustive()
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

    fn enter(admission: &Arc<Admission>, limits: &ConnectionLimits) -> Option<Permit> {
        let permit = admission.enter();
        permit.has_room(limits).then_some(permit)
    }

    #[test]
    fn places_are_counted_and_given_back() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(2, 2));
        let first = enter(&admission, &limits).unwrap();
        let second = enter(&admission, &limits).unwrap();
        assert!(enter(&admission, &limits).is_none());
        drop(first);
        assert!(enter(&admission, &limits).is_some());
        drop(second);
        let counts = admission.totals.snapshot();
        let of = |event| counts.of(event);
        let (accepted, over) = (of(ConnectionEvent::Accepted), of(ConnectionEvent::OverTotal));
        assert_eq!((counts.open(), accepted, over), (0, 4, 1));
    }

    #[test]
    fn from_half_of_the_places_on_clients_wait_for_less_and_less_time() {
        let (admission, limits, whole) =
            (Arc::new(Admission::default()), limits(8, 8), Duration::from_secs(60));
        let mut held: Vec<Permit> = Vec::new();
        for seconds in [60, 60, 60, 60, 45, 30, 15, 0] {
            held.extend(enter(&admission, &limits));
            let patience = held.last().unwrap().patience(whole, &limits);
            assert_eq!(patience.as_secs(), seconds, "{}", held.len());
        }
        held.truncate(1);
        assert_eq!(held.pop().unwrap().patience(whole, &limits), whole);
    }

    #[test]
    fn one_client_is_one_address_or_one_64() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(100, 1));
        let claim = |address: &str, trusted: &str| {
            let mut permit = enter(&admission, &limits).unwrap();
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
        assert!(claim("192.0.2.1", "").is_some() && claim("2001:db8::ffff", "").is_some());
    }

    fn request_limits(total: usize, per_address: usize) -> ConnectionLimits {
        ConnectionLimits { h2_requests: total, h2_requests_per_address: per_address, ..limits(100, 100) }
    }

    fn client(admission: &Arc<Admission>, address: &str) -> Permit {
        let mut permit = admission.enter();
        assert!(permit.claim(address.parse().unwrap(), &limits(100, 100), &Prefixes::default()));
        permit
    }

    #[test]
    fn connections_of_one_client_share_its_requests() {
        let (admission, limits) = (Arc::new(Admission::default()), request_limits(100, 2));
        let [one, other] = [client(&admission, "192.0.2.1"), client(&admission, "192.0.2.1")];
        let stranger = client(&admission, "192.0.2.2");
        let held = [one.enter_request(&limits).unwrap(), other.enter_request(&limits).unwrap()];
        assert_eq!(one.enter_request(&limits).unwrap_err(), ConnectionEvent::H2OverAddress);
        assert!(stranger.enter_request(&limits).is_ok());
        drop((one, other, stranger));
        let again = client(&admission, "192.0.2.1");
        assert!(again.enter_request(&limits).is_err(), "its connections are gone, its requests are not");
        drop(held);
        assert!(again.enter_request(&limits).is_ok());
        assert_eq!(admission.requests.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_total_of_requests_holds_for_those_without_a_limit_of_their_own() {
        let (admission, limits) = (Arc::new(Admission::default()), request_limits(3, 1));
        let proxy = admission.enter();
        let held: Vec<RequestPlace> = (0..3).map(|_| proxy.enter_request(&limits).unwrap()).collect();
        assert_eq!(proxy.enter_request(&limits).unwrap_err(), ConnectionEvent::H2OverTotal);
        let other = client(&admission, "2001:db8::1");
        assert_eq!(other.enter_request(&limits).unwrap_err(), ConnectionEvent::H2OverTotal);
        drop(held);
        let _place = other.enter_request(&limits).unwrap();
        assert_eq!(other.enter_request(&limits).unwrap_err(), ConnectionEvent::H2OverAddress);
    }
}
