//! How many connections there are open files for: the limits of the configuration, held against that of the process.
//!
//! A client's connection takes one, its request another one at the origin. What has to work whatever clients do has its
//! own, which is set aside first: the store, the journal, the operator's pages, names that are asked for.

use crate::config::ConnectionLimits;

/// What is opened for a moment beside connections: files of the store, the policy and certificates, names, health checks.
const OTHERS: usize = 64;

/// How many connections the operator's pages are served over at once, of each kind. Whoever asks for them is few.
const PAGES: usize = 128;

/// How many connections other proxies may have that ask, where they may.
const ASKING: usize = 4_096;

/// How many idle connections to origins are kept, by all workers together, and how many each worker may keep at least.
const KEPT: usize = 512;
const KEPT_BY_ONE: usize = 32;

/// The room for connections.
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
        let Self { pages, asking, kept, .. } = Self::new(None, open, workers, is_asked);
        taken(limits).saturating_add(open + OTHERS + 2 * pages + asking + kept * workers)
    }

    /// How many more files would have to be open for these limits.
    pub(super) fn missing(self, limits: &ConnectionLimits) -> usize {
        taken(limits).saturating_sub(self.clients)
    }

    /// The limits, as far as there is room. Requests of HTTP/2 have a third of it where they want more, and connections the
    /// rest. Of a limit that is lowered, one address is left half at most.
    pub(super) fn bound(self, limits: ConnectionLimits) -> ConnectionLimits {
        if self.missing(&limits) == 0 {
            return limits;
        }
        let h2_requests = limits.h2_requests.min((self.clients / 3).max(2));
        let left = self.clients.saturating_sub(h2_requests);
        let connections = limits.connections.min((left / 2).max(2));
        let of_address = |most: usize, bounded: usize, wanted: usize| {
            if bounded < wanted { most.min(bounded / 2) } else { most }
        };
        ConnectionLimits {
            connections_per_address: of_address(
                limits.connections_per_address,
                connections,
                limits.connections,
            ),
            h2_requests_per_address: of_address(
                limits.h2_requests_per_address,
                h2_requests,
                limits.h2_requests,
            ),
            connections,
            h2_requests,
            ..limits
        }
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

    fn limits() -> ConnectionLimits {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        Config::load(&arguments).unwrap().limits
    }

    #[test]
    fn where_there_is_room_nothing_changes() {
        for open_files in [None, Some(1_048_576)] {
            let room = ConnectionRoom::new(open_files, 40, 2, false);
            assert_eq!((room.pages, room.kept, room.missing(&limits())), (PAGES, KEPT / 2, 0));
            assert_eq!(format!("{:?}", room.bound(limits())), format!("{:?}", limits()));
        }
    }

    #[test]
    fn what_is_small_stays_as_it_is() {
        let limits = ConnectionLimits { h2_requests: 4, h2_requests_per_address: 4, ..limits() };
        let bounded = ConnectionRoom::new(Some(20_000), 40, 2, false).bound(limits);
        assert_eq!((bounded.h2_requests, bounded.h2_requests_per_address), (4, 4));
        assert!(bounded.connections < limits.connections, "{bounded:?}");
    }

    #[test]
    fn everything_together_fits() {
        for open_files in [128, 200, 256, 1_024, 4_096, 20_000, 37_000] {
            for (workers, is_asked) in [(1, false), (2, true), (64, false), (64, true)] {
                let room = ConnectionRoom::new(Some(open_files), 40, workers, is_asked);
                let bounded = room.bound(limits());
                let clients = 2 * bounded.connections + bounded.h2_requests;
                let all = 40 + OTHERS + clients + 2 * room.pages + room.asking + room.kept * workers;
                assert!(all as u64 <= open_files.max(128), "{all} of {open_files}: {room:?}, {bounded:?}");
                assert!(bounded.connections_per_address < bounded.connections);
            }
        }
    }
}
