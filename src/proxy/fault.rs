//! What can be wrong with an origin, and how the operator is told.

pub use crate::record::OriginFault;

use pingora::{Error, ErrorType};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

impl OriginFault {
    /// The fault that an attempt to connect ended with.
    pub(crate) fn of(error: &Error) -> Self {
        let says = |alert| format!("{error:?}").contains(alert);
        match error.etype() {
            ErrorType::ConnectRefused => Self::Refused,
            ErrorType::ConnectTimedout => Self::ConnectTimeout,
            ErrorType::ConnectNoRoute => Self::NoRoute,
            // Its alert (RFC 7301 §3.2), which the library of TLS has as text only.
            ErrorType::TLSHandshakeFailure if says("NoApplicationProtocol") => Self::Http2Only,
            ErrorType::TLSHandshakeFailure | ErrorType::TLSHandshakeTimedout => Self::Tls,
            ErrorType::InvalidCert => Self::Certificate,
            _ => Self::Other,
        }
    }

    /// The fault of an origin that answers with these bytes, which are no HTTP/1.1. One of HTTP/2 begins with a frame
    /// of type SETTINGS, on stream 0, whose length is a multiple of six (RFC 9113 §3.4, §6.5).
    pub(crate) fn of_no_http(bytes: &[u8]) -> Self {
        match bytes {
            [0, 0, length, 4, 0, 0, 0, 0, 0, ..] if length % 6 == 0 => Self::Http2Only,
            _ => Self::Malformed,
        }
    }

    /// The status that the client is told.
    pub const fn status(self) -> u16 {
        match self {
            Self::NoAddress => 503,
            Self::ConnectTimeout | Self::Timeout => 504,
            _ => 502,
        }
    }

    /// What the client is told.
    pub const fn sentence(self) -> &'static str {
        match self.status() {
            503 => "the site is not available",
            504 => "the site did not answer in time",
            _ => "the site could not be reached",
        }
    }

    /// What the operator is told of the server.
    pub const fn cause(self) -> &'static str {
        match self {
            Self::NoAddress => "it has no address",
            Self::Refused => "it refuses connections",
            Self::ConnectTimeout => "it takes no connection in time",
            Self::NoRoute => "there is no way to it",
            Self::Tls => "the TLS handshake with it fails",
            Self::Certificate => "its certificate is not one to trust",
            Self::Timeout => "it does not answer in time",
            Self::Closed => "it closes the connection before it has answered",
            Self::Malformed => "what it answers is not HTTP",
            Self::Http2Only => {
                "an origin that speaks only HTTP/2 cannot be asked: origins are asked in HTTP/1.1"
            }
            Self::Other => "requests to it fail",
        }
    }
}

/// Between two lines about origins that fail; what happens in between is counted.
const QUIET: Duration = Duration::from_secs(10);

/// Failures of origins by site and status: told at once, then at most every ten seconds, with their number.
/// Bounded, since both are.
#[derive(Debug, Default)]
pub struct OriginFaults(Mutex<HashMap<(String, u16), (Instant, u64)>>);

impl OriginFaults {
    /// How many failures a line is due for, this one included; `None` while it is too early for one.
    fn due(&self, site: &str, status: u16, now: Instant) -> Option<u64> {
        let mut faults = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((told, untold)) = faults.get_mut(&(site.to_owned(), status)) else {
            faults.insert((site.to_owned(), status), (now, 0));
            return Some(1);
        };
        *untold += 1;
        if now.duration_since(*told) < QUIET {
            return None;
        }
        *told = now;
        Some(std::mem::take(untold))
    }

    /// Tells of a failure, if that is due.
    pub fn note(&self, site: &str, fault: OriginFault) {
        let (status, kind, cause) = (fault.status(), <&str>::from(fault), fault.cause());
        if let Some(count) = self.due(site, status, Instant::now()) {
            tracing::warn!(site, status, count, kind, cause, "requests failed at the origin");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_counted_instead_of_repeated() {
        let (faults, start) = (OriginFaults::default(), Instant::now());
        let due = |site, seconds| faults.due(site, 502, start + Duration::from_secs(seconds));
        assert_eq!(due("a", 0), Some(1));
        assert_eq!(due("a", 1), None);
        assert_eq!(due("a", 9), None);
        assert_eq!(due("b", 9), Some(1), "another site is another story");
        assert_eq!(due("a", 10), Some(3));
        assert_eq!(due("a", 20), Some(1));
    }

    #[test]
    fn what_the_client_is_told_says_who_was_slow_and_who_was_not_there() {
        assert_eq!(OriginFault::of(&Error::new_up(ErrorType::ConnectRefused)).status(), 502);
        assert_eq!(OriginFault::of(&Error::new_up(ErrorType::ConnectTimedout)).status(), 504);
        assert_eq!(OriginFault::NoAddress.status(), 503);
        assert_eq!(OriginFault::Timeout.status(), 504);
        assert_eq!(OriginFault::Malformed.status(), 502);
    }
}
