//! The rows about bodies: how their end is known, and the ends of lines (RFC 9112 §6, §7, §2.2).

use super::Expected::{BrokenOff, Forwarded, Refused};
use super::{Row, SECOND, chunked, post, row};

pub(super) fn lengths() -> Vec<Row> {
    let clause = "RFC 9112 §6.3";
    let refused =
        |name, clause, text: &str| row(name, clause, post(text, &format!("hello{SECOND}")), Refused(400));
    vec![
        row(
            "a body by its length",
            clause,
            post("Content-Length: 5\r\n", "hello"),
            Forwarded("POST /p HTTP/1.1", "hello"),
        ),
        row(
            "a body to GET",
            "RFC 9110 §9.3.1",
            "GET /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
            Forwarded("GET /p HTTP/1.1", "hello"),
        ),
        refused("both lengths", clause, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
        refused(
            "both lengths, the other way round",
            clause,
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        ),
        refused("two different lengths", clause, "Content-Length: 5\r\nContent-Length: 6\r\n"),
        refused("the same length twice", clause, "Content-Length: 5\r\nContent-Length: 5\r\n"),
        refused("a list of lengths", clause, "Content-Length: 5, 5\r\n"),
        refused("empty length", clause, "Content-Length:\r\n"),
        refused("signed length", clause, "Content-Length: +5\r\n"),
        refused("negative length", clause, "Content-Length: -5\r\n"),
        refused("hexadecimal length", clause, "Content-Length: 0x5\r\n"),
        refused("length with a space in it", clause, "Content-Length: 5 5\r\n"),
        refused("length with a fraction", clause, "Content-Length: 5.0\r\n"),
        refused("length beyond all numbers", clause, "Content-Length: 18446744073709551621\r\n"),
        refused("length behind a space before the colon", "RFC 9112 §5.1", "Content-Length : 5\r\n"),
        refused("length with an underscore", "RFC 3875 §4.1.18", "Content_Length: 5\r\n"),
        refused(
            "length with a dot, and the length",
            "RFC 3875 §4.1.18",
            "content.length: 0\r\nContent-Length: 5\r\n",
        ),
    ]
}

pub(super) fn codings() -> Vec<Row> {
    let coding = "RFC 9112 §6.1";
    let refused =
        |name, clause, text: &str| row(name, clause, post(text, &format!("hello{SECOND}")), Refused(400));
    let old = format!("POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SECOND}");
    vec![
        refused("another coding", coding, "Transfer-Encoding: gzip\r\n"),
        refused("a coding with an underscore", "RFC 3875 §4.1.18", "Transfer_Encoding: chunked\r\n"),
        refused(
            "a coding with a tilde, and a length",
            "RFC 3875 §4.1.18",
            "Content-Length: 5\r\ntransfer~encoding: chunked\r\n",
        ),
        refused("chunked and another", coding, "Transfer-Encoding: chunked, gzip\r\n"),
        refused("another and chunked", coding, "Transfer-Encoding: gzip, chunked\r\n"),
        refused("identity", coding, "Transfer-Encoding: identity\r\n"),
        refused("chunked twice", coding, "Transfer-Encoding: chunked, chunked\r\n"),
        refused(
            "chunked on two lines",
            coding,
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ),
        refused(
            "chunked and identity on two lines",
            coding,
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        ),
        refused("chunked with a parameter", coding, "Transfer-Encoding: chunked;q=1\r\n"),
        refused("nearly chunked", coding, "Transfer-Encoding: xchunked\r\n"),
        refused("chunked in quotes", coding, "Transfer-Encoding: \"chunked\"\r\n"),
        refused("chunked behind a vertical tab", coding, "Transfer-Encoding: \x0bchunked\r\n"),
        refused("chunked behind a NUL", coding, "Transfer-Encoding: chunked\0\r\n"),
        refused("empty coding", coding, "Transfer-Encoding:\r\n"),
        refused(
            "chunked behind a space before the colon",
            "RFC 9112 §5.1",
            "Transfer-Encoding : chunked\r\n",
        ),
        refused("chunked on a folded line", "RFC 9112 §5.2", "Transfer-Encoding:\r\n chunked\r\n"),
        row("chunked in HTTP/1.0", coding, old, Refused(400)),
    ]
}

pub(super) fn chunks() -> Vec<Row> {
    let clause = "RFC 9112 §7.1";
    let refused =
        |name, body: &str| row(name, clause, chunked(&format!("{body}0\r\n\r\n{SECOND}")), Refused(400));
    let trailer =
        |name, text: &str| row(name, "RFC 9112 §7.1.2", chunked(&format!("0\r\n{text}\r\n")), Refused(400));
    vec![
        row("chunks", clause, chunked("5\r\nhello\r\n0\r\n\r\n"), Forwarded("POST /p HTTP/1.1", "hello")),
        row(
            "chunks with extensions",
            "RFC 9112 §7.1.1",
            chunked("5;a;b=c;d=\"e;f\"\r\nhello\r\n0;g\r\n\r\n"),
            Forwarded("POST /p HTTP/1.1", "hello"),
        ),
        row(
            "zeros before a size",
            clause,
            chunked("0005\r\nhello\r\n00\r\n\r\n"),
            Forwarded("POST /p HTTP/1.1", "hello"),
        ),
        row(
            "trailers",
            "RFC 9112 §7.1.2",
            chunked("5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
            Forwarded("POST /p HTTP/1.1", "hello"),
        ),
        refused("no size", "\r\nhello\r\n"),
        refused("size of no digits", "x\r\nhello\r\n"),
        refused("size with a prefix", "0x5\r\nhello\r\n"),
        refused("signed size", "+5\r\nhello\r\n"),
        refused("negative size", "-5\r\nhello\r\n"),
        refused("space before a size", " 5\r\nhello\r\n"),
        refused("space behind a size", "5 \r\nhello\r\n"),
        refused("size beyond all numbers", "10000000000000005\r\nhello\r\n"),
        refused("size that ends in LF", "5\nhello\r\n"),
        refused("size that ends in CR", "5\rhello\r\n"),
        refused("data that ends in LF", "5\r\nhello\n"),
        refused("data longer than its size", "4\r\nhello\r\n"),
        refused("data shorter than its size", "6\r\nhello\r\n"),
        refused("LF in an extension", "5;a\nb\r\nhello\r\n"),
        refused("NUL in an extension", "5;a\0b\r\nhello\r\n"),
        refused("end of line in a quoted extension", "5;a=\"b\r\nhello\r\n"),
        refused("a large extension", &format!("5;{}\r\nhello\r\n", "a".repeat(1_000))),
        trailer("trailer without a colon", "X\r\n"),
        trailer("trailer with a space before its colon", "X : y\r\n"),
        trailer("folded trailer", "X: y\r\n z\r\n"),
        trailer("trailer that ends in LF", "X: y\n"),
        trailer("Content-Length in a trailer", "Content-Length: 5\r\n"),
        trailer("Transfer-Encoding in a trailer", "Transfer-Encoding: chunked\r\n"),
        trailer("Host in a trailer", "Host: b\r\n"),
        row("size line that never ends", clause, chunked(&"5".repeat(40)), Refused(400)),
    ]
}

pub(super) fn ends() -> Vec<Row> {
    let clause = "RFC 9112 §2.2";
    // Behind 64 KiB of good body the head is under way to the origin already.
    let late = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    vec![
        row("request line that ends in LF", clause, "GET / HTTP/1.1\nHost: a\r\n\r\n", Refused(400)),
        row("all lines end in LF", clause, "GET / HTTP/1.1\nHost: a\n\n", Refused(400)),
        row("field line that ends in LF", clause, "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", Refused(400)),
        row("empty line that is a LF", clause, "GET / HTTP/1.1\r\nHost: a\r\n\n", Refused(400)),
        row("request line that ends in CR", clause, "GET / HTTP/1.1\rHost: a\r\n\r\n", Refused(400)),
        row("CR CR LF", clause, "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", Refused(400)),
        row("LF CR", clause, "GET / HTTP/1.1\n\rHost: a\n\r\n\r", Refused(400)),
        row("a bad chunk behind a good one", "RFC 9112 §7.1", chunked(&format!("{late}zz\r\n")), BrokenOff),
        row(
            "a bad trailer behind a good body",
            "RFC 9112 §7.1.2",
            chunked(&format!("{late}0\r\nHost: b\r\n\r\n")),
            BrokenOff,
        ),
    ]
}
