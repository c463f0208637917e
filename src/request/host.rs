//! Host names: one normal form for the request's `Host` and the configuration's `hosts`.
//!
//! Only what a lookup needs: lower case, no port, no trailing dot. Whether a name is a legal one is
//! not asked here; a name that matches no site is simply not found.

use std::borrow::Cow;

/// Lower-cases `host` and removes a port and one trailing dot.
///
/// `Example.org.:8080` and `example.org` are one site: one robots.txt serves all schemes and ports.
/// An IPv6 literal keeps its brackets. Borrows when nothing has to change.
pub fn normalise(host: &str) -> Cow<'_, str> {
    let name = without_port(host);
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn without_port(host: &str) -> &str {
    let end = if host.starts_with('[') {
        host.find(']').map(|end| end + 1)
    } else {
        // Two colons without brackets are a bare IPv6 address, which has no port to cut.
        let first = host.bytes().position(|byte| byte == b':');
        first.filter(|first| host.rfind(':') == Some(*first))
    };
    end.and_then(|end| host.get(..end)).unwrap_or(host)
}

/// The host and port that a target in absolute-form names (RFC 9112 §3.2.2), as sent.
pub fn of_target(sent: &[u8]) -> Option<&str> {
    if sent.starts_with(b"/") {
        return None;
    }
    let rest = sent.get(memchr::memmem::find(sent, b"://")? + 3..)?;
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    std::str::from_utf8(rest.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_case_port_and_trailing_dot() {
        assert_eq!(normalise("Example.ORG"), "example.org");
        assert_eq!(normalise("example.org:8080"), "example.org");
        assert_eq!(normalise("example.org.:80"), "example.org");
        assert_eq!(normalise("example.org."), "example.org");
        assert_eq!(normalise(""), "");
    }

    #[test]
    fn keeps_addresses_whole() {
        assert_eq!(normalise("[::1]:8080"), "[::1]");
        assert_eq!(normalise("[2001:DB8::1]"), "[2001:db8::1]");
        assert_eq!(normalise("2001:db8::1"), "2001:db8::1");
        assert_eq!(normalise("127.0.0.1:80"), "127.0.0.1");
        assert_eq!(normalise("["), "[");
    }

    #[test]
    fn borrows_what_is_normal_already() {
        assert!(matches!(normalise("example.org:80"), Cow::Borrowed("example.org")));
    }

    #[test]
    fn a_target_in_absolute_form_names_a_host() {
        assert_eq!(of_target(b"http://a.example:81/x?y"), Some("a.example:81"));
        assert_eq!(of_target(b"HTTPS://a?y"), Some("a"));
        for none in [&b"/x://a/"[..], b"*", b"a:80", b""] {
            assert_eq!(of_target(none), None);
        }
    }
}
