//! RFC 9110 §8 to §15: what an origin answers, and what of it a client gets.

use super::{Http1Case, case};

pub(super) const FORWARDING: &[Http1Case] = &[
    case(
        "9110 §9.3.2",
        "HEAD",
        "HEAD / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the fields and no body",
        |seen| seen.is(&[200]) && seen.told("content-length") == ["8"] && seen.body().is_empty(),
    ),
    case(
        "9110 §6.4.1",
        "a request answered with 204",
        "GET /204 HTTP/1.1\nHost: a\nConnection: close\n\n",
        "no body, no coding",
        |seen| seen.is(&[204]) && seen.body().is_empty() && seen.told("transfer-encoding").is_empty(),
    ),
    case(
        "9110 §15.4.5",
        "a request answered with 304",
        "GET /304 HTTP/1.1\nHost: a\nIf-None-Match: \"a\"\nConnection: close\n\n",
        "no body, the tag as it is",
        |seen| seen.is(&[304]) && seen.body().is_empty() && seen.told("etag") == ["\"a\""],
    ),
    case(
        "9110 §13.1",
        "conditions",
        "GET / HTTP/1.1\nHost: a\nIf-None-Match: W/\"x\"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\nConnection: close\n\n",
        "the origin sees them",
        |seen| seen.seen("if-none-match") == ["W/\"x\""] && seen.seen("if-modified-since").len() == 1,
    ),
    case(
        "9110 §13.1",
        "conditions of a change",
        "PUT / HTTP/1.1\nHost: a\nIf-Match: \"x\"\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\nContent-Length: 0\nConnection: close\n\n",
        "the origin sees them",
        |seen| seen.seen("if-match") == ["\"x\""] && seen.seen("if-unmodified-since").len() == 1,
    ),
    case(
        "9110 §14.2",
        "a range",
        "GET /206 HTTP/1.1\nHost: a\nRange: bytes=0-1\nIf-Range: \"b\"\nConnection: close\n\n",
        "the origin sees it, the client its part",
        |seen| {
            seen.is(&[206])
                && seen.seen("range") == ["bytes=0-1"]
                && seen.told("content-range") == ["bytes 0-1/8"]
                && seen.body() == "or"
        },
    ),
    case(
        "9112 §7.1",
        "a request answered in chunks",
        "GET /chunked HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the data",
        |seen| seen.is(&[200]) && seen.body().contains("ab"),
    ),
    case(
        "9112 §6.1",
        "a request of HTTP/1.0 answered in chunks",
        "GET /chunked HTTP/1.0\nHost: a\n\n",
        "the data without chunks",
        |seen| seen.is(&[200]) && seen.body() == "ab" && seen.told("transfer-encoding").is_empty(),
    ),
    case(
        "9112 §2.3",
        "a request answered in HTTP/1.0",
        "GET /old HTTP/1.1\nHost: a\nConnection: close\n\n",
        "an answer in HTTP/1.1",
        |seen| seen.answer.starts_with("HTTP/1.1 200 ") && seen.body().contains("ok"),
    ),
    case(
        "9110 §15.2",
        "a request answered with 103 first",
        "GET /early HTTP/1.1\nHost: a\nConnection: close\n\n",
        "both",
        |seen| seen.is(&[103, 200]),
    ),
    case(
        "9110 §15.2",
        "a request of HTTP/1.0 answered with 103 first",
        "GET /early HTTP/1.0\nHost: a\n\n",
        "the final one",
        |seen| seen.is(&[200]),
    ),
    case(
        "9110 §15",
        "a request answered with a status that nobody knows",
        "GET /unknown HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the same",
        |seen| seen.is(&[299]),
    ),
    case(
        "9110 §5.3",
        "a request answered with two Set-Cookie",
        "GET /cookies HTTP/1.1\nHost: a\nConnection: close\n\n",
        "two lines in order",
        |seen| seen.told("set-cookie") == ["a=1", "b=2"],
    ),
    case(
        "9110 §7.7",
        "a request answered with a coded body",
        "GET /coded HTTP/1.1\nHost: a\nAccept-Encoding: br\nConnection: close\n\n",
        "the body as it is",
        |seen| seen.told("content-encoding") == ["br"] && seen.body() == "\u{b}\u{2}\u{80}",
    ),
    case(
        "9110 §6.6.1",
        "a request answered without Date",
        "GET / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "one Date",
        |seen| seen.told("date").len() == 1,
    ),
    case(
        "9110 §6.6.1",
        "a request answered with Date",
        "GET /coded HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin's Date",
        |seen| seen.told("date") == ["Sun, 06 Nov 1994 08:49:37 GMT"],
    ),
    case(
        "9110 §10.2.4",
        "a request answered with Server",
        "GET / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin's Server",
        |seen| seen.told("server") == ["own"],
    ),
];
