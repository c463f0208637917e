//! What was asked → [`RequestFacts`]. The only place that reads a request's head for judging.

use super::Incoming;
use crate::config::Config;
use crate::http::head::check;
use crate::http::{HttpFault, HttpVersion, RequestHead};
use crate::identify::signature::{SignedMessage, VerifiedSignature};
use crate::policy::{Policy, Prover};
use crate::request::address::client_address;
use crate::request::forwarded::{self, ForwardedField};
use crate::request::target::origin_form;
use crate::request::{RequestFacts, Scheme, host};
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::SystemTime;

/// What the head of the request asks for; of a question about the server (RFC 9110 §9.3.7) the target is `*`.
pub(super) fn read<'a>(incoming: Incoming<'a>, config: &Config) -> Result<RequestFacts<'a>, HttpFault> {
    let head = incoming.head;
    // Those of HTTP/1 were read strictly; in one of HTTP/2 its library has not looked for faults.
    if head.version == HttpVersion::Http2 {
        check(head)?;
    }
    let is_about_server = head.target() == b"*" && head.has_method("OPTIONS");
    Ok(RequestFacts {
        host: requested_host(head).ok_or(HttpFault::Host)?,
        target: if is_about_server {
            Cow::Borrowed(head.target())
        } else {
            origin_form(head.target()).ok_or(HttpFault::Target)?
        },
        scheme: scheme(incoming, config),
        method: head.method(),
        user_agent: head.joined("user-agent", b" "),
        address: address(incoming, config),
    })
}

/// What a refusal asks whoever sent the request to sign (RFC 9421 §5): what proves this very request to be its own.
pub(super) const ACCEPT_SIGNATURE: &str = "sig1=(\"@method\" \"@authority\" \"@path\" \"@query\" \
     \"signature-agent\";key=\"sig1\");created;expires;keyid;tag=\"web-bot-auth\"";

/// Who signed a request, where that is beyond doubt. One that nobody signed costs a look at a flag.
pub(super) fn signer(
    (prover, policy): (&Prover, &Policy),
    head: &RequestHead,
    facts: &RequestFacts<'_>,
    is_new: bool,
    now: SystemTime,
) -> Option<VerifiedSignature> {
    if !head.is_signed {
        return None;
    }
    let fields: Vec<_> = head.fields().collect();
    let message = SignedMessage {
        method: facts.method,
        scheme: facts.scheme.as_str(),
        authority: head.text("host").or_else(|| host::of_target(head.target())).unwrap_or_default(),
        target: &facts.target,
        fields: &fields,
    };
    prover.signature(policy, &message, facts.address, is_new, now)
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
pub(super) fn is_relayed(head: &RequestHead) -> bool {
    // Few names of ordinary requests are as long as one in the list.
    let may_be = |name: &[u8]| matches!(name.len(), 3 | 9 | 14..=17);
    let is_own = |name: &[u8]| RELAY_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()));
    head.fields().any(|(name, _)| may_be(name) && is_own(name))
}

/// What the field says about the way of a request, in the form of `X-Forwarded-For`: lines of hops.
fn chain(head: &RequestHead, field: ForwardedField) -> Vec<&[u8]> {
    let lines = head.all(field.name());
    match field {
        ForwardedField::XForwardedFor => lines.collect(),
        ForwardedField::Forwarded => lines.flat_map(forwarded::nodes).collect(),
    }
}

/// The host of the request in its normal form. The head's reader has seen to it that there is one `Host` at most and that
/// an absolute-form target agrees with it (RFC 9112 §3.2.2). HTTP/1.0 needs none: then it is the empty name, which only
/// the default site answers to.
pub(super) fn requested_host(head: &RequestHead) -> Option<Cow<'_, str>> {
    let named = match head.get("host") {
        Some(field) => std::str::from_utf8(field).ok()?,
        None => host::of_target(head.target()).unwrap_or_default(),
    };
    let may_be_empty = head.version == HttpVersion::Http10;
    (may_be_empty || !named.is_empty()).then(|| host::normalise(named))
}

/// The scheme the client used: this listener's, or what a trusted proxy says that ended TLS before us.
pub(super) fn scheme(incoming: Incoming<'_>, config: &Config) -> Scheme {
    if incoming.connection.is_tls {
        return Scheme::Https;
    }
    // Nobody else is believed, nor asked.
    if incoming.connection.trusted_peer(config).is_none() {
        return Scheme::Http;
    }
    let told = match incoming.way_field(config) {
        ForwardedField::XForwardedFor => incoming.head.get("x-forwarded-proto"),
        ForwardedField::Forwarded => incoming.head.all("forwarded").next_back().and_then(forwarded::scheme),
    };
    let is_https = told.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https"));
    if is_https { Scheme::Https } else { Scheme::Http }
}

/// The client's address, as far as it is known.
pub(super) fn address(incoming: Incoming<'_>, config: &Config) -> Option<IpAddr> {
    let connection = incoming.connection;
    if config.trusted_proxies.is_empty() || !connection.may_be_relayed {
        return connection.peer;
    }
    let chain = chain(incoming.head, incoming.way_field(config));
    client_address(connection.peer?, &config.trusted_proxies, chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Body;

    fn head(fields: &[(&str, &str)]) -> RequestHead {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        RequestHead::from_parts([b"GET", b"/"], None, HttpVersion::Http11, Body::None, fields)
    }

    #[test]
    fn what_only_proxies_send_shows_a_proxy() {
        for field in RELAY_FIELDS {
            assert!(is_relayed(&head(&[(field, "192.0.2.1")])), "{field}");
        }
        assert!(!is_relayed(&head(&[("user-agent", "192.0.2.1")])) && !is_relayed(&head(&[])));
    }
}
