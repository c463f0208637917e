//! Header fields that tell the origin where a request came from.
//!
//! What a trusted proxy says is continued; what anybody else says of itself is a claim, and is replaced.

use super::answer::Answer;
use super::asked::Asked;
use super::context::RequestContext;
use super::{facts, labels, listen};
use crate::config::HostPattern;
use http::{HeaderName, HeaderValue, Method, Version, header};
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use std::net::IpAddr;

/// A field to look up, and its name as it is written: static text is set without being copied first.
struct Field {
    name: HeaderName,
    written: &'static str,
}

const FOR: Field = Field { name: HeaderName::from_static("x-forwarded-for"), written: "X-Forwarded-For" };
const HOST: Field = Field { name: HeaderName::from_static("x-forwarded-host"), written: "X-Forwarded-Host" };
const PROTO: Field =
    Field { name: HeaderName::from_static("x-forwarded-proto"), written: "X-Forwarded-Proto" };
const REQUEST_ID: Field = Field { name: HeaderName::from_static("x-request-id"), written: "X-Request-Id" };

/// Fields by which a client would tell the origin who it is, or that it asks for another page than the one that was
/// judged.
const CLAIMS: [&str; 13] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "forwarded",
    "x-real-ip",
    "x-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-original-url",
    "x-rewrite-url",
    "x-request-id",
];

/// The longest id that is taken from a proxy.
const LONGEST_ID: usize = 128;

/// Sets the fields on the request to the origin.
pub(super) fn forward(
    session: &Session,
    request: &mut RequestHeader,
    context: &RequestContext,
) -> Result<()> {
    let config = &context.policy.config;
    let asked = Asked::of(session);
    let peer = asked.peer;
    let is_trusted = peer.is_some_and(|peer| config.trusted_proxies.contain(peer));
    labels::remove(request, |name| is_claim(name, is_trusted));
    name_host(request, context)?;
    if let Some(peer) = peer {
        chain(session, request, context, peer)?;
    }
    let is_told =
        |request: &RequestHeader, field: Field| is_trusted && request.headers.contains_key(field.name);
    if !is_told(request, PROTO) {
        request.insert_header(PROTO.written, facts::scheme(asked, config).as_str())?;
    }
    if !is_told(request, HOST)
        && let Some(host) = request.headers.get(header::HOST).cloned()
    {
        request.insert_header(HOST.written, host)?;
    }
    request.insert_header(REQUEST_ID.written, &*context.request_id)?;
    if config.forwarding.via {
        via(session, request)?;
    }
    one_cookie(session, request)?;
    if let Some(left) = max_forwards(request) {
        request.insert_header(header::MAX_FORWARDS, left.saturating_sub(1))?;
    }
    Ok(())
}

/// Whether a field is a claim, in any spelling that an origin may take for the same. What a trusted proxy says is none,
/// where it is spelled as proxies do: it may have passed on what a client spelled otherwise.
fn is_claim(name: &str, is_trusted: bool) -> bool {
    CLAIMS.iter().any(|claim| labels::is_spelled(name, claim) && !(is_trusted && name == *claim))
}

/// HTTP/1.0 knows requests without a host, and HTTP/1.1, which the origin is spoken to in, does not
/// (RFC 9112 §3.2): such a request is for the site's first host or, failing that, for the origin itself.
fn name_host(request: &mut RequestHeader, context: &RequestContext) -> Result<()> {
    if request.headers.contains_key(header::HOST) || request.uri.authority().is_some() {
        return Ok(());
    }
    let Some(site) = context.site() else { return Ok(()) };
    let exact = site.config.hosts.iter().find_map(|host| match host {
        HostPattern::Exact(name) => Some(name.to_string()),
        HostPattern::Below(_) => None,
    });
    let server = context.tried.last().and_then(|index| site.config.origin.servers.get(*index));
    match exact.or_else(|| server.map(|server| server.url.authority())) {
        Some(host) => request.insert_header(header::HOST, host),
        None => Ok(()),
    }
}

/// Continues the chain of addresses by the one that connected. What is left of an untrusted peer's chain has
/// been removed before.
fn chain(
    session: &Session,
    request: &mut RequestHeader,
    context: &RequestContext,
    peer: IpAddr,
) -> Result<()> {
    let shown = context.line.as_ref().map_or_else(|| listen::shown(peer), |line| line.shown(peer));
    let headers = &session.req_header().headers;
    let before =
        request.headers.contains_key(FOR.name).then(|| facts::joined(headers, &FOR.name, b", ")).flatten();
    match before {
        None => request.insert_header(FOR.written, shown)?,
        Some(before) => request.insert_header(FOR.written, [&*before, b", ", shown.as_bytes()].concat())?,
    }
    if request.headers.contains_key(header::FORWARDED) {
        // An IPv6 address stands in brackets and quotes (RFC 7239 §6).
        let node = if peer.is_ipv6() { format!("for=\"[{peer}]\"") } else { format!("for={peer}") };
        request.append_header("Forwarded", node)?;
    }
    Ok(())
}

/// How many gateways the request may still pass: said of two methods only (RFC 9110 §7.6.2).
fn max_forwards(request: &RequestHeader) -> Option<u32> {
    if !matches!(request.method, Method::OPTIONS | Method::TRACE) {
        return None;
    }
    request.headers.get(header::MAX_FORWARDS)?.to_str().ok()?.parse().ok()
}

/// The answer to a request that was to come no further than here. What it asks about is then the gateway.
pub(super) fn last_stop(session: &Session) -> Option<Answer> {
    let request = session.req_header();
    max_forwards(request).filter(|left| *left == 0)?;
    // Nothing is sent back that a client could not read itself (RFC 9110 §9.3.8).
    let (status, sentence) = match request.method {
        Method::OPTIONS => (200, "this is a gateway"),
        _ => (405, "requests are not traced here"),
    };
    Some(Answer::page(status, sentence).with("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"))
}

/// RFC 9113 §8.2.3: a client of HTTP/2 may cut its cookies into several fields, for the sake of compression; an
/// origin of HTTP/1.1 is to get them in one.
fn one_cookie(session: &Session, request: &mut RequestHeader) -> Result<()> {
    let is_cut = session.req_header().version == Version::HTTP_2
        && request.headers.get_all(header::COOKIE).iter().nth(1).is_some();
    let whole = is_cut.then(|| facts::joined(&request.headers, &header::COOKIE, b"; ")).flatten();
    match whole.map(std::borrow::Cow::into_owned) {
        Some(whole) => request.insert_header(header::COOKIE, whole),
        None => Ok(()),
    }
}

/// RFC 9110 §7.6.3: a gateway says so to the origin, with the version it was spoken to in.
fn via(session: &Session, request: &mut RequestHeader) -> Result<()> {
    let stop = match session.req_header().version {
        Version::HTTP_2 => "2 robots-gateway",
        Version::HTTP_10 => "1.0 robots-gateway",
        _ => "1.1 robots-gateway",
    };
    request.append_header("Via", HeaderValue::from_static(stop)).map(drop)
}

/// The id that a trusted proxy gave the request, if it gave one that can be passed on.
pub(super) fn given_id(asked: Asked<'_>, context: &RequestContext) -> Option<String> {
    asked.peer.filter(|peer| context.policy.config.trusted_proxies.contain(*peer))?;
    let given = asked.head.headers.get(REQUEST_ID.name).map(HeaderValue::as_bytes)?;
    let is_sane = (1..=LONGEST_ID).contains(&given.len()) && given.iter().all(u8::is_ascii_graphic);
    is_sane.then(|| String::from_utf8_lossy(given).into_owned())
}
