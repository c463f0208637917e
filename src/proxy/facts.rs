//! Session → [`RequestFacts`]. The only place that reads a request's head for judging.

use crate::request::address::{Networks, client_address};
use crate::request::target::origin_form;
use crate::request::{RequestFacts, Scheme, host};
use http::header;
use pingora::proxy::Session;
use std::borrow::Cow;
use std::net::IpAddr;

/// What can be said of a request's head.
#[derive(Debug)]
pub(super) enum Head<'a> {
    /// A request for a path of a host.
    Request(RequestFacts<'a>),
    /// `OPTIONS *`: about the server, not a page (RFC 9110 §9.3.7); not judged.
    Server(RequestFacts<'a>),
    /// A head that no meaning can be given to; answered with 400.
    Malformed(&'static str),
}

/// Reads the head of the request.
pub(super) fn read<'a>(session: &'a Session, trusted: &Networks) -> Head<'a> {
    let request = session.req_header();
    let Some(host) = requested_host(session) else {
        return Head::Malformed("the request names no host");
    };
    let facts = RequestFacts {
        scheme: scheme(session, trusted),
        method: request.method.as_str(),
        host,
        target: Cow::Borrowed(request.raw_path()),
        user_agent: request.headers.get(header::USER_AGENT).map(http::HeaderValue::as_bytes),
        address: address(session, trusted),
    };
    if request.method == http::Method::OPTIONS && request.raw_path() == b"*" {
        return Head::Server(facts);
    }
    match origin_form(request.raw_path()) {
        Some(target) => Head::Request(RequestFacts { target, ..facts }),
        None => Head::Malformed("the request target is no path"),
    }
}

/// The host of the request; the authority of an absolute-form wins over the field (RFC 9112 §3.2.2).
fn requested_host(session: &Session) -> Option<Cow<'_, str>> {
    let request = session.req_header();
    let field = request.headers.get(header::HOST).and_then(|value| value.to_str().ok());
    let named = request.uri.authority().map(http::uri::Authority::as_str).or(field)?;
    let host = host::normalise(named);
    let may_be_empty = request.version == http::Version::HTTP_10;
    (!host.is_empty() || may_be_empty).then_some(host)
}

/// The scheme the client used: this listener's, or what a trusted proxy says that ended TLS before us.
fn scheme(session: &Session, trusted: &Networks) -> Scheme {
    let told = session.req_header().headers.get("x-forwarded-proto").map(http::HeaderValue::as_bytes);
    let is_https = told.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https"));
    let believed = is_https && peer(session).is_some_and(|peer| trusted.contain(peer));
    if believed { Scheme::Https } else { Scheme::Http }
}

fn peer(session: &Session) -> Option<IpAddr> {
    Some(session.client_addr()?.as_inet()?.ip())
}

fn address(session: &Session, trusted: &Networks) -> Option<IpAddr> {
    let peer = peer(session)?;
    let lines = session.req_header().headers.get_all("x-forwarded-for").iter();
    let lines: Vec<&str> = lines.filter_map(|value| value.to_str().ok()).collect();
    Some(client_address(peer, trusted, lines))
}
