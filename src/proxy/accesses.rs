//! A request that is over → one line of the access log.

use super::asked::Asked;
use super::context::RequestContext;
use super::facts;
use crate::record::{Access, AccessLog};
use crate::request::message::Fault;
use http::{HeaderValue, Version, header};

/// What has become of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// The status that the client was answered with, if it was.
    pub(super) status: Option<u16>,
    /// Octets of the answer's body that were sent.
    pub(super) bytes: usize,
    /// What was wrong with the request's body.
    pub(super) fault: Option<Fault>,
}

/// Writes the line of a request that is over.
pub(super) fn record(log: &AccessLog, asked: Asked<'_>, ending: Ending, context: &RequestContext) {
    let config = &context.policy.config;
    let request = asked.head;
    let field = |name: header::HeaderName| request.headers.get(name).map(HeaderValue::as_bytes);
    let authority = request.uri.authority().map_or("", http::uri::Authority::as_str);
    // What the guard told the client, the request's own failure knows nothing of.
    let told = context.line.as_ref().and_then(|line| line.told());
    let server = context.site().and_then(|site| {
        let index = context.tried.last()?;
        site.config.origin.servers.get(*index).map(|server| server.url.to_string())
    });
    log.record(&Access {
        time: context.began,
        duration: context.clock.elapsed(),
        address: facts::address(asked, config),
        addresses: config.addresses,
        scheme: facts::scheme(asked, config).as_str(),
        method: Some(request.method.as_str()),
        target: request.raw_path(),
        version: Some(version(request.version)),
        host: Some(field(header::HOST).unwrap_or(authority.as_bytes())),
        status: ending.status.or(told).or(context.failure).unwrap_or(super::faults::CLIENT_GONE),
        bytes: ending.bytes,
        referer: field(header::REFERER),
        user_agent: field(header::USER_AGENT),
        site: context.site().map(|site| site.config.name.as_str()),
        origin: server.as_deref(),
        fault: context.fault.or(ending.fault).map(Fault::as_str),
        request_id: &context.request_id,
    });
}

const fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}
