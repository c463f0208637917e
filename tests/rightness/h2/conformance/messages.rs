//! RFC 9113 §8 and RFC 7541: requests as HTTP, and the compression of their fields. What is malformed in finer ways
//! is in the table of [`crate::h2::hostile`], with what the origin sees.

use super::DemandedOutcome::{Answer, Connection, Malformed};
use super::{DemandedOutcome, H2Case, case};
use crate::h2::{GOOD, changed, get, headers, list, open, post, request, with};
use crate::support::http2::{DATA, END_HEADERS, END_STREAM, field, frame};

const COMPRESSION_ERROR: u32 = 9;

pub(super) fn cases() -> Vec<H2Case> {
    [methods(), heads(), bodies(), compression(), decoding()].concat()
}

fn end() -> Vec<u8> {
    frame(DATA, END_STREAM, 1, b"test")
}

fn methods() -> Vec<H2Case> {
    let section = "9113 §8.1";
    let trailer = |flags, fields: &[(&str, &str)]| headers(END_HEADERS | flags, 1, &list(fields));
    vec![
        case(section, "GET", get(1), Answer(200)),
        case(section, "HEAD", changed(":method", "HEAD"), Answer(200)),
        case(section, "OPTIONS", changed(":method", "OPTIONS"), Answer(200)),
        case(section, "POST", [open(), end()].concat(), Answer(200)),
        case(
            section,
            "POST with trailers",
            [open(), frame(DATA, 0, 1, b"test"), trailer(END_STREAM, &[("x", "y")])].concat(),
            Answer(200),
        ),
        case(
            section,
            "a second HEADERS that ends nothing",
            [open(), trailer(0, &[("x", "y")]), end()].concat(),
            Malformed,
        ),
        case(
            section,
            "a pseudo-header in a trailer",
            [open(), trailer(END_STREAM, &[(":method", "GET")])].concat(),
            Malformed,
        ),
        case("9113 §8.4", "a request for what a client may not push", with(&[("x-push", "1")]), Answer(200)),
        case("9113 §8.5", "CONNECT", request(&[(":method", "CONNECT"), (":authority", "a:80")]), Answer(405)),
    ]
}

fn heads() -> Vec<H2Case> {
    let (fields, pseudo) = ("9113 §8.2.1", "9113 §8.3.1");
    let without = |number: usize| {
        let fields: Vec<_> =
            GOOD.iter().enumerate().filter(|(at, _)| *at != number).map(|(_, field)| *field).collect();
        request(&fields)
    };
    let twice = |number: usize| request(&[&GOOD[..], &GOOD[number..=number]].concat());
    let odd = |sent, section, bytes| case(section, sent, bytes, Malformed);
    vec![
        odd("a name in upper case", fields, with(&[("X-Upper", "y")])),
        odd("a value with LF", fields, with(&[("x", "a\nb")])),
        odd("a value with a space before it", fields, with(&[("x", " a")])),
        odd("connection", "9113 §8.2.2", with(&[("connection", "close")])),
        odd("transfer-encoding", "9113 §8.2.2", with(&[("transfer-encoding", "chunked")])),
        odd("te other than trailers", "9113 §8.2.2", with(&[("te", "gzip")])),
        case("9113 §8.2.2", "te of trailers", with(&[("te", "trailers")]), Answer(200)),
        odd(
            "a pseudo-header that nobody knows",
            "9113 §8.3",
            request(&[&[(":test", "x")], &GOOD[..]].concat()),
        ),
        odd("a pseudo-header of answers", "9113 §8.3", request(&[&[(":status", "200")], &GOOD[..]].concat())),
        odd("a pseudo-header behind a field", "9113 §8.3", request(&[&[("x", "y")], &GOOD[..]].concat())),
        odd("an empty :path", pseudo, changed(":path", "")),
        odd("no :method", pseudo, without(0)),
        odd("no :scheme", pseudo, without(1)),
        odd("no :path", pseudo, without(3)),
        odd("two :method", pseudo, twice(0)),
        odd("two :scheme", pseudo, twice(1)),
        odd("two :path", pseudo, twice(3)),
        odd("a user in :authority", pseudo, changed(":authority", "u@a")),
    ]
}

fn bodies() -> Vec<H2Case> {
    let section = "9113 §8.1.1";
    let length = |length: &str| post(&[("content-length", length)]);
    vec![
        case(section, "content-length and as much DATA", [length("4"), end()].concat(), Answer(200)),
        case(section, "content-length above the DATA", [length("5"), end()].concat(), Malformed),
        case(section, "content-length below the DATA", [length("1"), end()].concat(), Malformed),
        case(
            section,
            "content-length above several DATA",
            [length("9"), frame(DATA, 0, 1, b"test"), end()].concat(),
            Malformed,
        ),
        case(section, "content-length and no DATA", with(&[("content-length", "1")]), Malformed),
        case(
            "9113 §8.2.3",
            "cookies in several fields",
            with(&[("cookie", "a=b"), ("cookie", "c=d")]),
            Answer(200),
        ),
    ]
}

/// A good head with these bytes of HPACK behind it, or before it.
fn block(before: &[u8], behind: &[u8]) -> Vec<u8> {
    headers(END_HEADERS | END_STREAM, 1, &[before, &list(&GOOD), behind].concat())
}

fn compression() -> Vec<H2Case> {
    let good = |section, sent, bytes| case(section, sent, bytes, Answer(200));
    // `:method: GET`, `:scheme: https`, `:path: /` are entries 2, 7 and 4 of the static table (RFC 7541 appendix A).
    let indexed = [&[0x82, 0x87, 0x84][..], &field(":authority", "a")].concat();
    let literal = |first: u8| {
        let mut field = field("x", "y");
        field[0] = first;
        field
    };
    // `user-agent` is entry 58; `www.example.com` in the code is from RFC 7541 appendix C.4.1.
    let coded = [0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
    let named = |first: &[u8]| [first, &[1, b'y']].concat();
    vec![
        good("7541 §6.1", "fields from the static table", headers(END_HEADERS | END_STREAM, 1, &indexed)),
        good("7541 §6.2.1", "a literal that goes into the table", block(&[], &literal(0x40))),
        good("7541 §6.2.1", "a literal with a name from the table, kept", block(&[], &named(&[0x7a]))),
        good("7541 §6.2.2", "a literal that goes into no table", block(&[], &literal(0))),
        good("7541 §6.2.2", "a literal with a name from the table", block(&[], &named(&[0x0f, 58 - 15]))),
        good("7541 §6.2.3", "a literal that never goes into a table", block(&[], &literal(0x10))),
        good(
            "7541 §5.2",
            "a text in the code of appendix B",
            headers(END_HEADERS | END_STREAM, 1, &[&[0x82, 0x87, 0x84][..], &coded].concat()),
        ),
        good(
            "7541 §2.3.3",
            "an entry of the dynamic table",
            block(&[], &[&literal(0x40)[..], &[0xbe]].concat()),
        ),
        good("7541 §6.3", "a smaller table", block(&[0x3f, 0x09], &[])),
        good("7541 §6.3", "a table of no size, then a larger one", block(&[0x20, 0x3f, 0xe1, 0x1f], &[])),
    ]
}

fn decoding() -> Vec<H2Case> {
    let wrong = |section, sent, bytes: &[u8]| -> H2Case {
        case(section, sent, block(&[], bytes), Connection(COMPRESSION_ERROR) as DemandedOutcome)
    };
    vec![
        wrong("7541 §2.3.3", "an entry that no table has", &[0xff, 0x7f]),
        wrong("7541 §6.1", "entry 0", &[0x80]),
        wrong("7541 §4.2", "a change of the table's size behind a field", &[0x20]),
        case(
            "7541 §6.3",
            "a table larger than was offered",
            block(&[0x3f, 0xe2, 0x7f], &[]),
            Connection(COMPRESSION_ERROR),
        ),
        wrong("7541 §5.1", "a number without end", &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
        wrong("7541 §5.2", "a text that ends before its length", &[0, 1, b'x', 9, b'y']),
        wrong("7541 §5.2", "more than seven bits of padding", &[0, 1, b'x', 0x82, 0x07, 0xff]),
        wrong("7541 §5.2", "padding of zeros", &[0, 1, b'x', 0x81, 0x00]),
        wrong("7541 §5.2", "the end of texts in a text", &[0, 1, b'x', 0x84, 0xff, 0xff, 0xff, 0xff]),
    ]
}
