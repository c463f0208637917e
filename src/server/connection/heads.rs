//! Waiting for the next request: until its head is whole, has a fault, or is too late.

use super::requests::Service;
use super::{ClientStream, Http1Connection, linger};
use crate::config::{ConnectionLimits, Timeouts};
use crate::gateway::{CLIENT_GONE, ConnectionInfo, Fragment, Gateway, date, malformed_answer};
use crate::http::head::{HeadLimits, HeadReader, QuestionReader};
use crate::http::{Body, BodyReader, HttpFault, RequestHead, Response};
use crate::record::ConnectionEvent;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// How often a connection that waits for a request looks whether others need the room.
pub(in crate::server) const LOOK: Duration = Duration::from_secs(5);

/// How long a client may be silent of whom a head is awaited, or the next request, and what it is called when it was for
/// longer.
pub(in crate::server) fn patience(timeouts: &Timeouts, awaits_head: bool) -> (Duration, ConnectionEvent) {
    if awaits_head {
        (timeouts.client_header, ConnectionEvent::HeaderTimeout)
    } else {
        (timeouts.keepalive, ConnectionEvent::Closed)
    }
}

/// What came of the wait for the next request. `since` is when something of it came first, if that did not come at once.
pub(super) enum NextRequest {
    /// A whole head without a fault.
    Request(RequestHead),
    /// A head that is none.
    Fault { fault: HttpFault, since: Option<Instant> },
    /// The client has had its time.
    Late { event: ConnectionEvent, since: Option<Instant> },
    /// The client left within a head.
    Left { since: Option<Instant> },
    /// No request will come, and none has begun.
    End,
}

/// Reads the heads of requests strictly, and those of questions so that no field of a client is in the way.
pub(super) enum ServiceReader {
    Request(HeadReader),
    Question(Box<QuestionReader>),
}

impl ServiceReader {
    pub(super) fn new(service: &Service, limits: &ConnectionLimits) -> Self {
        if matches!(service, Service::Doors(_)) {
            return Self::Question(Box::new(QuestionReader::new(Gateway::is_read_of_question)));
        }
        Self::Request(HeadReader::new(HeadLimits { bytes: limits.header_size, fields: limits.header_fields }))
    }

    fn read(&mut self, bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, HttpFault> {
        match self {
            Self::Request(reader) => reader.read(bytes),
            Self::Question(reader) => reader.read(bytes),
        }
    }
}

impl<S: ClientStream> Http1Connection<S> {
    pub(super) async fn next_head<F: Future<Output = ()>>(
        &mut self,
        reader: &mut ServiceReader,
        closing: &mut Pin<&mut F>,
    ) -> NextRequest {
        let mut since = None;
        let next = poll_fn(|context| self.poll_head(context, reader, &mut since, closing)).await;
        // Its place is given back once it is closed.
        let makes_room = matches!(next, Err(NextRequest::Late { event: ConnectionEvent::MadeRoom, .. }));
        if !makes_room {
            self.permit.leave_queue();
        }
        match next {
            // Nobody reads the body of a question.
            Ok((head, end)) => match self.check_body(head.body, end) {
                Err(fault) if matches!(reader, ServiceReader::Request(_)) => {
                    NextRequest::Fault { fault, since }
                }
                _ => {
                    self.consume(end);
                    NextRequest::Request(head)
                }
            },
            Err(next) => next,
        }
    }

    /// What of the body has come with its head is looked at first: a request with a fault there goes nowhere.
    fn check_body(&self, body: Body, end: usize) -> Result<(), HttpFault> {
        if body != Body::UnknownLength {
            return Ok(());
        }
        let rest = self.unread.get(end..).unwrap_or_default();
        BodyReader::new(body).read(rest, |_| {}).map(drop)
    }

    fn poll_head<F: Future<Output = ()>>(
        &mut self,
        context: &mut Context<'_>,
        reader: &mut ServiceReader,
        since: &mut Option<Instant>,
        closing: &mut Pin<&mut F>,
    ) -> Poll<Result<(RequestHead, usize), NextRequest>> {
        loop {
            if !self.unread.is_empty() {
                match reader.read(&self.unread) {
                    Ok(Some(head)) => return Poll::Ready(Ok(head)),
                    Ok(None) => {}
                    Err(fault) => return Poll::Ready(Err(NextRequest::Fault { fault, since: *since })),
                }
            }
            // Empty lines are no head (RFC 9112 §2.2).
            let has_begun = self.unread.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
            if has_begun && since.is_none() {
                *since = Some(Instant::now());
            }
            if self.has_ended {
                return Poll::Ready(Err(if has_begun {
                    NextRequest::Left { since: *since }
                } else {
                    NextRequest::End
                }));
            }
            match self.poll_fill(context) {
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(_)) if has_begun => {
                    return Poll::Ready(Err(NextRequest::Left { since: *since }));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(Err(NextRequest::End)),
                Poll::Pending => return self.poll_patience(context, *since, closing).map(Err),
            }
        }
    }

    /// Waits no longer than a client may be silent.
    fn poll_patience<F: Future<Output = ()>>(
        &mut self,
        context: &mut Context<'_>,
        since: Option<Instant>,
        closing: &mut Pin<&mut F>,
    ) -> Poll<NextRequest> {
        if since.is_some() {
            // A head that has begun is in flight, and answered still: its own time limit bounds it.
            self.permit.leave_queue();
        } else if closing.as_mut().poll(context).is_ready() {
            return Poll::Ready(NextRequest::End);
        }
        loop {
            let now = Instant::now();
            let idle_since = *self.idle_since.get_or_insert(now);
            if since.is_none() && self.permit.must_make_room(idle_since, &self.limits, context.waker()) {
                return Poll::Ready(NextRequest::Late { event: ConnectionEvent::MadeRoom, since });
            }
            let (at, event) = self.patience(since, idle_since);
            let wake = if since.is_none() { at.min(now + LOOK) } else { at };
            if self.deadline.poll(context, wake).is_pending() {
                return Poll::Pending;
            }
            if at <= Instant::now() {
                return Poll::Ready(match event {
                    ConnectionEvent::Closed => NextRequest::End,
                    event => NextRequest::Late { event, since },
                });
            }
        }
    }

    /// Until when the client may be silent, and what it is called when it was for longer.
    fn patience(&self, since: Option<Instant>, idle_since: Instant) -> (Instant, ConnectionEvent) {
        let is_first = self.requests == 0;
        // The first head from the moment of connecting.
        let from = since.filter(|_| !is_first).unwrap_or(idle_since);
        let (patience, event) = patience(&self.timeouts, is_first || since.is_some());
        (from + patience, event)
    }

    /// Answers a head that is no request, and ends the connection.
    pub(super) async fn refuse(
        &mut self,
        service: &Service,
        info: &ConnectionInfo,
        fault: HttpFault,
        since: Option<Instant>,
    ) {
        let gateway = service.gateway();
        match gateway {
            _ if fault.is_size() => self.count(ConnectionEvent::HeaderTooLarge),
            Some(gateway) => {
                gateway.totals.malformed();
                self.is_counted = true;
            }
            None => self.count(ConnectionEvent::NoRequest),
        }
        let answer = match service {
            Service::Doors(site) => match site.gateway.advise_unread(info, fault.sentence()) {
                Some(answer) => answer,
                None => return,
            },
            _ => malformed_answer(fault, &self.limits),
        };
        let body = if self.is_unread_head() { 0 } else { answer.body.len() };
        let status = answer.status;
        if let Some(gateway) = gateway {
            let bytes = &self.unread;
            let fragment = Fragment { bytes, since, status, body, fault: fault.as_str() };
            gateway.record_fragment(info, &fragment);
        }
        self.say_and_linger(&answer).await;
    }

    /// Ends a connection whose client has had its time.
    pub(super) async fn give_up(
        &mut self,
        service: &Service,
        info: &ConnectionInfo,
        event: ConnectionEvent,
        since: Option<Instant>,
    ) {
        let has_spoken = self.requests > 0 || !self.unread.is_empty();
        match event {
            ConnectionEvent::HeaderTimeout if !has_spoken => self.count(ConnectionEvent::Silent),
            event => self.count(event),
        }
        if event != ConnectionEvent::HeaderTimeout || !has_spoken {
            return;
        }
        // Proxies take a 408 for a refusal of their client.
        let status = if matches!(service, Service::Doors(_)) { 503 } else { 408 };
        self.record_fragment(service, info, since, status, "late");
        let answer = Response::new(status, bytes::Bytes::new());
        self.say_and_linger(&answer).await;
    }

    /// Tells of a head that does not come to its end, since the client has left.
    pub(super) fn record_unfinished(&self, service: &Service, info: &ConnectionInfo, since: Option<Instant>) {
        self.record_fragment(service, info, since, CLIENT_GONE, "unfinished");
    }

    fn record_fragment(
        &self,
        service: &Service,
        info: &ConnectionInfo,
        since: Option<Instant>,
        status: u16,
        fault: &'static str,
    ) {
        if let Some(gateway) = service.gateway() {
            let fragment = Fragment { bytes: &self.unread, since, status, body: 0, fault };
            gateway.record_fragment(info, &fragment);
        }
    }

    /// Whether a head that is no request asks for an answer without a body (RFC 9110 §9.3.2).
    fn is_unread_head(&self) -> bool {
        self.unread.trim_ascii_start().starts_with(b"HEAD ")
    }

    async fn say_and_linger(&mut self, answer: &Response) {
        let mut out = Vec::new();
        answer.write(&mut out, self.is_unread_head(), &date::now(), false);
        if self.send(&out).await.is_ok() {
            linger::linger(&mut self.stream).await;
        }
    }
}
