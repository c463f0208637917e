//! What was asked → [`RequestFacts`]. The only place that reads a request's head for judging.

use super::asked::Asked;
use super::wire;
use crate::config::Config;
use crate::request::address::client_address;
use crate::request::forwarded::{self, ForwardedField};
use crate::request::message::Fault;
use crate::request::target::origin_form;
use crate::request::{RequestFacts, Scheme, host};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::http::RequestHeader;
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
    Malformed(Fault),
}

/// Reads the head of the request.
pub(super) fn read<'a>(asked: Asked<'a>, config: &Config) -> Head<'a> {
    let request = asked.head;
    if let Some(fault) = wire::fault(request) {
        return Head::Malformed(fault);
    }
    let Some(host) = requested_host(request) else {
        return Head::Malformed(Fault::Host);
    };
    let facts = RequestFacts {
        scheme: scheme(asked, config),
        method: request.method.as_str(),
        host,
        target: Cow::Borrowed(request.raw_path()),
        user_agent: joined(&request.headers, &header::USER_AGENT, b" "),
        address: address(asked, config),
    };
    if request.method == http::Method::OPTIONS && request.raw_path() == b"*" {
        return Head::Server(facts);
    }
    match origin_form(request.raw_path()) {
        Some(target) => Head::Request(RequestFacts { target, ..facts }),
        None => Head::Malformed(Fault::Target),
    }
}

/// All lines of a field, joined; borrowed where there is one, as nearly always.
pub(super) fn joined<'a>(headers: &'a HeaderMap, name: &HeaderName, between: &[u8]) -> Option<Cow<'a, [u8]>> {
    let mut lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let (first, second) = (lines.next()?, lines.next());
    let Some(second) = second else { return Some(Cow::Borrowed(first)) };
    let rest = std::iter::once(second).chain(lines);
    let all: Vec<&[u8]> = std::iter::once(first).chain(rest).collect();
    Some(Cow::Owned(all.join(between)))
}

/// Fields that proxies add (RFC 7239 §4, RFC 9110 §7.6.3) and clients have no reason to send.
const RELAY_FIELDS: [&str; 9] = [
    "via",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "fastly-client-ip",
];

/// Whether the request shows that it came through a proxy. Anyone can send these fields, so they may only
/// ever speak in a client's favour.
pub(super) fn is_relayed(headers: &HeaderMap) -> bool {
    // A look at each name costs less than nine look-ups.
    headers.keys().any(|name| RELAY_FIELDS.contains(&name.as_str()))
}

/// Whether the chain of addresses goes on to the left of `client`: then a proxy that nobody named stands
/// before it, or somebody pretends so, and the address may be that proxy's.
pub(super) fn comes_from_further(headers: &HeaderMap, field: ForwardedField, client: Option<IpAddr>) -> bool {
    let chain = chain(headers, field);
    let first = chain.first().and_then(|line| line.split(|octet| *octet == b',').next());
    let farthest = first.and_then(|hop| std::str::from_utf8(hop.trim_ascii()).ok());
    farthest.is_some_and(|hop| hop.parse::<IpAddr>().ok().map(|address| address.to_canonical()) != client)
}

/// What the field says about the way of a request, in the form of `X-Forwarded-For`: lines of hops.
fn chain(headers: &HeaderMap, field: ForwardedField) -> Vec<Cow<'_, [u8]>> {
    let lines = headers.get_all(field.name()).iter().map(HeaderValue::as_bytes);
    match field {
        ForwardedField::XForwardedFor => lines.map(Cow::Borrowed).collect(),
        ForwardedField::Forwarded => lines.flat_map(forwarded::nodes).map(Cow::Owned).collect(),
    }
}

/// Whether an address is of this host or of a network at hand, where a proxy of the operator's own stands.
#[must_use]
pub const fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// The host of the request in its normal form. Pingora has seen to it that there is one `Host` at most
/// and that an absolute-form target agrees with it (RFC 9112 §3.2.2). HTTP/1.0 needs none: then it is
/// the empty name, which only the default site answers to.
fn requested_host(request: &RequestHeader) -> Option<Cow<'_, str>> {
    let named = match request.headers.get(header::HOST) {
        Some(field) => field.to_str().ok()?,
        None => match request.uri.authority() {
            Some(authority) => authority.as_str(),
            None => host::of_target(request.raw_path()).unwrap_or_default(),
        },
    };
    let may_be_empty = request.version == http::Version::HTTP_10;
    let is_host = named.len() <= LONGEST_HOST && named.bytes().all(may_stand_in_a_host);
    (is_host && (may_be_empty || !named.is_empty())).then(|| host::normalise(named))
}

/// The longest name that DNS carries (RFC 1035 §2.3.4), with a port behind it. More is no host, and would
/// only be looked up and remembered at a cost.
const LONGEST_HOST: usize = 253 + ".:65535".len();

/// Registered names, addresses and a port (RFC 3986 §3.2.2), without user information.
const fn may_stand_in_a_host(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(octet, b'.' | b'-' | b'_' | b':' | b'[' | b']' | b'~' | b'%' | b'!' | b'$' | b'&' | b'\'')
        || matches!(octet, b'(' | b')' | b'*' | b'+' | b';' | b'=')
}

/// The scheme the client used: this listener's, or what a trusted proxy says that ended TLS before us.
pub(super) fn scheme(asked: Asked<'_>, config: &Config) -> Scheme {
    if asked.is_tls {
        return Scheme::Https;
    }
    // Nobody else is believed, nor asked.
    if asked.trusted_peer(config).is_none() {
        return Scheme::Http;
    }
    let headers = &asked.head.headers;
    let told = match config.forwarding.field {
        ForwardedField::XForwardedFor => {
            headers.get("x-forwarded-proto").map(|scheme| scheme.as_bytes().to_vec())
        }
        ForwardedField::Forwarded => headers
            .get_all("forwarded")
            .iter()
            .next_back()
            .and_then(|line| forwarded::scheme(line.as_bytes())),
    };
    let is_https = told.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https"));
    if is_https { Scheme::Https } else { Scheme::Http }
}

/// The client's address, as far as it is known.
pub(super) fn address(asked: Asked<'_>, config: &Config) -> Option<IpAddr> {
    if config.trusted_proxies.is_empty() || !asked.may_be_relayed {
        return asked.peer;
    }
    let chain = chain(&asked.head.headers, config.forwarding.field);
    client_address(asked.peer?, &config.trusted_proxies, chain.iter().map(|line| &**line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_proxies_send_shows_a_proxy() {
        let headers = |field: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(field), HeaderValue::from_static("192.0.2.1"))])
        };
        for field in RELAY_FIELDS {
            assert!(is_relayed(&headers(field)), "{field}");
        }
        assert!(!is_relayed(&headers("user-agent")) && !is_relayed(&HeaderMap::new()));
    }

    #[test]
    fn a_chain_that_goes_on_to_the_left_is_seen() {
        let seen = |chain: &'static str| {
            let name = HeaderName::from_static("x-forwarded-for");
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(chain))]);
            comes_from_further(&headers, ForwardedField::XForwardedFor, "198.51.100.1".parse().ok())
        };
        assert!(seen("192.0.2.1, 198.51.100.1") && seen("unknown, 198.51.100.1"));
        assert!(!seen("198.51.100.1") && !seen("198.51.100.1, 10.0.0.1"));
        assert!(!comes_from_further(&HeaderMap::new(), ForwardedField::XForwardedFor, None));
    }
}
