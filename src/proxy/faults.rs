//! What a client is told when a request fails: a status and a sentence, nothing of our insides.

use super::answer::Answer;
use super::respond::{final_status, respond};
use super::wire;
use crate::request::message::Fault;
use pingora::proxy::{FailToProxy, Session};
use pingora::{Error, ErrorSource, ErrorType};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The client went away; nobody is left to answer. Not a status of HTTP, only of our log.
pub(super) const CLIENT_GONE: u16 = 499;

/// Between two lines about origins that fail; what happens in between is counted.
const QUIET: Duration = Duration::from_secs(10);

/// Failures of origins by site and status: told at once, then at most every [`QUIET`], with their number.
/// Bounded, since both are.
#[derive(Debug, Default)]
pub(super) struct OriginFaults(Mutex<HashMap<(String, u16), (Instant, u64)>>);

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

    fn note(&self, site: &str, status: u16, error: &Error) {
        if let Some(count) = self.due(site, status, Instant::now()) {
            // Only the kind of error: its context may quote what the origin sent.
            let kind = error.etype().as_str();
            tracing::warn!(site, status, count, kind, "requests failed at the origin");
        }
    }
}

/// Answers a failed request, unless an answer is under way already.
pub(super) async fn answer(
    session: &mut Session,
    error: &Error,
    site: &str,
    origins: &OriginFaults,
) -> FailToProxy {
    // A body whose grammar is broken is the client's fault, whatever came of it at the origin.
    let malformed = wire::gate(session).and_then(wire::Gate::fault);
    let status = malformed.map_or_else(|| status(error), Fault::status);
    if status >= 500 {
        origins.note(site, status, error);
    }
    if status != CLIENT_GONE && final_status(session).is_none() {
        session.set_keepalive(None);
        if let Err(error) = respond(
            session,
            Answer::page(status, malformed.map_or_else(|| sentence(status), Fault::sentence)),
        )
        .await
        {
            tracing::debug!("the client did not take the answer: {error}");
        }
    }
    FailToProxy { error_code: status, can_reuse_downstream: false }
}

/// What is wrong with an origin, in words; `None` where the client is to blame.
pub(super) fn cause(error: &Error) -> Option<&'static str> {
    use ErrorType::{
        ConnectNoRoute, ConnectRefused, ConnectTimedout, ConnectionClosed, HTTPStatus, InvalidCert,
        InvalidHTTPHeader, ReadError, ReadTimedout, TLSHandshakeFailure, TLSHandshakeTimedout, WriteError,
        WriteTimedout,
    };
    let words = match (error.etype(), error.esource()) {
        (_, ErrorSource::Downstream) => return None,
        (HTTPStatus(503), _) => "it has no address",
        (HTTPStatus(_), _) => return None,
        (ConnectRefused, _) => "it refuses connections",
        (ConnectTimedout, _) => "it takes no connection in time",
        (ConnectNoRoute, _) => "there is no way to it",
        (TLSHandshakeFailure | TLSHandshakeTimedout, _) => "the TLS handshake with it fails",
        (InvalidCert, _) => "its certificate is not one to trust",
        (ReadTimedout | WriteTimedout, _) => "it does not answer in time",
        (ConnectionClosed | ReadError | WriteError, _) => "it closes the connection before it has answered",
        (InvalidHTTPHeader, _) => "what it answers is no HTTP",
        _ => "requests to it fail",
    };
    Some(words)
}

fn status(error: &Error) -> u16 {
    use ErrorType::{
        ConnectTimedout, ConnectionClosed, HTTPStatus, ReadError, ReadTimedout, WriteError, WriteTimedout,
    };
    match (error.etype(), error.esource()) {
        (HTTPStatus(status), _) => *status,
        (ReadTimedout, ErrorSource::Downstream) => 408,
        (ReadError | WriteError | WriteTimedout | ConnectionClosed, ErrorSource::Downstream) => CLIENT_GONE,
        (_, ErrorSource::Downstream) => 400,
        (ConnectTimedout | ReadTimedout | WriteTimedout, _) => 504,
        (_, ErrorSource::Upstream | ErrorSource::Internal | ErrorSource::Unset) => 502,
    }
}

const fn sentence(status: u16) -> &'static str {
    match status {
        400 => "the request could not be understood",
        408 => "the request took too long",
        413 => super::bounds::TOO_LARGE,
        503 => "the site is not available",
        504 => "the site did not answer in time",
        _ => "the site could not be reached",
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
    fn faults_of_the_origin_are_told_apart_from_those_of_the_client() {
        let up = |kind| status(&Error::new_up(kind));
        let down = |kind| status(&Error::new_down(kind));
        assert_eq!(up(ErrorType::ConnectRefused), 502);
        assert_eq!(up(ErrorType::ConnectTimedout), 504);
        assert_eq!(up(ErrorType::ReadTimedout), 504);
        assert_eq!(up(ErrorType::InvalidHTTPHeader), 502);
        assert_eq!(down(ErrorType::ReadTimedout), 408);
        assert_eq!(down(ErrorType::InvalidHTTPHeader), 400);
        assert_eq!(down(ErrorType::ConnectionClosed), CLIENT_GONE);
        assert_eq!(status(&Error::new_in(ErrorType::HTTPStatus(503))), 503);
    }
}
