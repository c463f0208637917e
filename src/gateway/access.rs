//! A request that is over → one line of the access log.

use super::request::RequestContext;
use super::{Incoming, facts};
use crate::http::HttpFault;
use crate::record::{AccessLog, AccessRecord, ShownBytes};

/// Nobody was left to answer. Not a status of HTTP, only of the access log.
pub const CLIENT_GONE: u16 = 499;

/// What has become of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestEnding {
    /// The status that the client was answered with, if it was.
    pub status: Option<u16>,
    /// Bytes of the answer's body that were sent.
    pub bytes: usize,
    /// What was wrong with the request's body.
    pub fault: Option<HttpFault>,
    /// The last server that was tried, by its place in the origin.
    pub server: Option<usize>,
}

/// Writes the line of a request that is over. Its status is none where another proxy answers it.
pub(super) fn record(
    log: &AccessLog,
    incoming: Incoming<'_>,
    (status, ending): (Option<u16>, RequestEnding),
    context: &RequestContext<'_>,
) {
    let config = &context.policy.config;
    let head = incoming.head;
    let server = context.origin().and_then(|origin| {
        let server = origin.servers.get(ending.server?);
        server.map(|server| server.server.url.to_string())
    });
    log.record(&AccessRecord {
        time: context.began,
        duration: context.elapsed(),
        address: config.addresses.show(facts::address(incoming, config)),
        scheme: facts::scheme(incoming, config).as_str(),
        method: Some(head.method()),
        target: ShownBytes(head.target()),
        version: Some(head.version.as_str()),
        host: Some(ShownBytes(head.get("host").unwrap_or_default())),
        status,
        bytes: ending.bytes,
        referer: head.get("referer").map(ShownBytes),
        user_agent: head.get("user-agent").map(ShownBytes),
        site: context.site().map(|site| site.config.name.as_str()),
        origin: server.as_deref(),
        fault: context.fault.or(ending.fault).map(HttpFault::as_str),
        request_id: &context.request_id.text(),
    });
}
