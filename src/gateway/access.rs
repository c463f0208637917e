//! A request that is over, or a message that could not be read as one → one line of the access log.
//!
//! Of such a message the host, the site and often the method are unknown. Its line has the first line of what was sent.

use super::request::RequestContext;
use super::request_id::RequestId;
use super::{ConnectionInfo, Gateway, Incoming, facts};
use crate::http::HttpFault;
use crate::record::{AccessLog, AccessRecord, ShownBytes};
use std::time::{Duration, Instant, SystemTime};

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

/// How much of what was sent is shown. It is a client's to fill.
const SHOWN: usize = 1_024;

/// A message, as far as it came.
#[derive(Debug)]
pub struct Fragment<'a> {
    /// What came of it.
    pub bytes: &'a [u8],
    /// When it began, where it did not come at once.
    pub since: Option<Instant>,
    /// The status that its sender was told.
    pub status: u16,
    /// How many bytes the body of that answer had.
    pub body: usize,
    /// Why, in a word.
    pub fault: &'static str,
}

impl Gateway {
    /// Writes a line about a message that could not be read as a request. Without an access log it does nothing.
    pub fn record_fragment(&self, connection: &ConnectionInfo, fragment: &Fragment<'_>) {
        let Some(log) = &self.access_log else { return };
        let duration = fragment.since.map_or(Duration::ZERO, |since| since.elapsed());
        let now = SystemTime::now();
        log.record(&AccessRecord {
            time: now.checked_sub(duration).unwrap_or(now),
            duration,
            address: self.current.get().config.addresses.show(connection.peer),
            scheme: if connection.is_tls { "https" } else { "http" },
            method: None,
            target: ShownBytes(first_line(fragment.bytes)),
            version: None,
            host: None,
            status: Some(fragment.status),
            bytes: fragment.body,
            referer: None,
            user_agent: None,
            site: None,
            origin: None,
            fault: Some(fragment.fault),
            request_id: &RequestId::unused().text(),
        });
    }
}

/// The request line, or what stands in its place.
fn first_line(bytes: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let begin = bytes.iter().position(|byte| !is_end(byte)).unwrap_or(bytes.len());
    let line = bytes.get(begin..).and_then(|rest| rest.split(is_end).next()).unwrap_or_default();
    line.get(..SHOWN).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_one_line_of_bounded_length() {
        assert_eq!(first_line(b"\r\n\r\nGET /a b HTTP/1.1\r\nHost: a\r\n"), b"GET /a b HTTP/1.1");
        assert_eq!(first_line(b"GET / HTTP/1.1\nHost: a"), b"GET / HTTP/1.1");
        assert_eq!(first_line(&[b'a'; 5_000]).len(), SHOWN);
        assert_eq!(first_line(b"\r\n"), b"");
        assert_eq!(first_line(b""), b"");
    }
}
