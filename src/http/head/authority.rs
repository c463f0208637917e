//! Request targets and the hosts they name (RFC 9112 §3.2, RFC 3986 §3.2).

use super::{HttpFault, IN_NAMES, are_all};

/// The longest name that DNS carries (RFC 1035 §2.3.4), with a port behind it.
const LONGEST: usize = 253 + ".:65535".len();

/// Whether this is `uri-host [ ":" port ]` without user information (RFC 9110 §7.2); the empty one is not.
pub fn is_host(value: &[u8]) -> bool {
    if value.len() > LONGEST {
        return false;
    }
    let (name, port) = if let [b'[', rest @ ..] = value {
        let Some(end) = memchr::memchr(b']', rest) else { return false };
        let (literal, after) = (rest.get(..end).unwrap_or_default(), rest.get(end + 1..).unwrap_or_default());
        if !is_ip_literal(literal) {
            return false;
        }
        (literal, after)
    } else {
        let may_stand = |byte: &&u8| IN_NAMES.get(usize::from(**byte)).is_some_and(|(_, in_hosts)| *in_hosts);
        value.split_at_checked(value.iter().take_while(may_stand).count()).unwrap_or_default()
    };
    !name.is_empty() && is_port(port)
}

/// IPv6 addresses; no scope, and no future form that nobody uses.
fn is_ip_literal(literal: &[u8]) -> bool {
    std::str::from_utf8(literal).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// `reg-name`: unreserved, sub-delims and percent (RFC 3986 §3.2.2).
pub(super) const fn may_stand_in_a_name(byte: u8) -> bool {
    matches!(byte, b'!' | b'$'..=b'+' | b'-' | b'.' | b'0'..=b'9' | b';' | b'=')
        || matches!(byte, b'A'..=b'Z' | b'_' | b'a'..=b'z' | b'~')
}

/// Nothing, or a colon and the digits of a port, of which there may be none (RFC 3986 §3.2.3).
fn is_port(bytes: &[u8]) -> bool {
    let Some(digits) = bytes.strip_prefix(b":") else { return bytes.is_empty() };
    let port = || std::str::from_utf8(digits).is_ok_and(|port| port.parse::<u16>().is_ok());
    digits.is_empty() || digits.iter().all(u8::is_ascii_digit) && port()
}

/// The form of a target (RFC 9112 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// A path.
    Origin,
    /// A URL, and the host it names.
    Absolute(&'a [u8]),
    /// `*`.
    Asterisk,
}

/// The form of a target whose bytes may all stand in one.
pub(super) fn form<'a>(method: &[u8], target: &'a [u8]) -> Result<Form<'a>, HttpFault> {
    match target {
        [b'/', ..] => return Ok(Form::Origin),
        b"*" if method == b"OPTIONS" => return Ok(Form::Asterisk),
        _ => {}
    }
    let scheme = memchr::memmem::find(target, b"://").ok_or(HttpFault::Target)?;
    let name = target.get(..scheme).unwrap_or_default();
    if !name.eq_ignore_ascii_case(b"http") && !name.eq_ignore_ascii_case(b"https") {
        return Err(HttpFault::Target);
    }
    let rest = target.get(scheme + 3..).unwrap_or_default();
    let end = memchr::memchr3(b'/', b'?', b'\\', rest).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    // A backslash would end the host for some recipients and be part of it for others.
    if rest.get(end) == Some(&b'\\') || !is_host(authority) {
        return Err(HttpFault::Authority);
    }
    Ok(Form::Absolute(authority))
}

/// Bytes of a target. Clients send more than RFC 3986 §2 lets a URI hold, and common servers take all but controls and
/// the space. A fragment is never sent (RFC 9112 §3.2): one recipient would cut it off, and another would look it up.
#[expect(clippy::needless_bitwise_bool, reason = "without branches many bytes are compared at once")]
pub(super) fn check_bytes(target: &[u8]) -> Result<(), HttpFault> {
    let is_fine = are_all(target, |byte| (byte > b' ') & (byte != 0x7f) & (byte != b'#'));
    if is_fine { Ok(()) } else { Err(HttpFault::TargetBytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_and_addresses_with_a_port() {
        for good in
            ["a", "example.org:8080", "example.org.", "[::1]", "[2001:db8::1]:443", "127.0.0.1:", "x_y"]
        {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in [
            "", ":80", "a b", "a/b", "u@a", "a:b", "a:1:2", "a:99999", "::1", "[::1", "[::1]x", "[a]", "a,b",
            "a?b", "a\\b", "[]", "\u{e9}",
        ] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
        assert!(!is_host("a.".repeat(200).as_bytes()));
    }

    #[test]
    fn a_target_has_one_of_the_forms_of_its_method() {
        assert_eq!(form(b"GET", b"/a"), Ok(Form::Origin));
        assert_eq!(form(b"OPTIONS", b"*"), Ok(Form::Asterisk));
        assert_eq!(form(b"GET", b"http://a:80/b"), Ok(Form::Absolute(b"a:80")));
        assert_eq!(form(b"GET", b"HTTPS://a?b"), Ok(Form::Absolute(b"a")));
        assert_eq!(form(b"GET", b"http://a"), Ok(Form::Absolute(b"a")));
        for bad in [&b"*"[..], b"a", b"a/b", b"?q", b"ftp://a/", b"a:80", b"http:/a", b"", b"javascript://a/"]
        {
            assert_eq!(form(b"GET", bad), Err(HttpFault::Target), "{bad:?}");
        }
        for bad in [&b"http://u@a/"[..], b"http:///a", b"http://a\\b/", b"http://a b/", b"http://a:x/"] {
            assert_eq!(form(b"GET", bad), Err(HttpFault::Authority), "{bad:?}");
        }
    }

    #[test]
    fn targets_hold_all_but_controls_spaces_and_fragments() {
        for byte in 0..=u8::MAX {
            let is_fine = !byte.is_ascii_control() && !matches!(byte, b' ' | b'#');
            for target in [&[b'/', byte][..], &[b'/', b'?', byte, b'x']] {
                assert_eq!(check_bytes(target).is_ok(), is_fine, "{byte:x}");
            }
        }
    }
}
