//! How many connections are open and how many requests of HTTP/2 are under way, in total and by client, and whether one
//! more may be.
//!
//! A connection of HTTP/1 carries one request at a time, so that its own place among the connections is enough. One of
//! HTTP/2 carries a hundred, each of which can be made to hold what its client does not take (RFC 9113 §10.5).
//! What one client has is counted by pingora's sketch, without a lock: with very many clients it may count a few more than
//! there are, and never fewer.
//!
//! Once half of the places are taken, connections that wait for a request stand in a queue, which costs each wait a lock.
//! Once all are, the first of them makes room for a new one. So a crowd that only stays connected keeps nobody out.

use super::offenders::Offenders;
use crate::config::ConnectionLimits;
use crate::record::{ConnectionEvent, ConnectionTotals};
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use pingora_limits::inflight::{Guard, Inflight};
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Context;
use std::time::Instant;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// How many connections may have been told to make room and not be gone yet: some, and one of so many that may be open. So
/// many more than may be are open for a moment.
const LEAVING: usize = 8;
const LEAVING_OF: usize = 64;

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
    crowd: Mutex<Crowd>,
    /// The queue of those that wait for a request.
    queue: Arc<Notify>,
    offenders: Offenders,
    pub(super) totals: Arc<ConnectionTotals>,
}

/// The connections that may have to make room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Crowd {
    /// How many wait in the queue, less those that were told. Who was told and had its request in time leaves that to the
    /// next one, whoever that will be.
    waiting: isize,
    /// How many were told, and one of them is still open for each.
    leaving: usize,
}

/// One client, or one connection of somebody who has no limit of his own.
#[derive(Debug)]
pub(super) struct AdmittedClient {
    admission: Arc<Admission>,
    network: Option<Network>,
}

/// A place among the connections that may be open; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit {
    admission: Arc<Admission>,
    /// Whose connection it is, and that it is counted for them.
    client: Option<(Network, Guard)>,
    /// Comes when it has to make room, where it stands in the queue.
    turn: Option<Pin<Box<OwnedNotified>>>,
    /// Whether it makes room.
    is_leaving: bool,
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

    /// One more connection, not yet counted for any address, and how many are open beside it.
    pub(super) fn enter(self: &Arc<Self>) -> (Permit, usize) {
        self.totals.count(ConnectionEvent::Accepted);
        let others = self.open.fetch_add(1, Ordering::Relaxed);
        // From here on the permit sees to it that the count goes down again.
        (Permit { admission: Arc::clone(self), client: None, turn: None, is_leaving: false }, others)
    }

    /// Has the first of the queue make room for one beside so many `others`; whether it has a place.
    fn make_room(&self, others: usize, limits: &ConnectionLimits) -> bool {
        if others < limits.connections {
            return true;
        }
        let mut crowd = self.crowd();
        let may_leave = LEAVING + limits.connections / LEAVING_OF;
        if others >= limits.connections + crowd.leaving && crowd.waiting > 0 && crowd.leaving < may_leave {
            (crowd.waiting, crowd.leaving) = (crowd.waiting - 1, crowd.leaving + 1);
            self.queue.notify_one();
        }
        others < limits.connections + crowd.leaving
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more for a client, until the guard is dropped; how many there are with it.
    fn count(&self, what: CountedOfClient, client: Network) -> (Guard, usize) {
        let (guard, count) = self.by_client.get_or_init(Inflight::new).incr((what, client), 1);
        (guard, usize::try_from(count).unwrap_or_default())
    }
}

impl AdmittedClient {
    pub(super) const fn new(admission: Arc<Admission>, network: Option<Network>) -> Self {
        Self { admission, network }
    }

    /// A connection of the client has ended in an error of HTTP/2.
    pub(super) fn note_error(&self) {
        if let Some(network) = self.network {
            self.admission.offenders.note(network, Instant::now());
        }
    }

    /// A place for one more request, or under what it is counted that there is none.
    pub(super) fn enter(&self, limits: &ConnectionLimits) -> Result<RequestPlace, ConnectionEvent> {
        let of_client = self.network.map(|client| self.admission.count(CountedOfClient::Requests, client));
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

    /// Whose requests come on the connection.
    pub(super) fn client(&self) -> AdmittedClient {
        let network = self.client.as_ref().map(|(network, _)| *network);
        AdmittedClient::new(Arc::clone(&self.admission), network)
    }

    /// Whether there is a place for the connection beside so many `others`, which may have to make room for it; counted
    /// where there is none.
    pub(super) fn has_room(&self, others: usize, limits: &ConnectionLimits) -> bool {
        let has_room = self.admission.make_room(others, limits);
        if !has_room {
            self.admission.totals.count(ConnectionEvent::OverTotal);
        }
        has_room
    }

    /// Whether the connection, which waits for a request, has to make room for another. Where places are short it is put
    /// in the queue, and woken when its turn has come.
    pub(super) fn must_make_room(&mut self, limits: &ConnectionLimits, context: &mut Context<'_>) -> bool {
        let admission = &self.admission;
        if self.turn.is_none() && admission.open.load(Ordering::Relaxed) <= limits.connections / 2 {
            return false;
        }
        let turn = self.turn.get_or_insert_with(|| {
            admission.crowd().waiting += 1;
            Box::pin(Arc::clone(&admission.queue).notified_owned())
        });
        let is_told = turn.as_mut().poll(context).is_ready();
        if is_told {
            (self.turn, self.is_leaving) = (None, true);
        }
        is_told
    }

    /// The connection waits no longer. If it was told to make room it stays all the same, since its request has come.
    pub(super) fn leave_queue(&mut self) {
        if self.turn.take().is_some() {
            self.admission.crowd().waiting -= 1;
        }
    }

    /// Where what becomes of connections is counted.
    pub(super) fn totals(&self) -> &Arc<ConnectionTotals> {
        &self.admission.totals
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.open.fetch_sub(1, Ordering::Relaxed);
        // Afterwards, so that nobody else is told to make room for whom this one did.
        self.leave_queue();
        if self.is_leaving {
            self.admission.crowd().leaving -= 1;
        }
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
    use std::collections::VecDeque;
    use std::task::Waker;

    fn limits(connections: usize, per_address: usize) -> ConnectionLimits {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let limits = Config::load(&arguments).unwrap().limits;
        ConnectionLimits { connections, connections_per_address: per_address, ..limits }
    }

    fn enter(admission: &Arc<Admission>, limits: &ConnectionLimits) -> Option<Permit> {
        let (permit, others) = admission.enter();
        permit.has_room(others, limits).then_some(permit)
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

    fn waits(permit: &mut Permit, limits: &ConnectionLimits) -> bool {
        !permit.must_make_room(limits, &mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_first_of_the_queue_makes_room() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(4, 4));
        let [mut first, mut second, mut third, fourth] =
            [(); 4].map(|()| enter(&admission, &limits).unwrap());
        let state = || (admission.open.load(Ordering::Relaxed), admission.crowd().leaving);
        assert!(waits(&mut first, &limits) && waits(&mut second, &limits) && waits(&mut third, &limits));
        first.leave_queue();
        assert!(waits(&mut first, &limits), "it waits anew, behind the others");
        let _fifth = enter(&admission, &limits).unwrap();
        assert!(!waits(&mut second, &limits));
        assert!(waits(&mut third, &limits));
        drop(second);
        assert_eq!(state(), (4, 0));

        let sixth = enter(&admission, &limits).unwrap();
        third.leave_queue();
        assert_eq!(state(), (5, 1), "its request came in time");
        assert!(enter(&admission, &limits).is_none(), "nobody waits who was not told");
        assert!(!waits(&mut first, &limits), "it is the turn of the next one");
        drop((third, fourth, sixth, first));
        assert_eq!(state(), (1, 0));
        assert_eq!(*admission.crowd(), Crowd::default());
    }

    #[test]
    fn so_many_may_be_on_their_way_out() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(128, 128));
        let mut held: Vec<Permit> = (0..128).map(|_| enter(&admission, &limits).unwrap()).collect();
        assert!(held.iter_mut().all(|permit| waits(permit, &limits)));
        let newcomers: Vec<Permit> = (0..20).map_while(|_| enter(&admission, &limits)).collect();
        assert_eq!((newcomers.len(), admission.crowd().leaving), (10, 10));
        held.retain_mut(|permit| waits(permit, &limits));
        assert_eq!((admission.open.load(Ordering::Relaxed), admission.crowd().leaving), (128, 0));
        assert!(enter(&admission, &limits).is_some());
    }

    #[test]
    fn connections_are_queued_once_half_of_the_places_are_taken() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(4, 4));
        let mut held: Vec<Permit> = Vec::new();
        for queued in [0, 0, 1, 2] {
            let mut permit = enter(&admission, &limits).unwrap();
            assert!(waits(&mut permit, &limits));
            held.push(permit);
            assert_eq!(admission.crowd().waiting, queued);
        }
    }

    /// Connections, requests and newcomers on threads of their own, and in the end nothing is left of them.
    #[test]
    fn a_crowd_leaves_no_place_behind() {
        let (admission, limits) = (Arc::new(Admission::default()), limits(128, 128));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut held = VecDeque::new();
                    for number in 0..20_000 {
                        held.extend(enter(&admission, &limits));
                        assert!(admission.open.load(Ordering::Relaxed) <= 128 + 10 + 4);
                        held.retain_mut(|permit: &mut Permit| waits(permit, &limits));
                        if number % 3 == 0 {
                            held.iter_mut().take(5).for_each(Permit::leave_queue);
                        }
                        held.truncate(40);
                    }
                });
            }
        });
        assert_eq!(admission.open.load(Ordering::Relaxed), 0);
        // Whoever was told last may have had its request in time, with nobody behind it.
        let Crowd { waiting, leaving } = *admission.crowd();
        assert_eq!(waiting + isize::try_from(leaving).unwrap(), 0);
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

    fn client(admission: &Arc<Admission>, address: &str) -> AdmittedClient {
        let network = Some(Network::around(address.parse().unwrap(), 32, 64));
        AdmittedClient::new(Arc::clone(admission), network)
    }

    #[test]
    fn connections_of_one_client_share_its_requests() {
        let (admission, limits) = (Arc::new(Admission::default()), request_limits(100, 2));
        let [one, other] = [client(&admission, "192.0.2.1"), client(&admission, "192.0.2.1")];
        let stranger = client(&admission, "192.0.2.2");
        let held = [one.enter(&limits).unwrap(), other.enter(&limits).unwrap()];
        assert_eq!(one.enter(&limits).unwrap_err(), ConnectionEvent::H2OverAddress);
        assert!(stranger.enter(&limits).is_ok());
        drop((one, other, stranger));
        let again = client(&admission, "192.0.2.1");
        assert!(again.enter(&limits).is_err(), "its connections are gone, its requests are not");
        drop(held);
        assert!(again.enter(&limits).is_ok());
        assert_eq!(admission.requests.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_total_of_requests_holds_for_those_without_a_limit_of_their_own() {
        let (admission, limits) = (Arc::new(Admission::default()), request_limits(3, 1));
        let proxy = AdmittedClient::new(Arc::clone(&admission), None);
        let held: Vec<RequestPlace> = (0..3).map(|_| proxy.enter(&limits).unwrap()).collect();
        assert_eq!(proxy.enter(&limits).unwrap_err(), ConnectionEvent::H2OverTotal);
        let other = client(&admission, "2001:db8::1");
        assert_eq!(other.enter(&limits).unwrap_err(), ConnectionEvent::H2OverTotal);
        drop(held);
        let _place = other.enter(&limits).unwrap();
        assert_eq!(other.enter(&limits).unwrap_err(), ConnectionEvent::H2OverAddress);
    }
}
