//! Who may read the admin listener.
//!
//! Two defences. A bearer token, where one is configured, as it must be off the loopback; who has it may
//! ask under any name. Without one, the `Host` of the request has to be a literal address or `localhost`: a
//! web page in the operator's browser can send requests to 127.0.0.1 under a name of its own (DNS
//! rebinding), but not under these.

use http::{Request, StatusCode, header};
use std::net::{IpAddr, SocketAddr};

/// Admits a request, or says with which status and sentence it is sent away.
pub(super) fn admit(request: &Request<()>, token: Option<&str>) -> Result<(), (StatusCode, &'static str)> {
    match token {
        Some(token) if bears(request, token) => return Ok(()),
        Some(_) => return Err((StatusCode::UNAUTHORIZED, "a bearer token is needed")),
        None => {}
    }
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    if host.is_some_and(is_own) {
        Ok(())
    } else {
        Err((StatusCode::MISDIRECTED_REQUEST, "ask by address or as localhost"))
    }
}

fn is_own(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok()
        || host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

/// Compares in a time that does not tell how much of the token was right.
fn bears(request: &Request<()>, token: &str) -> bool {
    let field = request.headers().get(header::AUTHORIZATION).map_or(&b""[..], header::HeaderValue::as_bytes);
    let Some((scheme, given)) = field.split_at_checked(b"Bearer ".len()) else { return false };
    if !scheme.eq_ignore_ascii_case(b"Bearer ") {
        return false;
    }
    let difference = given.iter().zip(token.as_bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(host: &str, authorization: Option<&str>, token: Option<&str>) -> Result<(), u16> {
        let mut request = Request::builder().header("host", host);
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        admit(&request.body(()).unwrap(), token).map_err(|(status, _)| status.as_u16())
    }

    #[test]
    fn foreign_names_are_sent_away() {
        for host in ["127.0.0.1:9309", "localhost:9309", "[::1]:9309", "[::1]", "LOCALHOST", "192.0.2.1"] {
            assert_eq!(admitted(host, None, None), Ok(()), "{host}");
        }
        for host in ["evil.example:9309", "localhost.evil.example", "", "a:b:c"] {
            assert_eq!(admitted(host, None, None), Err(421), "{host}");
        }
    }

    #[test]
    fn a_configured_token_is_asked_for() {
        assert_eq!(admitted("127.0.0.1", None, Some("secret")), Err(401));
        assert_eq!(admitted("127.0.0.1", Some("Bearer secre"), Some("secret")), Err(401));
        assert_eq!(admitted("127.0.0.1", Some("Bearer secrets"), Some("secret")), Err(401));
        assert_eq!(admitted("127.0.0.1", Some("Basic secret"), Some("secret")), Err(401));
        assert_eq!(admitted("127.0.0.1", Some("bearer secret"), Some("secret")), Ok(()));
        assert_eq!(admitted("gateway.internal", Some("Bearer secret"), Some("secret")), Ok(()));
    }
}
