//! The table: requests that break the grammar or come near it, the section they break, and what must follow.

mod bodies;

use std::borrow::Cow;

/// What must follow.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// Answered with this status and closed; the origin sees nothing.
    Refused(u16),
    /// The origin sees this request line and this body, as it is framed for it; the client its answer.
    Forwarded(&'static str, &'static str),
    /// The fault comes in the body, after the head: answered with 400 or closed, and what the origin sees is
    /// no whole message.
    BrokenOff,
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The section that is broken, or that says why the request is good.
    pub(crate) clause: &'static str,
    pub(crate) sent: Cow<'static, [u8]>,
    pub(crate) expected: Expected,
}

use Expected::{Forwarded, Refused};

fn row(name: &'static str, clause: &'static str, sent: impl AsRef<[u8]>, expected: Expected) -> Row {
    Row { name, clause, sent: Cow::Owned(sent.as_ref().to_vec()), expected }
}

/// A request with this line, and a Host.
fn line(text: &str) -> String {
    format!("{text}\r\nHost: a\r\nConnection: close\r\n\r\n")
}

/// A request for `/` with these field lines.
fn fields(text: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{text}\r\n")
}

/// A POST with these field lines, and this behind the head.
fn post(text: &str, body: &str) -> String {
    format!("POST /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{text}\r\n{body}")
}

/// A chunked POST.
fn chunked(body: &str) -> String {
    post("Transfer-Encoding: chunked\r\n", body)
}

/// A second request, which nobody asked for.
const SECOND: &str = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n";

pub(crate) fn rows() -> Vec<Row> {
    [
        request_lines(),
        targets(),
        target_bytes(),
        hosts(),
        field_lines(),
        bodies::lengths(),
        bodies::codings(),
        bodies::chunks(),
        bodies::ends(),
    ]
    .concat()
}

fn request_lines() -> Vec<Row> {
    let bad = "RFC 9112 §3";
    vec![
        row("plain", "RFC 9112 §3", line("GET /a HTTP/1.1"), Forwarded("GET /a HTTP/1.1", "")),
        row(
            "any token is a method",
            "RFC 9110 §9.1",
            line("Frob-1 /a HTTP/1.1"),
            Forwarded("Frob-1 /a HTTP/1.1", ""),
        ),
        row(
            "one empty line before",
            "RFC 9112 §2.2",
            format!("\r\n{}", line("GET /a HTTP/1.1")),
            Forwarded("GET /a HTTP/1.1", ""),
        ),
        row(
            "many empty lines before",
            "RFC 9112 §2.2",
            format!("\r\n\r\n\r\n{}", line("GET /a HTTP/1.1")),
            Refused(400),
        ),
        row("two spaces before the target", bad, line("GET  /a HTTP/1.1"), Refused(400)),
        row("two spaces behind the target", bad, line("GET /a  HTTP/1.1"), Refused(400)),
        row("tab for a space", bad, line("GET\t/a HTTP/1.1"), Refused(400)),
        row("tab before the version", bad, line("GET /a\tHTTP/1.1"), Refused(400)),
        row("space before the method", bad, line(" GET /a HTTP/1.1"), Refused(400)),
        row("space behind the version", bad, line("GET /a HTTP/1.1 "), Refused(400)),
        row("space in the target", "RFC 9112 §3.2", line("GET /a b HTTP/1.1"), Refused(400)),
        row("no target", bad, line("GET HTTP/1.1"), Refused(400)),
        row("no version: HTTP/0.9", "RFC 9112 §2.3", "GET /a\r\n", Refused(400)),
        row("HTTP/0.9 by name", "RFC 9112 §2.3", line("GET /a HTTP/0.9"), Refused(400)),
        row("HTTP/2.0", "RFC 9112 §2.3", line("GET /a HTTP/2.0"), Refused(400)),
        row("HTTP/1.2", "RFC 9112 §2.3", line("GET /a HTTP/1.2"), Refused(400)),
        row("HTTP/1.10", "RFC 9112 §2.3", line("GET /a HTTP/1.10"), Refused(400)),
        row("version in lower case", "RFC 9112 §2.3", line("GET /a http/1.1"), Refused(400)),
        row("the preface of HTTP/2", "RFC 9113 §3.4", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refused(400)),
        row("no token as method", "RFC 9112 §3.1", line("G(T /a HTTP/1.1"), Refused(400)),
        row("NUL in the method", "RFC 9112 §3.1", line("GE\0T /a HTTP/1.1"), Refused(400)),
        row("a large target", bad, line(&format!("GET /{} HTTP/1.1", "a".repeat(70_000))), Refused(414)),
        row("CONNECT", "RFC 9110 §9.3.6", line("CONNECT a:80 HTTP/1.1"), Refused(405)),
        row("what is no HTTP", bad, "\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03\r\n\r\n", Refused(400)),
        row("HTTP/1.0", "RFC 9112 §2.3", "GET /a HTTP/1.0\r\n\r\n", Forwarded("GET /a HTTP/1.1", "")),
    ]
}

fn targets() -> Vec<Row> {
    let form = "RFC 9112 §3.2";
    let absolute = "GET http://a/x?y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    vec![
        row("absolute-form", "RFC 9112 §3.2.1", absolute, Forwarded("GET /x?y HTTP/1.1", "")),
        row(
            "absolute-form without a path",
            "RFC 9112 §3.2.1",
            line("GET http://a HTTP/1.1"),
            Forwarded("GET / HTTP/1.1", ""),
        ),
        row(
            "absolute-form with a query and no path",
            "RFC 9112 §3.2.1",
            line("GET http://a?y HTTP/1.1"),
            Forwarded("GET /?y HTTP/1.1", ""),
        ),
        row(
            "OPTIONS in absolute-form without a path",
            "RFC 9112 §3.2.4",
            line("OPTIONS http://a HTTP/1.1"),
            Forwarded("OPTIONS * HTTP/1.1", ""),
        ),
        row(
            "OPTIONS in absolute-form with a path",
            "RFC 9112 §3.2.1",
            line("OPTIONS http://a/ HTTP/1.1"),
            Forwarded("OPTIONS / HTTP/1.1", ""),
        ),
        row(
            "absolute-form of another host",
            "RFC 9112 §3.2.2",
            line("GET http://b/x HTTP/1.1"),
            Refused(400),
        ),
        row(
            "absolute-form of another port",
            "RFC 9112 §3.2.2",
            line("GET http://a:81/x HTTP/1.1"),
            Refused(400),
        ),
        row("absolute-form with a user", "RFC 9110 §4.2.4", line("GET http://u@a/x HTTP/1.1"), Refused(400)),
        row("absolute-form without a host", "RFC 9110 §4.2.1", line("GET http:///x HTTP/1.1"), Refused(400)),
        row(
            "absolute-form, host ended by a backslash",
            "RFC 3986 §3.2",
            line("GET http://a\\b/x HTTP/1.1"),
            Refused(400),
        ),
        row("another scheme", form, line("GET ftp://a/x HTTP/1.1"), Refused(400)),
        row("a path without its slash", form, line("GET a HTTP/1.1"), Refused(400)),
        row("a query alone", form, line("GET ?x HTTP/1.1"), Refused(400)),
        row("authority-form to GET", "RFC 9112 §3.2.3", line("GET a:80 HTTP/1.1"), Refused(400)),
        row("asterisk-form to GET", "RFC 9112 §3.2.4", line("GET * HTTP/1.1"), Refused(400)),
        row(
            "asterisk-form to OPTIONS",
            "RFC 9112 §3.2.4",
            line("OPTIONS * HTTP/1.1"),
            Forwarded("OPTIONS * HTTP/1.1", ""),
        ),
    ]
}

fn target_bytes() -> Vec<Row> {
    let (form, bytes) = ("RFC 9112 §3.2", "RFC 3986 §2");
    vec![
        row("fragment", form, line("GET /a#b HTTP/1.1"), Refused(400)),
        row("fragment in a query", form, line("GET /a?b#c HTTP/1.1"), Refused(400)),
        row("NUL in the target", bytes, line("GET /a\0 HTTP/1.1"), Refused(400)),
        row("control byte in the target", bytes, line("GET /a\x01b HTTP/1.1"), Refused(400)),
        row("DEL in the target", bytes, line("GET /a\x7f HTTP/1.1"), Refused(400)),
        row("CR in the target", "RFC 9112 §2.2", line("GET /a\rb HTTP/1.1"), Refused(400)),
        row("LF in the target", "RFC 9112 §2.2", line("GET /a\nb HTTP/1.1"), Refused(400)),
        row(
            "angle brackets and backticks",
            bytes,
            line("GET /<a>`b`?<c> HTTP/1.1"),
            Forwarded("GET /<a>`b`?<c> HTTP/1.1", ""),
        ),
        row(
            "quotation mark in the query",
            bytes,
            line("GET /a?\"b\" HTTP/1.1"),
            Forwarded("GET /a?\\\"b\\\" HTTP/1.1", ""),
        ),
        row(
            "bytes that are no UTF-8",
            bytes,
            b"GET /caf\xe9?\xff HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            Forwarded("GET /caf\\xe9?\\xff HTTP/1.1", ""),
        ),
        row(
            "UTF-8",
            "RFC 3986 §2.5",
            line("GET /caf\u{e9}?\u{20ac} HTTP/1.1"),
            Forwarded("GET /caf\\xc3\\xa9?\\xe2\\x82\\xac HTTP/1.1", ""),
        ),
        row(
            "bytes that origins take",
            "RFC 3986 §2",
            line("GET /a\\{b}|^[c]\"?d=`e` HTTP/1.1"),
            Forwarded("GET /a\\\\{b}|^[c]\\\"?d=`e` HTTP/1.1", ""),
        ),
        row(
            "percent and no digits",
            "RFC 3986 §2.1",
            line("GET /%zz%2 HTTP/1.1"),
            Forwarded("GET /%zz%2 HTTP/1.1", ""),
        ),
        row(
            "dots and slashes",
            "RFC 3986 §5.2.4",
            line("GET //a/../%2e%2E/%2f?/../ HTTP/1.1"),
            Forwarded("GET //a/../%2e%2E/%2f?/../ HTTP/1.1", ""),
        ),
    ]
}

fn hosts() -> Vec<Row> {
    let clause = "RFC 9112 §3.2";
    let with = |host: &str| format!("GET /h HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
    let refused = |name, host: &str| row(name, clause, with(host), Refused(400));
    vec![
        refused("no Host", ""),
        refused("empty Host", "Host:\r\n"),
        refused("two Hosts", "Host: a\r\nHost: b\r\n"),
        refused("the same Host twice", "Host: a\r\nhost: a\r\n"),
        refused("two Hosts in one", "Host: a, b\r\n"),
        refused("Host with a path", "Host: a/b\r\n"),
        refused("Host with a user", "Host: u@a\r\n"),
        refused("Host with a space", "Host: a b\r\n"),
        refused("Host with a query", "Host: a?b\r\n"),
        refused("Host with a port of letters", "Host: a:b\r\n"),
        refused("Host with two ports", "Host: a:1:2\r\n"),
        refused("Host with a port out of range", "Host: a:65536\r\n"),
        refused("Host of a port alone", "Host: :80\r\n"),
        refused("Host, bracket not closed", "Host: [::1\r\n"),
        refused("Host, brackets around a name", "Host: [a]\r\n"),
        refused("Host with a tab in it", "Host: a\tb\r\n"),
        refused("Host that is no ASCII", "Host: caf\u{e9}\r\n"),
        refused("space before the colon of Host", "Host : a\r\n"),
        row("Host of an address", clause, with("Host: [::1]:8080\r\n"), Forwarded("GET /h HTTP/1.1", "")),
        row("two Hosts in HTTP/1.0", clause, "GET /h HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", Refused(400)),
    ]
}

fn field_lines() -> Vec<Row> {
    let (name, value, options) = ("RFC 9112 §5.1", "RFC 9110 §5.5", "RFC 9110 §7.6.1");
    let refused = |what, clause, text: &str| row(what, clause, fields(text), Refused(400));
    let forwarded =
        |what, clause, text: &str| row(what, clause, fields(text), Forwarded("GET / HTTP/1.1", ""));
    vec![
        refused("space before the colon", name, "X : y\r\n"),
        refused("tab before the colon", name, "X\t: y\r\n"),
        refused("space in a name", name, "X Y: z\r\n"),
        refused("no name", name, ": y\r\n"),
        refused("no colon", name, "X\r\n"),
        refused("NUL in a name", name, "X\0: y\r\n"),
        refused("name that is no ASCII", name, "X\u{e9}: y\r\n"),
        refused("separator in a name", name, "X(Y): z\r\n"),
        refused("folded line", "RFC 9112 §5.2", "X: y\r\n z\r\n"),
        refused("folded with a tab", "RFC 9112 §5.2", "X: y\r\n\tz\r\n"),
        refused("first field folded", "RFC 9112 §2.2", " X: y\r\n"),
        refused("NUL in a value", value, "X: a\0b\r\n"),
        refused("CR in a value", "RFC 9112 §2.2", "X: a\rb\r\n"),
        refused("control byte in a value", value, "X: a\x08b\r\n"),
        refused("DEL in a value", value, "X: a\x7fb\r\n"),
        refused("vertical tab around a value", value, "X:\x0by\r\n"),
        forwarded("bytes above ASCII in a value", value, "X: caf\u{e9}\r\n"),
        forwarded("tab in a value", value, "X: a\tb\r\n"),
        refused("Connection names Host", options, "Connection: Host\r\n"),
        refused("Connection names Content-Length", options, "Connection: content-length\r\n"),
        refused("Connection names X-Forwarded-For", options, "Connection: X-Forwarded-For\r\n"),
        refused("Connection names a header of ours", options, "Connection: X-Robots-Verdict\r\n"),
        refused("Connection names the User-Agent", options, "Connection: User-Agent\r\n"),
        refused("Connection names no token", options, "Connection: a b\r\n"),
        refused("Connection names a dozen", options, "Connection: a,b,c,d,e,f,g,h,i,j,k,l\r\n"),
        row("a thousand and one fields", "RFC 6585 §5", fields(&"X: y\r\n".repeat(1_001)), Refused(431)),
        row("a large field", "RFC 6585 §5", fields(&format!("X: {}\r\n", "y".repeat(70_000))), Refused(431)),
    ]
}
