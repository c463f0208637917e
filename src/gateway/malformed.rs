//! What is done about messages that are no requests: an answer, and a line of the access log.
//!
//! They have no host, no site and often no method that could be told, so a line has what was first sent instead.

use super::request_id::RequestId;
use super::{ConnectionInfo, Gateway};
use crate::http::{HttpFault, Response};
use crate::record::{AccessRecord, ShownBytes};
use std::time::{Duration, Instant, SystemTime};

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
    /// How many bytes of a body with it.
    pub body: usize,
    /// Why, in a word.
    pub fault: &'static str,
}

impl Gateway {
    /// Writes the line of a message that is no request, where there is an access log.
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

/// The answer to a message with a fault.
#[must_use]
pub fn answer(fault: HttpFault) -> Response {
    let answer = Response::page(fault.status(), fault.sentence());
    // RFC 9110 §15.5.6: who refuses a method says which ones there are.
    if fault == HttpFault::Connect {
        return answer.with("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    }
    answer
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
