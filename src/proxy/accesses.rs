//! A finished session → one line of the access log.

use super::context::RequestContext;
use super::facts;
use crate::record::{Access, AccessLog};
use http::{HeaderValue, Version, header};
use pingora::proxy::Session;

/// Writes the line of a request that is over.
pub(super) fn record(log: &AccessLog, session: &Session, context: &RequestContext) {
    let config = &context.policy.config;
    let request = session.req_header();
    let field = |name: header::HeaderName| request.headers.get(name).map(HeaderValue::as_bytes);
    let authority = request.uri.authority().map_or("", http::uri::Authority::as_str);
    let answered = session.response_written().map(|response| response.status.as_u16());
    let server = context.site.as_deref().and_then(|site| {
        let index = context.tried.last()?;
        site.config.origin.servers.get(*index).map(|server| server.url.to_string())
    });
    log.record(&Access {
        time: context.began,
        duration: context.clock.elapsed(),
        address: facts::address(session, config),
        addresses: config.addresses,
        scheme: facts::scheme(session, config).as_str(),
        method: request.method.as_str(),
        target: request.raw_path(),
        version: version(request.version),
        host: field(header::HOST).unwrap_or(authority.as_bytes()),
        status: answered.or(context.failure).unwrap_or(super::faults::CLIENT_GONE),
        bytes: session.body_bytes_sent(),
        referer: field(header::REFERER),
        user_agent: field(header::USER_AGENT),
        site: context.site.as_deref().map(|site| site.config.name.as_str()),
        origin: server.as_deref(),
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
