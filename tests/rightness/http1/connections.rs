//! RFC 9112 §9 and RFC 9110 §7.6.1, §7.8: connections, and what belongs to them.

use super::{Http1Case, case};

pub(super) const CONNECTIONS: &[Http1Case] = &[
    case(
        "9112 §9.3",
        "two requests on a connection",
        "GET /1 HTTP/1.1\nHost: a\n\nGET /2 HTTP/1.1\nHost: a\nConnection: close\n\n",
        "both answered in order",
        |seen| seen.is(&[200, 200]) && seen.lines() == ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1"],
    ),
    case(
        "9112 §9.3.2",
        "five requests in a row",
        "GET /1 HTTP/1.1\nHost: a\n\nHEAD /2 HTTP/1.1\nHost: a\n\nGET /204 HTTP/1.1\nHost: a\n\nGET /teapot HTTP/1.1\nHost: a\n\nGET /5 HTTP/1.1\nHost: a\nConnection: close\n\n",
        "all answered in order",
        |seen| seen.is(&[200, 200, 204, 418, 200]),
    ),
    case("9112 §9.3", "HTTP/1.0", "GET / HTTP/1.0\nHost: a\n\n", "the end of the connection", |seen| {
        seen.is(&[200])
    }),
    case(
        "9112 §9.3",
        "HTTP/1.0 with keep-alive",
        "GET /1 HTTP/1.0\nHost: a\nConnection: keep-alive\n\nGET /2 HTTP/1.0\nHost: a\n\n",
        "both answered, the first with keep-alive",
        |seen| {
            seen.is(&[200, 200])
                && seen
                    .told("connection")
                    .first()
                    .is_some_and(|option| option.eq_ignore_ascii_case("keep-alive"))
        },
    ),
    case(
        "9112 §9.6",
        "Connection: close",
        "GET / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "close, and the end",
        |seen| seen.is(&[200]) && seen.told("connection") == ["close"],
    ),
    case(
        "9112 §9.6",
        "a request behind the last one",
        "GET /1 HTTP/1.1\nHost: a\nConnection: close\n\nGET /2 HTTP/1.1\nHost: a\n\n",
        "only the first answered",
        |seen| seen.is(&[200]) && seen.kept.len() == 1,
    ),
    case(
        "9112 §9.6",
        "Connection: Close in other letters",
        "GET / HTTP/1.1\nHost: a\nConnection: CLOSE\n\n",
        "the end",
        |seen| seen.is(&[200]),
    ),
    case(
        "9110 §7.6.1",
        "a field that Connection names",
        "GET / HTTP/1.1\nHost: a\nConnection: close, X-Hop\nX-Hop: 1\n\n",
        "the origin does not see it",
        |seen| seen.seen("x-hop").is_empty() && seen.seen("connection").is_empty(),
    ),
    case(
        "9110 §7.6.1",
        "Keep-Alive, TE, Proxy-Connection and Trailer",
        "GET / HTTP/1.1\nHost: a\nConnection: close\nKeep-Alive: 5\nTE: trailers\nProxy-Connection: x\nTrailer: X\n\n",
        "the origin does not see them",
        |seen| {
            ["keep-alive", "te", "proxy-connection", "trailer"].iter().all(|name| seen.seen(name).is_empty())
        },
    ),
    case(
        "9110 §7.6.1",
        "a request whose answer has fields of the connection",
        "GET /hop HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the client does not see them",
        |seen| ["x-hop", "keep-alive", "proxy-connection"].iter().all(|name| seen.told(name).is_empty()),
    ),
    case(
        "9110 §7.8",
        "an Upgrade that nobody knows",
        "GET / HTTP/1.1\nHost: a\nConnection: close, Upgrade\nUpgrade: teleport\n\n",
        "ignored",
        |seen| seen.is(&[200]) && seen.seen("upgrade").is_empty(),
    ),
    case(
        "9110 §7.8",
        "an Upgrade in HTTP/1.0",
        "GET / HTTP/1.0\nHost: a\nConnection: Upgrade\nUpgrade: websocket\n\n",
        "ignored",
        |seen| seen.is(&[200]) && seen.seen("upgrade").is_empty(),
    ),
    case(
        "9110 §7.8",
        "an Upgrade to HTTP/2",
        "GET / HTTP/1.1\nHost: a\nConnection: close, Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABk\n\n",
        "ignored",
        |seen| seen.is(&[200]) && seen.seen("http2-settings").is_empty(),
    ),
];
