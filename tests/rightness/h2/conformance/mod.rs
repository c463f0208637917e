//! RFC 9113 and RFC 7541 case by case, in place of a program that asks such questions: what is sent, what the
//! section asks for, and what came.
//!
//! A case passes when what came is what was asked. Whatever else came has to stand in [`EXPLAINED`], with its reason,
//! and in `docs/conformance.md`.

mod frames;
mod messages;
mod streams;

use super::hostile::site;
use super::probe::{H2Probe, ProbeOutcome, code};
use crate::conformance::{Explained, Outcome, tell};
use crate::keeper::Keeper;
use crate::support::tls::{Authority, tls_address};
use std::fmt;
use std::net::SocketAddr;

/// What a section asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum DemandedOutcome {
    /// An answer with this status.
    Answer(u16),
    /// A stream error: `RST_STREAM`, or the same as an error of the connection (RFC 9113 §5.4).
    Stream(u32),
    /// An error of the connection.
    Connection(u32),
    /// The treatment of malformed requests: a stream error, or an answer with 400 (RFC 9113 §8.1.1).
    Malformed,
    /// That nothing comes of it.
    Nothing,
    /// A frame of this type, with these flags and this payload.
    Frame(u8, u8, &'static [u8]),
    /// `DATA` frames of these lengths so far.
    Data(&'static [usize]),
}

impl fmt::Display for DemandedOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(status) => write!(out, "{status}"),
            Self::Stream(number) => write!(out, "stream: {}", code(*number)),
            Self::Connection(number) => write!(out, "connection: {}", code(*number)),
            Self::Malformed => out.write_str("malformed"),
            Self::Nothing => out.write_str("ignored"),
            Self::Frame(kind, flags, payload) => {
                write!(out, "frame {kind}, flags {flags}, {} bytes", payload.len())
            }
            Self::Data(lengths) => write!(out, "DATA {lengths:?}"),
        }
    }
}

/// One case.
#[derive(Clone, Debug)]
pub(super) struct H2Case {
    section: &'static str,
    sent: &'static str,
    /// Frames before, whose stream 1 is answered before the rest follows.
    before: Vec<u8>,
    bytes: Vec<u8>,
    stream: u32,
    asked: DemandedOutcome,
    is_silent: bool,
}

pub(super) fn case(
    section: &'static str,
    sent: &'static str,
    bytes: Vec<u8>,
    asked: DemandedOutcome,
) -> H2Case {
    H2Case { section, sent, before: Vec::new(), bytes, stream: 1, asked, is_silent: false }
}

impl H2Case {
    /// Behind frames whose stream 1 is answered first.
    fn behind(self, before: Vec<u8>) -> Self {
        Self { before, ..self }
    }

    /// About another stream.
    fn on(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// In place of the hello.
    fn first(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// What came, in words, and whether it is what was asked.
    fn probe(&self, authority: &Authority, address: SocketAddr) -> (String, bool) {
        let mut probe = if self.is_silent {
            H2Probe::silent(authority, address)
        } else {
            H2Probe::to(authority, address)
        };
        if !self.before.is_empty() {
            probe.send(&self.before);
            probe.finish(1);
        }
        probe.send(&self.bytes);
        let awaits_answer = matches!(self.asked, DemandedOutcome::Answer(_) | DemandedOutcome::Malformed);
        let came = probe.came(self.stream, awaits_answer);
        let (mut words, mut is_right) = (came.to_string(), self.is_met_by(came));
        match self.asked {
            DemandedOutcome::Frame(kind, flags, payload) => {
                is_right = probe.has_seen(kind, flags, payload);
                words = if is_right { self.asked.to_string() } else { words };
            }
            DemandedOutcome::Data(lengths) => {
                // The answer's head comes without a window; what may follow it has followed within some rounds.
                probe.came(1, true);
                let _ = (0..100).find(|_| {
                    probe.came(1, false);
                    !lengths.is_empty() && probe.data() == lengths
                });
                is_right = probe.data() == lengths;
                words = format!("DATA {:?}", probe.data());
            }
            _ => {}
        }
        let is_over = matches!(came, ProbeOutcome::Goodbye(_) | ProbeOutcome::Closed);
        // All streams that there may be are taken.
        let is_full = came == ProbeOutcome::Reset(7);
        if !is_over && !is_full && !matches!(self.asked, DemandedOutcome::Data(_)) && !probe.serves() {
            (words, is_right) = (format!("{words}; the connection serves no more"), false);
        }
        (words, is_right)
    }

    fn is_met_by(&self, came: ProbeOutcome) -> bool {
        match (self.asked, came) {
            (DemandedOutcome::Answer(asked), ProbeOutcome::Answer(status)) => asked == status,
            // RFC 9113 §3.4: to who speaks another protocol there is no need to speak.
            (DemandedOutcome::Connection(_), ProbeOutcome::Closed) => self.is_silent,
            (DemandedOutcome::Stream(asked), ProbeOutcome::Reset(code) | ProbeOutcome::Goodbye(code))
            | (DemandedOutcome::Connection(asked), ProbeOutcome::Goodbye(code)) => asked == code,
            (DemandedOutcome::Malformed, ProbeOutcome::Reset(code) | ProbeOutcome::Goodbye(code)) => {
                code == 1
            }
            (DemandedOutcome::Malformed, ProbeOutcome::Answer(400))
            | (DemandedOutcome::Nothing, ProbeOutcome::Nothing | ProbeOutcome::Answer(200)) => true,
            _ => false,
        }
    }
}

const EARLY: &str =
    "the HTTP/2 library takes `SETTINGS` when they come; nothing is served on what it does not know";
const GENERAL: &str =
    "the HTTP/2 library ends the connection, as it must, under the general name of the error";
const CLOSED: &str =
    "the HTTP/2 library ends the connection where the stream would do, under the general name";
const TRAILER: &str =
    "the HTTP/2 library takes it for a trailer; the gateway passes no trailers on, so nobody reads it";

const BLANKS: &str =
    "blanks mean nothing there and are left out, as in HTTP/1.1: some people's browsers send them";

/// What is not as asked, and why.
const EXPLAINED: &[Explained] = &[
    ("9113 §3.4", "preface and another frame than SETTINGS", "ignored", EARLY),
    ("9113 §4.3", "a block that is no HPACK", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.1", "DATA with padding, and no byte that says how much", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.2", "HEADERS too short for their priority", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.3", "PRIORITY of 4 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.4", "RST_STREAM of 3 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.4", "RST_STREAM of 5 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.5", "SETTINGS with ACK and a payload", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.5", "SETTINGS of 3 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE beyond the largest", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.7", "PING of 6 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.8", "GOAWAY of 7 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §6.9", "WINDOW_UPDATE of 3 bytes", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §2.3.3", "an entry that no table has", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §6.1", "entry 0", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §4.2", "a change of the table's size behind a field", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §6.3", "a table larger than was offered", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §5.1", "a number without end", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §5.2", "a text that ends before its length", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §5.2", "more than seven bits of padding", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §5.2", "padding of zeros", "connection: PROTOCOL_ERROR", GENERAL),
    ("7541 §5.2", "the end of texts in a text", "connection: PROTOCOL_ERROR", GENERAL),
    ("9113 §5.1", "DATA on a half-closed stream", "connection: PROTOCOL_ERROR", CLOSED),
    ("9113 §5.1", "HEADERS on a half-closed stream", "connection: PROTOCOL_ERROR", CLOSED),
    ("9113 §5.1", "HEADERS behind RST_STREAM", "connection: PROTOCOL_ERROR", CLOSED),
    ("9113 §5.1", "HEADERS on a closed stream", "connection: PROTOCOL_ERROR", CLOSED),
    ("9113 §8.1", "a pseudo-header in a trailer", "200", TRAILER),
    ("9113 §8.2.1", "a value with a space before it", "200", BLANKS),
];

#[test]
fn every_case_is_as_asked_or_explained() {
    let (authority, origin) = (Authority::new(), Keeper::start());
    let gateway = site(&authority, &origin.url()).start();
    let cases = [streams::cases(), frames::cases(), messages::cases()].concat();
    let outcomes = cases.iter().map(|case| {
        let (came, is_right) = case.probe(&authority, tls_address(&gateway));
        Outcome { section: case.section, sent: case.sent, asked: case.asked.to_string(), came, is_right }
    });
    tell("HTTP/2", &outcomes.collect::<Vec<_>>(), EXPLAINED, 80);
}
