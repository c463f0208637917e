//! RFC 9110 and RFC 9112 case by case: what a client sends, what it gets, and what the origin saw.
//!
//! A case passes when both are as asked. Whatever else comes has to stand in [`EXPLAINED`], with its reason, and in
//! `docs/conformance.md`. Malformed requests have a table of their own.

use crate::conformance::{Explained, Outcome, tell};
use crate::keeper::{Keeper, Kept};
use crate::support::Daemon;
use crate::wire::{exchange, statuses};

/// One case. A blank line ends each request; what is sent has one unless it shows its own.
#[derive(Clone, Copy, Debug)]
struct Case {
    section: &'static str,
    sent: &'static str,
    octets: &'static str,
    asked: &'static str,
    is_met: fn(&Seen) -> bool,
}

/// What came of it.
#[derive(Debug)]
struct Seen {
    answer: String,
    statuses: Vec<u16>,
    kept: Vec<Kept>,
}

impl Seen {
    fn is(&self, statuses: &[u16]) -> bool {
        self.statuses == statuses
    }

    /// The values of a field in all answers.
    fn told(&self, name: &str) -> Vec<&str> {
        let fields = self.answer.split("\r\n").filter_map(|line| line.split_once(": "));
        fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    /// The values of a field in the last request that the origin saw.
    fn seen(&self, name: &str) -> Vec<String> {
        self.kept.last().map(|kept| kept.field(name)).unwrap_or_default()
    }

    fn body(&self) -> &str {
        self.answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }

    fn lines(&self) -> Vec<String> {
        self.kept.iter().map(Kept::request_line).collect()
    }
}

/// An origin that answers by the path.
fn answer(head: &[u8]) -> Vec<u8> {
    let head = String::from_utf8_lossy(head);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, fields, body) = match path {
        "/204" => ("204 No Content", "", ""),
        "/304" => ("304 Not Modified", "ETag: \"a\"\r\nContent-Length: 9\r\n", ""),
        "/206" => ("206 Partial Content", "Content-Range: bytes 0-1/8\r\nContent-Length: 2\r\n", "or"),
        "/chunked" => ("200 OK", "Transfer-Encoding: chunked\r\nTrailer: X\r\n", "2\r\nab\r\n0\r\nX: y\r\n\r\n"),
        "/hop" => (
            "200 OK",
            "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nContent-Length: 0\r\n",
            "",
        ),
        "/early" => return b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/cookies" => ("200 OK", "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Odd: \r\nContent-Length: 0\r\n", ""),
        "/coded" => ("200 OK", "Content-Encoding: br\r\nContent-Length: 4\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "\u{b}\u{2}\u{80}"),
        "/old" => return b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec(),
        "/teapot" => ("418 I'm a teapot", "Content-Length: 0\r\n", ""),
        "/unknown" => ("299 Whatever", "Content-Length: 0\r\n", ""),
        "/auth" => ("401 Unauthorized", "WWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 0\r\n", ""),
        "/allow" => ("405 Method Not Allowed", "Allow: GET\r\nContent-Length: 0\r\n", ""),
        _ => ("200 OK", "Content-Length: 8\r\nETag: \"b\"\r\nServer: own\r\n", "origin: "),
    };
    let body = if head.starts_with("HEAD ") { "" } else { body };
    format!("HTTP/1.1 {status}\r\n{fields}\r\n{body}").into_bytes()
}

/// What is not as asked, and why.
const EXPLAINED: &[Explained] = &[
    (
        "9110 §2.5",
        "a higher minor version",
        "[400], 0 at the origin",
        "there is none: whoever writes it would have the origin guess, and the gateway must not",
    ),
    (
        "9112 §6.1",
        "a transfer coding that nobody knows",
        "[400], 0 at the origin",
        "400 as for all framing that two recipients could read in two ways; 501 is no more than recommended",
    ),
    (
        "9112 §3.2.2",
        "absolute-form and another Host",
        "[400], 0 at the origin",
        "a client that names two hosts is refused, since an origin may follow the other one",
    ),
    (
        "9110 §6.6.1",
        "a request answered with Date",
        "[200], 1 at the origin",
        "the proxy library writes the time at which it forwards; Age, Expires and Last-Modified stay",
    ),
];

#[test]
fn every_case_of_conformance_is_as_asked_or_explained() {
    let origin = Keeper::answering(answer);
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n").at(&origin.url()).start();
    let outcomes =
        [&MESSAGES[..], ROUTING, CONNECTIONS, FORWARDING, SEMANTICS].concat().into_iter().map(|case| {
            origin.take();
            // The end of the connection ends a case; the last of several requests asks for it.
            let octets = case.octets.replace('\n', "\r\n").replace("%LONG%", &"a".repeat(40_000));
            let answer =
                String::from_utf8_lossy(&exchange(gateway.address(), octets.as_bytes())).into_owned();
            let seen = Seen { statuses: statuses(answer.as_bytes()), answer, kept: origin.take() };
            let is_right = (case.is_met)(&seen);
            let came = format!("{:?}, {} at the origin", seen.statuses, seen.kept.len());
            if !is_right {
                println!("{}: {}\n{seen:?}", case.section, case.sent);
            }
            Outcome { section: case.section, sent: case.sent, asked: case.asked.to_owned(), came, is_right }
        });
    tell("HTTP/1.1", outcomes.collect(), EXPLAINED, 60);
}

const fn case(
    section: &'static str,
    sent: &'static str,
    octets: &'static str,
    asked: &'static str,
    is_met: fn(&Seen) -> bool,
) -> Case {
    Case { section, sent, octets, asked, is_met }
}

const MESSAGES: &[Case] = &[
    case(
        "9112 §2.2",
        "an empty line before the request",
        "\nGET / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "200",
        |seen| seen.is(&[200]),
    ),
    case(
        "9112 §2.3",
        "HTTP/1.1",
        "GET / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "200 in HTTP/1.1",
        |seen| seen.answer.starts_with("HTTP/1.1 200 "),
    ),
    case(
        "9112 §2.3",
        "a version of another major number",
        "GET / HTTP/3.0\nHost: a\n\n",
        "400 or 505",
        |seen| seen.is(&[400]) || seen.is(&[505]),
    ),
    case(
        "9110 §2.5",
        "a higher minor version",
        "GET / HTTP/1.2\nHost: a\nConnection: close\n\n",
        "200",
        |seen| seen.is(&[200]),
    ),
    case(
        "9112 §3",
        "a target of 40,000 octets",
        "GET /%LONG% HTTP/1.1\nHost: a\n\n",
        "414, nothing at the origin",
        |seen| seen.is(&[414]) && seen.kept.is_empty(),
    ),
    case(
        "9112 §3",
        "a method of 40,000 octets",
        "%LONG% / HTTP/1.1\nHost: a\n\n",
        "501 or 400, nothing at the origin",
        |seen| (seen.is(&[501]) || seen.is(&[400]) || seen.is(&[414])) && seen.kept.is_empty(),
    ),
    case(
        "9112 §3.1",
        "a method that nobody knows",
        "BREW /a HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin decides",
        |seen| seen.lines() == ["BREW /a HTTP/1.1"],
    ),
    case(
        "9110 §9.1",
        "a method in lower case",
        "get /a HTTP/1.1\nHost: a\nConnection: close\n\n",
        "the origin sees it in lower case",
        |seen| seen.lines() == ["get /a HTTP/1.1"],
    ),
    case(
        "9110 §5.4",
        "a field of 40,000 octets",
        "GET / HTTP/1.1\nHost: a\nX: %LONG%\n\n",
        "431, nothing at the origin",
        |seen| seen.is(&[431]) && seen.kept.is_empty(),
    ),
    case(
        "9112 §5.1",
        "blanks around a value",
        "GET / HTTP/1.1\nHost: a\nX: \t y \t\nConnection: close\n\n",
        "the origin sees none",
        |seen| seen.seen("x") == ["y"],
    ),
    case(
        "9110 §5.3",
        "a field on several lines",
        "GET / HTTP/1.1\nHost: a\nX: 1\nY: z\nX: 2\nConnection: close\n\n",
        "the origin sees them in order",
        |seen| seen.seen("x") == ["1", "2"],
    ),
    case(
        "9110 §5.1",
        "a field that nobody knows",
        "GET / HTTP/1.1\nHost: a\nX-Unheard-Of: y\nConnection: close\n\n",
        "the origin sees it",
        |seen| seen.seen("x-unheard-of") == ["y"],
    ),
    case(
        "9110 §5.5",
        "an empty value",
        "GET / HTTP/1.1\nHost: a\nX:\nConnection: close\n\n",
        "the origin sees it",
        |seen| seen.seen("x") == [""],
    ),
    case("9112 §5.2", "a folded field", "GET / HTTP/1.1\nHost: a\nX: y\n z\n\n", "400", |seen| {
        seen.is(&[400]) && seen.kept.is_empty()
    }),
    case(
        "9112 §6.1",
        "a transfer coding that nobody knows",
        "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: zip, chunked\n\n0\n\n",
        "501",
        |seen| seen.is(&[501]),
    ),
    case(
        "9112 §6.1",
        "chunked in HTTP/1.0",
        "POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n0\n\n",
        "400 and the end",
        |seen| seen.is(&[400]) && seen.kept.is_empty(),
    ),
    case(
        "9112 §6.3",
        "both lengths",
        "POST / HTTP/1.1\nHost: a\nContent-Length: 1\nTransfer-Encoding: chunked\n\n0\n\n",
        "400 and the end",
        |seen| seen.is(&[400]) && seen.kept.is_empty(),
    ),
    case(
        "9112 §6.3",
        "no length to POST",
        "POST / HTTP/1.1\nHost: a\nConnection: close\n\n",
        "no body",
        |seen| seen.is(&[200]) && seen.seen("transfer-encoding").is_empty(),
    ),
    case(
        "9112 §6.3",
        "a body to GET",
        "GET / HTTP/1.1\nHost: a\nConnection: close\nContent-Length: 2\n\nhi",
        "the origin sees it",
        |seen| matches!(&seen.kept[..], [Kept::Whole { body, .. }] if body == b"hi"),
    ),
    case(
        "9112 §7.1",
        "chunks",
        "POST / HTTP/1.1\nHost: a\nConnection: close\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n",
        "the origin sees the data",
        |seen| matches!(&seen.kept[..], [Kept::Whole { body, .. }] if body == b"2\r\nhi\r\n0\r\n\r\n"),
    ),
    case(
        "9112 §7.1.1",
        "chunks with extensions",
        "POST / HTTP/1.1\nHost: a\nConnection: close\nTransfer-Encoding: chunked\n\n2;a=\"b\"\nhi\n0;c\n\n",
        "the origin sees the data",
        |seen| matches!(&seen.kept[..], [Kept::Whole { body, .. }] if body == b"2\r\nhi\r\n0\r\n\r\n"),
    ),
    case(
        "9112 §7.1.2",
        "chunks with trailers",
        "POST / HTTP/1.1\nHost: a\nConnection: close\nTransfer-Encoding: chunked\n\n2\nhi\n0\nX: y\n\n",
        "the trailer is no header",
        |seen| seen.is(&[200]) && seen.seen("x").is_empty(),
    ),
];

const ROUTING: &[Case] = &[
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

const CONNECTIONS: &[Case] = &[
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

const FORWARDING: &[Case] = &[
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

const SEMANTICS: &[Case] = &[
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
