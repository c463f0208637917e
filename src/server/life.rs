//! A client's connection, whatever version of HTTP it speaks: its place, its limits, and how long its client may be silent.

use super::admission::Permit;
use super::connection::Deadline;
use crate::config::{ConnectionLimits, Timeouts};
use crate::record::ConnectionEvent;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// How often a connection that waits for a request looks whether others need the room, and how often once they do. For so
/// long it is let wait in any case: its client may be taking the rest of an answer, or about to send a request.
const LOOK: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_secs(2);

pub(super) struct ClientLife {
    pub(super) permit: Arc<Permit>,
    pub(super) limits: ConnectionLimits,
    pub(super) timeouts: Arc<Timeouts>,
    pub(super) deadline: Deadline,
    /// Requests that have come.
    pub(super) requests: u32,
    /// Whether the client has sent anything.
    pub(super) has_spoken: bool,
    /// Since when the next request is waited for.
    idle_since: Option<Instant>,
    /// When something last came on a connection of HTTP/2.
    heard: Option<Instant>,
    /// Whether what ended it is counted already.
    pub(super) is_counted: bool,
}

impl ClientLife {
    pub(super) fn new(permit: Permit, limits: ConnectionLimits, timeouts: Arc<Timeouts>) -> Self {
        Self {
            permit: Arc::new(permit),
            limits,
            timeouts,
            deadline: Deadline::default(),
            requests: 0,
            has_spoken: false,
            idle_since: None,
            heard: None,
            is_counted: false,
        }
    }

    /// Counts what the connection comes to its end by.
    pub(super) fn count(&mut self, event: ConnectionEvent) {
        self.permit.admission.totals.count(event);
        self.is_counted = true;
    }

    /// Nothing is waited for.
    pub(super) const fn wake(&mut self) {
        self.idle_since = None;
    }

    /// Something has come that may be a part of a request.
    pub(super) fn hear(&mut self) {
        (self.has_spoken, self.heard) = (true, Some(Instant::now()));
    }

    /// Ready once the client has been silent for too long, or for longer than it may be where others need the room, if it
    /// `may_make_room`, with what that is called. A head that has begun at `head_since` is in flight, and bounded by its own
    /// time.
    pub(super) fn poll_silence(
        &mut self,
        context: &mut Context<'_>,
        head_since: Option<Instant>,
        may_make_room: bool,
    ) -> Poll<ConnectionEvent> {
        let is_first = self.requests == 0;
        let (patience, event) = if is_first || head_since.is_some() {
            (*self.timeouts.client_header, ConnectionEvent::HeaderTimeout)
        } else {
            (*self.timeouts.keepalive, ConnectionEvent::Closed)
        };
        let mut now = Instant::now();
        let idle_since = *self.idle_since.get_or_insert(now);
        // The first head from the moment of connecting.
        let end = head_since.filter(|_| !is_first).unwrap_or(idle_since) + patience;
        let settled = self.heard.map_or(idle_since, |heard| heard.max(idle_since)) + SOON;
        loop {
            if end <= now {
                return Poll::Ready(event);
            }
            let left = if may_make_room { self.permit.patience(patience, &self.limits) } else { patience };
            let is_crowded = left < patience;
            if is_crowded && (idle_since + left).max(settled) <= now {
                return Poll::Ready(ConnectionEvent::MadeRoom);
            }
            let look = now + if is_crowded { SOON } else { LOOK };
            ready!(self.deadline.poll(context, if may_make_room { end.min(look) } else { end }));
            now = Instant::now();
        }
    }

    /// Counts what the connection is ended for. That one between two requests has had its time is no event.
    pub(super) fn end(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Closed => {}
            ConnectionEvent::HeaderTimeout if !self.has_spoken => self.count(ConnectionEvent::Silent),
            event => self.count(event),
        }
    }

    /// Counts a connection that is over and sent something, and never a request. One that sent nothing and left was ahead
    /// of its time, as those of browsers and health checks are.
    pub(super) fn close(&mut self) {
        if self.requests == 0 && self.has_spoken && !self.is_counted {
            self.count(ConnectionEvent::NoRequest);
        }
    }
}
