//! What an origin is sent of a request: the target that was judged, and fields that tell where the request came from. And
//! which requests go no further than here, whatever is judged.
//!
//! What a trusted proxy says is continued. What anybody else says of itself is a claim, and is replaced.

use super::request::RequestContext;
use super::{Incoming, facts};
use crate::config::Config;
use crate::http::claims::{self, FieldClaim};
use crate::http::head::is_hop_by_hop;
use crate::http::{HttpFault, HttpVersion, RequestHead, Response};
use crate::policy::{Site, Upstream};
use crate::request::forwarded::ForwardedField;
use crate::request::target::{RequestTarget, origin_form};
use crate::request::{RequestFacts, Scheme, host};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::borrow::Cow;

/// The methods that are passed on.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// What stands in a URI percent-encoded (RFC 3986 §2.1), beside what is not ASCII.
const NOT_IN_A_URI: &AsciiSet = &CONTROLS.add(b' ');

/// The target that the origin is asked for, whatever form the client chose (RFC 9112 §3.2.1): the one that was judged.
pub fn target(head: &RequestHead) -> Cow<'_, [u8]> {
    let sent = head.target();
    if sent.starts_with(b"/") || sent == b"*" {
        return Cow::Borrowed(sent);
    }
    let Some(target) = origin_form(sent) else { return Cow::Borrowed(sent) };
    // RFC 9112 §3.2.4: without a path it is a question about the server.
    let is_about_server = head.has_method("OPTIONS") && &*target == b"/" && !sent.ends_with(b"/");
    if is_about_server { Cow::Borrowed(b"*") } else { target }
}

/// Gives `put` the name and value of each field that the origin is sent, but for those that frame the message and
/// those of the connection. `server` is the one that is asked.
pub fn forward(
    incoming: Incoming<'_>,
    context: &RequestContext<'_>,
    server: Option<&Upstream>,
    put: &mut dyn FnMut(&[u8], &[u8]),
) {
    let config = &context.policy.config;
    let head = incoming.head;
    let rules = FieldRules::new(incoming, config);
    let host = host(head, context, server);
    put(b"Host", host.as_bytes());
    let (mut is_host_told, mut is_scheme_told) = (false, false);
    for (name, value) in head.fields().filter(|(name, _)| rules.let_pass(name)) {
        // What a trusted proxy says is not said again.
        is_host_told |= name.eq_ignore_ascii_case(b"x-forwarded-host");
        is_scheme_told |= name.eq_ignore_ascii_case(b"x-forwarded-proto");
        put(name, value);
    }
    rules.put_chain(incoming, config, put);
    if !is_scheme_told {
        put(b"X-Forwarded-Proto", facts::scheme(incoming, config).as_str().as_bytes());
    }
    if !is_host_told {
        put(b"X-Forwarded-Host", host.as_bytes());
    }
    put(b"X-Request-Id", context.request_id.text().as_bytes());
    if config.via {
        put(b"Via", via(head.version));
    }
    put_joined(head, put);
    put_verdict(context, put);
}

/// Whether it is a request of gRPC. `application/grpc-web` is none: it does without HTTP/2 and trailers.
fn is_grpc(head: &RequestHead) -> bool {
    const KIND: &[u8] = b"application/grpc";
    let (kind, rest) = head.get("content-type").and_then(|kind| kind.split_at_checked(KIND.len())).unzip();
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(KIND))
        && matches!(rest, Some([] | [b'+' | b';' | b' ' | b'\t', ..]))
}

/// What a client of gRPC is told: `UNIMPLEMENTED` is 12, in an answer of fields alone, with the status 200.
fn no_grpc() -> Response {
    let text = "gRPC is not served here: the gateway asks origins in HTTP/1.1 and drops trailers";
    Response::new(200, bytes::Bytes::new())
        .with("Content-Type", "application/grpc")
        .with("Grpc-Status", "12")
        .with("Grpc-Message", text)
}

/// Tells the origin of the verdict, where the operator wants that.
fn put_verdict(context: &RequestContext<'_>, put: &mut dyn FnMut(&[u8], &[u8])) {
    let Some(labels) = &context.labels else { return };
    if let Some(crawler) = &labels.crawler {
        put(b"X-Robots-Crawler", crawler.as_bytes());
    }
    put(b"X-Robots-Verdict", labels.verdict.as_bytes());
    put(b"X-Robots-Proof", labels.proof.as_bytes());
}

/// Fields that are not passed on as they stand.
fn put_joined(head: &RequestHead, put: &mut dyn FnMut(&[u8], &[u8])) {
    // RFC 9113 §8.2.3: a client of HTTP/2 may cut its cookies into several fields, for the sake of compression; an
    // origin of HTTP/1.1 is to get them in one.
    if head.version == HttpVersion::Http2
        && let Some(cookies) = head.joined("cookie", b"; ")
    {
        put(b"cookie", &cookies);
    }
    if let Some(left) = max_forwards(head) {
        put(b"Max-Forwards", left.saturating_sub(1).to_string().as_bytes());
    }
}

/// Which fields of one request go on.
struct FieldRules<'a> {
    head: &'a RequestHead,
    config: &'a Config,
    is_trusted: bool,
    has_max_forwards: bool,
}

impl<'a> FieldRules<'a> {
    fn new(incoming: Incoming<'a>, config: &'a Config) -> Self {
        let head = incoming.head;
        let is_trusted = incoming.connection.trusted_peer(config).is_some();
        Self { head, config, is_trusted, has_max_forwards: max_forwards(head).is_some() }
    }

    /// Whether a field goes on as it is.
    fn let_pass(&self, name: &[u8]) -> bool {
        let is = |own: &str| name.eq_ignore_ascii_case(own.as_bytes());
        let is_rewritten = match name.len() {
            4 => is("host"),
            6 => self.head.version == HttpVersion::Http10 && is("expect") || self.is_cut(is),
            12 => is("x-request-id") || self.has_max_forwards && is("max-forwards"),
            15 => is("x-forwarded-for"),
            _ => false,
        };
        let is_of_connection = is_hop_by_hop(name) || self.head.options.names_fields && self.is_named(name);
        !is_of_connection && !is_rewritten && !claims::is_own(name) && self.may_pass(name)
    }

    /// Whether a field makes no claim, or one that is believed.
    fn may_pass(&self, name: &[u8]) -> bool {
        if self.config.remove_fields.iter().any(|pattern| pattern.is_for(name)) {
            return self.is_believed(name);
        }
        match claims::claim(name) {
            None => true,
            Some(_) if self.config.keep_fields.iter().any(|pattern| pattern.is_for(name)) => true,
            Some(FieldClaim::OfProxy) => self.is_believed(name),
            Some(FieldClaim::Detour) => false,
        }
    }

    fn is_cut(&self, is: impl Fn(&str) -> bool) -> bool {
        self.head.version == HttpVersion::Http2 && is("cookie")
    }

    /// Whether `Connection` names a field, which then goes no further.
    fn is_named(&self, name: &[u8]) -> bool {
        let options = self.head.all("connection").flat_map(|line| line.split(|byte| *byte == b','));
        options.map(<[u8]>::trim_ascii).any(|option| option.eq_ignore_ascii_case(name))
    }

    /// Whether a claim is a trusted proxy's own: spelled as proxies do, and in the form that proxies are configured to
    /// write. Anything else it may have passed on from a client.
    fn is_believed(&self, name: &[u8]) -> bool {
        let is_other_way = match self.config.forwarded_header {
            ForwardedField::XForwardedFor => name.eq_ignore_ascii_case(b"forwarded"),
            ForwardedField::Forwarded => {
                name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case(b"x-forwarded"))
            }
        };
        self.is_trusted && claims::is_plain(name) && !is_other_way
    }

    /// Continues the chain of addresses by the one that connected. Where trusted proxies write `Forwarded`, the chain of
    /// `X-Forwarded-For` is the client that this names.
    fn put_chain(&self, incoming: Incoming<'_>, config: &Config, put: &mut dyn FnMut(&[u8], &[u8])) {
        const FOR: &[u8] = b"X-Forwarded-For";
        let connection = incoming.connection;
        let Some(peer) = connection.peer else { return };
        let before = self.head.joined("x-forwarded-for", b", ").filter(|_| self.is_believed(FOR));
        match (before, facts::address(incoming, config)) {
            (Some(before), _) => put(FOR, &[&*before, b", ", connection.shown.as_bytes()].concat()),
            (None, Some(client)) if client == peer => put(FOR, connection.shown.as_bytes()),
            (None, Some(client)) => put(FOR, format!("{client}, {peer}").as_bytes()),
            (None, None) => put(FOR, format!("unknown, {peer}").as_bytes()),
        }
        if self.is_believed(b"forwarded") && self.head.get("forwarded").is_some() {
            // An IPv6 address stands in brackets and quotes (RFC 7239 §6).
            let node = if peer.is_ipv6() { format!("for=\"[{peer}]\"") } else { format!("for={peer}") };
            put(b"Forwarded", node.as_bytes());
        }
    }
}

/// The host that the origin is asked for. HTTP/1.0 knows requests without one, and HTTP/1.1, which the origin is spoken
/// to in, does not (RFC 9112 §3.2): such a request is for the site's first host or, failing that, for the origin itself.
fn host<'a>(head: &'a RequestHead, context: &RequestContext<'_>, server: Option<&Upstream>) -> Cow<'a, str> {
    if let Some(named) = head.text("host").or_else(|| host::of_target(head.target())) {
        return Cow::Borrowed(named);
    }
    let exact = context.site().and_then(|site| site.config.exact_host()).map(str::to_owned);
    exact.or_else(|| server.map(|server| server.server.url.authority())).unwrap_or_default().into()
}

/// How many gateways the request may still pass: said of two methods only (RFC 9110 §7.6.2).
fn max_forwards(head: &RequestHead) -> Option<u32> {
    if !(head.has_method("OPTIONS") || head.has_method("TRACE")) {
        return None;
    }
    head.text("max-forwards")?.parse().ok()
}

/// The answer to a request that can come no further than here, where it `is_for_client`, or that was to come no further.
/// What the latter asks about is the gateway.
pub(super) fn last_stop(head: &RequestHead, is_for_client: bool) -> Option<Response> {
    if is_for_client && is_grpc(head) {
        return Some(no_grpc());
    }
    max_forwards(head).filter(|left| *left == 0)?;
    // Nothing is sent back that a client could not read itself (RFC 9110 §9.3.8).
    let (status, sentence) = match head.method() {
        "OPTIONS" => (200, "this is a gateway"),
        _ => (405, "requests are not traced here"),
    };
    Some(Response::page(status, sentence).with("allow", METHODS))
}

/// The answer to a message with a fault.
pub fn malformed_answer(fault: HttpFault) -> Response {
    let answer = Response::page(fault.status(), fault.sentence());
    // RFC 9110 §15.5.6: who refuses a method says which ones there are.
    if fault == HttpFault::Connect { answer.with("allow", METHODS) } else { answer }
}

/// Sends a plain request to the same place under `https`, where the site wants that. It is judged there.
/// Two kinds of requests are answered here instead. Crawlers need not follow a redirect of robots.txt (RFC 9309 §2.3.1.2).
/// A certificate authority asks its question before the site has a certificate (RFC 8555 §8.3).
pub(super) fn redirect_to_https(facts: &RequestFacts<'_>, site: &Site) -> Option<Response> {
    if !site.config.redirect_https || facts.scheme == Scheme::Https || facts.host.is_empty() {
        return None;
    }
    let target = RequestTarget::new(&facts.target, site.config.path_parameters);
    if target.may_be_robots_txt() || target.is_acme_challenge() {
        return None;
    }
    let location = format!("https://{}{}", facts.host, percent_encode(&facts.target, NOT_IN_A_URI));
    // 308 keeps the method and the body (RFC 9110 §15.4.9).
    Some(Response::page(308, "this site is served over https").with("location", location))
}

/// RFC 9110 §7.6.3: a gateway says so to the origin, with the version it was spoken to in.
const fn via(version: HttpVersion) -> &'static [u8] {
    match version {
        HttpVersion::Http2 => b"2 robots-gateway",
        HttpVersion::Http10 => b"1.0 robots-gateway",
        HttpVersion::Http11 => b"1.1 robots-gateway",
    }
}
