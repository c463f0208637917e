//! Rows about pseudo-header fields: the request line of HTTP/2 (RFC 9113 §8.3).

use super::hostile::HostileOutcome::{Forwarded, Malformed, Refused};
use super::hostile::{HostileRow, row};
use super::{GOOD, but, changed, list, request, with};
use crate::support::http2::{END_HEADERS, END_STREAM, HEADERS, field, frame};

/// What an origin sees of the plain request beside what the gateway writes.
const PLAIN: &[&str] = &["host: a"];

/// A request without one of the pseudo-header fields.
fn without(name: &str) -> Vec<u8> {
    let fields = but(name, None);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    request(&fields)
}

/// A request for `/p#f`, whose path is written in Huffman's code (RFC 7541 §5.2, appendix B).
fn fragment_in_code() -> Vec<u8> {
    let path = [&[0, 5][..], b":path", &[0x84, 0x62, 0xbf, 0xfa, 0x97]].concat();
    let block = [list(&[(":method", "GET"), (":scheme", "https"), (":authority", "a")]), path].concat();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)
}

pub(super) fn pseudo() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.3.1";
    let split = "GET /x HTTP/1.1\r\nHost: b\r\n\r\nGET";
    let malformed = |name, sent| row(name, clause, sent, Malformed);
    vec![
        row("plain", clause, request(&GOOD), Forwarded("GET /p HTTP/1.1", PLAIN, "")),
        malformed("no :method", without(":method")),
        malformed("no :scheme", without(":scheme")),
        malformed("no :path", without(":path")),
        malformed("two :method", request(&[&[(":method", "GET")], &GOOD[..]].concat())),
        malformed("two :scheme", request(&[&[(":scheme", "https")], &GOOD[..]].concat())),
        malformed("two :path", request(&[&[(":path", "/q")], &GOOD[..]].concat())),
        malformed("two :authority", request(&[&[(":authority", "b")], &GOOD[..]].concat())),
        row(
            "unknown pseudo-header",
            "RFC 9113 §8.3",
            request(&[&GOOD[..], &[(":x", "y")]].concat()),
            Malformed,
        ),
        row(
            ":status in a request",
            "RFC 9113 §8.3",
            request(&[&GOOD[..], &[(":status", "200")]].concat()),
            Malformed,
        ),
        row(
            "pseudo-header behind a field",
            "RFC 9113 §8.3",
            request(&[&GOOD[..3], &[("x", "y")], &GOOD[3..]].concat()),
            Malformed,
        ),
        malformed("empty :method", changed(":method", "")),
        malformed("space in :method", changed(":method", "GET /x")),
        malformed("a request in :method", changed(":method", split)),
        row(
            "any token is a method",
            "RFC 9110 §9.1",
            changed(":method", "Frob-1"),
            Forwarded("Frob-1 /p HTTP/1.1", PLAIN, ""),
        ),
        malformed("a fragment in :path", changed(":path", "/p#f")),
        malformed("a fragment behind a query", changed(":path", "/p?q#f")),
        malformed("a fragment in Huffman's code", fragment_in_code()),
        malformed("empty :scheme", changed(":scheme", "")),
        malformed("space in :scheme", changed(":scheme", "ht tp")),
        malformed("a request in :scheme", changed(":scheme", "https://b/x HTTP/1.1\r\n\r\n")),
        malformed("scheme of another protocol", changed(":scheme", "ftp")),
    ]
}

pub(super) fn connect() -> Vec<HostileRow> {
    vec![
        row(
            "CONNECT",
            "RFC 9113 §8.5",
            request(&[(":method", "CONNECT"), (":authority", "a:80")]),
            Refused(405),
        ),
        row("CONNECT with a path", "RFC 9113 §8.5", changed(":method", "CONNECT"), Malformed),
        row("CONNECT without an authority", "RFC 9113 §8.5", request(&[(":method", "CONNECT")]), Malformed),
        row(
            "CONNECT for a protocol, which was not offered",
            "RFC 8441 §4",
            request(&[&[(":method", "CONNECT"), (":protocol", "websocket")], &GOOD[1..]].concat()),
            Malformed,
        ),
        row(
            ":protocol with GET",
            "RFC 8441 §4",
            request(&[&[(":protocol", "websocket")], &GOOD[..]].concat()),
            Malformed,
        ),
    ]
}

pub(super) fn authorities() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.3.1";
    let named = |name, authority: &str| row(name, clause, changed(":authority", authority), Malformed);
    let host_alone = |hosts: &[(&str, &str)]| request(&[&[GOOD[0], GOOD[1], GOOD[3]], hosts].concat());
    vec![
        row(
            "host in place of :authority",
            clause,
            host_alone(&[("host", "a")]),
            Forwarded("GET /p HTTP/1.1", PLAIN, ""),
        ),
        row(
            "host and :authority alike",
            clause,
            with(&[("host", "a")]),
            Forwarded("GET /p HTTP/1.1", PLAIN, ""),
        ),
        row(
            "authority of an address",
            clause,
            changed(":authority", "[::1]:8080"),
            Forwarded("GET /p HTTP/1.1", &["host: [::1]:8080"], ""),
        ),
        row("neither host nor :authority", clause, host_alone(&[]), Malformed),
        row("host and :authority differ", clause, with(&[("host", "b")]), Malformed),
        row("host and :authority differ in the port", clause, with(&[("host", "a:81")]), Malformed),
        row("two hosts", "RFC 9112 §3.2", with(&[("host", "a"), ("host", "a")]), Malformed),
        row(
            "two hosts without :authority",
            "RFC 9112 §3.2",
            host_alone(&[("host", "a"), ("host", "b")]),
            Malformed,
        ),
        row("two hosts in one", "RFC 9112 §3.2", host_alone(&[("host", "a, b")]), Malformed),
        row("host with a path", "RFC 9112 §3.2", host_alone(&[("host", "a/b")]), Malformed),
        row("empty host", "RFC 9112 §3.2", host_alone(&[("host", "")]), Malformed),
        named("empty :authority", ""),
        named("authority with a user", "u@a"),
        named("authority with a path", "a/b"),
        named("authority with a query", "a?b"),
        named("authority with a space", "a b"),
        named("authority with a list", "a, b"),
        named("authority with two ports", "a:1:2"),
        named("authority with a port of letters", "a:b"),
        named("authority with a port out of range", "a:65536"),
        named("authority of a port alone", ":80"),
        named("authority, bracket not closed", "[::1"),
        named("authority, brackets around a name", "[a]"),
        named("authority that is no ASCII", "caf\u{e9}"),
        named("authority with a backslash", "a\\b"),
        named("a request in :authority", "a\r\nX: y\r\n\r\nGET /second HTTP/1.1\r\nHost: a"),
    ]
}

pub(super) fn targets() -> Vec<HostileRow> {
    let latin = Forwarded("GET /caf\\xe9 HTTP/1.1", PLAIN, "");
    let (form, bytes) = ("RFC 9113 §8.3.1", "RFC 3986 §2");
    let path = |name, clause, path: &str| row(name, clause, changed(":path", path), Malformed);
    let forwarded = |name, clause, path: &str, line| {
        row(name, clause, changed(":path", path), Forwarded(line, PLAIN, ""))
    };
    let raw = |bytes: &[u8]| {
        let head = [list(&GOOD[..3]), field(":path", bytes)].concat();
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &head)
    };
    let asterisk = but(":method", Some("OPTIONS"));
    let asterisk: Vec<(&str, &str)> = asterisk.iter().map(|(name, value)| (*name, value.as_str())).collect();
    vec![
        path("empty :path", form, ""),
        path("a path without its slash", form, "p"),
        path("a query alone", form, "?p"),
        path("asterisk to GET", form, "*"),
        row(
            "asterisk to OPTIONS",
            form,
            request(&[&asterisk[..3], &[(":path", "*")]].concat()),
            Forwarded("OPTIONS * HTTP/1.1", PLAIN, ""),
        ),
        path("absolute URL as :path", form, "http://a/p"),
        path("absolute URL of another host as :path", form, "http://b/p"),
        path("space in :path", bytes, "/a b"),
        path("a request in :path", bytes, "/x HTTP/1.1\r\nHost: b\r\n\r\nGET /second"),
        path("version in :path", bytes, "/x HTTP/1.1"),
        path("CR in :path", bytes, "/a\rb"),
        path("LF in :path", bytes, "/a\nb"),
        path("NUL in :path", bytes, "/a\0b"),
        path("tab in :path", bytes, "/a\tb"),
        path("control byte in :path", bytes, "/a\x01b"),
        path("DEL in :path", bytes, "/a\x7fb"),
        forwarded("signs of no URI in :path", bytes, "/<a>`b`?<c>", "GET /<a>`b`?<c> HTTP/1.1"),
        forwarded("quotation mark in the query", bytes, "/a?\"b", "GET /a?\\\"b HTTP/1.1"),
        row("bytes that are no UTF-8 in :path", bytes, raw(b"/caf\xe9"), latin),
        forwarded(
            "UTF-8 in :path",
            "RFC 3986 §2.5",
            "/caf\u{e9}?\u{20ac}",
            "GET /caf\\xc3\\xa9?\\xe2\\x82\\xac HTTP/1.1",
        ),
        forwarded(
            "bytes that origins take",
            bytes,
            "/a\\{b}|^[c]\"?d=`e`",
            "GET /a\\\\{b}|^[c]\\\"?d=`e` HTTP/1.1",
        ),
        forwarded("percent and no digits", "RFC 3986 §2.1", "/%zz%2", "GET /%zz%2 HTTP/1.1"),
        forwarded(
            "dots and slashes",
            "RFC 3986 §5.2.4",
            "//a/../%2e%2E/%2f?/../",
            "GET //a/../%2e%2E/%2f?/../ HTTP/1.1",
        ),
    ]
}
