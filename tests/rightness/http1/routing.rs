//! RFC 9112 §3.2 and RFC 9110 §7.6: whom a request is for, and how far it goes.

use super::{Http1Case, case};

pub(super) const ROUTING: &[Http1Case] = &[
    case("9112 §3.2", "no Host", "GET / HTTP/1.1\n\n", "400", |seen| {
        seen.is(&[400]) && seen.kept.is_empty()
    }),
    case(
        "9112 §3.2",
        "no Host in HTTP/1.0",
        "GET / HTTP/1.0\n\n",
        "200, and a Host for the origin",
        |seen| seen.is(&[200]) && seen.seen("host").len() == 1,
    ),
    case("9112 §3.2", "two Hosts", "GET / HTTP/1.1\nHost: a\nHost: a\n\n", "400", |seen| {
        seen.is(&[400]) && seen.kept.is_empty()
    }),
    case("9112 §3.2", "a Host that is none", "GET / HTTP/1.1\nHost: a b\n\n", "400", |seen| {
        seen.is(&[400]) && seen.kept.is_empty()
    }),
    case(
        "9112 §3.2.2",
        "absolute-form",
        "GET http://a/x HTTP/1.1\nHost: a\nConnection: close\n\n",
        "200",
        |seen| seen.is(&[200]) && seen.seen("host") == ["a"],
    ),
    case(
        "9112 §3.2.1",
        "absolute-form to an origin",
        "GET http://a/x?y HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin sees a path",
        |seen| seen.lines() == ["GET /x?y HTTP/1.1"],
    ),
    case(
        "9112 §3.2.1",
        "absolute-form in HTTP/1.0 without Host",
        "GET http://a/x HTTP/1.0\n\n",
        "the origin sees a path and the host",
        |seen| seen.lines() == ["GET /x HTTP/1.1"] && seen.seen("host") == ["a"],
    ),
    case(
        "9112 §3.2.4",
        "OPTIONS in absolute-form without a path",
        "OPTIONS http://a HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin sees an asterisk",
        |seen| seen.lines() == ["OPTIONS * HTTP/1.1"],
    ),
    case(
        "9112 §3.2.2",
        "absolute-form and another Host",
        "GET http://a/x HTTP/1.1\nHost: b\nConnection: close\n\n",
        "the target counts",
        |seen| seen.is(&[200]) && seen.seen("host") == ["a"],
    ),
    case("9112 §3.2.3", "CONNECT", "CONNECT a:80 HTTP/1.1\nHost: a\n\n", "405 with Allow", |seen| {
        seen.is(&[405]) && seen.told("allow").len() == 1
    }),
    case(
        "9112 §3.2.4",
        "OPTIONS *",
        "OPTIONS * HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin sees it so",
        |seen| seen.lines() == ["OPTIONS * HTTP/1.1"],
    ),
    case("9112 §3.2", "a fragment", "GET /a#b HTTP/1.1\nHost: a\n\n", "400", |seen| {
        seen.is(&[400]) && seen.kept.is_empty()
    }),
    case(
        "9112 §3.2",
        "a target that ends with a query",
        "GET /a?b=c&d HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin sees it so",
        |seen| seen.lines() == ["GET /a?b=c&d HTTP/1.1"],
    ),
    case(
        "9110 §7.6.2",
        "OPTIONS with Max-Forwards of 0",
        "OPTIONS /a HTTP/1.1\nHost: a\nMax-Forwards: 0\nConnection: close\n\n",
        "answered here",
        |seen| seen.statuses.len() == 1 && seen.kept.is_empty(),
    ),
    case(
        "9110 §7.6.2",
        "OPTIONS with Max-Forwards of 3",
        "OPTIONS /a HTTP/1.1\nHost: a\nMax-Forwards: 3\nConnection: close\n\n",
        "the origin sees 2",
        |seen| seen.is(&[200]) && seen.seen("max-forwards") == ["2"],
    ),
    case(
        "9110 §7.6.2",
        "TRACE with Max-Forwards of 0",
        "TRACE /a HTTP/1.1\nHost: a\nMax-Forwards: 0\nConnection: close\n\n",
        "answered here",
        |seen| seen.statuses.len() == 1 && seen.kept.is_empty(),
    ),
    case(
        "9110 §7.6.2",
        "GET with Max-Forwards",
        "GET /a HTTP/1.1\nHost: a\nMax-Forwards: 0\nConnection: close\n\n",
        "forwarded",
        |seen| seen.is(&[200]) && seen.kept.len() == 1,
    ),
    case(
        "9110 §7.6.3",
        "a request",
        "GET /a HTTP/1.1\nHost: a\nConnection: close\n\n",
        "Via for the origin",
        |seen| seen.seen("via") == ["1.1 robots-gateway"],
    ),
    case(
        "9110 §7.6.3",
        "a request with Via",
        "GET /a HTTP/1.0\nHost: a\nVia: 1.1 other\n\n",
        "another entry behind it",
        |seen| seen.seen("via") == ["1.1 other", "1.0 robots-gateway"],
    ),
];
