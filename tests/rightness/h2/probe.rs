//! One connection of HTTP/2, and what comes of the frames that are sent on it.
//!
//! Whether a frame has an effect is known without waiting for a length of time: a server answers `PING` in its
//! turn, so that two of them, one after the other, come back behind whatever the frame caused.

use crate::support::http2::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, H2Frame, HEADERS, Http2, PING, PREFACE, RST_STREAM, SETTINGS,
    field, frame,
};
use crate::support::tls::Authority;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The stream that is asked last, whether the connection is any good still.
const LAST: u32 = 0x1001;

/// What became of a stream, or of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeOutcome {
    /// The status of an answer.
    Answer(u16),
    /// `RST_STREAM`.
    Reset(u32),
    /// `GOAWAY` with an error.
    Goodbye(u32),
    /// The end of the connection without a word.
    Closed,
    /// Nothing, on a connection that goes on.
    Nothing,
    /// Not even answers to `PING`.
    Silence,
}

/// RFC 9113 §7.
const CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

pub(crate) fn code(number: u32) -> &'static str {
    CODES.get(number as usize).copied().unwrap_or("an unknown code")
}

impl fmt::Display for ProbeOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(status) => write!(out, "{status}"),
            Self::Reset(number) => write!(out, "stream: {}", code(*number)),
            Self::Goodbye(number) => write!(out, "connection: {}", code(*number)),
            Self::Closed => out.write_str("connection: closed"),
            Self::Nothing => out.write_str("ignored"),
            Self::Silence => out.write_str("silence"),
        }
    }
}

/// A connection under observation.
pub(crate) struct H2Probe {
    client: Http2,
    answer: Option<u16>,
    reset: Option<u32>,
    goodbye: Option<u32>,
    is_over: bool,
    seen: Vec<H2Frame>,
}

impl H2Probe {
    /// Connects and says nothing.
    pub(crate) fn silent(authority: &Authority, address: SocketAddr) -> Self {
        let client = Http2::silent(authority, address);
        client.be_patient_for(PATIENCE);
        Self { client, answer: None, reset: None, goodbye: None, is_over: false, seen: Vec::new() }
    }

    /// Connects and says hello. Without a dynamic table for the server's fields, a status is read with ease.
    pub(crate) fn to(authority: &Authority, address: SocketAddr) -> Self {
        let mut probe = Self::silent(authority, address);
        probe.send(&[PREFACE, &frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0])].concat());
        probe
    }

    /// The server may have ended the connection already; that is seen in reading.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _ = self.client.write(bytes);
    }

    /// What came of everything sent so far, on `stream` or for the connection.
    pub(crate) fn came(&mut self, stream: u32, awaits_answer: bool) -> ProbeOutcome {
        self.round(stream, *b"round--1");
        self.round(stream, *b"round--2");
        while awaits_answer && !self.is_settled() {
            let Some(next) = self.next(stream) else { break };
            let _ = next;
        }
        let answer = self.answer.map(ProbeOutcome::Answer);
        let reset = self.reset.map(ProbeOutcome::Reset);
        let goodbye = self.goodbye.map(ProbeOutcome::Goodbye);
        let closed = self.is_over.then_some(ProbeOutcome::Closed);
        let silence = self.client.is_silent().then_some(ProbeOutcome::Silence);
        let ended = goodbye.or(closed);
        let stream = if awaits_answer { answer.or(reset) } else { reset.or(answer) };
        let came = if awaits_answer { stream.or(ended) } else { ended.or(stream) };
        came.or(silence).unwrap_or(ProbeOutcome::Nothing)
    }

    /// Whether another request is answered on this connection.
    pub(crate) fn serves(&mut self) -> bool {
        if self.is_over || self.goodbye.is_some() {
            return false;
        }
        (self.answer, self.reset) = (None, None);
        let parts = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/last")];
        let fields: Vec<u8> = parts.iter().flat_map(|(name, value)| field(name, value)).collect();
        self.send(&frame(HEADERS, END_HEADERS | END_STREAM, LAST, &fields));
        while self.answer.is_none() && self.next(LAST).is_some() {}
        self.answer == Some(200)
    }

    /// Waits for the whole answer on a stream, and forgets it.
    pub(crate) fn finish(&mut self, stream: u32) {
        let is_last = |seen: &H2Frame| {
            seen.stream == stream && (seen.kind == RST_STREAM || seen.flags & END_STREAM != 0)
        };
        while !self.seen.iter().any(is_last) && self.next(stream).is_some() {}
        (self.answer, self.reset) = (None, None);
    }

    /// Whether such a frame has come.
    pub(crate) fn has_seen(&self, kind: u8, flags: u8, payload: &[u8]) -> bool {
        self.seen.iter().any(|seen| (seen.kind, seen.flags, &*seen.payload) == (kind, flags, payload))
    }

    /// The lengths of the `DATA` frames that have come on stream 1, one after the other.
    pub(crate) fn data(&self) -> Vec<usize> {
        let is_data = |seen: &&H2Frame| (seen.kind, seen.stream) == (DATA, 1);
        self.seen.iter().filter(is_data).map(|seen| seen.payload.len()).collect()
    }

    /// Whether the client is asked for its body on stream 1 (`100`).
    pub(crate) fn is_asked(&mut self) -> bool {
        let asks =
            |seen: &H2Frame| (seen.kind, seen.stream) == (HEADERS, 1) && status(&seen.payload) == Some(100);
        while !self.seen.iter().any(asks) && self.answer.is_none() && self.next(1).is_some() {}
        self.seen.iter().any(asks)
    }

    /// The text that has come on stream 1.
    pub(crate) fn text(&self) -> String {
        let is_data = |seen: &&H2Frame| (seen.kind, seen.stream) == (DATA, 1);
        let bytes: Vec<u8> = self.seen.iter().filter(is_data).flat_map(|seen| seen.payload.clone()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn is_settled(&self) -> bool {
        self.answer.is_some() || self.reset.is_some() || self.goodbye.is_some()
    }

    /// One `PING`, and everything that comes before its answer.
    fn round(&mut self, stream: u32, mark: [u8; 8]) {
        self.send(&frame(PING, 0, 0, &mark));
        while let Some(next) = self.next(stream) {
            if next.kind == PING && next.flags & 1 == 1 && next.payload == mark {
                return;
            }
        }
    }

    /// The next frame, noted; none at the end of the connection, or of patience.
    fn next(&mut self, stream: u32) -> Option<H2Frame> {
        if self.is_over || self.client.is_silent() {
            return None;
        }
        let Some(next) = self.client.next() else {
            self.is_over = !self.client.is_silent();
            return None;
        };
        let number = |at: usize| {
            next.payload
                .get(at..at + 4)
                .map(|bytes| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
        };
        match next.kind {
            HEADERS if next.stream == stream => {
                self.answer = self.answer.or_else(|| status(&next.payload).filter(|status| *status >= 200));
            }
            RST_STREAM if next.stream == stream => self.reset = self.reset.or_else(|| number(0)),
            GOAWAY => self.goodbye = self.goodbye.or_else(|| number(4).filter(|code| *code != 0)),
            SETTINGS if next.flags & 1 == 0 => self.send(&frame(SETTINGS, 1, 0, &[])),
            _ => {}
        }
        self.seen.push(next.clone());
        Some(next)
    }
}

/// The status of an answer's head: its first field, from the static table (RFC 7541 appendix A), whole or with
/// a value of three digits.
fn status(head: &[u8]) -> Option<u16> {
    // What a change of the table's size leaves behind (RFC 7541 §6.3).
    let size = head.iter().take_while(|byte| **byte & 0xe0 == 0x20).count();
    match head.get(size..)? {
        [field @ 0x88..=0x8e, ..] => {
            [200, 204, 206, 304, 400, 404, 500].get(usize::from(field - 0x88)).copied()
        }
        [0x08 | 0x18 | 0x48, length, value @ ..] => {
            let text = value.get(..usize::from(length & 0x7f))?;
            if length & 0x80 == 0 { std::str::from_utf8(text).ok()?.parse().ok() } else { digits(text) }
        }
        _ => None,
    }
}

/// Three digits in the code of RFC 7541 appendix B: 0 to 2 take five bits, the others six.
fn digits(bytes: &[u8]) -> Option<u16> {
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| u16::from(byte >> bit & 1)));
    let mut number = 0;
    for _ in 0..3 {
        let five = (0..5).try_fold(0, |code, _| Some(code << 1 | bits.next()?))?;
        number = number * 10 + if five < 3 { five } else { (five << 1 | bits.next()?) - 22 };
    }
    Some(number)
}
