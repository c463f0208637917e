//! Places of requests: how many of HTTP/2 are under way, in total and by address, and whether one more may be.
//!
//! A connection of HTTP/1 carries one request at a time, so that its own place among the connections is enough. One of
//! HTTP/2 carries a hundred, each of which can be made to hold what its client does not take (RFC 9113 §10.5).
//! A request costs two counters and no lock; the table is looked at once per connection.

use crate::config::ConnectionLimits;
use crate::record::ConnectionEvent;
use crate::server::admission::{ClientNetwork, SHARDS, shard_of};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Context;

/// All requests of HTTP/2 that are under way.
#[derive(Debug, Default)]
pub(in crate::server) struct RequestPlaces {
    open: AtomicUsize,
    /// Those who have a connection or a request.
    by_address: [Mutex<HashMap<ClientNetwork, Weak<Requester>>>; SHARDS],
}

/// One client, or one connection of somebody who has no limit of his own.
#[derive(Debug)]
pub(in crate::server) struct Requester {
    all: Arc<RequestPlaces>,
    client: Option<ClientNetwork>,
    open: AtomicUsize,
}

/// A place among the requests that may be under way; dropping it gives it back.
#[derive(Debug)]
pub(in crate::server) struct RequestPlace(Arc<Requester>);

impl RequestPlaces {
    /// The requester that all connections of `client` share; for `None` one that only the total holds for.
    pub(in crate::server) fn of(self: &Arc<Self>, client: Option<ClientNetwork>) -> Arc<Requester> {
        let fresh = || Arc::new(Requester { all: Arc::clone(self), client, open: AtomicUsize::new(0) });
        let Some((client, shard)) = client.and_then(|client| Some((client, self.shard(client)?))) else {
            return fresh();
        };
        let mut requesters = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let known = requesters.get(&client).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let requester = fresh();
            requesters.insert(client, Arc::downgrade(&requester));
            requester
        })
    }

    fn shard(&self, client: ClientNetwork) -> Option<&Mutex<HashMap<ClientNetwork, Weak<Requester>>>> {
        self.by_address.get(shard_of(client))
    }
}

impl Requester {
    fn enter(self: &Arc<Self>, limits: &ConnectionLimits) -> Result<RequestPlace, ConnectionEvent> {
        let own = self.open.fetch_add(1, Ordering::Relaxed);
        let all = self.all.open.fetch_add(1, Ordering::Relaxed);
        // From here on the place sees to it that the counts go down again.
        let place = RequestPlace(Arc::clone(self));
        if self.client.is_some() && own >= limits.h2_requests_per_address {
            return Err(ConnectionEvent::H2OverAddress);
        }
        if all >= limits.h2_requests {
            return Err(ConnectionEvent::H2OverTotal);
        }
        Ok(place)
    }
}

impl Drop for Requester {
    fn drop(&mut self) {
        let Some((client, shard)) = self.client.and_then(|client| Some((client, self.all.shard(client)?)))
        else {
            return;
        };
        let mut requesters = shard.lock().unwrap_or_else(PoisonError::into_inner);
        // The client may have come back in between, and be another requester by now.
        if requesters.get(&client).is_some_and(|requester| requester.strong_count() == 0) {
            requesters.remove(&client);
        }
    }
}

impl Drop for RequestPlace {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        self.0.all.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The places of one connection.
///
/// A request is over for its callbacks once the HTTP/2 library has its answer, of which that keeps some.
/// While the client does not take what is sent to it, those answers are still held, and so are their places.
#[derive(Debug)]
pub(in crate::server) struct Places {
    requester: Arc<Requester>,
    /// Whether the connection has more to send than its client takes.
    is_behind: AtomicBool,
    kept: Mutex<Vec<RequestPlace>>,
}

impl Places {
    pub(in crate::server) fn of(requester: Arc<Requester>) -> Self {
        Self { requester, is_behind: AtomicBool::new(false), kept: Mutex::default() }
    }

    /// A place for one more request, or under what it is counted that there is none.
    pub(in crate::server) fn enter(
        &self,
        limits: &ConnectionLimits,
    ) -> Result<RequestPlace, ConnectionEvent> {
        self.requester.enter(limits)
    }

    /// Gives a place back, or keeps it for as long as the answer is held.
    pub(in crate::server) fn leave(&self, place: RequestPlace) {
        if !self.is_behind.load(Ordering::Relaxed) {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock again: once it has caught up, nobody would come for the place.
        if self.is_behind.load(Ordering::Relaxed) {
            kept.push(place);
        }
    }

    /// The client takes no more for now.
    pub(in crate::server) fn fall_behind(&self) {
        self.is_behind.store(true, Ordering::Relaxed);
    }

    /// The client has been sent everything, or is gone.
    pub(in crate::server) fn catch_up(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_behind.store(false, Ordering::Relaxed);
        // The vector goes as well: most connections are behind once or never.
        drop(std::mem::take(&mut *kept));
    }
}

/// Whether a connection of HTTP/2 has more to send than its client takes.
#[derive(Debug, Default)]
pub(in crate::server) struct Backlog {
    /// The last that was to be sent has not gone.
    is_blocked: bool,
    /// Its line believes so.
    is_told: bool,
}

impl Backlog {
    /// Notes whether what was to be written has gone to the socket.
    pub(in crate::server) fn note(&mut self, places: &Places, context: &Context<'_>, is_blocked: bool) {
        self.is_blocked = is_blocked;
        if is_blocked && !self.is_told {
            self.is_told = true;
            places.fall_behind();
        } else if self.is_told && !is_blocked {
            // The library may have more, and writes it before it returns; then it looks again.
            context.waker().wake_by_ref();
        }
    }

    /// The library reads again, and has written all it could before.
    pub(in crate::server) fn settle(&mut self, places: &Places) {
        if self.is_told && !self.is_blocked {
            self.is_told = false;
            places.catch_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::request::address::Network;

    fn limits(total: usize, per_address: usize) -> ConnectionLimits {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let limits = Config::load(&arguments).unwrap().limits;
        ConnectionLimits { h2_requests: total, h2_requests_per_address: per_address, ..limits }
    }

    fn client(address: &str) -> ClientNetwork {
        Network::around(address.parse().unwrap(), 32, 64)
    }

    fn is_empty(requests: &RequestPlaces) -> bool {
        requests.open.load(Ordering::Relaxed) == 0
            && requests.by_address.iter().all(|shard| shard.lock().unwrap().is_empty())
    }

    #[test]
    fn connections_of_one_client_share_its_places() {
        let (requests, limits) = (Arc::new(RequestPlaces::default()), limits(100, 2));
        let one = Places::of(requests.of(Some(client("192.0.2.1"))));
        let other = Places::of(requests.of(Some(client("192.0.2.1"))));
        let stranger = Places::of(requests.of(Some(client("192.0.2.2"))));
        let held = [one.enter(&limits).unwrap(), other.enter(&limits).unwrap()];
        assert_eq!(one.enter(&limits).unwrap_err(), ConnectionEvent::H2OverAddress);
        assert!(stranger.enter(&limits).is_ok());
        drop((one, other, stranger));
        let again = requests.of(Some(client("192.0.2.1")));
        assert!(again.enter(&limits).is_err(), "its connections are gone, its requests are not");
        drop(held);
        assert!(again.enter(&limits).is_ok());
        drop(again);
        assert!(is_empty(&requests));
    }

    #[test]
    fn the_total_holds_for_those_without_a_limit_of_their_own() {
        let (requests, limits) = (Arc::new(RequestPlaces::default()), limits(3, 1));
        let proxy = requests.of(None);
        let held: Vec<RequestPlace> = (0..3).map(|_| proxy.enter(&limits).unwrap()).collect();
        assert_eq!(proxy.enter(&limits).unwrap_err(), ConnectionEvent::H2OverTotal);
        let other = requests.of(Some(client("2001:db8::1")));
        assert_eq!(other.enter(&limits).unwrap_err(), ConnectionEvent::H2OverTotal);
        drop(held);
        let _place = other.enter(&limits).unwrap();
        assert_eq!(other.enter(&limits).unwrap_err(), ConnectionEvent::H2OverAddress);
    }

    #[test]
    fn answers_that_nobody_takes_keep_their_places() {
        let (requests, limits) = (Arc::new(RequestPlaces::default()), limits(2, 2));
        let places = Places::of(requests.of(Some(client("192.0.2.1"))));
        places.fall_behind();
        places.leave(places.enter(&limits).unwrap());
        places.leave(places.enter(&limits).unwrap());
        assert!(places.enter(&limits).is_err());
        places.catch_up();
        places.leave(places.enter(&limits).unwrap());
        assert_eq!(requests.open.load(Ordering::Relaxed), 0);
        drop(places);
        assert!(is_empty(&requests));
    }
}
