//! The head of a request of HTTP/2, which comes as a list of fields and not as lines (RFC 9113 §8).
//!
//! There is nothing to be split in two, so most faults of HTTP/1.1 cannot be. What is looked at here is what its
//! recipients may still read differently, above all an origin that is told of the request in HTTP/1.1. Framing,
//! pseudo-header fields and fields of a connection (RFC 9113 §8.2.2, §8.3) are the HTTP/2 library's to check.

use super::authority::{Form, check_bytes, form, is_host};
use super::field::Field;
use super::framing::Framing;
use super::reader::LONGEST_TARGET;
use super::{HttpFault, RequestHead, is_token};

/// Looks for a fault in a head.
///
/// # Errors
/// The first fault.
pub fn check(head: &RequestHead) -> Result<(), HttpFault> {
    let is_web = |scheme: &[u8]| [&b"http"[..], b"https"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
    if head.scheme().is_some_and(|scheme| !is_web(scheme)) {
        return Err(HttpFault::Scheme);
    }
    if !head.get("host").is_some_and(is_host) {
        return Err(HttpFault::Host);
    }
    // RFC 9113 §8.5: it has no path, and this gateway makes no tunnels.
    if head.has_method("CONNECT") {
        return Err(HttpFault::Connect);
    }
    check_bytes(head.target())?;
    if head.target().len() > LONGEST_TARGET {
        return Err(HttpFault::LineSize);
    }
    // RFC 9113 §8.3.1: a path, or the asterisk; a URL would name the host twice.
    if let Form::Absolute(_) = form(head.method().as_bytes(), head.target())? {
        return Err(HttpFault::Target);
    }
    let mut framing = Framing::default();
    for (name, value) in head.fields() {
        if !is_token(name) {
            return Err(HttpFault::FieldName);
        }
        // RFC 9113 §8.2.1 would have blanks around it refused. Browsers' extensions send them, they mean nothing, and the
        // head has the value without them.
        framing.note(&Field { name, value }, 0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Body, HttpVersion};

    /// The parts of a head: method, scheme, target, host.
    type Parts<'a> = (&'a str, Option<&'a str>, &'a [u8], Option<&'a str>);

    const GOOD: Parts<'_> = ("GET", Some("https"), b"/p?q", Some("a.example:8443"));

    fn checked((method, scheme, target, host): Parts<'_>, fields: &[(&str, &str)]) -> Result<(), HttpFault> {
        let host = host.map(|host| ("host", host));
        let fields = host.iter().chain(fields).map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let (line, scheme) = ([method.as_bytes(), target], scheme.map(str::as_bytes));
        check(&RequestHead::from_parts(line, scheme, HttpVersion::Http2, Body::None, fields))
    }

    fn fields(fields: &[(&str, &str)]) -> Result<(), HttpFault> {
        checked(GOOD, fields)
    }

    #[test]
    fn a_good_head_has_no_fault() {
        assert_eq!(
            fields(&[("x", "a b"), ("x", ""), ("content-length", "5"), ("cookie", "a=\"b\"")]),
            Ok(())
        );
        assert_eq!(checked(("OPTIONS", GOOD.1, b"*", GOOD.3), &[]), Ok(()));
        assert_eq!(checked((GOOD.0, None, GOOD.2, Some("[::1]")), &[]), Ok(()));
    }

    #[test]
    fn parts_are_a_method_a_path_and_a_host() {
        let (method, scheme, path, good) = GOOD;
        for target in [&b"http://a/p"[..], b"*", b"p", b""] {
            assert_eq!(checked((method, scheme, target, good), &[]), Err(HttpFault::Target), "{target:?}");
        }
        assert_eq!(checked((method, scheme, b"/a b", good), &[]), Err(HttpFault::TargetBytes));
        for host in [None, Some(""), Some(":80"), Some("a:b"), Some("u@a"), Some("[a]")] {
            assert_eq!(checked((method, scheme, path, host), &[]), Err(HttpFault::Host), "{host:?}");
        }
        for scheme in ["", "ftp", "httpx"] {
            assert_eq!(
                checked((method, Some(scheme), path, good), &[]),
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
        assert_eq!(fields(&[("host", "b")]), Err(HttpFault::Host));
    }
}
