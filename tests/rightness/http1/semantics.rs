//! RFC 9110 §9 to §12: what a client means, and what of it an origin gets.

use super::{Http1Case, case};

pub(super) const SEMANTICS: &[Http1Case] = &[
    case(
        "9110 §9.3.7",
        "OPTIONS",
        "OPTIONS /a HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin sees it",
        |seen| seen.lines() == ["OPTIONS /a HTTP/1.1"],
    ),
    case(
        "9110 §9.3.8",
        "TRACE",
        "TRACE /a HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin decides",
        |seen| seen.lines() == ["TRACE /a HTTP/1.1"],
    ),
    case(
        "9110 §15.5.6",
        "a request answered with 405",
        "DELETE /allow HTTP/1.1\nHost: a\nConnection: close\n\n",
        "Allow of the origin",
        |seen| seen.is(&[405]) && seen.told("allow") == ["GET"],
    ),
    case(
        "9110 §11.6.1",
        "a request answered with 401",
        "GET /auth HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the challenge",
        |seen| seen.is(&[401]) && seen.told("www-authenticate").len() == 1,
    ),
    case(
        "9110 §11.6.2",
        "credentials",
        "GET / HTTP/1.1\nHost: a\nAuthorization: Basic YTpi\nConnection: close\n\n",
        "the origin sees them",
        |seen| seen.seen("authorization") == ["Basic YTpi"],
    ),
    case(
        "9110 §10.1.1",
        "Expect, with the body at once",
        "POST / HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 2\nConnection: close\n\nhi",
        "the origin sees both",
        |seen| seen.is(&[200]) && seen.seen("expect") == ["100-continue"],
    ),
    case(
        "9110 §10.1.1",
        "Expect in HTTP/1.0",
        "POST / HTTP/1.0\nHost: a\nExpect: 100-continue\nContent-Length: 2\n\nhi",
        "ignored",
        |seen| seen.is(&[200]),
    ),
    case(
        "9110 §12.5",
        "preferences",
        "GET / HTTP/1.1\nHost: a\nAccept: text/*\nAccept-Language: de\nAccept-Encoding: gzip\nConnection: close\n\n",
        "the origin sees them",
        |seen| ["accept", "accept-language", "accept-encoding"].iter().all(|name| seen.seen(name).len() == 1),
    ),
    case(
        "9110 §8.6",
        "POST with a length of 0",
        "POST / HTTP/1.1\nHost: a\nContent-Length: 0\nConnection: close\n\n",
        "the origin sees it",
        |seen| seen.is(&[200]) && seen.seen("content-length") == ["0"],
    ),
    case(
        "9111 §5.2",
        "Cache-Control",
        "GET / HTTP/1.1\nHost: a\nCache-Control: no-cache\nPragma: no-cache\nConnection: close\n\n",
        "the origin sees it",
        |seen| seen.seen("cache-control") == ["no-cache"],
    ),
    case(
        "9309 §2.3.1",
        "robots.txt",
        "GET /robots.txt HTTP/1.1\nHost: a\nConnection: close\n\n",
        "200, nothing at the origin",
        |seen| seen.is(&[200]) && seen.kept.is_empty(),
    ),
    case(
        "9110 §15.5.6",
        "POST to robots.txt",
        "POST /robots.txt HTTP/1.1\nHost: a\nContent-Length: 0\nConnection: close\n\n",
        "405 with Allow",
        |seen| seen.is(&[405]) && seen.told("allow") == ["GET, HEAD"],
    ),
];
