//! What `[limits]` and `[timeouts]` say about one request, at each step of its life.
//!
//! The guard of the connection knows octets and time; this tells it where a request begins and ends, and
//! looks at what can only be seen of a whole head or a piece of a body.

use super::answer::Answer;
use super::context::RequestContext;
use super::listen::{BodyFault, Line};
use crate::config::Limits;
use crate::record::ConnectionEvent;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use pingora::{Error, ErrorType};
use std::time::Duration;

/// A head has arrived.
pub(super) fn begin(session: &mut Session, context: &mut RequestContext) {
    let timeouts = context.policy.config.timeouts;
    context.line = Line::of(session);
    let has_body = !session.as_mut().is_body_empty();
    let is_used_up = context.line.as_ref().is_some_and(|line| {
        let number = line.begin(has_body);
        context.body = has_body.then(|| line.watch_body(number));
        line.is_used_up()
    });
    // On every request: pingora forgets the limit after the first one of a connection. Off stays off: a
    // client that wants its connection closed waits for that.
    if is_used_up {
        session.set_keepalive(None);
    } else if session.get_keepalive().is_some() {
        session.set_keepalive(Some(timeouts.keepalive.as_secs().max(1)));
    }
    session.as_mut().set_read_timeout(Some(timeouts.client_read));
    session.as_mut().set_write_timeout(Some(timeouts.client_write));
}

/// HTTP/1.0 knows neither interim answers nor the wish to be asked for a body (RFC 9110 §10.1.1, §15.2).
pub(super) fn keep_to_1_0(session: &mut Session) {
    if session.req_header().version == http::Version::HTTP_10 {
        session.as_mut().set_ignore_info_resp(true);
        session.req_header_mut().remove_header(&http::header::EXPECT);
    }
}

/// Takes a place among the requests under way; `Err`, and under what it is counted, when there is none.
pub(super) fn take_place(context: &mut RequestContext) -> Result<(), ConnectionEvent> {
    let place = context.line.as_ref().map_or(Ok(None), |line| line.place());
    context.place = place?;
    Ok(())
}

/// What a request is told that has no place. It has no body, which a client could leave where it is: the answer is gone
/// at once, whatever the client does (RFC 9113 §6.9.1: flow control holds nothing back that is empty).
pub(super) fn turn_away(context: &RequestContext, event: ConnectionEvent) -> Answer {
    if let Some(line) = &context.line {
        line.count(event);
    }
    Answer { status: 503, headers: vec![("cache-control", "no-store".into())], body: Bytes::new() }
        .with("retry-after", "10")
}

/// How long a client may take for a piece of robots.txt where there is no place. It is answered all the same.
const HURRY: Duration = Duration::from_secs(5);

/// Bounds how long an answer that has no place is held.
pub(super) fn hurry(session: &mut Session, context: &RequestContext) {
    session.as_mut().set_write_timeout(Some(context.policy.config.timeouts.client_write.min(HURRY)));
}

/// The answer to a request that is more than the gateway takes.
pub(super) fn refusal(session: &mut Session, context: &RequestContext) -> Option<Answer> {
    let limits = context.policy.config.limits;
    let count = |event| {
        if let Some(line) = &context.line {
            line.count(event);
        }
    };
    let request = session.req_header();
    if is_head_too_large(request, &limits) {
        count(ConnectionEvent::HeaderTooLarge);
        session.set_keepalive(None);
        return Some(Answer::page(431, "the head of the request is larger than this server takes"));
    }
    if declared(request).is_some_and(|length| limits.body_size.is_some_and(|most| length > most)) {
        count(ConnectionEvent::BodyTooLarge);
        return Some(Answer::page(413, TOO_LARGE));
    }
    None
}

/// What a client reads whose body is too large, announced or not.
pub(super) const TOO_LARGE: &str = "the body of the request is larger than this server takes";

pub(super) fn is_head_too_large(request: &RequestHeader, limits: &Limits) -> bool {
    let line = request.method.as_str().len() + request.raw_path().len();
    let fields =
        request.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let most = limits.header_size;
    request.headers.len() > limits.header_fields || fields.sum::<usize>() + line > most
}

fn declared(request: &RequestHeader) -> Option<u64> {
    request.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A piece of the body has arrived.
pub(super) fn piece(
    context: &mut RequestContext,
    body: Option<&Bytes>,
    is_last: bool,
) -> pingora::Result<()> {
    let octets = body.map_or(0, Bytes::len);
    let status = match context.body.as_mut().map(|watch| watch.piece(octets, is_last)) {
        None | Some(Ok(())) => return Ok(()),
        Some(Err(BodyFault::TooLarge)) => 413,
        Some(Err(BodyFault::TooSlow)) => 408,
    };
    Err(Error::new_down(ErrorType::HTTPStatus(status)))
}

/// The request is over.
pub(super) fn end(context: &mut RequestContext) {
    context.body = None;
    if let Some(line) = &context.line {
        if let Some(place) = context.place.take() {
            line.leave(place);
        }
        line.end();
    }
}
