//! RFC 9110 and RFC 9112 case by case: what a client sends, what it gets, and what the origin saw.
//!
//! A case passes when both are as asked. Whatever else comes has to stand in [`EXPLAINED`], with its reason, and in
//! `docs/conformance.md`. Malformed requests have a table of their own.

mod answers;
mod connections;
mod messages;
mod routing;
mod semantics;

use crate::conformance::{Explained, Outcome, tell};
use crate::keeper::{Keeper, KeptMessage};
use crate::support::Daemon;
use crate::wire::{exchange, statuses};

/// One case. A blank line ends each request; what is sent has one unless it shows its own.
#[derive(Clone, Copy, Debug)]
struct Http1Case {
    section: &'static str,
    sent: &'static str,
    bytes: &'static str,
    asked: &'static str,
    is_met: fn(&Http1Outcome) -> bool,
}

/// What came of it.
#[derive(Debug)]
struct Http1Outcome {
    answer: String,
    statuses: Vec<u16>,
    kept: Vec<KeptMessage>,
}

impl Http1Outcome {
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
        self.kept.iter().map(KeptMessage::request_line).collect()
    }
}

/// An origin that answers by the path.
pub(crate) fn answer(head: &[u8]) -> Vec<u8> {
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
        "400: the end of such a message is not certain. RFC 9112 recommends 501",
    ),
    (
        "9112 §3.2.2",
        "absolute-form and another Host",
        "[400], 0 at the origin",
        "a client that names two hosts is refused, since an origin may follow the other one",
    ),
];

#[test]
fn every_case_of_conformance_is_as_asked_or_explained() {
    let origin = Keeper::answering(answer);
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n").at(&origin.url()).start();
    let outcomes = [
        messages::MESSAGES,
        routing::ROUTING,
        connections::CONNECTIONS,
        answers::FORWARDING,
        semantics::SEMANTICS,
    ]
    .concat()
    .into_iter()
    .map(|case| {
        origin.take();
        // The end of the connection ends a case; the last of several requests asks for it.
        let bytes = case.bytes.replace('\n', "\r\n").replace("%LONG%", &"a".repeat(40_000));
        let answer = String::from_utf8_lossy(&exchange(gateway.address(), bytes.as_bytes())).into_owned();
        let seen = Http1Outcome { statuses: statuses(answer.as_bytes()), answer, kept: origin.take() };
        let is_right = (case.is_met)(&seen);
        let came = format!("{:?}, {} at the origin", seen.statuses, seen.kept.len());
        if !is_right {
            println!("{}: {}\n{seen:?}", case.section, case.sent);
        }
        Outcome { section: case.section, sent: case.sent, asked: case.asked.to_owned(), came, is_right }
    });
    tell("HTTP/1.1", &outcomes.collect::<Vec<_>>(), EXPLAINED, 60);
}

const fn case(
    section: &'static str,
    sent: &'static str,
    bytes: &'static str,
    asked: &'static str,
    is_met: fn(&Http1Outcome) -> bool,
) -> Http1Case {
    Http1Case { section, sent, bytes, asked, is_met }
}
