//! What the guard of an HTTP/2 connection and the tasks that serve its requests tell each other: the ledger of its streams.
//!
//! The guard sees bytes and knows nothing of requests; the tasks see requests and nothing of what comes before one. What a
//! request hands to the HTTP/2 library is written when the client's windows and its socket let it, and thrown away where the
//! client cancels the stream meanwhile. Neither is told by the library; both are seen in the frames as they pass by.

use super::frames::{DATA, END_STREAM, FrameHead, HEADERS, RST_STREAM};
use crate::config::{ConnectionLimits, Timeouts};
use crate::gateway::ConnectionInfo;
use crate::record::ConnectionEvent;
use crate::server::admission::Permit;
use crate::server::life::ClientLife;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Notify;

/// One connection as its guard and its requests see it.
pub(super) struct ConnectionState {
    pub(super) limits: ConnectionLimits,
    pub(super) timeouts: Arc<Timeouts>,
    pub(super) info: ConnectionInfo,
    pub(super) permit: Arc<Permit>,
    /// Its socket, which the kernel is asked about.
    pub(super) socket: Option<RawFd>,
    pub(super) ledger: Mutex<StreamLedger>,
    /// That an ending has changed.
    changed: Notify,
}

/// What is known of the streams of a connection.
pub(super) struct StreamLedger {
    pub(super) life: ClientLife,
    /// The requests that are not over yet.
    pub(super) open: u32,
    /// The answers that somebody asks about.
    endings: HashMap<u32, Ending>,
    /// Whether the connection has more to send than its client takes. Nothing is read where it takes nothing, so such a one
    /// could make no room.
    pub(super) is_behind: bool,
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
        let (limits, timeouts, permit) = (life.limits, Arc::clone(&life.timeouts), Arc::clone(&life.permit));
        let ledger =
            StreamLedger { life, open: 0, endings: HashMap::new(), is_behind: false, has_erred: false };
        Self { limits, timeouts, info, permit, socket, ledger: Mutex::new(ledger), changed: Notify::new() }
    }

    /// A request's head has arrived; whether it is the last that the connection carries: the client is told then that it
    /// takes no more (RFC 9113 §6.8).
    pub(super) fn begin(&self) -> bool {
        let mut ledger = self.ledger.lock();
        ledger.open += 1;
        ledger.life.requests = ledger.life.requests.saturating_add(1);
        ledger.life.requests == self.limits.requests_per_connection
    }

    /// It has been answered, and nobody asks about that any more.
    pub(super) fn end(&self, stream: u32) {
        let mut ledger = self.ledger.lock();
        ledger.open = ledger.open.saturating_sub(1);
        ledger.life.wake();
        if ledger.endings.remove(&stream).is_some() {
            self.changed.notify_waiters();
        }
    }

    /// Whether the client goes on although it was told that no more requests are taken. As many as it may have open may
    /// be on their way when it is told, twice over where some of them are answered meanwhile.
    pub(super) fn is_overdrawn(&self) -> bool {
        let most =
            self.limits.requests_per_connection.saturating_add(self.limits.h2_streams.saturating_mul(2));
        self.ledger.lock().life.requests > most
    }

    pub(super) fn count(&self, event: ConnectionEvent) {
        let is_error = event == ConnectionEvent::H2Error;
        if is_error && !std::mem::replace(&mut self.ledger.lock().has_erred, true) {
            self.permit.note_error();
        }
        self.permit.admission.totals.count(event);
    }

    /// All that was written has gone to the kernel.
    pub(super) fn flushed(&self) {
        self.ledger.lock().is_behind = false;
        self.turn(|_, ending| (ending == Ending::Written).then_some(Ending::Sent));
    }

    /// The connection is gone: one that said something, and never asked for anything, is counted.
    pub(super) fn close(&self) {
        self.turn(|_, ending| (ending != Ending::Sent).then_some(Ending::Lost));
        self.ledger.lock().life.close();
    }

    /// Ready once the client has been silent for too long while nothing is under way, or has to make room for another.
    pub(super) fn poll_silence(&self, context: &mut Context<'_>) -> Poll<ConnectionEvent> {
        let mut ledger = self.ledger.lock();
        if ledger.open > 0 {
            ledger.life.wake();
            return Poll::Pending;
        }
        let may_make_room = !ledger.is_behind;
        ledger.life.poll_silence(context, None, may_make_room)
    }

    /// Watches a stream from before its answer ends until [`Self::end`].
    pub(super) fn watch(&self, stream: u32) {
        self.ledger.lock().endings.entry(stream).or_insert(Ending::Awaited);
    }

    /// A frame was written, which may end its stream, and says why it ends that or the connection.
    pub(super) fn wrote(&self, head: FrameHead, reason: Option<u32>) {
        match reason {
            // PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, COMPRESSION_ERROR.
            Some(1 | 3 | 5 | 6 | 9) => self.count(ConnectionEvent::H2Error),
            // ENHANCE_YOUR_CALM.
            Some(11) => self.count(ConnectionEvent::H2Flood),
            _ => {}
        }
        let ending = match head.kind {
            RST_STREAM => Ending::Lost,
            DATA | HEADERS if head.flags & END_STREAM != 0 => Ending::Written,
            _ => return,
        };
        self.turn(|one, before| (one == head.stream && before == Ending::Awaited).then_some(ending));
    }

    /// The client has cancelled `stream`.
    pub(super) fn cancelled(&self, stream: u32) {
        self.turn(|one, _| (one == stream).then_some(Ending::Lost));
    }

    /// Changes the endings for which there is a next one.
    fn turn(&self, next: impl Fn(u32, Ending) -> Option<Ending>) {
        for (stream, ending) in &mut self.ledger.lock().endings {
            if let Some(next) = next(*stream, *ending) {
                *ending = next;
                self.changed.notify_waiters();
            }
        }
    }

    /// Waits until the answer on `stream` has left, or is lost; whether it has left.
    pub(super) async fn has_left(&self, stream: u32) -> bool {
        loop {
            let changed = self.changed.notified();
            match self.ledger.lock().endings.get(&stream) {
                Some(Ending::Awaited | Ending::Written) => {}
                over => return over == Some(&Ending::Sent),
            }
            changed.await;
        }
    }

    /// Waits until nobody asks any more.
    pub(super) async fn all_forgotten(&self) {
        loop {
            let changed = self.changed.notified();
            if self.ledger.lock().endings.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::{Arguments, Config, DurationValue};
    use crate::server::admission::Admission;
    use std::task::Waker;
    use std::time::Duration;

    pub(in crate::server::http2) fn state(patience: Duration) -> Arc<ConnectionState> {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        let limits = ConnectionLimits { requests_per_connection: 2, ..config.limits };
        let timeouts = Timeouts {
            client_header: DurationValue(patience),
            keepalive: DurationValue(patience),
            ..*config.timeouts
        };
        let permit = Arc::<Admission>::default().enter();
        let life = ClientLife::new(permit, limits, Arc::new(timeouts));
        Arc::new(ConnectionState::new(life, ConnectionInfo::new(None, true, true), None))
    }

    #[test]
    fn silence_has_an_end_before_and_between_requests() {
        let state = state(Duration::ZERO);
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

    #[tokio::test]
    async fn an_answer_has_left_once_its_end_is_with_the_kernel() {
        let state = state(Duration::ZERO);
        let wrote = |stream, is_reset| {
            let kind = if is_reset { RST_STREAM } else { DATA };
            state.wrote(FrameHead { length: 0, kind, flags: END_STREAM, stream }, None);
        };
        for stream in [1, 3, 5, 7] {
            state.watch(stream);
        }
        wrote(1, false);
        wrote(1, true);
        wrote(3, false);
        wrote(9, false);
        state.cancelled(3);
        state.ledger.lock().is_behind = true;
        let first = async {
            tokio::task::yield_now().await;
            state.flushed();
        };
        assert!(tokio::join!(state.has_left(1), first).0 && !state.ledger.lock().is_behind);
        state.watch(11);
        wrote(11, true);
        assert!(!state.has_left(11).await, "it was reset");
        wrote(5, false);
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
    #[test]
    fn what_the_gateway_finds_wrong_is_counted() {
        let state = state(Duration::ZERO);
        for (kind, reason) in
            [(RST_STREAM, Some(1)), (7, Some(0)), (7, Some(11)), (RST_STREAM, Some(5)), (DATA, None)]
        {
            state.wrote(FrameHead { length: 8, kind, flags: 0, stream: 1 }, reason);
        }
        let counts = state.permit.admission.totals.snapshot();
        assert_eq!((counts.of(ConnectionEvent::H2Error), counts.of(ConnectionEvent::H2Flood)), (2, 1));
    }
}
