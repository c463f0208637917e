//! Rows about field names and values, and fields that HTTP/2 has no place for (RFC 9113 §8.2).

use super::hostile::HostileOutcome::{Forwarded, Malformed, Refused};
use super::hostile::{HostileRow, row};
use super::{GOOD, list, with};
use crate::support::http2::{CONTINUATION, END_HEADERS, END_STREAM, HEADERS, field, frame};

const LINE: &str = "GET /p HTTP/1.1";

pub(super) fn rows() -> Vec<HostileRow> {
    [names(), values(), connection(), cookies(), sizes()].concat()
}

fn raw(name: &[u8], value: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &[list(&GOOD), field(name, value)].concat())
}

fn names() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.2.1";
    let name = |what, name: &str| row(what, clause, with(&[(name, "y")]), Malformed);
    vec![
        name("name in upper case", "X-Upper"),
        name("one upper-case letter in a name", "x-uPper"),
        name("space in a name", "x y"),
        name("space behind a name", "x "),
        name("colon in a name", "x:y"),
        name("colon behind a name", "content-length:"),
        name("NUL in a name", "x\0"),
        name("CR LF in a name", "x: y\r\nz"),
        name("tab in a name", "x\ty"),
        name("DEL in a name", "x\x7f"),
        name("separator in a name", "x(y)"),
        name("quotation mark in a name", "x\"y\""),
        name("empty name", ""),
        row("name that is no ASCII", clause, raw(b"x\xe9", b"y"), Malformed),
        row("a length with an underscore", "RFC 3875 §4.1.18", with(&[("content_length", "5")]), Malformed),
        row("a coding with a dot", "RFC 3875 §4.1.18", with(&[("transfer.encoding", "chunked")]), Malformed),
        row(
            "a name of every sign",
            clause,
            with(&[("!#$%&'*+-.^_`|~09", "y")]),
            Forwarded(LINE, &["!#$%&\\'*+-.^_`|~09: y", "host: a"], ""),
        ),
    ]
}

fn values() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.2.1";
    let value = |what, value: &str| row(what, clause, with(&[("x", value)]), Malformed);
    vec![
        value("NUL in a value", "a\0b"),
        value("CR in a value", "a\rb"),
        value("LF in a value", "a\nb"),
        value("a field in a value", "a\r\nY: z"),
        value("a request in a value", "a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n"),
        value("control byte in a value", "a\x08b"),
        value("DEL in a value", "a\x7fb"),
        row("space before a value", clause, with(&[("x", " a")]), Forwarded(LINE, &["host: a", "x: a"], "")),
        row("space behind a value", clause, with(&[("x", "a ")]), Forwarded(LINE, &["host: a", "x: a"], "")),
        row("tab before a value", clause, with(&[("x", "\ta")]), Forwarded(LINE, &["host: a", "x: a"], "")),
        row("tab behind a value", clause, with(&[("x", "a\t")]), Forwarded(LINE, &["host: a", "x: a"], "")),
        row("tab in a value", clause, with(&[("x", "a\tb")]), Forwarded(LINE, &["host: a", "x: a\\tb"], "")),
        row(
            "bytes above ASCII in a value",
            "RFC 9110 §5.5",
            raw(b"x", b"caf\xe9"),
            Forwarded(LINE, &["host: a", "x: caf\\xe9"], ""),
        ),
        row("empty value", "RFC 9110 §5.5", with(&[("x", "")]), Forwarded(LINE, &["host: a", "x: "], "")),
        row(
            "a field twice",
            "RFC 9110 §5.2",
            with(&[("x", "1"), ("x", "2")]),
            Forwarded(LINE, &["host: a", "x: 1", "x: 2"], ""),
        ),
    ]
}

fn connection() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.2.2";
    let field = |what, name: &str, value: &str| row(what, clause, with(&[(name, value)]), Malformed);
    vec![
        field("connection: close", "connection", "close"),
        field("connection names a field", "connection", "x-forwarded-for"),
        field("keep-alive", "keep-alive", "timeout=5"),
        field("proxy-connection", "proxy-connection", "keep-alive"),
        field("transfer-encoding: chunked", "transfer-encoding", "chunked"),
        field("transfer-encoding: identity", "transfer-encoding", "identity"),
        field("upgrade", "upgrade", "websocket"),
        field("te: gzip", "te", "gzip"),
        field("te: trailers and gzip", "te", "trailers, gzip"),
        row("te: trailers", clause, with(&[("te", "trailers")]), Forwarded(LINE, &["host: a"], "")),
        row(
            "http2-settings",
            "RFC 9113 §3.1",
            with(&[("http2-settings", "AAMAAABk")]),
            Forwarded(LINE, &["host: a"], ""),
        ),
        row(
            "proxy-authorization",
            "RFC 9110 §7.6.1",
            with(&[("proxy-authorization", "x")]),
            Forwarded(LINE, &["host: a"], ""),
        ),
    ]
}

/// RFC 9113 §8.2.3: what was cut for the sake of compression is one field again for HTTP/1.1.
fn cookies() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.2.3";
    vec![
        row(
            "one cookie",
            clause,
            with(&[("cookie", "a=1; b=2")]),
            Forwarded(LINE, &["cookie: a=1; b=2", "host: a"], ""),
        ),
        row(
            "crumbs of a cookie",
            clause,
            with(&[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=\"3\"")]),
            Forwarded(LINE, &["cookie: a=1; b=2; c=\\\"3\\\"", "host: a", "x: y"], ""),
        ),
    ]
}

fn sizes() -> Vec<HostileRow> {
    let large = "y".repeat(15_000);
    let pieces = |count: usize, last: u8| {
        let head = frame(HEADERS, END_STREAM, 1, &list(&GOOD));
        let piece = |number: usize| {
            let name = format!("x-{number}");
            let flags = if number + 1 == count { last } else { 0 };
            frame(CONTINUATION, flags, 1, &field(&name, &large))
        };
        [vec![head], (0..count).map(piece).collect()].concat().concat()
    };
    let many: Vec<(String, &str)> = (0..1_001).map(|number| (format!("x-{number}"), "y")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    vec![
        row("a thousand and one fields", "RFC 6585 §5", with(&many), Refused(431)),
        row("a head over its limit", "RFC 9113 §10.5.1", pieces(3, END_HEADERS), Refused(431)),
        row("a head without end", "RFC 9113 §6.10", pieces(40, 0), Malformed),
        row("a head many times over its limit", "RFC 9113 §10.5.1", pieces(40, END_HEADERS), Malformed),
        row("a large field, sent once and meant a thousand times", "RFC 7541 §7.3", bomb(), Malformed),
    ]
}

/// A field that goes into the table, and a byte for each time that it comes again.
fn bomb() -> Vec<u8> {
    // Incremental indexing (RFC 7541 §6.2.1), and the first entry of the dynamic table (§2.3.3).
    let mut entry = field("x", "y".repeat(3_900));
    entry[0] = 0x40;
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &[list(&GOOD), entry, vec![0xbe; 1_000]].concat())
}
