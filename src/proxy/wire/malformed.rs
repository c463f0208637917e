//! What is done about messages that are no requests: an answer, a count, and a line of the access log.
//!
//! They have no host, no site and often no method that could be told, so a line has what was first sent instead.

use crate::policy::CurrentPolicy;
use crate::proxy::farewell::Farewell;
use crate::proxy::labels;
use crate::record::{Access, AccessLog, Totals};
use crate::request::message::Fault;
use pingora::protocols::Stream;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How much of what was sent is shown. It is a client's to fill.
const SHOWN: usize = 1_024;

/// What all connections share to tell of such messages.
#[derive(Debug)]
pub(super) struct Malformed {
    current: Arc<CurrentPolicy>,
    totals: Arc<Totals>,
    log: Option<Arc<AccessLog>>,
}

/// A message, as far as it came.
#[derive(Debug)]
pub(super) struct Fragment<'a> {
    /// What came of it.
    pub(super) octets: &'a [u8],
    /// When it began, where it did not come at once.
    pub(super) since: Option<Instant>,
    /// The status that its sender was told.
    pub(super) status: u16,
    /// How many octets of a body with it.
    pub(super) bytes: usize,
    /// Why, in a word.
    pub(super) fault: &'static str,
}

impl Malformed {
    pub(super) const fn new(
        current: Arc<CurrentPolicy>,
        totals: Arc<Totals>,
        log: Option<Arc<AccessLog>>,
    ) -> Self {
        Self { current, totals, log }
    }

    pub(super) fn count(&self) {
        self.totals.malformed();
    }

    /// Writes the line of a message that came on `stream`, where there is an access log.
    pub(super) fn tell(&self, stream: &Stream, fragment: &Fragment<'_>) {
        let Some(log) = &self.log else { return };
        let duration = fragment.since.map_or(Duration::ZERO, |since| since.elapsed());
        let now = SystemTime::now();
        let peer = stream.get_socket_digest();
        let peer = peer.as_deref().and_then(|digest| digest.peer_addr()?.as_inet());
        let is_tls = stream.get_ssl_digest().is_some();
        log.record(&Access {
            time: now.checked_sub(duration).unwrap_or(now),
            duration,
            address: peer.map(|peer| peer.ip().to_canonical()),
            addresses: self.current.get().config.addresses,
            scheme: if is_tls { "https" } else { "http" },
            method: None,
            target: first_line(fragment.octets),
            version: None,
            host: None,
            status: fragment.status,
            bytes: fragment.bytes,
            referer: None,
            user_agent: None,
            site: None,
            origin: None,
            fault: Some(fragment.fault),
            request_id: &labels::request_id(),
        });
    }
}

/// The request line, or what stands in its place.
fn first_line(octets: &[u8]) -> &[u8] {
    let is_end = |octet: &u8| matches!(octet, b'\r' | b'\n');
    let begin = octets.iter().position(|octet| !is_end(octet)).unwrap_or(octets.len());
    let line = octets.get(begin..).and_then(|rest| rest.split(is_end).next()).unwrap_or_default();
    line.get(..SHOWN).unwrap_or(line)
}

/// The answer to a message with a fault, and the end of its connection; and how long the answer's body is.
pub(super) fn answer(fault: Fault) -> (Farewell, usize) {
    let body = format!("{} {}\n", fault.status(), fault.sentence());
    // RFC 9110 §15.5.6: who refuses a method says which ones there are.
    let allow =
        if fault == Fault::Connect { "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n" } else { "" };
    let answer = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n{allow}\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        fault.status_line(),
        body.len()
    );
    (Farewell::saying(answer.into_bytes()), body.len())
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
