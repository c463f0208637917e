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

use crate::config::ConnectionLimits;
use crate::record::{ConnectionEvent, ConnectionTotals};
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use parking_lot::Mutex;
use pingora_limits::inflight::{Guard, Inflight};
use std::collections::HashMap;
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
pub(super) struct Permit {
    pub(super) admission: Arc<Admission>,
    /// Whose connection it is, and that it is counted for them.
    client: Option<(Network, Guard)>,
}

/// A place among the requests that may be under way; dropping it gives it back.
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

/// How many connections of HTTP/2 that end in errors an address may have within [`WINDOW`]. Then it is turned away until
/// that is over.
const MOST: u32 = 250;
const WINDOW: Duration = Duration::from_secs(60);

/// How many addresses are remembered.
const ADDRESSES: usize = 4_096;

/// Addresses whose connections end in errors again and again: when the first error of each came, and how many there were
/// since. Some clients take such an end for "try again", and do so without a pause: each try costs a TLS handshake.
#[derive(Default)]
struct Offenders(Mutex<HashMap<Network, (Instant, u32)>>);

impl Offenders {
    /// A connection of `client` has ended in an error.
    fn note(&self, client: Network, now: Instant) {
        let mut errors = self.0.lock();
        let is_recent = |since: Instant| now.saturating_duration_since(since) < WINDOW;
        if errors.len() >= ADDRESSES && !errors.contains_key(&client) {
            errors.retain(|_, (since, _)| is_recent(*since));
            if errors.len() >= ADDRESSES {
                return;
            }
        }
        let (since, count) = errors.entry(client).or_insert((now, 0));
        if !is_recent(*since) {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
    }

    /// Whether `client` is turned away.
    fn contain(&self, client: Network, now: Instant) -> bool {
        let is_one = |(since, count): &(Instant, u32)| {
            *count >= MOST && now.saturating_duration_since(*since) < WINDOW
        };
        self.0.lock().get(&client).is_some_and(is_one)
    }
}

/// What is opened for a moment beside connections: files of the store, the policy and certificates, names, health checks.
const OTHERS: usize = 64;

/// How many connections the operator's pages are served over at once, of each kind. Whoever asks for them is few.
const PAGES: usize = 128;

/// How many connections other proxies may have that ask, where they may.
const ASKING: usize = 4_096;

/// How many idle connections to origins are kept, by all workers together, and how many each worker may keep at least.
const KEPT: usize = 512;
const KEPT_BY_ONE: usize = 32;

/// How many connections there are open files for: the limits of the configuration, held against that of the process. A
/// client's connection takes one, its request another one at the origin. What has to work whatever clients do has its own,
/// which is set aside first: the store, the journal, the operator's pages, names that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionRoom {
    /// Open files for clients and what their requests open at origins.
    clients: usize,
    /// Connections to the operator's pages, of each kind.
    pub(super) pages: usize,
    /// Connections of other proxies that ask.
    asking: usize,
    /// Idle connections to origins that one worker keeps.
    pub(super) kept: usize,
}

impl ConnectionRoom {
    /// The room where this process may have so many files open, if there is a limit, and has `open` of them already.
    pub(super) fn new(open_files: Option<u64>, open: usize, workers: usize, is_asked: bool) -> Self {
        let most = open_files.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let left = most.saturating_sub(open + OTHERS);
        let workers = workers.max(1);
        let pages = PAGES.min(left / 16).max(2);
        let kept = (KEPT / workers).max(KEPT_BY_ONE).min(left / 8 / workers);
        let asking = if is_asked { ASKING.min(left / 4) } else { 0 };
        Self { clients: left.saturating_sub(2 * pages + asking + kept * workers), pages, asking, kept }
    }

    /// How many files have to be open for all that these limits allow.
    pub(super) fn needed(limits: &ConnectionLimits, open: usize, workers: usize, is_asked: bool) -> usize {
        let beside_clients = usize::MAX - Self::new(None, open, workers, is_asked).clients;
        taken(limits).saturating_add(beside_clients)
    }

    /// How many more files would have to be open for these limits.
    pub(super) fn missing(self, limits: &ConnectionLimits) -> usize {
        taken(limits).saturating_sub(self.clients)
    }

    /// The limits, as far as there is room. Requests of HTTP/2 have a third of it where they want more, and connections the
    /// rest. Of a limit that is lowered, one address is left half at most.
    pub(super) fn bound(self, mut limits: ConnectionLimits) -> ConnectionLimits {
        if self.missing(&limits) == 0 {
            return limits;
        }
        // A limit, and what of it is for one address.
        let lowered = |limit: usize, own: usize, most: usize| {
            if limit > most { (most, own.min(most / 2)) } else { (limit, own) }
        };
        (limits.h2_requests, limits.h2_requests_per_address) =
            lowered(limits.h2_requests, limits.h2_requests_per_address, (self.clients / 3).max(2));
        let left = self.clients.saturating_sub(limits.h2_requests);
        (limits.connections, limits.connections_per_address) =
            lowered(limits.connections, limits.connections_per_address, (left / 2).max(2));
        limits
    }

    /// The limits of other proxies that ask. They are few, and each is trusted.
    pub(super) const fn of_asking(self, limits: ConnectionLimits) -> ConnectionLimits {
        ConnectionLimits { connections: self.asking, ..limits }
    }

    /// The limits of the operator's pages, which are no matter of the site's.
    pub(super) const fn of_pages(self, limits: ConnectionLimits) -> ConnectionLimits {
        ConnectionLimits { connections: self.pages, connections_per_address: self.pages / 2, ..limits }
    }
}

/// How many open files clients may take.
fn taken(limits: &ConnectionLimits) -> usize {
    limits.connections.saturating_mul(2).saturating_add(limits.h2_requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use std::net::Ipv4Addr;

    fn usual_limits() -> ConnectionLimits {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        Config::load(&arguments).unwrap().limits
    }

    fn limits(connections: usize, per_address: usize) -> ConnectionLimits {
        ConnectionLimits { connections, connections_per_address: per_address, ..usual_limits() }
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
        assert_eq!(one.enter_request(&limits).err(), Some(ConnectionEvent::H2OverAddress));
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
        assert_eq!(proxy.enter_request(&limits).err(), Some(ConnectionEvent::H2OverTotal));
        let other = client(&admission, "2001:db8::1");
        assert_eq!(other.enter_request(&limits).err(), Some(ConnectionEvent::H2OverTotal));
        drop(held);
        let _place = other.enter_request(&limits).unwrap();
        assert_eq!(other.enter_request(&limits).err(), Some(ConnectionEvent::H2OverAddress));
    }

    fn address(number: u32) -> Network {
        Network::around(IpAddr::V4(Ipv4Addr::from_bits(number)), 32, 64)
    }

    #[test]
    fn an_address_is_turned_away_for_what_is_left_of_a_minute() {
        let (offenders, start) = (Offenders::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for number in 0..MOST {
            assert!(!offenders.contain(address(1), at(0)), "{number}");
            offenders.note(address(1), at(0));
        }
        assert!(offenders.contain(address(1), at(59)) && !offenders.contain(address(2), at(59)));
        assert!(!offenders.contain(address(1), at(60)));
        offenders.note(address(1), at(61));
        assert!(!offenders.contain(address(1), at(62)), "it begins anew");
    }

    #[test]
    fn so_many_addresses_are_remembered_and_no_more() {
        let (offenders, start) = (Offenders::default(), Instant::now());
        for number in 0..2 * ADDRESSES {
            offenders.note(address(u32::try_from(number).unwrap()), start);
        }
        assert_eq!(offenders.0.lock().len(), ADDRESSES);
        offenders.note(address(u32::MAX), start + WINDOW);
        assert_eq!(offenders.0.lock().len(), 1);
    }

    #[test]
    fn where_there_is_room_nothing_changes() {
        for open_files in [None, Some(1_048_576)] {
            let room = ConnectionRoom::new(open_files, 40, 2, false);
            assert_eq!((room.pages, room.kept, room.missing(&usual_limits())), (PAGES, KEPT / 2, 0));
            assert_eq!(format!("{:?}", room.bound(usual_limits())), format!("{:?}", usual_limits()));
        }
    }

    #[test]
    fn what_is_small_stays_as_it_is() {
        let limits = ConnectionLimits { h2_requests: 4, h2_requests_per_address: 4, ..usual_limits() };
        let bounded = ConnectionRoom::new(Some(20_000), 40, 2, false).bound(limits);
        assert_eq!((bounded.h2_requests, bounded.h2_requests_per_address), (4, 4));
        assert!(bounded.connections < limits.connections, "{bounded:?}");
    }

    #[test]
    fn everything_together_fits() {
        for open_files in [128, 200, 256, 1_024, 4_096, 20_000, 37_000] {
            for (workers, is_asked) in [(1, false), (2, true), (64, false), (64, true)] {
                let room = ConnectionRoom::new(Some(open_files), 40, workers, is_asked);
                let bounded = room.bound(usual_limits());
                let clients = 2 * bounded.connections + bounded.h2_requests;
                let all = 40 + OTHERS + clients + 2 * room.pages + room.asking + room.kept * workers;
                assert!(all as u64 <= open_files.max(128), "{all} of {open_files}: {room:?}, {bounded:?}");
                assert!(bounded.connections_per_address < bounded.connections);
            }
        }
    }
}
