//! One request of HTTP/2: decided, answered or exchanged by the same functions as one of HTTP/1. Pingora reads its frames.

use super::places::Place;
use super::state::ConnectionState;
use crate::config::Limits;
use crate::gateway::{Incoming, RequestContext};
use crate::http::{Body, RequestHead, Response, Version};
use crate::proxy::{Client, ClientFault, Failure};
use crate::record::ConnectionEvent;
use crate::server::connection::{Answered, BodyMeter, Deadline, Recipient, Site, answer, drain, page, send};
use crate::server::delivery;
use bytes::Bytes;
use h2::SendStream;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::http::RequestHeader;
use pingora::protocols::http::v2::server::HttpSession;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// How long a client may take for a piece of robots.txt where there is no place. It is answered all the same.
const HURRY: Duration = Duration::from_secs(5);

/// How long to wait for the last acknowledgement on a connection that carries other answers as well.
const AMONG_OTHERS: Duration = Duration::from_secs(10);

/// How much of an answer is handed over at a time.
const PIECE: usize = 16 * 1024;

/// Answers a request.
pub(super) async fn serve(session: HttpSession, state: Arc<ConnectionState>, site: &Site) {
    let head = head(&session);
    let info = state.info.clone();
    let incoming = Incoming { head: &head, connection: &info };
    let mut context = RequestContext::new(site.gateway.current.held());
    let mut stream = Stream::new(session, state);
    let answered = stream.request(incoming, site, &mut context).await;
    if answered.is_whole {
        stream.finish();
    }
    site.gateway.finish(incoming, answered.ending, context);
}

/// A request under way, and the client that waits for its answer.
struct Stream {
    session: HttpSession,
    /// What the answer's body is written to, once its head was sent.
    writer: Option<SendStream<Bytes>>,
    state: Arc<ConnectionState>,
    place: Option<Place>,
    /// Whether nothing more is read of the request's body.
    is_body_over: bool,
    meter: BodyMeter,
    deadline: Deadline,
    /// Since when the client takes nothing of what is sent, and for how long it may.
    stalled: Option<Instant>,
    patience: Duration,
}

impl Stream {
    fn new(session: HttpSession, state: Arc<ConnectionState>) -> Self {
        state.begin();
        Self {
            session,
            writer: None,
            patience: state.timeouts.client_write,
            state,
            place: None,
            is_body_over: false,
            meter: BodyMeter::default(),
            deadline: Deadline::default(),
            stalled: None,
        }
    }

    async fn request(
        &mut self,
        incoming: Incoming<'_>,
        site: &Site,
        context: &mut RequestContext,
    ) -> Answered {
        let head = incoming.head;
        match self.state.place() {
            Ok(place) => self.place = Some(place),
            Err(_) if site.gateway.wants_robots_txt(incoming, context) => {
                self.patience = self.patience.min(HURRY);
            }
            Err(event) => {
                self.state.count(event);
                return self.send_answer(&turn_away(), head).await;
            }
        }
        if is_head_too_large(head, &self.state.limits) {
            self.state.count(ConnectionEvent::HeaderTooLarge);
            let sentence = "the head of the request is larger than this server takes";
            return self.respond(&Response::page(431, sentence), head, false).await;
        }
        // Where none is announced, one that comes is a fault (RFC 9113 §8.1.1), which an origin is not to answer before.
        if head.body == Body::Length(0)
            && let Err(fault) = self.is_empty().await
        {
            return match page(Failure::Client(fault)) {
                Some(page) => self.respond(&page, head, false).await,
                None => Answered::default(),
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

    /// Sends an answer, without waiting for what is left of the request's body.
    async fn send_answer(&mut self, response: &Response, head: &RequestHead) -> Answered {
        let mut fields = HeaderMap::with_capacity(response.headers.len() + 2);
        for (name, value) in &response.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(&**name), HeaderValue::from_bytes(value)) {
                fields.insert(name, value);
            }
        }
        // A 304 has no content and announces none (RFC 9110 §8.6 lets it, and nothing is gained).
        if response.status != 304 {
            fields.insert(CONTENT_LENGTH, response.body.len().into());
        }
        let body: &[u8] = if head.method() == "HEAD" { &[] } else { &response.body };
        let begun = self.send_head(response.status, fields, body.is_empty());
        let is_sent = begun.is_ok() && send(self, body).await.is_ok();
        Answered::own(response, is_sent, body.len(), false)
    }

    /// Ends the answer.
    fn finish(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // The client may have left meanwhile.
            let _ = writer.send_data(Bytes::new(), true);
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            self.state.places.leave(place);
        }
        self.state.end();
    }
}

impl Client for Stream {
    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        if self.is_body_over {
            return Poll::Ready(Ok(true));
        }
        let state = &self.state;
        let fault = match self.session.poll_read_body_bytes(context) {
            Poll::Ready(Some(Ok(data))) => {
                out.extend_from_slice(&data);
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

    /// Never: HTTP/2 has no upgrade (RFC 9113 §8.6).
    fn poll_tunnel(&mut self, _: &mut Context<'_>, _: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        Poll::Ready(Err(ClientFault::Gone))
    }

    fn send_head(&mut self, status: u16, fields: HeaderMap, is_last: bool) -> Result<(), ClientFault> {
        let mut head = http::Response::new(());
        *head.status_mut() = http::StatusCode::from_u16(status).map_err(|_| ClientFault::Gone)?;
        *head.headers_mut() = fields;
        let (parts, ()) = head.into_parts();
        self.session.write_response_header(Box::new(parts.into()), is_last).map_err(|_| ClientFault::Gone)?;
        self.writer = self.session.take_response_body_writer().filter(|_| !is_last);
        Ok(())
    }

    fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, ClientFault>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Err(ClientFault::Gone)) };
        let wanted = bytes.len().min(PIECE);
        writer.reserve_capacity(wanted);
        let mut room = writer.capacity();
        while room == 0 {
            match writer.poll_capacity(context) {
                Poll::Ready(Some(Ok(more))) => room = more,
                Poll::Ready(_) => return Poll::Ready(Err(ClientFault::Gone)),
                Poll::Pending => {
                    let since = *self.stalled.get_or_insert_with(Instant::now);
                    ready!(self.deadline.poll(context, since + self.patience));
                    return Poll::Ready(Err(ClientFault::Gone));
                }
            }
        }
        self.stalled = None;
        let piece = bytes.get(..wanted.min(room)).unwrap_or_default();
        let sent = writer.send_data(Bytes::copy_from_slice(piece), false);
        Poll::Ready(sent.map(|()| piece.len()).map_err(|_| ClientFault::Gone))
    }

    /// The connection sends what it has of its own accord.
    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientFault>> {
        Poll::Ready(Ok(()))
    }

    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.writer {
            Some(writer) => writer.poll_reset(context).map(drop),
            None => pin!(self.session.idle()).poll(context).map(drop),
        }
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.deadline.poll(context, at)
    }
}

impl Recipient for Stream {
    async fn respond(&mut self, response: &Response, head: &RequestHead, _: bool) -> Answered {
        self.is_drained(head).await;
        self.send_answer(response, head).await
    }

    async fn is_drained(&mut self, _: &RequestHead) -> bool {
        self.meter.ignore();
        drain(self).await
    }

    /// Other answers are under way on the connection, which goes on either way, and its guard sees to the end of it.
    async fn is_delivered(&mut self) -> bool {
        let socket = self.session.digest().and_then(|digest| digest.socket_digest.clone());
        let most = self.state.timeouts.client_write.min(AMONG_OTHERS);
        delivery::is_digest_acknowledged(socket.as_deref(), most).await
    }
}

/// The head of a request as `gateway` reads it.
fn head(session: &HttpSession) -> RequestHead {
    let request: &RequestHeader = session.req_header();
    let declared = request.headers.get(CONTENT_LENGTH);
    let length = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    let body = match length {
        // Whether a body without data has ended is not told apart by pingora.
        Some(length) => Body::Length(length),
        None if session.is_body_empty() => Body::None,
        None => Body::Chunked,
    };
    let authority = request.uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = authority.filter(|_| !request.headers.contains_key(HOST));
    let own = host.into_iter().map(|host| (&b"host"[..], host));
    let fields = request.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    RequestHead::from_parts(
        [request.method.as_str().as_bytes(), request.raw_path()],
        request.uri.scheme_str().map(str::as_bytes),
        Version::Http2,
        body,
        own.chain(fields),
    )
}

/// What a request is told that has no place. It has no body, which a client could leave where it is: the answer is gone
/// at once, whatever the client does (RFC 9113 §6.9.1: flow control holds nothing back that is empty).
fn turn_away() -> Response {
    let answer = Response { status: 503, headers: Vec::new(), body: Bytes::new() };
    answer.with("cache-control", "no-store").with("retry-after", "10")
}

fn is_head_too_large(head: &RequestHead, limits: &Limits) -> bool {
    let line = head.method().len() + head.target().len();
    let fields = head.fields().map(|(name, value)| name.len() + value.len() + ": \r\n".len());
    count_fields(head) > limits.header_fields || fields.sum::<usize>() + line > limits.header_size
}

/// How many fields a head has. A cookie may come in pieces, each a field of its own (RFC 9113 §8.2.3).
fn count_fields(head: &RequestHead) -> usize {
    head.field_count() - head.all("cookie").count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Body, Version};

    #[test]
    fn a_cookie_in_pieces_is_one_field() {
        let count = |pieces: usize| {
            let cookies = std::iter::repeat_n((&b"cookie"[..], &b"a=b"[..]), pieces);
            let fields = [(&b"host"[..], &b"a"[..]), (b"accept", b"*/*")].into_iter().chain(cookies);
            count_fields(&RequestHead::from_parts([b"GET", b"/"], None, Version::Http2, Body::None, fields))
        };
        assert_eq!((count(0), count(1), count(85)), (2, 3, 3));
    }
}
