//! One request of HTTP/2: decided, answered or exchanged by the same functions as one of HTTP/1.

use super::AMONG_OTHERS;
use super::hpack::true_path;
use super::state::ConnectionState;
use crate::gateway::{Incoming, RequestContext, date, malformed_answer};
use crate::http::{Body, HttpFault, HttpVersion, RequestHead, Response};
use crate::proxy::{ClientFault, ExchangeClient, ExchangeFailure};
use crate::record::ConnectionEvent;
use crate::server::admission::RequestPlace;
use crate::server::connection::{
    BodyMeter, Deadline, Recipient, RequestOutcome, Stall, WorkerContext, answer, drain, page, send,
};
use crate::server::delivery;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, DATE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a client may take for a piece of robots.txt where there is no place. It is answered all the same.
const HURRY: Duration = Duration::from_secs(5);

/// How much of an answer is handed over at a time.
const PIECE: usize = 16 * 1024;

/// Answers a request that has begun.
pub(super) async fn serve(
    request: http::Request<RecvStream>,
    answer: SendResponse<Bytes>,
    state: Arc<ConnectionState>,
    site: Arc<WorkerContext>,
) {
    let head = head(&request);
    let info = state.info.clone();
    let incoming = Incoming { head: &head, connection: &info };
    let policy = site.gateway.current.get();
    let mut context = RequestContext::new(&policy);
    let mut stream = Stream {
        body: request.into_body(),
        answer,
        writer: None,
        is_over: false,
        is_held: false,
        patience: *state.timeouts.client_write,
        state,
        place: None,
        is_body_over: false,
        meter: BodyMeter::default(),
        deadline: Deadline::default(),
        stall: Stall::default(),
    };
    let answered = stream.request(incoming, &site, &mut context).await;
    site.gateway.finish(incoming, answered.ending, context);
    if answered.is_whole {
        stream.finish();
        // One who is still sending is not cut off at once: it may not look at its answer before.
        stream.is_drained(&head).await;
        stream.is_held_no_more().await;
    } else if stream.writer.is_some() {
        // The library drops what is not written once the stream is reset. The client gets what the origin sent.
        tokio::task::yield_now().await;
    }
}

/// A request under way, and the client that waits for its answer.
struct Stream {
    body: RecvStream,
    answer: SendResponse<Bytes>,
    /// What the answer's body is written to, once its head was sent, and whether the answer was handed over to its end.
    writer: Option<SendStream<Bytes>>,
    is_over: bool,
    /// Whether the library may hold it for long.
    is_held: bool,
    state: Arc<ConnectionState>,
    place: Option<RequestPlace>,
    /// Whether nothing more is read of the request's body.
    is_body_over: bool,
    meter: BodyMeter,
    deadline: Deadline,
    /// Since when the client takes nothing of what is sent, and for how long it may.
    stall: Stall,
    patience: Duration,
}

impl Stream {
    async fn request(
        &mut self,
        incoming: Incoming<'_>,
        site: &WorkerContext,
        context: &mut RequestContext<'_>,
    ) -> RequestOutcome {
        let head = incoming.head;
        match self.state.permit.enter_request(&self.state.limits) {
            Ok(place) => self.place = Some(place),
            Err(_) if site.gateway.wants_robots_txt(incoming, context) => {
                self.patience = self.patience.min(HURRY);
            }
            Err(event) => {
                self.state.count(event);
                // It has no body, which a client could leave where it is: the answer is gone at once, whatever the client does
                // (RFC 9113 §6.9.1: flow control holds nothing back that is empty).
                let answer = Response::new(503, Bytes::new());
                let answer = answer.with("cache-control", "no-store").with("retry-after", "10");
                return self.respond(&answer, head, false).await;
            }
        }
        // The library bounds their size, and counts more for each than there is.
        if count_fields(head) > self.state.limits.header_fields {
            self.state.count(ConnectionEvent::HeaderTooLarge);
            return self.respond(&malformed_answer(HttpFault::HeadFields), head, false).await;
        }
        // Where none is announced, one that comes is a fault (RFC 9113 §8.1.1), which an origin is not to answer before.
        if head.body == Body::Length(0)
            && let Err(fault) = self.is_empty().await
        {
            return match page(ExchangeFailure::Client(fault)) {
                Some(page) => self.respond(&page, head, false).await,
                None => RequestOutcome::default(),
            };
        }
        answer(self, incoming, site, false, context).await
    }

    /// Waits for the end of a body without data.
    async fn is_empty(&mut self) -> Result<(), ClientFault> {
        let mut data = Vec::new();
        while !poll_fn(|context| self.poll_body(context, &mut data)).await? {}
        Ok(())
    }

    fn id(&self) -> u32 {
        self.answer.stream_id().into()
    }

    /// Ends the answer.
    fn finish(&mut self) {
        if !self.is_over {
            self.note_end();
            // The client may have left meanwhile.
            let _ = self.writer.as_mut().map(|writer| writer.send_data(Bytes::new(), true));
        }
    }

    /// The library is about to be given the end of the answer. Where the client takes less than there is, it holds that.
    fn note_end(&mut self) {
        self.is_over = true;
        self.is_held = self.place.is_some() && self.state.ledger.lock().is_behind;
        if self.is_held {
            self.state.watch(self.id());
        }
    }

    /// Waits until an answer that the library holds has left, or is lost. For so long the request keeps its place.
    async fn is_held_no_more(&mut self) {
        let (state, id) = (&self.state, self.id());
        if let Some(writer) = self.writer.as_mut().filter(|_| self.is_held) {
            tokio::select! {
                _ = state.has_left(id) => {}
                _ = poll_fn(|context| writer.poll_reset(context)) => {}
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.end(self.id());
    }
}

impl ExchangeClient for Stream {
    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        if self.is_body_over {
            return Poll::Ready(Ok(true));
        }
        let state = &self.state;
        let fault = match self.body.poll_data(context) {
            Poll::Ready(Some(Ok(data))) => {
                out.extend_from_slice(&data);
                // It fails for more than has come only.
                let _ = self.body.flow_control().release_capacity(data.len());
                if !self.meter.note(data.len(), &state.limits) {
                    return Poll::Ready(Ok(false));
                }
                state.count(ConnectionEvent::BodyTooLarge);
                Some(ClientFault::TooLarge)
            }
            Poll::Ready(Some(Err(_))) => Some(ClientFault::Gone),
            Poll::Ready(None) => None,
            Poll::Pending => {
                let at = self.meter.deadline(&state.limits, &state.timeouts);
                ready!(self.deadline.poll(context, at));
                state.count(ConnectionEvent::BodyTooSlow);
                Some(ClientFault::TooSlow)
            }
        };
        self.is_body_over = true;
        Poll::Ready(fault.map_or(Ok(true), Err))
    }

    fn send_head(&mut self, status: u16, fields: HeaderMap, is_last: bool) -> Result<(), ClientFault> {
        let mut head = http::Response::new(());
        *head.status_mut() = StatusCode::from_u16(status).map_err(|_| ClientFault::Gone)?;
        *head.headers_mut() = fields;
        if is_last {
            self.note_end();
        }
        let writer = self.answer.send_response(head, is_last).map_err(|_| ClientFault::Gone)?;
        self.writer = Some(writer);
        Ok(())
    }

    fn send_continue(&mut self) {
        let mut head = http::Response::new(());
        *head.status_mut() = StatusCode::CONTINUE;
        // It fails where the client has left, which is found when its body is read.
        let _ = self.answer.send_informational(head);
    }

    fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, ClientFault>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Err(ClientFault::Gone)) };
        let wanted = bytes.len().min(PIECE);
        writer.reserve_capacity(wanted);
        let mut room = writer.capacity();
        while room == 0 {
            let more = writer.poll_capacity(context);
            match ready!(self.stall.poll(more, &mut self.deadline, self.patience, context)) {
                Some(Some(Ok(more))) => room = more,
                _ => return Poll::Ready(Err(ClientFault::Gone)),
            }
        }
        self.stall = Stall::default();
        let piece = bytes.get(..wanted.min(room)).unwrap_or_default();
        let sent = writer.send_data(Bytes::copy_from_slice(piece), false);
        Poll::Ready(sent.map(|()| piece.len()).map_err(|_| ClientFault::Gone))
    }

    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.writer {
            Some(writer) => writer.poll_reset(context).map(drop),
            None => self.answer.poll_reset(context).map(drop),
        }
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.deadline.poll(context, at)
    }
}

impl Recipient for Stream {
    /// Sends an answer to its end, without waiting for what is left of the request's body (RFC 9113 §8.1).
    async fn respond(&mut self, response: &Response, head: &RequestHead, _: bool) -> RequestOutcome {
        let mut fields = HeaderMap::with_capacity(8);
        fields.extend(HeaderValue::from_bytes(&date::now()).map(|date| (DATE, date)));
        for (name, value) in response.fields() {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) {
                fields.insert(name, value);
            }
        }
        // A 304 has no content and announces none (RFC 9110 §8.6 lets it, and nothing is gained).
        if response.status != 304 {
            fields.insert(CONTENT_LENGTH, response.body.len().into());
        }
        let body: &[u8] = if head.method() == "HEAD" { &[] } else { &response.body };
        self.state.watch(self.id());
        let begun = self.send_head(response.status, fields, body.is_empty());
        let is_sent = begun.is_ok() && send(self, body).await.is_ok();
        if is_sent {
            self.finish();
        }
        RequestOutcome::own(response, is_sent, body.len(), false)
    }

    async fn is_drained(&mut self, _: &RequestHead) -> bool {
        self.meter.ignore();
        drain(self).await
    }

    /// Other answers are under way on the connection, which goes on either way, and its guard sees to the end of it.
    async fn is_delivered(&mut self) -> bool {
        let most = self.state.timeouts.client_write.min(AMONG_OTHERS);
        let (state, id) = (&self.state, self.id());
        let has_left = timeout(most, state.has_left(id)).await.unwrap_or(false);
        // One that cancels what is on its way does not take it, either.
        has_left && delivery::is_acknowledged(self.state.socket, most).await && state.has_left(id).await
    }
}

/// The head of a request as `gateway` reads it.
fn head(request: &http::Request<RecvStream>) -> RequestHead {
    let (uri, headers) = (request.uri(), request.headers());
    let declared = headers.get(CONTENT_LENGTH);
    let length = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let body = match length {
        Some(length) => Body::Length(length),
        None if request.body().is_end_stream() => Body::None,
        None => Body::UnknownLength,
    };
    let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
    let mut hosts = headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
    // RFC 9113 §8.3.1: they may say the same. Where they do not, there are two.
    let is_said_again = hosts.next().is_some_and(|host| Some(host) == authority) && hosts.next().is_none();
    let own = authority.filter(|_| !is_said_again).map(|host| (&b"host"[..], host));
    let path = true_path(uri.path_and_query().map_or("", PathAndQuery::as_str));
    let fields = headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    RequestHead::from_parts(
        [request.method().as_str().as_bytes(), &path],
        uri.scheme_str().map(str::as_bytes),
        HttpVersion::Http2,
        body,
        own.into_iter().chain(fields),
    )
}

/// How many fields a head has. A cookie may come in pieces, each a field of its own (RFC 9113 §8.2.3).
fn count_fields(head: &RequestHead) -> usize {
    head.field_count() - head.all("cookie").count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Body, HttpVersion};

    #[test]
    fn a_cookie_in_pieces_is_one_field() {
        let count = |pieces: usize| {
            let cookies = std::iter::repeat_n((&b"cookie"[..], &b"a=b"[..]), pieces);
            let fields = [(&b"host"[..], &b"a"[..]), (b"accept", b"*/*")].into_iter().chain(cookies);
            count_fields(&RequestHead::from_parts(
                [b"GET", b"/"],
                None,
                HttpVersion::Http2,
                Body::None,
                fields,
            ))
        };
        assert_eq!((count(0), count(1), count(85)), (2, 3, 3));
    }
}
