//! RFC 9113 §3 to §5: the preface, frames as such, and the life of streams.

use super::DemandedOutcome::{Answer, Connection, Frame, Nothing, Stream};
use super::{H2Case, case};
use crate::h2::{GOOD, PADDED, WITH_PRIORITY, get, headers, list, open, setting};
use crate::support::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM, SETTINGS,
    WINDOW_UPDATE, frame,
};

const PROTOCOL_ERROR: u32 = 1;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const REFUSED_STREAM: u32 = 7;
const COMPRESSION_ERROR: u32 = 9;

pub(super) fn cases() -> Vec<H2Case> {
    [preface(), format(), blocks(), idle(), half_closed(), closed(), numbers(), unknown()].concat()
}

fn preface() -> Vec<H2Case> {
    let hello = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    vec![
        case("9113 §3.4", "preface and SETTINGS", hello.clone(), Frame(SETTINGS, 1, &[])).first(),
        case("9113 §3.4", "a request with the preface", [hello, get(1)].concat(), Answer(200)).first(),
        case(
            "9113 §3.4",
            "another preface",
            b"PRI * HTTP/3.0\r\n\r\nSM\r\n\r\n".to_vec(),
            Connection(PROTOCOL_ERROR),
        )
        .first(),
        case(
            "9113 §3.4",
            "a request of HTTP/1.1",
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            Connection(PROTOCOL_ERROR),
        )
        .first(),
        case(
            "9113 §3.4",
            "preface and another frame than SETTINGS",
            [PREFACE, &frame(PING, 0, 0, &[0; 8])].concat(),
            Connection(PROTOCOL_ERROR),
        )
        .first(),
    ]
}

fn format() -> Vec<H2Case> {
    let reserved = |mut bytes: Vec<u8>| {
        bytes[5] |= 0x80;
        bytes
    };
    let large = vec![0; 16_385];
    vec![
        case("9113 §4.1", "a frame of no known type", frame(0x16, 0, 0, &[0; 8]), Nothing),
        case("9113 §4.1", "a frame of no known type on a stream", frame(0x16, 0xff, 3, &[0; 8]), Nothing),
        case(
            "9113 §4.1",
            "PING with flags that are not defined",
            frame(PING, 0x16, 0, b"somedata"),
            Frame(PING, 1, b"somedata"),
        ),
        case(
            "9113 §4.1",
            "PING with the reserved bit",
            reserved(frame(PING, 0, 0, b"somedata")),
            Frame(PING, 1, b"somedata"),
        ),
        case("9113 §4.1", "HEADERS with the reserved bit", reserved(get(1)), Answer(200)),
        case(
            "9113 §4.1",
            "HEADERS with flags that are not defined",
            headers(END_HEADERS | END_STREAM | 0xd2 & !WITH_PRIORITY, 1, &list(&GOOD)),
            Answer(200),
        ),
        case(
            "9113 §4.2",
            "DATA of 16,384 bytes",
            [open(), frame(DATA, END_STREAM, 1, &large[1..])].concat(),
            Answer(200),
        ),
        case(
            "9113 §4.2",
            "DATA of 16,385 bytes",
            [open(), frame(DATA, END_STREAM, 1, &large)].concat(),
            Connection(FRAME_SIZE_ERROR),
        ),
        case(
            "9113 §4.2",
            "HEADERS of 16,385 bytes",
            headers(END_HEADERS | END_STREAM, 1, &large),
            Connection(FRAME_SIZE_ERROR),
        ),
        case(
            "9113 §4.2",
            "a frame of no known type of 16,385 bytes",
            frame(0x16, 0, 0, &large),
            Connection(FRAME_SIZE_ERROR),
        ),
    ]
}

fn blocks() -> Vec<H2Case> {
    let cut = |more: Vec<u8>| [headers(END_STREAM, 1, &list(&GOOD)), more].concat();
    let rest = frame(CONTINUATION, END_HEADERS, 1, &list(&[("x", "y")]));
    vec![
        case(
            "9113 §4.3",
            "a block that is no HPACK",
            headers(END_HEADERS | END_STREAM, 1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Connection(COMPRESSION_ERROR),
        ),
        case("9113 §4.3", "HEADERS in two pieces", cut(rest.clone()), Answer(200)),
        case(
            "9113 §4.3",
            "PRIORITY in a block",
            cut([frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 9]), rest.clone()].concat()),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            "9113 §4.3",
            "PING in a block",
            cut([frame(PING, 0, 0, &[0; 8]), rest.clone()].concat()),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            "9113 §4.3",
            "HEADERS of another stream in a block",
            cut([get(3), rest.clone()].concat()),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            "9113 §5.5",
            "a frame of no known type in a block",
            cut([frame(0x16, 0, 0, &[0; 8]), rest].concat()),
            Connection(PROTOCOL_ERROR),
        ),
    ]
}

fn idle() -> Vec<H2Case> {
    let section = "9113 §5.1";
    vec![
        case(
            section,
            "DATA on an idle stream",
            frame(DATA, END_STREAM, 1, b"test"),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "RST_STREAM on an idle stream",
            frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "WINDOW_UPDATE on an idle stream",
            frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 100]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "CONTINUATION on an idle stream",
            frame(CONTINUATION, END_HEADERS, 1, &list(&GOOD)),
            Connection(PROTOCOL_ERROR),
        ),
        case(section, "PRIORITY on an idle stream", frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 9]), Nothing),
    ]
}

fn half_closed() -> Vec<H2Case> {
    let section = "9113 §5.1";
    let then = |more: Vec<u8>| [get(1), more].concat();
    vec![
        case(
            section,
            "DATA on a half-closed stream",
            then(frame(DATA, END_STREAM, 1, b"test")),
            Stream(STREAM_CLOSED),
        ),
        case(section, "HEADERS on a half-closed stream", then(get(1)), Stream(STREAM_CLOSED)),
        case(
            section,
            "CONTINUATION on a half-closed stream",
            then(frame(CONTINUATION, END_HEADERS, 1, &list(&[("x", "y")]))),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "WINDOW_UPDATE on a half-closed stream",
            then(frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 100])),
            Answer(200),
        ),
        case(
            section,
            "PRIORITY on a half-closed stream",
            then(frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 9])),
            Answer(200),
        ),
        case(
            section,
            "RST_STREAM on a half-closed stream",
            then(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])),
            Nothing,
        ),
    ]
}

fn closed() -> Vec<H2Case> {
    let section = "9113 §5.1";
    let reset = |more: Vec<u8>| [open(), frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]), more].concat();
    let ended = |sent, bytes, asked| case(section, sent, bytes, asked).behind(get(1));
    let trailer = frame(CONTINUATION, END_HEADERS, 1, &list(&[("x", "y")]));
    vec![
        case(
            section,
            "DATA behind RST_STREAM",
            reset(frame(DATA, END_STREAM, 1, b"test")),
            Stream(STREAM_CLOSED),
        ),
        case(section, "HEADERS behind RST_STREAM", reset(get(1)), Stream(STREAM_CLOSED)),
        case(section, "CONTINUATION behind RST_STREAM", reset(trailer.clone()), Connection(PROTOCOL_ERROR)),
        case(section, "RST_STREAM behind RST_STREAM", reset(frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])), Nothing),
        ended("DATA on a closed stream", frame(DATA, END_STREAM, 1, b"test"), Stream(STREAM_CLOSED)),
        ended("HEADERS on a closed stream", get(1), Connection(STREAM_CLOSED)),
        ended("CONTINUATION on a closed stream", trailer, Connection(PROTOCOL_ERROR)),
        ended("WINDOW_UPDATE on a closed stream", frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 100]), Nothing),
        ended("PRIORITY on a closed stream", frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 9]), Nothing),
        ended("RST_STREAM on a closed stream", frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]), Nothing),
    ]
}

fn unknown() -> Vec<H2Case> {
    vec![
        case(
            "9113 §5.4.1",
            "GOAWAY, then SETTINGS",
            [frame(7, 0, 0, &[0; 8]), setting(0x99, 1)].concat(),
            Frame(SETTINGS, 1, &[]),
        ),
        case("9113 §5.5", "SETTINGS that nobody knows", setting(0xff, 1), Frame(SETTINGS, 1, &[])),
        case(
            "9113 §5.5",
            "HEADERS of a stream and a frame of no known type behind",
            [
                headers(END_HEADERS, 1, &list(&GOOD)),
                frame(0x16, END_STREAM, 1, &[0; 8]),
                frame(DATA, END_STREAM, 1, b""),
            ]
            .concat(),
            Answer(200),
        ),
        case(
            "9113 §8.1",
            "a request of nothing but HEADERS",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &list(&GOOD)),
            Answer(200),
        ),
    ]
}

fn numbers() -> Vec<H2Case> {
    let many = |count: u32| {
        (0..count).flat_map(|number| headers(END_HEADERS, 2 * number + 1, &list(&GOOD))).collect()
    };
    let depends = |stream: u32| [&stream.to_be_bytes()[..], &[9]].concat();
    let on_itself = headers(END_HEADERS | END_STREAM | WITH_PRIORITY, 1, &[depends(1), list(&GOOD)].concat());
    vec![
        case("9113 §5.1.1", "a stream with an even number", get(2), Connection(PROTOCOL_ERROR)),
        case(
            "9113 §5.1.1",
            "a stream with a smaller number than before",
            [get(5), get(3)].concat(),
            Connection(PROTOCOL_ERROR),
        ),
        case("9113 §5.1.1", "a gap in the numbers of streams", [get(1), get(9)].concat(), Answer(200)).on(9),
        case("9113 §5.1.2", "one more stream than may be open", many(101), Stream(REFUSED_STREAM)).on(201),
        case("9113 §5.3.1", "HEADERS that depend on themselves", on_itself, Stream(PROTOCOL_ERROR)),
        case(
            "9113 §5.3.1",
            "PRIORITY that depends on itself",
            frame(PRIORITY, 0, 1, &depends(1)),
            Stream(PROTOCOL_ERROR),
        ),
        case(
            "9113 §5.3.2",
            "HEADERS with a priority",
            headers(END_HEADERS | END_STREAM | WITH_PRIORITY, 1, &[depends(0), list(&GOOD)].concat()),
            Answer(200),
        ),
        case(
            "9113 §5.3.2",
            "HEADERS with padding and a priority",
            headers(
                END_HEADERS | END_STREAM | PADDED | WITH_PRIORITY,
                1,
                &[vec![3], depends(0), list(&GOOD), vec![0; 3]].concat(),
            ),
            Answer(200),
        ),
    ]
}
