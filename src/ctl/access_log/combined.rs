//! The common and combined formats, as Apache and nginx write them.
//!
//! `[host] address ident user [time] "request" status size "referer" "user agent" …`. Fields behind those are
//! left alone. Both servers write a quote within a field as `\"` or `\x22`, so that a field ends where it ends.

use super::{LogEntry, LoggedRequest, LoggedUserAgent, time};
use crate::hex;
use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::net::IpAddr;

/// How long `17/May/2015:10:05:03 +0000` is.
const TIME: usize = 26;

pub(super) fn parse(line: &[u8]) -> Option<LogEntry<'_>> {
    let (before, at, rest) = split_at_time(line)?;
    let (host, address) = host_and_address(before);
    let (request, rest) = quoted(rest.strip_prefix(b" ")?)?;
    let (status, rest) = word(rest.strip_prefix(b" ")?);
    let status = std::str::from_utf8(status).ok();
    // Where another proxy answered, it is not known.
    let status =
        status.and_then(|digits| if digits == "-" { Some(None) } else { digits.parse().ok().map(Some) });
    // The size, or a hyphen for an answer without a body.
    let (size, rest) = word(rest.trim_ascii_start());
    let size =
        std::str::from_utf8(size).ok().and_then(|size| if size == "-" { Some(0) } else { size.parse().ok() });
    let agent = match quoted(rest.trim_ascii_start()) {
        None => LoggedUserAgent::Unlogged,
        Some((_, rest)) => quoted(rest.trim_ascii_start())
            .map_or(LoggedUserAgent::Unlogged, |(agent, _)| LoggedUserAgent::of(agent)),
    };
    let request = LoggedRequest::parse(request);
    Some(LogEntry { host, address, at, request, status: status?, size, is_encoded: None, agent })
}

/// What stands before the time, the time, and what stands behind it. A user may be called `[`.
fn split_at_time(line: &[u8]) -> Option<(&[u8], i64, &[u8])> {
    let mut from = 0;
    loop {
        let open = from + memchr(b'[', line.get(from..)?)?;
        let inside = line.get(open + 1..)?;
        let time = inside.get(..TIME).and_then(time::common);
        if let (Some(at), Some(b']')) = (time, inside.get(TIME)) {
            return Some((line.get(..open)?, at, inside.get(TIME + 1..)?));
        }
        from = open + 1;
    }
}

/// The host, where the line begins with one, and the address of the client.
fn host_and_address(before: &[u8]) -> (Option<Cow<'_, str>>, Option<IpAddr>) {
    let (first, rest) = word(before);
    if let Some(address) = address(first) {
        return (None, Some(address));
    }
    let (second, _) = word(rest.trim_ascii_start());
    match (address(second), std::str::from_utf8(first)) {
        (Some(address), Ok(host)) => (Some(Cow::Borrowed(host)), Some(address)),
        // A server that looks names up, or that writes none.
        _ => (None, None),
    }
}

fn address(text: &[u8]) -> Option<IpAddr> {
    // What begins with no digit, colon or letter of a hexadecimal number need not be tried.
    text.first().filter(|first| first.is_ascii_hexdigit() || **first == b':')?;
    std::str::from_utf8(text).ok()?.parse().ok().map(|address: IpAddr| address.to_canonical())
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at_checked(memchr(b' ', text).unwrap_or(text.len())).unwrap_or((text, b""))
}

/// A quoted field, and what stands behind it. A line that was cut off ends its last field.
fn quoted(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let end = memchr2(b'"', b'\\', text).unwrap_or(text.len());
    match text.get(end) {
        Some(b'\\') => Some(unescaped(text, end)),
        Some(_) => Some((Cow::Borrowed(text.get(..end)?), text.get(end + 1..)?)),
        None => Some((Cow::Borrowed(text), b"")),
    }
}

/// A field with escapes, the first of them at `first`.
fn unescaped(text: &[u8], first: usize) -> (Cow<'_, [u8]>, &[u8]) {
    let (plain, mut rest) = text.split_at_checked(first).unwrap_or((text, b""));
    let mut field = plain.to_vec();
    loop {
        match rest {
            [] => return (Cow::Owned(field), b""),
            [b'"', tail @ ..] => return (Cow::Owned(field), tail),
            [b'\\', b'x', high, low, tail @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                field.push(hex::digit(*high) << 4 | hex::digit(*low));
                rest = tail;
            }
            [b'\\', escaped, tail @ ..] => {
                field.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0B,
                    b'b' => 0x08,
                    b'f' => 0x0C,
                    other => *other,
                });
                rest = tail;
            }
            [byte, tail @ ..] => {
                field.push(*byte);
                rest = tail;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(
        line: &str,
    ) -> (Option<String>, Option<String>, String, String, Option<u16>, LoggedUserAgent<'static>) {
        let entry = parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
        let request = entry.request.map(|request| (request.method, request.target)).unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let agent = match entry.agent {
            LoggedUserAgent::Sent(agent) => LoggedUserAgent::Sent(Cow::Owned(agent.into_owned())),
            LoggedUserAgent::Absent => LoggedUserAgent::Absent,
            LoggedUserAgent::Unlogged => LoggedUserAgent::Unlogged,
        };
        (
            entry.host.map(Cow::into_owned),
            entry.address.map(|address| address.to_string()),
            text(&request.0),
            text(&request.1),
            entry.status,
            agent,
        )
    }

    fn agent(text: &str) -> LoggedUserAgent<'static> {
        LoggedUserAgent::Sent(Cow::Owned(text.as_bytes().to_vec()))
    }

    const TIME: &str = "[17/May/2015:10:05:03 +0000]";

    #[test]
    fn the_formats_of_apache_and_nginx() {
        let get = |host: Option<&str>, address: &str, agent| {
            let owned = |text: &str| text.to_owned();
            (host.map(owned), Some(owned(address)), owned("GET"), owned("/a?b"), Some(200), agent)
        };
        let line = format!("192.0.2.1 - - {TIME} \"GET /a?b HTTP/1.1\" 200 12");
        assert_eq!(sent(&line), get(None, "192.0.2.1", LoggedUserAgent::Unlogged), "common");
        let combined = format!("{line} \"-\" \"curl/8.5.0\"");
        assert_eq!(sent(&combined), get(None, "192.0.2.1", agent("curl/8.5.0")), "combined");
        assert_eq!(
            sent(&format!("{combined} \"198.51.100.1\" 0.003")),
            get(None, "192.0.2.1", agent("curl/8.5.0"))
        );
        let host = format!("example.org:443 {combined}");
        assert_eq!(
            sent(&host),
            get(Some("example.org:443"), "192.0.2.1", agent("curl/8.5.0")),
            "vhost_combined"
        );
        let v6 = format!("2001:db8::1 - jo e [x] {TIME} \"GET /a?b HTTP/1.1\" 200 - \"-\" \"-\"");
        assert_eq!(sent(&v6), get(None, "2001:db8::1", LoggedUserAgent::Absent), "a user with blanks");
    }

    #[test]
    fn the_size_is_that_of_the_body() {
        for (written, size) in [("12", Some(12)), ("0", Some(0)), ("-", Some(0)), ("many", None)] {
            let line = format!("192.0.2.1 - - {TIME} \"GET /robots.txt HTTP/1.1\" 200 {written} \"-\" \"x\"");
            assert_eq!(parse(line.as_bytes()).unwrap().size, size, "{written}");
        }
    }

    #[test]
    fn the_status_may_be_unknown() {
        let status = |written| {
            let line = format!("192.0.2.1 - - {TIME} \"GET /a HTTP/1.1\" {written} 0 \"-\" \"x\"");
            parse(line.as_bytes()).map(|entry| entry.status)
        };
        assert_eq!((status("403"), status("-"), status("x")), (Some(Some(403)), Some(None), None));
    }

    #[test]
    fn what_was_escaped_is_as_it_was_sent() {
        let line = format!(
            "192.0.2.1 - - {TIME} \"GET /%22\\x22\\xE9\\\"\\\\ HTTP/1.1\" 200 1 \"a\\\"b\" \"x \\\"y\\\" \\x5Cn\\x3\""
        );
        let entry = parse(line.as_bytes()).unwrap();
        assert_eq!(&*entry.request.unwrap().target, b"/%22\"\xe9\"\\");
        assert_eq!(entry.agent, agent("x \"y\" \\nx3"));
    }

    #[test]
    fn what_was_no_http_is_read_and_names_no_request() {
        for request in [
            "-",
            "",
            "\\x16\\x03\\x01",
            "GET /",
            "GET  HTTP/1.1",
            "GET /a b HTTP/1.1",
            "\\x05\\x01 / HTTP/1.0",
        ] {
            let line = format!("192.0.2.1 - - {TIME} \"{request}\" 400 0 \"-\" \"-\"");
            assert_eq!(parse(line.as_bytes()).unwrap().request, None, "{request}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_ends_its_last_field() {
        let line = format!("192.0.2.1 - - {TIME} \"GET / HTTP/1.1\" 200 1 \"-\" \"curl/8.");
        assert_eq!(sent(&line).5, agent("curl/8."));
    }

    #[test]
    fn other_lines_are_none_of_ours() {
        let cut = format!("192.0.2.1 - - {TIME} \"GET / HTTP/1.1");
        for line in ["", "hello", "[", "192.0.2.1 - - [yesterday] \"GET / HTTP/1.1\" 200 1", &cut] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
