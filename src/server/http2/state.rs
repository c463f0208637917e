//! What the guard of an HTTP/2 connection and the tasks that serve its requests tell each other.
//!
//! The guard sees bytes and knows nothing of requests; the tasks see requests and nothing of what comes before one.
//! A [`ConnectionState`] says in which part of its life a connection is, and since when.

use super::endings::Endings;
use super::paths::TruePath;
use crate::config::{ConnectionLimits, Timeouts};
use crate::gateway::ConnectionInfo;
use crate::record::{ConnectionEvent, ConnectionTotals};
use crate::server::admission::AdmittedClient;
use crate::server::connection::patience;
use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its first request.
    Fresh,
    /// Its next request.
    Idle,
    /// Answers to requests that are under way.
    Busy,
}

/// One connection as its guard and its requests see it.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) limits: ConnectionLimits,
    pub(super) timeouts: Arc<Timeouts>,
    pub(super) info: ConnectionInfo,
    pub(super) client: AdmittedClient,
    pub(super) endings: Endings,
    /// Whether the connection has more to send than its client takes.
    is_behind: AtomicBool,
    /// Paths that the library was not given, of requests that it has not handed over.
    paths: Mutex<BTreeMap<u32, Arc<[u8]>>>,
    /// Its socket, which the kernel is asked about.
    pub(super) socket: Option<RawFd>,
    totals: Arc<ConnectionTotals>,
    start: Instant,
    /// Milliseconds from `start` to the beginning of the phase.
    since: AtomicU64,
    requests: AtomicU32,
    /// Requests that are not over yet.
    open: AtomicU32,
    /// Whether the client has sent anything.
    has_spoken: AtomicBool,
    /// Whether what ended the connection is counted.
    is_counted: AtomicBool,
    /// Whether the client has broken the protocol.
    has_erred: AtomicBool,
    /// Told when the connection has carried as many requests as it may, and whenever none is open any more.
    changed: Notify,
}

impl ConnectionState {
    pub(super) fn new(
        limits: ConnectionLimits,
        timeouts: Arc<Timeouts>,
        info: ConnectionInfo,
        client: AdmittedClient,
        socket: Option<RawFd>,
        totals: Arc<ConnectionTotals>,
    ) -> Self {
        Self {
            limits,
            timeouts,
            info,
            client,
            endings: Endings::default(),
            is_behind: AtomicBool::new(false),
            paths: Mutex::default(),
            socket,
            totals,
            start: Instant::now(),
            since: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            open: AtomicU32::new(0),
            has_spoken: AtomicBool::new(false),
            is_counted: AtomicBool::new(false),
            has_erred: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// A request's head has arrived.
    pub(super) fn begin(&self) {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        self.note_phase();
        if number == self.limits.requests_per_connection {
            self.changed.notify_one();
        }
    }

    /// It has been answered.
    pub(super) fn end(&self) {
        if self.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.note_phase();
            self.changed.notify_one();
        }
    }

    /// Waits until [`Self::is_used_up`] or [`Self::is_resting`] may have changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Whether the connection has carried as many requests as it may; the client is told then that it takes no more (RFC
    /// 9113 §6.8).
    pub(super) fn is_used_up(&self) -> bool {
        self.requests.load(Ordering::Relaxed) >= self.limits.requests_per_connection
    }

    /// Whether no request is under way.
    pub(super) fn is_resting(&self) -> bool {
        self.open.load(Ordering::Relaxed) == 0
    }

    /// Whether the client goes on although it was told that no more requests are taken. As many as it may have open may
    /// be on their way when it is told, twice over where some of them are answered meanwhile.
    pub(super) fn is_overdrawn(&self) -> bool {
        let most =
            self.limits.requests_per_connection.saturating_add(self.limits.h2_streams.saturating_mul(2));
        self.requests.load(Ordering::Relaxed) > most
    }

    /// Notes the true path of a request that is about to come; `false` where there are more of them than a client has use
    /// for. The library holds as many requests as may be open, and as many that were cancelled.
    #[must_use]
    pub(super) fn note_path(&self, (stream, path): TruePath) -> bool {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.insert(stream, path);
        paths.len() <= 2 * self.limits.h2_streams as usize
    }

    /// The true path of the request that the library hands over, where it has another one. It does so in the order of the
    /// streams: what is left of those before was refused.
    pub(super) fn take_path(&self, stream: u32) -> Option<Arc<[u8]>> {
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(first) = paths.first_entry().filter(|first| *first.key() <= stream) {
            let (number, path) = first.remove_entry();
            if number == stream {
                return Some(path);
            }
        }
        None
    }

    pub(super) fn count(&self, event: ConnectionEvent) {
        if event == ConnectionEvent::H2Error && !self.has_erred.swap(true, Ordering::Relaxed) {
            self.client.note_error();
        }
        self.totals.count(event);
    }

    /// Counts what the connection is ended for.
    pub(super) fn count_end(&self, event: ConnectionEvent) {
        self.count(event);
        self.is_counted.store(true, Ordering::Relaxed);
    }

    /// Whether what was to be sent last has not gone.
    pub(super) fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::Relaxed);
    }

    pub(super) fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    /// The client has sent something.
    pub(super) fn speak(&self) {
        self.has_spoken.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken.load(Ordering::Relaxed)
    }

    /// The connection is gone: one that said something, and never asked for anything, is counted.
    pub(super) fn close(&self) {
        self.endings.close();
        if !self.is_counted.load(Ordering::Relaxed) && self.phase() == Phase::Fresh && self.has_spoken() {
            self.count(ConnectionEvent::NoRequest);
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.requests.load(Ordering::Relaxed) {
            _ if !self.is_resting() => Phase::Busy,
            0 => Phase::Fresh,
            _ => Phase::Idle,
        }
    }

    /// Another phase begins.
    fn note_phase(&self) {
        let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(since, Ordering::Relaxed);
    }

    /// Since when the client has been silent, how long it may be, and what it is called when it was for longer.
    pub(super) fn silence(&self) -> Option<(Instant, Duration, ConnectionEvent)> {
        let since = self.start + Duration::from_millis(self.since.load(Ordering::Relaxed));
        let phase = self.phase();
        let (patience, event) = patience(&self.timeouts, phase == Phase::Fresh);
        (phase != Phase::Busy).then_some((since, patience, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::server::admission::Admission;

    fn state() -> Arc<ConnectionState> {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        let limits = ConnectionLimits { requests_per_connection: 2, ..config.limits };
        let client = AdmittedClient::new(Arc::<Admission>::default(), None);
        let info = ConnectionInfo::new(None, true, true);
        Arc::new(ConnectionState::new(limits, config.timeouts, info, client, None, Arc::default()))
    }

    #[test]
    fn silence_has_an_end_before_and_between_requests() {
        let state = state();
        let called = || state.silence().map(|(_, _, event)| event);
        assert_eq!(called(), Some(ConnectionEvent::HeaderTimeout));
        state.begin();
        assert_eq!(called(), None, "the origin may take its time");
        state.end();
        assert_eq!(called(), Some(ConnectionEvent::Closed));
    }

    #[test]
    fn a_path_waits_for_its_request_and_no_longer() {
        let state = state();
        let path = |number: u32| Arc::from(number.to_string().into_bytes());
        for stream in [1, 3, 7] {
            assert!(state.note_path((stream, path(stream))));
        }
        assert_eq!((state.take_path(3), state.take_path(5)), (Some(path(3)), None));
        assert_eq!((state.take_path(1), state.take_path(7)), (None, Some(path(7))), "the first was refused");
        let most = 2 * state.limits.h2_streams;
        assert!((0..most).all(|number| state.note_path((9 + 2 * number, path(number)))));
        assert!(!state.note_path((9 + 2 * most, path(1))));
    }

    #[test]
    fn a_connection_is_busy_until_its_last_request_is_over() {
        let state = state();
        state.begin();
        state.begin();
        state.end();
        assert_eq!(state.phase(), Phase::Busy);
        state.end();
        assert_eq!(state.phase(), Phase::Idle);
    }
}
