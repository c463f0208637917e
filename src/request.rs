//! What the gateway took from one request: plain, borrowed data for the stages behind it.
//!
//! Nothing here knows a proxy, a socket or a clock. `gateway::facts` fills [`RequestFacts`] from a
//! request's head, `gatewayctl explain` from its arguments, and both hand it to the same stages.

pub mod address;
pub mod forwarded;
pub mod host;
pub mod prefixes;
pub mod proxy_protocol;
pub mod target;

use std::borrow::Cow;
use std::net::IpAddr;

/// The scheme the client used on its way to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS, ended here or at a trusted proxy.
    Https,
}

impl Scheme {
    /// The scheme as it is written in a URI.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One request as the pure stages see it.
#[derive(Clone, Debug)]
pub struct RequestFacts<'a> {
    /// Scheme the client used.
    pub scheme: Scheme,
    /// Method as sent; methods are case-sensitive (RFC 9110 §9.1).
    pub method: &'a str,
    /// Host, lower-cased, without port and trailing dot; see [`host::normalise`].
    pub host: Cow<'a, str>,
    /// Request target in origin-form: path and query, as sent (RFC 9112 §3.2.1).
    pub target: Cow<'a, [u8]>,
    /// The `User-Agent` header's bytes, several lines joined. They stay bytes: a header need not be
    /// UTF-8.
    pub user_agent: Option<Cow<'a, [u8]>>,
    /// The client's address, where one is known.
    pub address: Option<IpAddr>,
}
