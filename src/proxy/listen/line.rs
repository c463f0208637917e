//! What the guard of a connection and the callbacks of its requests tell each other.
//!
//! The guard sees octets and knows nothing of requests; the callbacks see requests and nothing of what
//! comes before one. A [`Line`] says in which part of its life a connection is, and since when.

mod body;

pub(in crate::proxy) use body::{BodyFault, BodyWatch};

use super::places::{Place, Places};
use crate::config::{Limits, Timeouts};
use crate::record::{ConnectionEvent, ConnectionTotals};
use http::HeaderValue;
use pingora::protocols::{GetProxyDigest, raw_connect::ProxyDigest};
use pingora::proxy::Session;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long an idle connection is left alone where others need the room.
const CROWDED: Duration = Duration::from_secs(5);

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its first request.
    Fresh,
    /// Its next request.
    Idle,
    /// The rest of a head.
    Head,
    /// A body.
    Body,
    /// The answer, or whatever a tunnel carries.
    Busy,
}

const PHASES: [Phase; 5] = [Phase::Fresh, Phase::Idle, Phase::Head, Phase::Body, Phase::Busy];

/// An address as the value of a field.
pub(in crate::proxy) fn shown(peer: IpAddr) -> HeaderValue {
    // An address is digits, letters, dots and colons, so the word of RFC 7239 §6.2 is never said.
    HeaderValue::try_from(peer.to_string()).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// One connection as its guard and its requests see it.
#[derive(Debug)]
pub(in crate::proxy) struct Line {
    pub(super) limits: Limits,
    timeouts: Timeouts,
    /// HTTP/2: many requests at once, so that only the first one has a phase of its own; between requests it is
    /// idle like any other connection.
    pub(super) is_multiplexed: bool,
    /// Those of its requests; HTTP/1 has none to count.
    pub(super) places: Option<Places>,
    totals: Arc<ConnectionTotals>,
    /// Whether its peer may be a proxy that writes fields.
    may_relay: bool,
    start: Instant,
    phase: AtomicU8,
    /// Milliseconds from `start` to the beginning of the phase.
    since: AtomicU64,
    requests: AtomicU32,
    /// Requests that are not over yet.
    open: AtomicU32,
    is_answered: AtomicBool,
    has_refused: AtomicBool,
    /// Whether the origin has taken an upgrade.
    is_tunnel: AtomicBool,
    /// The status that the guard told the client at the end; 0 for none.
    told: AtomicU16,
    /// Told when a connection of HTTP/2 has carried as many requests as it may.
    farewell: Notify,
    /// The address at the other end as the value of a field, once a request needed it.
    shown: OnceLock<HeaderValue>,
    /// Bodies of HTTP/2 that are on their way, by the number of their request.
    bodies: Mutex<Vec<(u32, Instant)>>,
}

impl Line {
    pub(super) fn new(
        limits: Limits,
        timeouts: Timeouts,
        places: Option<Places>,
        totals: Arc<ConnectionTotals>,
    ) -> Self {
        Self {
            limits,
            timeouts,
            is_multiplexed: places.is_some(),
            places,
            totals,
            may_relay: true,
            start: Instant::now(),
            phase: AtomicU8::new(Phase::Fresh as u8),
            since: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            open: AtomicU32::new(0),
            is_answered: AtomicBool::new(false),
            has_refused: AtomicBool::new(false),
            is_tunnel: AtomicBool::new(false),
            told: AtomicU16::new(0),
            farewell: Notify::new(),
            shown: OnceLock::new(),
            bodies: Mutex::default(),
        }
    }

    /// The same, its peer being nobody whose fields are believed unless it `may_relay`.
    pub(super) const fn relaying(mut self, may_relay: bool) -> Self {
        self.may_relay = may_relay;
        self
    }

    /// One of HTTP/1.1 without a connection.
    #[cfg(test)]
    pub(in crate::proxy) fn alone(limits: Limits, timeouts: Timeouts) -> Arc<Self> {
        Arc::new(Self::new(limits, timeouts, None, Arc::default()))
    }

    /// The line of a request's connection; none where pingora was given the connection by others.
    pub(in crate::proxy) fn of(session: &Session) -> Option<Arc<Self>> {
        Self::in_digest(session.digest()?.proxy_digest.as_ref()?)
    }

    /// The line of a connection whose octets come through others' hands.
    pub(in crate::proxy) fn behind(stream: &dyn GetProxyDigest) -> Option<Arc<Self>> {
        Self::in_digest(&*stream.get_proxy_digest()?)
    }

    fn in_digest(digest: &ProxyDigest) -> Option<Arc<Self>> {
        Self::lent_by(digest).map(Arc::clone)
    }

    fn lent_by(digest: &ProxyDigest) -> Option<&Arc<Self>> {
        digest.user_data.as_ref()?.downcast_ref()
    }

    /// Whether the peer may be a proxy that writes fields.
    pub(in crate::proxy) const fn may_relay(&self) -> bool {
        self.may_relay
    }

    /// The same of a request's connection.
    pub(in crate::proxy) fn may_relay_in(session: &Session) -> bool {
        let digest = session.digest().and_then(|digest| digest.proxy_digest.as_deref());
        digest.and_then(Self::lent_by).is_none_or(|line| line.may_relay)
    }

    /// Whether no whole head has come since the last request.
    pub(in crate::proxy) fn awaits_request(&self) -> bool {
        matches!(self.phase(), Phase::Fresh | Phase::Head)
    }

    /// A head is answered by others, who see to the end of the connection.
    pub(in crate::proxy) fn give_up(&self) {
        self.enter(Phase::Busy);
    }

    /// Some of a next request is there.
    pub(in crate::proxy) fn head_begins(&self) {
        if self.phase() == Phase::Idle {
            self.is_answered.store(false, Ordering::Relaxed);
            self.enter(Phase::Head);
        }
    }

    /// A request's head has arrived; its number on this connection, from 1.
    pub(in crate::proxy) fn begin(&self, has_body: bool) -> u32 {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        self.is_answered.store(false, Ordering::Relaxed);
        self.enter(if has_body && !self.is_multiplexed { Phase::Body } else { Phase::Busy });
        if self.is_multiplexed && number == self.limits.requests_per_connection {
            self.farewell.notify_one();
        }
        number
    }

    /// Its body has arrived.
    pub(in crate::proxy) fn body_ended(&self) {
        if self.phase() == Phase::Body {
            self.enter(Phase::Busy);
        }
    }

    /// It has been answered.
    pub(in crate::proxy) fn end(&self) {
        if self.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.enter(Phase::Idle);
        }
    }

    /// The address at the other end as the value of a field.
    pub(in crate::proxy) fn shown(&self, peer: IpAddr) -> HeaderValue {
        self.shown.get_or_init(|| shown(peer)).clone()
    }

    /// A place for a request, where it needs one, or under what it is counted that there is none.
    pub(in crate::proxy) fn place(&self) -> Result<Option<Place>, ConnectionEvent> {
        self.places.as_ref().map(|places| places.enter(&self.limits)).transpose()
    }

    /// Gives it back.
    pub(in crate::proxy) fn leave(&self, place: Place) {
        if let Some(places) = &self.places {
            places.leave(place);
        }
    }

    /// Waits until a connection of HTTP/2 has carried as many requests as it may; the client is told then that
    /// it takes no more (RFC 9113 §6.8).
    pub(in crate::proxy) async fn farewell(&self) {
        self.farewell.notified().await;
    }

    /// Whether a client of HTTP/2 goes on although it was told that no more requests are taken. As many as it
    /// may have open may be on their way when it is told, twice over where some of them are answered meanwhile.
    pub(super) fn is_overdrawn(&self) -> bool {
        let most =
            self.limits.requests_per_connection.saturating_add(self.limits.h2_streams.saturating_mul(2));
        self.is_multiplexed && self.requests() > most
    }

    /// From here on the connection is no HTTP.
    pub(in crate::proxy) fn open_tunnel(&self) {
        self.is_tunnel.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_tunnel(&self) -> bool {
        self.is_tunnel.load(Ordering::Relaxed)
    }

    /// Whether this was the last request that a connection of HTTP/1.1 may carry.
    pub(in crate::proxy) fn is_used_up(&self) -> bool {
        !self.is_multiplexed && self.requests() >= self.limits.requests_per_connection
    }

    /// Whether the next request of a connection of HTTP/1.1 will be the last one that it may carry.
    pub(in crate::proxy) fn ends_with_next(&self) -> bool {
        !self.is_multiplexed && self.requests() + 1 >= self.limits.requests_per_connection
    }

    /// Notes that a request was refused: its client's next ones may be, too.
    pub(in crate::proxy) fn refuses(&self) {
        self.has_refused.store(true, Ordering::Relaxed);
    }

    /// Whether one was since this was last asked.
    pub(in crate::proxy) fn has_refused(&self) -> bool {
        self.has_refused.swap(false, Ordering::Relaxed)
    }

    /// Watches a body of HTTP/2, where octets of many requests arrive on one connection.
    pub(in crate::proxy) fn watch_body(self: &Arc<Self>, number: u32) -> BodyWatch {
        let now = Instant::now();
        if self.is_multiplexed {
            self.bodies.lock().unwrap_or_else(PoisonError::into_inner).push((number, now));
        }
        BodyWatch { line: Arc::clone(self), number, start: now, octets: 0 }
    }

    pub(in crate::proxy) fn count(&self, event: ConnectionEvent) {
        self.totals.count(event);
    }

    pub(super) fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn phase(&self) -> Phase {
        // Requests of HTTP/2 overlap: where one ends just as another begins, the number of those that are open is right,
        // whoever spoke last.
        if self.is_multiplexed && self.open.load(Ordering::Relaxed) > 0 {
            return Phase::Busy;
        }
        let phase = usize::from(self.phase.load(Ordering::Relaxed));
        PHASES.get(phase).copied().unwrap_or(Phase::Busy)
    }

    pub(super) fn enter(&self, phase: Phase) {
        let since = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.since.store(since, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Notes that an answer has begun.
    pub(super) fn answer(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// Notes what the client is told in the place of an answer.
    pub(super) fn tell(&self, status: u16) {
        self.told.store(status, Ordering::Relaxed);
    }

    /// The status that the client was told by the guard, which then ended the connection.
    pub(in crate::proxy) fn told(&self) -> Option<u16> {
        Some(self.told.load(Ordering::Relaxed)).filter(|status| *status != 0)
    }

    pub(super) fn is_answered(&self) -> bool {
        self.is_answered.load(Ordering::Relaxed)
    }

    /// Until when the client may be silent, and what it is called when it was for longer. Bodies of
    /// HTTP/1.1 are the guard's affair, which knows how long it has waited for them.
    pub(super) fn deadline(&self, is_crowded: bool) -> Option<(Instant, ConnectionEvent)> {
        let since = self.start + Duration::from_millis(self.since.load(Ordering::Relaxed));
        let timeouts = &self.timeouts;
        match self.phase() {
            Phase::Fresh if is_crowded => {
                Some((since + timeouts.client_header.min(CROWDED), ConnectionEvent::MadeRoom))
            }
            Phase::Idle if is_crowded => {
                Some((since + timeouts.keepalive.min(CROWDED), ConnectionEvent::MadeRoom))
            }
            Phase::Fresh | Phase::Head => {
                Some((since + timeouts.client_header, ConnectionEvent::HeaderTimeout))
            }
            Phase::Idle => Some((since + timeouts.keepalive, ConnectionEvent::Closed)),
            Phase::Body => None,
            Phase::Busy => {
                let bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
                let stalled = bodies.iter().map(|(_, last)| *last).min()?;
                Some((stalled + self.body_silence(), ConnectionEvent::BodyTooSlow))
            }
        }
    }

    /// Time for a body to start before its rate counts, as long as a head may take: the client may be waiting
    /// for `100 Continue`, and a first window of TCP is small.
    pub(super) fn body_grace(&self) -> Duration {
        self.timeouts.client_header
    }

    /// How long the client may take nothing of what is sent.
    pub(super) const fn write_patience(&self) -> Duration {
        self.timeouts.client_write
    }

    /// How long a body of HTTP/2 may bring nothing. While the origin takes its time the client is not asked
    /// for more, so that time is allowed for as well.
    fn body_silence(&self) -> Duration {
        self.timeouts.client_read + self.timeouts.origin_write
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::Requests;
    use super::*;
    use crate::config::{Arguments, Config};

    fn line(is_multiplexed: bool, body_size: Option<u64>) -> Arc<Line> {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        let limits = Limits { body_size, requests_per_connection: 2, ..config.limits };
        let places = is_multiplexed.then(|| Places::of(Arc::<Requests>::default().of(None)));
        Arc::new(Line::new(limits, config.timeouts, places, Arc::default()))
    }

    #[test]
    fn a_head_has_a_deadline_on_every_request() {
        let line = line(false, None);
        let called = |line: &Line| line.deadline(false).map(|(_, event)| event);
        assert_eq!(called(&line), Some(ConnectionEvent::HeaderTimeout));
        line.begin(false);
        assert_eq!(called(&line), None, "the origin may take its time");
        line.end();
        assert_eq!(called(&line), Some(ConnectionEvent::Closed));
        assert_eq!(line.deadline(true).map(|(_, event)| event), Some(ConnectionEvent::MadeRoom));
        line.enter(Phase::Head);
        assert_eq!(called(&line), Some(ConnectionEvent::HeaderTimeout));
        line.begin(true);
        assert_eq!(line.phase(), Phase::Body);
        line.body_ended();
        assert_eq!(line.phase(), Phase::Busy);
        assert!(line.is_used_up());
    }

    #[test]
    fn a_body_of_http_2_is_watched_until_it_ends() {
        let line = line(true, Some(10));
        let number = line.begin(true);
        assert_eq!(line.deadline(false), None);
        let mut body = line.watch_body(number);
        assert!(line.deadline(false).is_some_and(|(_, event)| event == ConnectionEvent::BodyTooSlow));
        assert_eq!(body.piece(10, false), Ok(()));
        assert_eq!(body.piece(1, false), Err(BodyFault::TooLarge));
        drop(body);
        assert_eq!(line.deadline(false), None);
        assert!(!line.is_used_up(), "streams are not requests of HTTP/1.1");
        let other = line.begin(false);
        line.end();
        assert_eq!(line.phase(), Phase::Busy, "request {other} is over, the first one is not");
        line.end();
        assert_eq!(line.phase(), Phase::Idle);
    }
}
