//! Waiting for the next request: until its head is whole, has a fault, or is too late.

use super::requests::Service;
use super::{ClientStream, Http1Connection, linger, send};
use crate::config::ConnectionLimits;
use crate::gateway::{ConnectionInfo, Fragment, date, is_read_of_question, malformed_answer};
use crate::http::head::{HeadLimits, HeadReader, QuestionReader};
use crate::http::{Body, BodyReader, HttpFault, RequestHead, Response};
use crate::record::ConnectionEvent;
use crate::server::workers::Stage;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::coop::has_budget_remaining;

/// What came of the wait for the next request.
pub(super) enum NextRequest {
    /// A whole head without a fault.
    Request(RequestHead),
    /// A head that is none.
    Fault(HttpFault),
    /// The client has had its time.
    Late(ConnectionEvent),
    /// The client left within a head.
    Left,
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
            return Self::Question(Box::new(QuestionReader::new(is_read_of_question)));
        }
        Self::Request(HeadReader::new(HeadLimits {
            bytes: *limits.header_size,
            fields: limits.header_fields,
        }))
    }

    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<RequestHead>, HttpFault> {
        match self {
            Self::Request(reader) => reader.read(bytes),
            Self::Question(reader) => reader.read(bytes),
        }
    }
}

/// The end of idle connections, as the worker announces it.
pub(super) struct Closing<'a, F> {
    pub(super) stage: watch::Receiver<Stage>,
    pub(super) said: Pin<&'a mut F>,
    pub(super) is_awaited: bool,
}

impl<F: Future<Output = ()>> Closing<'_, F> {
    /// Whether it is under way: the request at hand is the last one.
    pub(super) fn is_near(&self) -> bool {
        self.stage.has_changed().unwrap_or(true)
    }

    /// Ready once idle connections end. The first call has the task woken at that moment. Later calls return at once until
    /// the stage has changed.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_awaited && !self.is_near() {
            return Poll::Pending;
        }
        // When the task has used up its budget, the channel notes no waker, and tokio polls the task again.
        self.is_awaited |= has_budget_remaining();
        self.said.as_mut().poll(context)
    }
}

impl<S: ClientStream> Http1Connection<S> {
    pub(super) async fn next_head<F: Future<Output = ()>>(
        &mut self,
        reader: &mut ServiceReader,
        closing: &mut Closing<'_, F>,
    ) -> NextRequest {
        self.head_since = None;
        let next = poll_fn(|context| self.poll_head(context, reader, closing)).await;
        self.life.wake();
        let head = match next {
            Ok(head) => head,
            Err(next) => return next,
        };
        // What of the body has come with its head is looked at first: a request with a fault there goes nowhere. Nobody reads
        // the body of a question.
        let is_read = head.body == Body::UnknownLength && matches!(reader, ServiceReader::Request(_));
        let read = is_read.then(|| BodyReader::new(head.body).read(&self.unread, |_| {}));
        let Some(Err(fault)) = read else { return NextRequest::Request(head) };
        self.unread.splice(..0, head.into_bytes());
        NextRequest::Fault(fault)
    }

    fn poll_head<F: Future<Output = ()>>(
        &mut self,
        context: &mut Context<'_>,
        reader: &mut ServiceReader,
        closing: &mut Closing<'_, F>,
    ) -> Poll<Result<RequestHead, NextRequest>> {
        loop {
            if !self.unread.is_empty() {
                match reader.read(&mut self.unread) {
                    Ok(Some(head)) => return Poll::Ready(Ok(head)),
                    Ok(None) => {}
                    Err(fault) => return Poll::Ready(Err(NextRequest::Fault(fault))),
                }
            }
            // Empty lines are no head (RFC 9112 §2.2).
            let has_begun = self.unread.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
            if has_begun {
                self.head_since.get_or_insert_with(Instant::now);
            }
            match if self.has_ended { Poll::Ready(Ok(0)) } else { self.poll_fill(context) } {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) if has_begun => return Poll::Ready(Err(NextRequest::Left)),
                Poll::Ready(_) => return Poll::Ready(Err(NextRequest::End)),
                Poll::Pending => return self.poll_patience(context, closing).map(Err),
            }
        }
    }

    /// Waits no longer than a client may be silent. A stop ends the wait for a head that has not begun.
    fn poll_patience<F: Future<Output = ()>>(
        &mut self,
        context: &mut Context<'_>,
        closing: &mut Closing<'_, F>,
    ) -> Poll<NextRequest> {
        if self.head_since.is_none() && closing.poll(context).is_ready() {
            return Poll::Ready(NextRequest::End);
        }
        let head_since = self.head_since;
        self.life.poll_silence(context, head_since, head_since.is_none()).map(|event| match event {
            ConnectionEvent::Closed => NextRequest::End,
            event => NextRequest::Late(event),
        })
    }

    /// Answers a head that is no request, and ends the connection.
    pub(super) async fn refuse(&mut self, service: &Service, info: &ConnectionInfo, fault: HttpFault) {
        let gateway = service.gateway();
        match gateway {
            _ if fault.is_size() => self.life.count(ConnectionEvent::HeaderTooLarge),
            Some(gateway) => {
                gateway.totals.malformed();
                self.life.is_counted = true;
            }
            None => self.life.count(ConnectionEvent::NoRequest),
        }
        let answer = match service {
            Service::Doors(site) => match site.gateway.advise_unread(info, fault.sentence()) {
                Some(answer) => answer,
                None => return,
            },
            _ => malformed_answer(fault),
        };
        let body = if self.is_unread_head() { 0 } else { answer.body.len() };
        self.record_fragment(service, info, answer.status, body, fault.as_str());
        self.say_and_linger(&answer).await;
    }

    /// Ends a connection whose client has had its time.
    pub(super) async fn give_up(&mut self, service: &Service, info: &ConnectionInfo, event: ConnectionEvent) {
        self.life.end(event);
        if event != ConnectionEvent::HeaderTimeout || !self.life.has_spoken {
            return;
        }
        // Proxies take a 408 for a refusal of their client.
        let status = if matches!(service, Service::Doors(_)) { 503 } else { 408 };
        self.record_fragment(service, info, status, 0, "late");
        let answer = Response::new(status, bytes::Bytes::new());
        self.say_and_linger(&answer).await;
    }

    /// Tells of a head that is no request.
    pub(super) fn record_fragment(
        &self,
        service: &Service,
        info: &ConnectionInfo,
        status: u16,
        body: usize,
        fault: &'static str,
    ) {
        if let Some(gateway) = service.gateway() {
            let (bytes, since) = (&*self.unread, self.head_since);
            gateway.record_fragment(info, &Fragment { bytes, since, status, body, fault });
        }
    }

    /// Whether a head that is no request asks for an answer without a body (RFC 9110 §9.3.2).
    fn is_unread_head(&self) -> bool {
        self.unread.trim_ascii_start().starts_with(b"HEAD ")
    }

    async fn say_and_linger(&mut self, answer: &Response) {
        let written = answer.written(self.is_unread_head(), &date::now(), false);
        if send(self, &written).await.is_ok() {
            linger::linger(&mut self.stream).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::time::Duration;

    /// As where a client sends many requests in one piece, and then waits.
    #[tokio::test]
    async fn an_end_is_heard_of_by_who_waits_with_no_share_of_the_runtime_left() {
        let (say, mut stage) = watch::channel(Stage::Running);
        let changes = stage.clone();
        let said = pin!(async { drop(stage.wait_for(|stage| *stage == Stage::CloseIdle).await) });
        let mut closing = Closing { stage: changes, said, is_awaited: false };
        let mut is_first = true;
        let wait = poll_fn(|context| {
            while is_first && has_budget_remaining() {
                let _ = pin!(tokio::task::coop::consume_budget()).poll(context);
            }
            is_first = false;
            closing.poll(context)
        });
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(30)).await;
            say.send_replace(Stage::CloseIdle);
        });
        let start = Instant::now();
        tokio::time::timeout(Duration::from_secs(5), wait).await.expect("it ends");
        assert!(start.elapsed() < Duration::from_secs(4));
    }
}
