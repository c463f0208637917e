//! The places that the requests of one connection of HTTP/2 take.

use crate::config::ConnectionLimits;
use crate::record::ConnectionEvent;
use crate::server::admission::{AdmittedClient, RequestPlace};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Context;

/// The places of one connection.
///
/// A request is over for the task that serves it once the crate `h2` has its answer. `h2` keeps what it cannot send yet.
/// While the client does not take what is sent to it, those answers are still held, and so are their places.
#[derive(Debug)]
pub(super) struct Places {
    client: AdmittedClient,
    /// Whether the connection has more to send than its client takes.
    is_behind: AtomicBool,
    kept: Mutex<Vec<RequestPlace>>,
}

impl Places {
    pub(super) fn of(client: AdmittedClient) -> Self {
        Self { client, is_behind: AtomicBool::new(false), kept: Mutex::default() }
    }

    /// A place for one more request, or under what it is counted that there is none.
    pub(super) fn enter(&self, limits: &ConnectionLimits) -> Result<RequestPlace, ConnectionEvent> {
        self.client.enter(limits)
    }

    /// The connection ends in an error.
    pub(super) fn note_error(&self) {
        self.client.note_error();
    }

    /// Gives a place back, or keeps it for as long as the answer is held.
    pub(super) fn leave(&self, place: RequestPlace) {
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
    pub(super) fn fall_behind(&self) {
        self.is_behind.store(true, Ordering::Relaxed);
    }

    /// The client has been sent everything, or is gone.
    pub(super) fn catch_up(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_behind.store(false, Ordering::Relaxed);
        // The vector goes as well: most connections are behind once or never.
        drop(std::mem::take(&mut *kept));
    }
}

/// Whether a connection of HTTP/2 has more to send than its client takes.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The last that was to be sent has not gone.
    is_blocked: bool,
    /// Whether `Places` was told that the connection is behind, and not yet that it has caught up.
    is_told: bool,
}

impl Backlog {
    /// Notes whether what was to be written has gone to the socket.
    pub(super) fn note(&mut self, places: &Places, context: &Context<'_>, is_blocked: bool) {
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
    pub(super) fn settle(&mut self, places: &Places) {
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
    use crate::server::admission::Admission;
    use std::sync::Arc;

    #[test]
    fn answers_that_nobody_takes_keep_their_places() {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let limits = Config::load(&arguments).unwrap().limits;
        let limits = ConnectionLimits { h2_requests: 2, h2_requests_per_address: 2, ..limits };
        let client = Network::around("192.0.2.1".parse().unwrap(), 32, 64);
        let places = Places::of(AdmittedClient::new(Arc::<Admission>::default(), Some(client)));
        places.fall_behind();
        places.leave(places.enter(&limits).unwrap());
        places.leave(places.enter(&limits).unwrap());
        assert!(places.enter(&limits).is_err());
        places.catch_up();
        places.leave(places.enter(&limits).unwrap());
        let both = [places.enter(&limits), places.enter(&limits)];
        assert!(both.iter().all(Result::is_ok), "all were given back");
    }
}
