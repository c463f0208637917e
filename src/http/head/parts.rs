//! The head of a request of HTTP/2, which comes as a list of fields and not as lines (RFC 9113 §8).
//!
//! There is nothing to be split in two, so most faults of HTTP/1.1 cannot be. What is looked at here is what its
//! recipients may still read differently, above all an origin that is told of the request in HTTP/1.1. Framing,
//! pseudo-header fields and fields of a connection (RFC 9113 §8.2.2, §8.3) are the HTTP/2 library's to check.

use super::authority::{Form, check_bytes, form, is_host};
use super::field::Field;
use super::framing::Framing;
use super::reader::LONGEST_TARGET;
use super::{HttpFault, is_token, trimmed};

/// What the pseudo-header fields say (RFC 9113 §8.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PseudoHeaders<'a> {
    /// `:method`.
    pub method: &'a [u8],
    /// `:scheme`, where it is known.
    pub scheme: Option<&'a [u8]>,
    /// `:path`.
    pub target: &'a [u8],
    /// `:authority`, or the `host` field in its place.
    pub host: Option<&'a [u8]>,
}

/// Looks for a fault in a head: its parts, and all of its fields in order.
///
/// # Errors
/// The first fault.
pub fn check<'a>(
    parts: &PseudoHeaders<'_>,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<(), HttpFault> {
    let is_web = |scheme: &[u8]| [&b"http"[..], b"https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    if parts.scheme.is_some_and(|scheme| !is_web(scheme)) {
        return Err(HttpFault::Scheme);
    }
    if !parts.host.is_some_and(is_host) {
        return Err(HttpFault::Host);
    }
    // RFC 9113 §8.5: it has no path, and this gateway makes no tunnels.
    if parts.method == b"CONNECT" {
        return Err(HttpFault::Connect);
    }
    check_bytes(parts.target)?;
    if parts.target.len() > LONGEST_TARGET {
        return Err(HttpFault::LineSize);
    }
    // RFC 9113 §8.3.1: a path, or the asterisk; a URL would name the host twice.
    if let Form::Absolute(_) = form(parts.method, parts.target)? {
        return Err(HttpFault::Target);
    }
    let mut framing = Framing::default();
    for (name, value) in fields {
        if !is_token(name) {
            return Err(HttpFault::FieldName);
        }
        // RFC 9113 §8.2.1 would have blanks around it refused. Browsers' extensions send them, and they mean nothing.
        framing.note(&Field { name, value: trimmed(value) }, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: PseudoHeaders<'static> = PseudoHeaders {
        method: b"GET",
        scheme: Some(b"https"),
        target: b"/p?q",
        host: Some(b"a.example:8443"),
    };

    fn fields(fields: &[(&str, &str)]) -> Result<(), HttpFault> {
        check(&GOOD, fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())))
    }

    fn parts(parts: PseudoHeaders<'_>) -> Result<(), HttpFault> {
        check(&parts, std::iter::empty())
    }

    #[test]
    fn a_good_head_has_no_fault() {
        assert_eq!(
            fields(&[("x", "a b"), ("x", ""), ("content-length", "5"), ("cookie", "a=\"b\"")]),
            Ok(())
        );
        assert_eq!(parts(PseudoHeaders { method: b"OPTIONS", target: b"*", ..GOOD }), Ok(()));
        assert_eq!(parts(PseudoHeaders { scheme: None, host: Some(b"[::1]"), ..GOOD }), Ok(()));
    }

    #[test]
    fn parts_are_a_method_a_path_and_a_host() {
        for target in [&b"http://a/p"[..], b"*", b"p", b""] {
            assert_eq!(parts(PseudoHeaders { target, ..GOOD }), Err(HttpFault::Target), "{target:?}");
        }
        assert_eq!(parts(PseudoHeaders { target: b"/a b", ..GOOD }), Err(HttpFault::TargetBytes));
        for host in [None, Some(&b""[..]), Some(b":80"), Some(b"a:b"), Some(b"u@a"), Some(b"[a]")] {
            assert_eq!(parts(PseudoHeaders { host, ..GOOD }), Err(HttpFault::Host), "{host:?}");
        }
        for scheme in [&b""[..], b"ftp", b"httpx"] {
            assert_eq!(
                parts(PseudoHeaders { scheme: Some(scheme), ..GOOD }),
                Err(HttpFault::Scheme),
                "{scheme:?}"
            );
        }
    }

    #[test]
    fn fields_have_names_and_blanks_around_a_value_are_no_part_of_it() {
        assert_eq!(fields(&[("x\"", "y")]), Err(HttpFault::FieldName));
        assert_eq!(fields(&[("content_length", "5")]), Err(HttpFault::Spelling));
        for value in [" a", "a ", "\ta", "a\t", " "] {
            assert_eq!(fields(&[("x", value)]), Ok(()), "{value:?}");
        }
        let twice = [("content-length", "5"), ("content-length", "5")];
        assert_eq!(fields(&twice), Err(HttpFault::ContentLength));
        for length in ["", "+5", "5, 5"] {
            assert_eq!(fields(&[("content-length", length)]), Err(HttpFault::ContentLength), "{length:?}");
        }
        assert_eq!(fields(&[("host", "a.example:8443"), ("host", "b")]), Err(HttpFault::Host));
    }
}
