//! HTTP/2 frames as they pass by, to and fro: how many there are of the kinds that cost the receiver more than
//! the sender, and what the gateway finds wrong with a client.
//!
//! A stream that is opened and cancelled at once has already reached the origin (CVE-2023-44487), and
//! `PING` and `SETTINGS` each demand an answer (RFC 9113 §10.5). The h2 library bounds what it keeps in
//! memory for these; how often they may come is counted here. Only frame heads are read (RFC 9113 §4.1), and the
//! reasons why streams and connections are ended.

use crate::config::ConnectionLimits;
use crate::record::ConnectionEvent;
use std::time::{Duration, Instant};

/// The connection preface of a client (RFC 9113 §3.4).
pub(super) const PREFACE: usize = 24;

/// The head of a frame.
pub(super) const HEAD: usize = 9;

/// The head of a frame, and as much of its payload as has a reason in it.
const BEGINNING: usize = HEAD + 8;

/// Over how long frames are counted.
const WINDOW: Duration = Duration::from_secs(10);

/// Frame types (RFC 9113 §6).
const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;

/// The last frame of its sender on a stream (RFC 9113 §6.1, §6.2).
const END_STREAM: u8 = 1;

/// How many bytes of frames that carry nothing a client may send within [`WINDOW`] at no charge: some 80,000
/// `WINDOW_UPDATE`.
const IDLE_BYTES: u64 = 1 << 20;

/// How many more of those for each byte that is carried. Two `WINDOW_UPDATE` are 26 bytes, and a client may
/// send them for every `DATA` frame that it gets, which are 10 at least.
const IDLE_PER_BYTE: u64 = 8;

/// The head of a frame (RFC 9113 §4.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHead {
    /// Bytes of its payload.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    /// That at the beginning of `bytes`, if it is whole.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let [high, middle, low, kind, flags, stream @ ..] = *bytes.first_chunk::<HEAD>()?;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        Some(Self { length, kind, flags, stream: u32::from_be_bytes(stream) & (u32::MAX >> 1) })
    }
}

/// Finds frames in a stream of bytes, however it is cut.
#[derive(Debug)]
struct Frames {
    /// Bytes of the preface or of a frame's payload that are still to come.
    skip: usize,
    beginning: [u8; BEGINNING],
    /// How much of a beginning has come, and how much is waited for.
    have: usize,
    want: usize,
}

/// One frame.
#[derive(Clone, Copy, Debug)]
struct SeenFrame {
    head: FrameHead,
    /// Why a stream or the connection is ended (RFC 9113 §7).
    reason: Option<u32>,
}

impl Frames {
    const fn behind(preface: usize) -> Self {
        Self { skip: preface, beginning: [0; BEGINNING], have: 0, want: HEAD }
    }

    /// Reads `bytes` along.
    fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(SeenFrame)) {
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            if bytes.is_empty() {
                return;
            }
            let taken = (self.want - self.have).min(bytes.len());
            let (part, rest) = bytes.split_at(taken);
            if let Some(place) = self.beginning.get_mut(self.have..self.have + taken) {
                place.copy_from_slice(part);
            }
            self.have += taken;
            bytes = rest;
            if self.have == self.want {
                self.begun(&mut each);
            }
        }
    }

    /// All that was waited for is here.
    fn begun(&mut self, each: &mut impl FnMut(SeenFrame)) {
        let Some(head) = FrameHead::of(&self.beginning) else { return };
        let reason_at = match head.kind {
            RST_STREAM if head.length >= 4 => Some(HEAD),
            GOAWAY if head.length >= 8 => Some(HEAD + 4),
            _ => None,
        };
        if let Some(at) = reason_at.filter(|_| self.want == HEAD) {
            self.want = at + 4;
            return;
        }
        let reason = reason_at.and_then(|at| self.beginning.get(at..)?.first_chunk().copied());
        self.skip = head.length + HEAD - self.want;
        (self.have, self.want) = (0, HEAD);
        each(SeenFrame { head, reason: reason.map(u32::from_be_bytes) });
    }
}

/// Reads along what a client sends, and counts.
#[derive(Debug)]
pub(super) struct FrameMeter {
    frames: Frames,
    window: Instant,
    resets: u32,
    control: u32,
    /// Bytes in this window of frames that carry nothing, and of what was carried, to and fro.
    idle: u64,
    carried: u64,
    most_resets: u32,
    most_control: u32,
    written: Frames,
}

impl FrameMeter {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        Self {
            frames: Frames::behind(PREFACE),
            window: Instant::now(),
            resets: 0,
            control: 0,
            idle: 0,
            carried: 0,
            most_resets: limits.h2_resets,
            most_control: limits.h2_control_frames,
            written: Frames::behind(0),
        }
    }

    /// Reads `bytes` of the client along, and says which streams it cancels; `false` once there were too many frames that
    /// do nothing.
    pub(super) fn read(&mut self, bytes: &[u8], mut cancelled: impl FnMut(u32)) -> bool {
        let Self { frames, resets, control, idle, carried, .. } = self;
        frames.read(bytes, |seen| {
            *idle += HEAD as u64;
            match seen.head.kind {
                DATA | HEADERS | CONTINUATION => *carried += seen.head.length as u64,
                _ => *idle += seen.head.length as u64,
            }
            match seen.head.kind {
                RST_STREAM => {
                    *resets += 1;
                    cancelled(seen.head.stream);
                }
                PRIORITY | SETTINGS | PING => *control += 1,
                _ => {}
            }
        });
        self.is_within_bounds()
    }

    /// Reads `bytes` of the gateway along, and says what it has found wrong, and which streams it has ended, or reset.
    pub(super) fn wrote(
        &mut self,
        bytes: &[u8],
        mut found: impl FnMut(ConnectionEvent),
        mut ended: impl FnMut(u32, bool),
    ) {
        self.carried += bytes.len() as u64;
        self.written.read(bytes, |seen| {
            let is_reset = seen.head.kind == RST_STREAM;
            if is_reset || matches!(seen.head.kind, DATA | HEADERS) && seen.head.flags & END_STREAM != 0 {
                ended(seen.head.stream, is_reset);
            }
            match seen.reason {
                // PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, COMPRESSION_ERROR.
                Some(1 | 3 | 5 | 6 | 9) => found(ConnectionEvent::H2Error),
                // ENHANCE_YOUR_CALM.
                Some(11) => found(ConnectionEvent::H2Flood),
                _ => {}
            }
        });
    }

    fn is_within_bounds(&mut self) -> bool {
        let is_within = self.resets <= self.most_resets
            && self.control <= self.most_control
            && self.idle <= IDLE_BYTES + IDLE_PER_BYTE * self.carried;
        // The clock is asked only where there is something to forget.
        let is_counting = self.resets + self.control > 0 || self.idle > IDLE_BYTES / 2;
        if is_within && is_counting && self.window.elapsed() > WINDOW {
            self.window = Instant::now();
            (self.resets, self.control, self.idle, self.carried) = (0, 0, 0, 0);
        }
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};

    fn meter(resets: u32, control: u32) -> FrameMeter {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let limits = Config::load(&arguments).unwrap().limits;
        let mut meter =
            FrameMeter::new(&ConnectionLimits { h2_resets: resets, h2_control_frames: control, ..limits });
        // However slow the machine: all that a test sends comes within one window.
        meter.window += Duration::from_secs(3_600);
        meter
    }

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 1], payload].concat()
    }

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let bytes =
            [&[b'P'; PREFACE][..], &frame(SETTINGS, &[0; 6]), &frame(0, &[3; 300]), &frame(PING, &[3; 8])]
                .concat();
        for size in 1..40 {
            let mut meter = meter(1, 2);
            assert!(bytes.chunks(size).all(|piece| meter.read(piece, |_| {})), "{size}");
            assert_eq!((meter.control, meter.resets), (2, 0), "{size}");
            assert!(meter.read(&frame(RST_STREAM, &[0; 4]), |_| {}));
            assert!(!meter.read(&frame(RST_STREAM, &[0; 4]), |_| {}), "{size}");
        }
    }

    #[test]
    fn what_downloads_need_is_no_flood() {
        let mut meter = meter(1, 1);
        assert!(meter.read(&[0; PREFACE], |_| {}));
        for _ in 0..100_000 {
            meter.wrote(&frame(DATA, &[0]), |event| panic!("{event:?}"), |_, _| {});
            assert!((0..2).all(|_| meter.read(&frame(8, &[0; 4]), |_| {})), "WINDOW_UPDATE");
        }
        assert!((0..1000).all(|_| meter.read(&frame(DATA, &[0; 100]), |_| {})), "DATA");
    }

    #[test]
    fn frames_that_carry_nothing_are_bounded_whatever_they_are() {
        for (kind, payload) in [(8, &[0; 4][..]), (DATA, b""), (CONTINUATION, b""), (0xfa, &[0; 16_000])] {
            let mut meter = meter(1, 1);
            assert!(meter.read(&[0; PREFACE], |_| {}));
            let sent = (0..1_000_000).take_while(|_| meter.read(&frame(kind, payload), |_| {})).count();
            assert!((50..200_000).contains(&sent), "{kind}: {sent}");
        }
    }

    #[test]
    fn what_the_gateway_finds_wrong_is_told_however_it_is_cut() {
        let bytes = [
            frame(SETTINGS, &[0; 18]),
            frame(RST_STREAM, &[0, 0, 0, 1]),
            frame(DATA, &[1; 50]),
            frame(RST_STREAM, &[0, 0, 0, 7]),
            frame(GOAWAY, &[0, 0, 0, 1, 0, 0, 0, 0]),
            frame(GOAWAY, &[&[0, 0, 0, 1, 0, 0, 0, 11][..], b"calm"].concat()),
            frame(RST_STREAM, &[0, 0, 0, 5]),
        ]
        .concat();
        for size in 1..40 {
            let (mut meter, mut found) = (meter(1, 1), Vec::new());
            for piece in bytes.chunks(size) {
                meter.wrote(piece, |event| found.push(event), |_, _| {});
            }
            let expected = [ConnectionEvent::H2Error, ConnectionEvent::H2Flood, ConnectionEvent::H2Error];
            assert_eq!(found, expected, "{size}");
        }
    }
}
