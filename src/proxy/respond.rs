//! Answer → Session: one way for everything the gateway says itself.

use super::answer::Answer;
use http::{HeaderValue, StatusCode};
use pingora::Result;
use pingora::http::ResponseHeader;
use pingora::protocols::http::date::get_cached_date;
use pingora::proxy::Session;
use std::borrow::Cow;
use std::time::Duration;

/// How much of an unwanted request body is read so that the answer arrives and the connection lives on.
/// A larger body costs its sender the connection.
const DRAIN_BYTES: usize = 256 * 1024;

/// What the head of an answer takes at most, mostly.
const HEAD_OCTETS: usize = 512;

/// How long such a body may take.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Sends `answer` with the right `Content-Length`, without a body to HEAD, and keeps the connection alive
/// where that is safe.
pub(super) async fn respond(session: &mut Session, answer: Answer) -> Result<()> {
    if !drained(session).await {
        session.set_keepalive(None);
    }
    send(session, answer).await
}

/// The same, without waiting for what is left of the request's body: over HTTP/2 that ends no connection.
pub(super) async fn send(session: &mut Session, answer: Answer) -> Result<()> {
    let head_only = session.req_header().method == http::Method::HEAD;
    let mut header = ResponseHeader::build_no_case(answer.status, Some(answer.headers.len() + 1))?;
    for (name, value) in answer.headers {
        match value {
            Cow::Borrowed(value) => header.insert_header(name, HeaderValue::from_static(value))?,
            Cow::Owned(value) => header.insert_header(name, value)?,
        }
    }
    // A 304 has no content and announces none (RFC 9110 §8.6 lets it, and nothing is gained).
    if answer.status != 304 {
        header.insert_header("content-length", answer.body.len())?;
    }
    let without_body = head_only || answer.body.is_empty();
    session.write_response_header(Box::new(header), without_body).await?;
    if !without_body {
        session.write_response_body(Some(answer.body), true).await?;
    }
    Ok(())
}

/// `answer` in the octets of HTTP/1.1; its body, where that is wanted, and what becomes of the connection.
pub(super) fn octets(answer: &Answer, has_body: bool, lives_on: bool) -> Vec<u8> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::FORBIDDEN);
    let mut octets = Vec::with_capacity(HEAD_OCTETS + answer.body.len());
    let mut put = |pieces: &[&[u8]]| pieces.iter().for_each(|piece| octets.extend_from_slice(piece));
    let reason = status.canonical_reason().unwrap_or_default();
    put(&[b"HTTP/1.1 ", status.as_str().as_bytes(), b" ", reason.as_bytes(), b"\r\n"]);
    for (name, value) in &answer.headers {
        put(&[capitalised(name).as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
    }
    let length = answer.body.len().to_string();
    put(&[b"Content-Length: ", length.as_bytes(), b"\r\nDate: ", get_cached_date().as_bytes()]);
    put(&[b"\r\nConnection: ", if lives_on { &b"keep-alive"[..] } else { b"close" }, b"\r\n\r\n"]);
    if has_body {
        put(&[&answer.body]);
    }
    octets
}

/// The name of a field as pingora writes it.
fn capitalised(name: &'static str) -> &'static str {
    match name {
        "content-type" => "Content-Type",
        "cache-control" => "Cache-Control",
        other => other,
    }
}

/// The status that the client was answered with, if it was. Interim answers are none (RFC 9110 §15.2), but for the one
/// that opens a tunnel.
pub(super) fn final_status(session: &Session) -> Option<u16> {
    let status = session.response_written()?.status;
    let is_final = !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS;
    is_final.then_some(status.as_u16())
}

/// Reads what is left of the request body, up to a limit. A client that waits to be asked for its body
/// (`Expect: 100-continue`) is not asked (RFC 9110 §10.1.1).
async fn drained(session: &mut Session) -> bool {
    if session.as_mut().is_body_empty() {
        return true;
    }
    let headers = &session.req_header().headers;
    if headers.contains_key(http::header::EXPECT) || announces_more_than(DRAIN_BYTES, headers) {
        return false;
    }
    let drain = async {
        let mut rest = DRAIN_BYTES;
        while let Ok(chunk) = session.as_mut().read_request_body().await {
            let Some(chunk) = chunk else { return true };
            match rest.checked_sub(chunk.len()) {
                Some(left) => rest = left,
                None => return false,
            }
        }
        false
    };
    tokio::time::timeout(DRAIN_TIME, drain).await.unwrap_or(false)
}

/// Whether the body is known to be larger: then nobody waits for it.
fn announces_more_than(limit: usize, headers: &http::HeaderMap) -> bool {
    let length = headers.get(http::header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > limit)
}
