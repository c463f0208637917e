//! Rows about the body: where HTTP/2 ends it, and what `content-length` says of it (RFC 9113 §8.1.1).

use super::hostile::HostileOutcome::{BrokenOff, Forwarded, Malformed};
use super::hostile::{HostileRow, row};
use super::{PADDED, list, post, with};
use crate::support::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, frame};

const LINE: &str = "POST /p HTTP/1.1";
const CHUNKED: &[&str] = &["host: a", "transfer-encoding: chunked"];
const FIVE: &[&str] = &["content-length: 5", "host: a"];

pub(super) fn rows() -> Vec<HostileRow> {
    [good(), empties(), lengths(), trailers()].concat()
}

fn data(bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, 1, bytes)
}

fn last(bytes: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, 1, bytes)
}

/// A POST with these fields, and these frames behind.
fn sent(fields: &[(&str, &str)], frames: &[Vec<u8>]) -> Vec<u8> {
    [post(fields), frames.concat()].concat()
}

fn good() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.1";
    let five = [("content-length", "5")];
    // One byte says how many there are of padding, which is behind the data (RFC 9113 §6.1).
    let padded = frame(DATA, END_STREAM | PADDED, 1, b"\x04hello\0\0\0\0");
    let none = &["host: a"];
    vec![
        row("a body by its length", clause, sent(&five, &[last(b"hello")]), Forwarded(LINE, FIVE, "hello")),
        row(
            "a body without a length",
            clause,
            sent(&[], &[last(b"hello")]),
            Forwarded(LINE, CHUNKED, "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"),
        ),
        row("padding is no body", "RFC 9113 §6.1", sent(&five, &[padded]), Forwarded(LINE, FIVE, "hello")),
        row(
            "no body and a length of 0",
            clause,
            sent(&[("content-length", "0")], &[last(b"")]),
            Forwarded(LINE, &["content-length: 0", "host: a"], ""),
        ),
        row(
            "a chunked body as data",
            "RFC 9113 §8.2.2",
            sent(&[], &[last(b"0\r\n\r\nGET /x")]),
            Forwarded(LINE, CHUNKED, "b\\r\\n0\\r\\n\\r\\nGET /x\\r\\n0\\r\\n\\r\\n"),
        ),
        row(
            "who waits to be asked",
            "RFC 9110 §10.1.1",
            sent(&[("expect", "100-continue"), five[0]], &[last(b"hello")]),
            Forwarded(LINE, &["content-length: 5", "expect: 100-continue", "host: a"], "hello"),
        ),
        row(
            "no body to POST",
            clause,
            frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                1,
                &list(&[(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/p")]),
            ),
            Forwarded(LINE, none, ""),
        ),
    ]
}

/// Frames without data, which HTTP/1.1 would read as the end (RFC 9112 §7.1).
fn empties() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.1";
    let five = [("content-length", "5")];
    vec![
        row(
            "an empty last frame",
            clause,
            sent(&five, &[data(b"hello"), last(b"")]),
            Forwarded(LINE, FIVE, "hello"),
        ),
        row(
            "an empty last frame without a length",
            clause,
            sent(&[], &[data(b"hello"), last(b"")]),
            Forwarded(LINE, CHUNKED, "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"),
        ),
        row(
            "empty frames only",
            clause,
            sent(&[], &[data(b""), last(b"")]),
            Forwarded(LINE, CHUNKED, "0\\r\\n\\r\\n"),
        ),
        row(
            "an empty frame, the last",
            clause,
            sent(&[], &[last(b"")]),
            Forwarded(LINE, CHUNKED, "0\\r\\n\\r\\n"),
        ),
        row(
            "an empty frame before the others",
            clause,
            sent(&five, &[data(b""), last(b"hello")]),
            Forwarded(LINE, FIVE, "hello"),
        ),
        row(
            "an empty frame before the others, without a length",
            clause,
            sent(&[], &[data(b""), last(b"hello")]),
            Forwarded(LINE, CHUNKED, "5\\r\\nhello\\r\\n0\\r\\n\\r\\n"),
        ),
    ]
}

fn lengths() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.1.1";
    let length = |name, length: &str| {
        row(name, "RFC 9110 §8.6", sent(&[("content-length", length)], &[last(b"hello")]), Malformed)
    };
    let five = ("content-length", "5");
    let second = b"hello0\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n\r\n";
    let late =
        |name, first: &[Vec<u8>], rest: Vec<u8>| row(name, clause, sent(&[five], first), BrokenOff(rest));
    let empty = sent(&[("content-length", "0")], &[]);
    vec![
        row("a length and no body", clause, with(&[five]), Malformed),
        late("more data than its length", &[], last(second)),
        late("more data than its length, later", &[data(b"hel")], last(b"loGET /second HTTP/1.1\r\n")),
        row(
            "data behind a length of 0",
            clause,
            [empty, last(b"GET /second HTTP/1.1\r\n")].concat(),
            Malformed,
        ),
        late("less data than its length", &[data(b"he")], last(b"ll")),
        late("an empty last frame before its length", &[data(b"he")], last(b"")),
        late("an empty last frame and a length", &[], last(b"")),
        row(
            "two different lengths",
            "RFC 9110 §8.6",
            sent(&[five, ("content-length", "6")], &[last(b"hello")]),
            Malformed,
        ),
        row("the same length twice", "RFC 9110 §8.6", sent(&[five, five], &[last(b"hello")]), Malformed),
        length("a list of lengths", "5, 5"),
        length("empty length", ""),
        length("signed length", "+5"),
        length("negative length", "-5"),
        length("hexadecimal length", "0x5"),
        length("length with a space behind", "5 "),
        length("length with a fraction", "5.0"),
        length("length beyond all numbers", "18446744073709551621"),
    ]
}

fn trailers() -> Vec<HostileRow> {
    let clause = "RFC 9113 §8.1";
    let hello = "5\\r\\nhello\\r\\n0\\r\\n\\r\\n";
    let head = |flags, fields: &[(&str, &str)]| frame(HEADERS, END_HEADERS | flags, 1, &list(fields));
    let trailer = |fields: &[(&str, &str)]| head(END_STREAM, fields);
    let five = ("content-length", "5");
    let late = |name, clause, rest| row(name, clause, sent(&[], &[data(b"hello")]), BrokenOff(rest));
    let routing = [("content-length", "9"), ("host", "b"), ("cookie", "c=d")];
    vec![
        row(
            "trailers",
            clause,
            sent(&[], &[data(b"hello"), trailer(&[("x-sum", "1")])]),
            Forwarded(LINE, CHUNKED, hello),
        ),
        row(
            "trailers behind a length",
            clause,
            sent(&[five], &[data(b"hello"), trailer(&[("x-sum", "1")])]),
            Forwarded(LINE, FIVE, "hello"),
        ),
        row(
            "trailers that would frame and route",
            "RFC 9110 §6.5.1",
            sent(&[], &[data(b"hello"), trailer(&routing)]),
            Forwarded(LINE, CHUNKED, hello),
        ),
        // The HTTP/2 library takes it for a trailer. Nothing of trailers is passed on.
        row(
            "pseudo-header in a trailer",
            clause,
            sent(&[], &[data(b"hello"), trailer(&[(":path", "/second")])]),
            Forwarded(LINE, CHUNKED, hello),
        ),
        late(
            "transfer-encoding in a trailer",
            "RFC 9113 §8.2.2",
            trailer(&[("transfer-encoding", "chunked")]),
        ),
        late("upper-case name in a trailer", "RFC 9113 §8.2.1", trailer(&[("X-Sum", "1")])),
        late("trailers without an end", clause, head(0, &[("x-sum", "1")])),
        row(
            "trailers before the length is reached",
            "RFC 9113 §8.1.1",
            sent(&[five], &[data(b"he")]),
            BrokenOff(trailer(&[("x-sum", "1")])),
        ),
    ]
}
