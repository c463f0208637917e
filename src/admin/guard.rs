//! Who may read the admin listener.
//!
//! Two defences. A token, where one is configured, as it must be off the loopback; who has it may ask under
//! any name. Programs bear it (RFC 6750), and a browser asks its user for it, as a password with any name
//! (RFC 7617). Without one, the `Host` of the request has to be a literal address or `localhost`: a
//! web page in the operator's browser can send requests to 127.0.0.1 under a name of its own (DNS
//! rebinding), but not under these.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, StatusCode, header};
use std::net::{IpAddr, SocketAddr};

/// What is said to who gave no token, or another, in `WWW-Authenticate`.
pub(super) const SCHEMES: &str = "Bearer, Basic realm=\"robots-gateway\", charset=\"UTF-8\"";

/// Admits a request, or says with which status and sentence it is sent away.
pub(super) fn admit(request: &Request<()>, token: Option<&str>) -> Result<(), (StatusCode, &'static str)> {
    match token {
        Some(token) if has_token(request, token) => return Ok(()),
        Some(_) => return Err((StatusCode::UNAUTHORIZED, "the admin token is needed")),
        None => {}
    }
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok());
    if host.is_some_and(is_own) {
        Ok(())
    } else {
        Err((StatusCode::MISDIRECTED_REQUEST, "ask by address or as localhost"))
    }
}

/// Whether a form comes from a page of this listener, as far as a browser tells (Fetch Metadata): a page of another site in
/// the operator's browser can send one, and what it asks for takes time and questions to name servers.
pub(super) fn is_of_own_page(request: &Request<()>) -> bool {
    let site = request.headers().get("sec-fetch-site").map(header::HeaderValue::as_bytes);
    !matches!(site, Some(b"cross-site" | b"same-site"))
}

fn is_own(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
        || host.parse::<SocketAddr>().is_ok()
        || host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

fn has_token(request: &Request<()>, token: &str) -> bool {
    let field = request.headers().get(header::AUTHORIZATION).map_or(&b""[..], header::HeaderValue::as_bytes);
    let mut parts = field.splitn(2, |byte| *byte == b' ');
    let (scheme, given) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if scheme.eq_ignore_ascii_case(b"Bearer") {
        return is_same(given, token.as_bytes());
    }
    let pair = STANDARD.decode(given.trim_ascii()).unwrap_or_default();
    let password = pair.splitn(2, |byte| *byte == b':').nth(1);
    scheme.eq_ignore_ascii_case(b"Basic")
        && password.is_some_and(|password| is_same(password, token.as_bytes()))
}

/// Compares in a time that does not tell how much of the token was right.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let difference = given.iter().zip(token).fold(0, |sum, (a, b)| sum | (a ^ b));
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
        assert_eq!(admitted("127.0.0.1", Some("Bearer"), Some("secret")), Err(401));
        assert_eq!(admitted("127.0.0.1", Some("Bearer "), Some("secret")), Err(401));
    }

    #[test]
    fn a_browser_gives_the_token_as_a_password() {
        for (pair, expected) in [
            ("anybody:secret", Ok(())),
            (":secret", Ok(())),
            ("secret", Err(401)),
            ("secret:", Err(401)),
            ("anybody:secrets", Err(401)),
            ("a:b:secret", Err(401)),
        ] {
            let field = format!("Basic {}", STANDARD.encode(pair));
            assert_eq!(admitted("gateway.internal", Some(&field), Some("secret")), expected, "{pair}");
        }
        assert_eq!(admitted("127.0.0.1", Some("Basic ???"), Some("secret")), Err(401));
    }
}
