//! What the guard of an HTTP/2 connection and the tasks that serve its requests tell each other: the ledger of its streams.
//!
//! The guard sees bytes and knows nothing of requests; the tasks see requests and nothing of what comes before one. What a
//! request hands to the HTTP/2 library is written when the client's windows and its socket let it, and thrown away where the
//! client cancels the stream meanwhile. Neither is told by the library; both are seen in the frames as they pass by.

use super::paths::TruePath;
use crate::config::{ConnectionLimits, Timeouts};
use crate::gateway::ConnectionInfo;
use crate::record::{ConnectionEvent, ConnectionTotals};
use crate::server::admission::AdmittedClient;
use crate::server::life::ClientLife;
use std::collections::{BTreeMap, HashMap};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::watch;

/// One connection as its guard and its requests see it.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) limits: ConnectionLimits,
    pub(super) timeouts: Arc<Timeouts>,
    pub(super) info: ConnectionInfo,
    pub(super) client: AdmittedClient,
    /// Its socket, which the kernel is asked about.
    pub(super) socket: Option<RawFd>,
    totals: Arc<ConnectionTotals>,
    /// Whoever waits is told of changes of endings alone.
    ledger: watch::Sender<StreamLedger>,
}

/// What is known of the streams of a connection.
#[derive(Debug)]
struct StreamLedger {
    life: ClientLife,
    /// The requests that are not over yet.
    open: u32,
    /// Paths that the library was not given, of requests that it has not handed over.
    paths: BTreeMap<u32, Arc<[u8]>>,
    /// The answers that somebody asks about.
    endings: HashMap<u32, Ending>,
    /// Whether the connection has more to send than its client takes.
    is_behind: bool,
    /// Whether the client has broken the protocol.
    has_erred: bool,
}

/// What has become of the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Awaited,
    /// Written, perhaps not flushed.
    Written,
    /// The kernel has all of it.
    Sent,
    /// The stream was reset, or the connection is over.
    Lost,
}

impl ConnectionState {
    pub(super) fn new(life: ClientLife, info: ConnectionInfo, socket: Option<RawFd>) -> Self {
        Self {
            limits: life.limits,
            timeouts: Arc::clone(&life.timeouts),
            info,
            client: life.permit.client(),
            socket,
            totals: Arc::clone(life.permit.totals()),
            ledger: watch::Sender::new(StreamLedger {
                life,
                open: 0,
                paths: BTreeMap::new(),
                endings: HashMap::new(),
                is_behind: false,
                has_erred: false,
            }),
        }
    }

    /// Notes what nobody waits for.
    fn note<T: Default>(&self, note: impl FnOnce(&mut StreamLedger) -> T) -> T {
        let mut noted = T::default();
        self.ledger.send_if_modified(|ledger| {
            noted = note(ledger);
            false
        });
        noted
    }

    /// A request's head has arrived; whether it is the last that the connection carries: the client is told then that it
    /// takes no more (RFC 9113 §6.8).
    pub(super) fn begin(&self) -> bool {
        let requests = self.note(|ledger| {
            (ledger.life.requests, ledger.open) = (ledger.life.requests.saturating_add(1), ledger.open + 1);
            ledger.life.requests
        });
        requests == self.limits.requests_per_connection
    }

    /// It has been answered, and nobody asks about that any more.
    pub(super) fn end(&self, stream: u32) {
        self.ledger.send_if_modified(|ledger| {
            ledger.open = ledger.open.saturating_sub(1);
            ledger.life.wake();
            ledger.endings.remove(&stream).is_some()
        });
    }

    /// Whether no request is under way.
    pub(super) fn is_resting(&self) -> bool {
        self.ledger.borrow().open == 0
    }

    /// Whether the client goes on although it was told that no more requests are taken. As many as it may have open may
    /// be on their way when it is told, twice over where some of them are answered meanwhile.
    pub(super) fn is_overdrawn(&self) -> bool {
        let most =
            self.limits.requests_per_connection.saturating_add(self.limits.h2_streams.saturating_mul(2));
        self.ledger.borrow().life.requests > most
    }

    /// Notes the true path of a request that is about to come; `false` where there are more of them than a client has use
    /// for. The library holds as many requests as may be open, and as many that were cancelled.
    #[must_use]
    pub(super) fn note_path(&self, (stream, path): TruePath) -> bool {
        let count = self.note(|ledger| {
            ledger.paths.insert(stream, path);
            ledger.paths.len()
        });
        count <= 2 * self.limits.h2_streams as usize
    }

    /// The true path of the request that the library hands over, where it has another one. It does so in the order of the
    /// streams: what is left of those before was refused.
    pub(super) fn take_path(&self, stream: u32) -> Option<Arc<[u8]>> {
        self.note(|ledger| {
            let later = ledger.paths.split_off(&stream.saturating_add(1));
            std::mem::replace(&mut ledger.paths, later).remove(&stream)
        })
    }

    pub(super) fn count(&self, event: ConnectionEvent) {
        let has_erred = |ledger: &mut StreamLedger| std::mem::replace(&mut ledger.has_erred, true);
        if event == ConnectionEvent::H2Error && !self.note(has_erred) {
            self.client.note_error();
        }
        self.totals.count(event);
    }

    /// Counts what the connection is ended for.
    pub(super) fn count_end(&self, event: ConnectionEvent) {
        self.note(|ledger| ledger.life.end(event));
    }

    /// The client has sent something.
    pub(super) fn speak(&self) {
        self.note(|ledger| ledger.life.hear());
    }

    /// All that was written has gone to the kernel.
    pub(super) fn flushed(&self) {
        self.ledger.send_if_modified(|ledger| {
            ledger.is_behind = false;
            ledger.turn(|ending| (ending == Ending::Written).then_some(Ending::Sent))
        });
    }

    /// The client takes less than there is. Nothing is read where it takes nothing, so such a one could make no room.
    pub(super) fn note_behind(&self) {
        self.note(|ledger| ledger.is_behind = true);
    }

    pub(super) fn is_behind(&self) -> bool {
        self.ledger.borrow().is_behind
    }

    /// The connection is gone: one that said something, and never asked for anything, is counted.
    pub(super) fn close(&self) {
        self.ledger.send_if_modified(|ledger| {
            ledger.turn(|ending| (ending != Ending::Sent).then_some(Ending::Lost))
        });
        self.note(|ledger| ledger.life.close());
    }

    /// Ready once the client has been silent for too long while nothing is under way, or has to make room for another.
    pub(super) fn poll_silence(&self, context: &mut Context<'_>) -> Poll<ConnectionEvent> {
        let silence = self.note(|ledger| {
            if ledger.open > 0 {
                ledger.life.wake();
                return None;
            }
            match ledger.life.poll_silence(context, None, !ledger.is_behind) {
                Poll::Ready(event) => Some(event),
                Poll::Pending => None,
            }
        });
        silence.map_or(Poll::Pending, Poll::Ready)
    }

    /// Watches a stream from before its answer ends until [`Self::end`].
    pub(super) fn watch(&self, stream: u32) {
        self.note(|ledger| {
            ledger.endings.entry(stream).or_insert(Ending::Awaited);
        });
    }

    /// The frame was written that ends `stream`, or resets it.
    pub(super) fn wrote(&self, stream: u32, is_reset: bool) {
        let ending = if is_reset { Ending::Lost } else { Ending::Written };
        self.turn_one(stream, |before| (before == Ending::Awaited).then_some(ending));
    }

    /// The client has cancelled `stream`.
    pub(super) fn cancelled(&self, stream: u32) {
        self.turn_one(stream, |_| Some(Ending::Lost));
    }

    fn turn_one(&self, stream: u32, next: impl FnOnce(Ending) -> Option<Ending>) {
        self.ledger.send_if_modified(|ledger| {
            let Some(ending) = ledger.endings.get_mut(&stream) else { return false };
            next(*ending).map(|next| *ending = next).is_some()
        });
    }

    /// Waits until the answer on `stream` has left, or is lost; whether it has left.
    pub(super) async fn has_left(&self, stream: u32) -> bool {
        let is_awaited = |ending| matches!(ending, Some(Ending::Awaited | Ending::Written));
        let mut ledger = self.ledger.subscribe();
        let over = ledger.wait_for(|ledger| !is_awaited(ledger.endings.get(&stream).copied())).await;
        over.is_ok_and(|ledger| ledger.endings.get(&stream) == Some(&Ending::Sent))
    }

    /// Waits until nobody asks any more.
    pub(super) async fn all_forgotten(&self) {
        // The sender is here.
        let _ = self.ledger.subscribe().wait_for(|ledger| ledger.endings.is_empty()).await;
    }
}

impl StreamLedger {
    /// Changes endings; whether there is one that did.
    fn turn(&mut self, next: impl Fn(Ending) -> Option<Ending>) -> bool {
        let mut has_changed = false;
        for ending in self.endings.values_mut() {
            if let Some(next) = next(*ending) {
                (*ending, has_changed) = (next, true);
            }
        }
        has_changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::server::admission::Admission;
    use std::task::Waker;
    use std::time::Duration;

    fn state() -> Arc<ConnectionState> {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        let limits = ConnectionLimits { requests_per_connection: 2, ..config.limits };
        let timeouts =
            Timeouts { client_header: Duration::ZERO, keepalive: Duration::ZERO, ..*config.timeouts };
        let permit = Arc::<Admission>::default().enter();
        let life = ClientLife::new(permit, limits, Arc::new(timeouts));
        Arc::new(ConnectionState::new(life, ConnectionInfo::new(None, true, true), None))
    }

    #[test]
    fn silence_has_an_end_before_and_between_requests() {
        let state = state();
        let called = || state.poll_silence(&mut Context::from_waker(Waker::noop()));
        assert_eq!(called(), Poll::Ready(ConnectionEvent::HeaderTimeout));
        assert!(!state.begin());
        assert_eq!(called(), Poll::Pending, "the origin may take its time");
        assert!(state.begin(), "the last that the connection carries");
        state.end(1);
        assert_eq!(called(), Poll::Pending, "one is under way");
        state.end(3);
        assert_eq!(called(), Poll::Ready(ConnectionEvent::Closed));
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

    #[tokio::test]
    async fn an_answer_has_left_once_its_end_is_with_the_kernel() {
        let state = state();
        for stream in [1, 3, 5, 7] {
            state.watch(stream);
        }
        state.wrote(1, false);
        state.wrote(1, true);
        state.wrote(3, false);
        state.wrote(9, false);
        state.cancelled(3);
        state.note_behind();
        assert!(state.is_behind());
        let first = async {
            tokio::task::yield_now().await;
            state.flushed();
        };
        assert!(tokio::join!(state.has_left(1), first).0 && !state.is_behind());
        state.watch(11);
        state.wrote(11, true);
        assert!(!state.has_left(11).await, "it was reset");
        state.wrote(5, false);
        state.close();
        for lost in [3, 5, 7, 9] {
            assert!(!state.has_left(lost).await, "{lost}");
        }
        assert!(state.has_left(1).await, "the connection ended behind it");
        state.cancelled(1);
        assert!(!state.has_left(1).await);
        let rest = async {
            for stream in [1, 3, 5, 7, 11] {
                state.end(stream);
            }
        };
        tokio::join!(state.all_forgotten(), rest);
    }
}
