//! RFC 9113 §6 and §7: each type of frame, and error codes.

use super::DemandedOutcome::{Answer, Connection, Data, Frame, Nothing, Stream};
use super::{H2Case, case};
use crate::h2::{GOOD, PADDED, PUSH_PROMISE, get, headers, list, open, setting};
use crate::support::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, PING, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE,
    frame,
};

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;

/// `SETTINGS_INITIAL_WINDOW_SIZE` and the others (RFC 9113 §6.5.2).
const ENABLE_PUSH: u16 = 2;
const WINDOW: u16 = 4;
const FRAME_SIZE: u16 = 5;

/// The largest window (RFC 9113 §6.9.1).
const LARGEST: [u8; 4] = [0x7f, 0xff, 0xff, 0xff];

pub(super) fn cases() -> Vec<H2Case> {
    [data(), heads(), resets(), settings(), pings(), windows(), window_errors(), continuations(), codes()]
        .concat()
}

fn data() -> Vec<H2Case> {
    let section = "9113 §6.1";
    let then = |flags: u8, bytes: &[u8]| [open(), frame(DATA, flags, 1, bytes)].concat();
    vec![
        case(section, "DATA", then(END_STREAM, b"test"), Answer(200)),
        case(
            section,
            "several DATA",
            [then(0, b"te"), frame(DATA, END_STREAM, 1, b"st")].concat(),
            Answer(200),
        ),
        case(section, "DATA with padding", then(END_STREAM | PADDED, b"\x03test\0\0\0"), Answer(200)),
        case(section, "DATA of padding alone", then(END_STREAM | PADDED, b"\x03\0\0\0"), Answer(200)),
        case(section, "DATA on stream 0", frame(DATA, END_STREAM, 0, b"test"), Connection(PROTOCOL_ERROR)),
        case(
            section,
            "DATA with more padding than bytes",
            then(END_STREAM | PADDED, b"\x06test"),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "DATA with as much padding as bytes",
            then(END_STREAM | PADDED, b"\x06test\0"),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "DATA with padding, and no byte that says how much",
            then(END_STREAM | PADDED, b""),
            Connection(FRAME_SIZE_ERROR),
        ),
    ]
}

fn heads() -> Vec<H2Case> {
    let (section, end) = ("9113 §6.2", END_HEADERS | END_STREAM);
    let padded = |padding: u8| headers(end | PADDED, 1, &[vec![padding], list(&GOOD), vec![0; 3]].concat());
    vec![
        case(section, "HEADERS", get(1), Answer(200)),
        case(section, "HEADERS with padding", padded(3), Answer(200)),
        case(section, "HEADERS on stream 0", get(0), Connection(PROTOCOL_ERROR)),
        case(section, "HEADERS with more padding than bytes", padded(255), Connection(PROTOCOL_ERROR)),
        case(
            section,
            "HEADERS too short for their priority",
            headers(end | 32, 1, &[0; 4]),
            Connection(FRAME_SIZE_ERROR),
        ),
        case(
            "9113 §6.3",
            "PRIORITY on stream 0",
            frame(PRIORITY, 0, 0, &[0, 0, 0, 0, 9]),
            Connection(PROTOCOL_ERROR),
        ),
        case("9113 §6.3", "PRIORITY of 4 bytes", frame(PRIORITY, 0, 1, &[0; 4]), Stream(FRAME_SIZE_ERROR)),
        case(
            "9113 §6.3",
            "PRIORITY of the least weight",
            frame(PRIORITY, 0, 1, &[0x80, 0, 0, 3, 0]),
            Nothing,
        ),
        case(
            "9113 §6.6",
            "PUSH_PROMISE by a client",
            frame(PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2][..], &list(&GOOD)].concat()),
            Connection(PROTOCOL_ERROR),
        ),
    ]
}

fn resets() -> Vec<H2Case> {
    let section = "9113 §6.4";
    vec![
        case(section, "RST_STREAM", [open(), frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])].concat(), Nothing),
        case(
            section,
            "RST_STREAM on stream 0",
            frame(RST_STREAM, 0, 0, &[0, 0, 0, 8]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "RST_STREAM of 3 bytes",
            [open(), frame(RST_STREAM, 0, 1, &[0; 3])].concat(),
            Connection(FRAME_SIZE_ERROR),
        ),
        case(
            section,
            "RST_STREAM of 5 bytes",
            [open(), frame(RST_STREAM, 0, 1, &[0; 5])].concat(),
            Connection(FRAME_SIZE_ERROR),
        ),
    ]
}

fn settings() -> Vec<H2Case> {
    let values = "9113 §6.5.2";
    vec![
        case("9113 §6.5", "SETTINGS", frame(SETTINGS, 0, 0, &[]), Frame(SETTINGS, 1, &[])),
        case(
            "9113 §6.5",
            "SETTINGS with ACK and a payload",
            frame(SETTINGS, 1, 0, &[0; 6]),
            Connection(FRAME_SIZE_ERROR),
        ),
        case("9113 §6.5", "SETTINGS on a stream", frame(SETTINGS, 0, 1, &[]), Connection(PROTOCOL_ERROR)),
        case(
            "9113 §6.5",
            "SETTINGS of 3 bytes",
            frame(SETTINGS, 0, 0, &[0; 3]),
            Connection(FRAME_SIZE_ERROR),
        ),
        case(values, "SETTINGS_ENABLE_PUSH of 2", setting(ENABLE_PUSH, 2), Connection(PROTOCOL_ERROR)),
        case(
            values,
            "SETTINGS_INITIAL_WINDOW_SIZE beyond the largest",
            setting(WINDOW, 0x8000_0000),
            Connection(FLOW_CONTROL_ERROR),
        ),
        case(
            values,
            "SETTINGS_MAX_FRAME_SIZE below the least",
            setting(FRAME_SIZE, 16_383),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            values,
            "SETTINGS_MAX_FRAME_SIZE beyond the largest",
            setting(FRAME_SIZE, 0x0100_0000),
            Connection(PROTOCOL_ERROR),
        ),
        case(values, "SETTINGS of no known kind", setting(0x99, 7), Frame(SETTINGS, 1, &[])),
        case(
            "9113 §6.5.3",
            "one setting twice, the last counts",
            [frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 100, 0, 4, 0, 0, 0, 1]), get(1)].concat(),
            Data(&[1]),
        ),
    ]
}

fn pings() -> Vec<H2Case> {
    let section = "9113 §6.7";
    vec![
        case(section, "PING", frame(PING, 0, 0, b"h2probes"), Frame(PING, 1, b"h2probes")),
        case(section, "PING with ACK", frame(PING, 1, 0, b"h2probes"), Nothing),
        case(section, "PING on a stream", frame(PING, 0, 1, &[0; 8]), Connection(PROTOCOL_ERROR)),
        case(section, "PING of 6 bytes", frame(PING, 0, 0, &[0; 6]), Connection(FRAME_SIZE_ERROR)),
        case("9113 §6.8", "GOAWAY on a stream", frame(GOAWAY, 0, 1, &[0; 8]), Connection(PROTOCOL_ERROR)),
        case("9113 §6.8", "GOAWAY of 7 bytes", frame(GOAWAY, 0, 0, &[0; 7]), Connection(FRAME_SIZE_ERROR)),
    ]
}

fn windows() -> Vec<H2Case> {
    let update = |stream, value: [u8; 4]| frame(WINDOW_UPDATE, 0, stream, &value);
    let one = [0, 0, 0, 1];
    vec![
        case("9113 §6.9", "a window of 0", [setting(WINDOW, 0), get(1)].concat(), Data(&[])),
        case("9113 §6.9.1", "a window of 1", [setting(WINDOW, 1), get(1)].concat(), Data(&[1])),
        case(
            "9113 §6.9.1",
            "a window of 0, then WINDOW_UPDATE of 1",
            [setting(WINDOW, 0), get(1), update(1, one)].concat(),
            Data(&[1]),
        ),
        case(
            "9113 §6.9.1",
            "a window of 0, then WINDOW_UPDATE of the connection",
            [setting(WINDOW, 0), get(1), update(0, one)].concat(),
            Data(&[]),
        ),
        case(
            "9113 §6.9.2",
            "a window of 0, then SETTINGS of 3",
            [setting(WINDOW, 0), get(1), setting(WINDOW, 3)].concat(),
            Data(&[3]),
        ),
        case(
            "9113 §6.9.2",
            "a window of 3, below 0 by SETTINGS, and up by 2",
            [setting(WINDOW, 3), get(1), setting(WINDOW, 0), update(1, [0, 0, 0, 2]), setting(WINDOW, 3)]
                .concat(),
            Data(&[5]),
        ),
        case("9113 §6.9", "WINDOW_UPDATE of the connection", update(0, one), Nothing),
        case(
            "9113 §6.9",
            "WINDOW_UPDATE of a stream",
            [open(), update(1, one), frame(DATA, END_STREAM, 1, b"test")].concat(),
            Answer(200),
        ),
    ]
}

fn window_errors() -> Vec<H2Case> {
    let update = |stream, value: [u8; 4]| frame(WINDOW_UPDATE, 0, stream, &value);
    vec![
        case(
            "9113 §6.9",
            "WINDOW_UPDATE of 0 of the connection",
            update(0, [0; 4]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            "9113 §6.9",
            "WINDOW_UPDATE of 0 of a stream",
            [open(), update(1, [0; 4])].concat(),
            Stream(PROTOCOL_ERROR),
        ),
        case(
            "9113 §6.9",
            "WINDOW_UPDATE of 3 bytes",
            frame(WINDOW_UPDATE, 0, 0, &[0; 3]),
            Connection(FRAME_SIZE_ERROR),
        ),
        case(
            "9113 §6.9.1",
            "a window of the connection beyond the largest",
            [update(0, LARGEST), update(0, LARGEST)].concat(),
            Connection(FLOW_CONTROL_ERROR),
        ),
        case(
            "9113 §6.9.1",
            "a window of a stream beyond the largest",
            [open(), update(1, LARGEST), update(1, LARGEST)].concat(),
            Stream(FLOW_CONTROL_ERROR),
        ),
        case(
            "9113 §6.9.2",
            "windows beyond the largest by SETTINGS",
            [open(), update(1, [0x7f, 0, 0, 0]), setting(WINDOW, 0x7fff_ffff)].concat(),
            Connection(FLOW_CONTROL_ERROR),
        ),
    ]
}

fn continuations() -> Vec<H2Case> {
    let section = "9113 §6.10";
    let cut = |more: &[Vec<u8>]| [headers(END_STREAM, 1, &list(&GOOD)), more.concat()].concat();
    let more = |flags, stream, name: &str| frame(CONTINUATION, flags, stream, &list(&[(name, "y")]));
    vec![
        case(
            section,
            "several CONTINUATION",
            cut(&[more(0, 1, "x"), more(0, 1, "y"), more(END_HEADERS, 1, "z")]),
            Answer(200),
        ),
        case(section, "an empty CONTINUATION", cut(&[frame(CONTINUATION, END_HEADERS, 1, &[])]), Answer(200)),
        case(
            section,
            "CONTINUATION, then DATA",
            cut(&[more(0, 1, "x"), frame(DATA, 0, 1, b"test")]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "CONTINUATION on stream 0",
            cut(&[more(END_HEADERS, 0, "x")]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "CONTINUATION on another stream",
            cut(&[more(END_HEADERS, 3, "x")]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "CONTINUATION behind the end of HEADERS",
            [open(), more(END_HEADERS, 1, "x")].concat(),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "CONTINUATION behind the end of CONTINUATION",
            cut(&[more(END_HEADERS, 1, "x"), more(END_HEADERS, 1, "y")]),
            Connection(PROTOCOL_ERROR),
        ),
        case(
            section,
            "CONTINUATION behind DATA",
            [open(), frame(DATA, 0, 1, b"test"), more(END_HEADERS, 1, "x")].concat(),
            Connection(PROTOCOL_ERROR),
        ),
    ]
}

fn codes() -> Vec<H2Case> {
    let section = "9113 §7";
    vec![
        case(
            section,
            "RST_STREAM with a code that nobody knows",
            [open(), frame(RST_STREAM, 0, 1, &[0, 0, 0, 0xff])].concat(),
            Nothing,
        ),
        case(
            section,
            "GOAWAY with a code that nobody knows, then PING",
            [frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 0xff]), frame(PING, 0, 0, b"h2probes")].concat(),
            Frame(PING, 1, b"h2probes"),
        ),
    ]
}
