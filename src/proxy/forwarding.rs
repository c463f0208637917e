//! Header fields that tell the origin where a request came from.
//!
//! What a trusted proxy says is continued; what anybody else says of itself is a claim, and is replaced.

use super::answer::Answer;
use super::asked::Asked;
use super::context::RequestContext;
use super::{facts, listen};
use crate::config::{Config, HostPattern};
use crate::request::forwarded::ForwardedField;
use crate::request::target::origin_form;
use crate::request::{claims, host};
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Method, Version, header};
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use std::borrow::Cow;
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
    let is_trusted = asked.trusted_peer(config).is_some();
    remove_claims(request, is_trusted, config);
    name_host(request, context)?;
    send_origin_form(request)?;
    if let Some(peer) = asked.peer {
        let client = facts::address(asked, config);
        chain(request, context, peer, client)?;
    }
    // What is left of these is a trusted proxy's word.
    let is_told = |request: &RequestHeader, field: Field| request.headers.contains_key(field.name);
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

/// Removes what a client claims, in any spelling that an origin may take for the same. What a trusted proxy says stays,
/// where it is spelled as proxies do and stands where proxies are believed: anything else it may have passed on from a
/// client.
fn remove_claims(request: &mut RequestHeader, is_trusted: bool, config: &Config) {
    let is_unwanted = |name: &&HeaderName| {
        let name = name.as_str();
        let is_claim = claims::is_claim(name) || config.removed_fields.contain(name);
        let is_believed =
            is_trusted && claims::is_plain(name) && !is_other_way(name, config.forwarding.field);
        claims::is_own(name) || (is_claim && !is_believed)
    };
    // Nearly always there is none, and then this is one look at each name.
    let unwanted: Vec<HeaderName> = request.headers.keys().filter(is_unwanted).cloned().collect();
    for name in unwanted {
        request.remove_header(&name);
    }
}

/// Whether a field tells of a request's way in the form that trusted proxies do not write: they pass on what a client
/// has put there.
fn is_other_way(name: &str, field: ForwardedField) -> bool {
    match field {
        ForwardedField::XForwardedFor => name == ForwardedField::Forwarded.name(),
        ForwardedField::Forwarded => name.starts_with("x-forwarded"),
    }
}

/// An origin is asked for a path, whatever form the client chose (RFC 9112 §3.2.1): the one that was judged.
fn send_origin_form(request: &mut RequestHeader) -> Result<()> {
    let sent = request.raw_path();
    if sent.starts_with(b"/") || sent == b"*" {
        return Ok(());
    }
    let Some(target) = origin_form(sent).map(Cow::into_owned) else { return Ok(()) };
    let has_path = sent.ends_with(&target);
    // RFC 9112 §3.2.4: without a path it is a question about the server.
    let is_about_server = request.method == Method::OPTIONS && target == b"/" && !has_path;
    request.set_raw_path(if is_about_server { b"*" } else { &target })
}

/// HTTP/1.0 knows requests without a host, and HTTP/1.1, which the origin is spoken to in, does not
/// (RFC 9112 §3.2): such a request is for the site's first host or, failing that, for the origin itself.
fn name_host(request: &mut RequestHeader, context: &RequestContext) -> Result<()> {
    if request.headers.contains_key(header::HOST) {
        return Ok(());
    }
    let authority = request.uri.authority().map(Authority::as_str);
    if let Some(named) = authority.or_else(|| host::of_target(request.raw_path())).map(str::to_owned) {
        return request.insert_header(header::HOST, named);
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

/// Continues the chain of addresses by the one that connected. What is left of a chain is a trusted proxy's; where such
/// ones write `Forwarded`, the chain is the client that this names.
fn chain(
    request: &mut RequestHeader,
    context: &RequestContext,
    peer: IpAddr,
    client: Option<IpAddr>,
) -> Result<()> {
    let shown = context.line.as_ref().map_or_else(|| listen::shown(peer), |line| line.shown(peer));
    let before = facts::joined(&request.headers, &FOR.name, b", ");
    let whole = match (before, client) {
        (Some(before), _) => Some([&*before, b", ", shown.as_bytes()].concat()),
        (None, Some(client)) if client == peer => None,
        (None, Some(client)) => Some(format!("{client}, {peer}").into_bytes()),
        (None, None) => Some(format!("unknown, {peer}").into_bytes()),
    };
    match whole {
        None => request.insert_header(FOR.written, shown)?,
        Some(whole) => request.insert_header(FOR.written, whole)?,
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
    match whole.map(Cow::into_owned) {
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
    asked.trusted_peer(&context.policy.config)?;
    let given = asked.head.headers.get(REQUEST_ID.name).map(HeaderValue::as_bytes)?;
    let is_sane = (1..=LONGEST_ID).contains(&given.len()) && given.iter().all(u8::is_ascii_graphic);
    is_sane.then(|| String::from_utf8_lossy(given).into_owned())
}
