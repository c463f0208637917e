//! HTTP/2 frames as they pass by, to and fro: how many there are of the kinds that cost the receiver more than
//! the sender, and what the gateway finds wrong with a client.
//!
//! A stream that is opened and cancelled at once has already reached the origin (CVE-2023-44487), and
//! `PING` and `SETTINGS` each demand an answer (RFC 9113 §10.5). The h2 library bounds what it keeps in
//! memory for these; how often they may come is counted here. Only frame heads are read (RFC 9113 §4.1), and the
//! reasons why streams and connections are ended.

use crate::config::ConnectionLimits;
use std::time::{Duration, Instant};

/// The connection preface of a client (RFC 9113 §3.4).
pub(super) const PREFACE: usize = 24;

/// The head of a frame.
pub(super) const HEAD: usize = 9;

/// Over how long frames are counted.
const WINDOW: Duration = Duration::from_secs(10);

/// Frame types (RFC 9113 §6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;

/// The last frame of its sender on a stream (RFC 9113 §6.1, §6.2).
pub(super) const END_STREAM: u8 = 1;

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

    /// Writes the head.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        let [.., high, middle, low] = self.length.to_be_bytes();
        out.extend([high, middle, low, self.kind, self.flags]);
        out.extend(self.stream.to_be_bytes());
    }

    /// How much of the frame is read: where it ends a stream or the connection, as much as has the reason in it.
    const fn beginning(self) -> usize {
        match self.kind {
            RST_STREAM => HEAD + 4,
            GOAWAY => HEAD + 8,
            _ => HEAD,
        }
    }
}

/// Finds the frames that the gateway writes, however they are cut.
#[derive(Debug, Default)]
pub(super) struct WrittenFrames {
    /// Bytes of a payload that are still to come.
    skip: usize,
    /// A beginning that is not whole.
    begun: Vec<u8>,
}

impl WrittenFrames {
    /// Reads `bytes` along: each frame, and why it ends a stream or the connection, if it does (RFC 9113 §7).
    pub(super) fn read(&mut self, mut bytes: &[u8], mut each: impl FnMut(FrameHead, Option<u32>)) {
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            if bytes.is_empty() {
                return;
            }
            let wanted = FrameHead::of(&self.begun).map_or(HEAD, FrameHead::beginning);
            let (part, rest) = bytes.split_at(bytes.len().min(wanted - self.begun.len()));
            self.begun.extend_from_slice(part);
            bytes = rest;
            let head = FrameHead::of(&self.begun);
            if let Some(head) = head.filter(|head| head.beginning() == self.begun.len()) {
                let reason = self.begun.get(HEAD..).and_then(|reason| reason.last_chunk());
                each(head, reason.map(|reason| u32::from_be_bytes(*reason)));
                self.skip = (HEAD + head.length).saturating_sub(self.begun.len());
                self.begun.clear();
            }
        }
    }
}

/// Counts what a client sends, and what is carried to and fro.
#[derive(Debug, Default)]
pub(super) struct FrameMeter {
    /// Since when it is counted.
    since: Option<Instant>,
    resets: u32,
    control: u32,
    /// Bytes of frames that carry nothing, and of what was carried.
    idle: u64,
    pub(super) carried: u64,
}

impl FrameMeter {
    /// Counts a frame of the client.
    pub(super) fn note(&mut self, head: FrameHead) {
        let is_carried = matches!(head.kind, DATA | HEADERS | CONTINUATION);
        *if is_carried { &mut self.carried } else { &mut self.idle } += head.length as u64;
        self.idle += HEAD as u64;
        match head.kind {
            RST_STREAM => self.resets += 1,
            PRIORITY | SETTINGS | PING => self.control += 1,
            _ => {}
        }
    }

    /// Whether there were no more frames that do nothing than there may be.
    pub(super) fn is_within_bounds(&mut self, limits: &ConnectionLimits) -> bool {
        let is_within = self.resets <= limits.h2_resets
            && self.control <= limits.h2_control_frames
            && self.idle <= IDLE_BYTES + IDLE_PER_BYTE * self.carried;
        // The clock is asked only where there is something to forget.
        let is_counting = self.resets + self.control > 0 || self.idle > IDLE_BYTES / 2;
        if is_within && is_counting && self.since.get_or_insert_with(Instant::now).elapsed() > WINDOW {
            *self = Self::default();
        }
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};

    fn limits(resets: u32, control: u32) -> ConnectionLimits {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let limits = Config::load(&arguments).unwrap().limits;
        ConnectionLimits { h2_resets: resets, h2_control_frames: control, ..limits }
    }

    /// However slow the machine: all that a test counts comes within one window.
    fn meter() -> FrameMeter {
        FrameMeter { since: Some(Instant::now() + Duration::from_secs(3_600)), ..FrameMeter::default() }
    }

    fn head(kind: u8, length: usize) -> FrameHead {
        FrameHead { length, kind, flags: 0, stream: 1 }
    }

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        head(kind, payload.len()).put(&mut frame);
        [&frame, payload].concat()
    }

    #[test]
    fn resets_and_control_frames_are_bounded() {
        let (limits, mut meter) = (limits(1, 2), meter());
        for kind in [SETTINGS, PING, RST_STREAM] {
            meter.note(head(kind, 8));
            assert!(meter.is_within_bounds(&limits), "{kind}");
        }
        meter.note(head(RST_STREAM, 4));
        assert!(!meter.is_within_bounds(&limits));
        meter.resets = 0;
        assert!(meter.is_within_bounds(&limits));
        meter.note(head(PING, 8));
        assert!(!meter.is_within_bounds(&limits));
    }

    #[test]
    fn what_was_counted_long_ago_is_forgotten() {
        let (limits, mut meter) = (limits(1, 1), FrameMeter::default());
        meter.note(head(PING, 8));
        assert!(meter.is_within_bounds(&limits));
        meter.since = meter.since.and_then(|since| since.checked_sub(2 * WINDOW));
        assert!(meter.is_within_bounds(&limits) && meter.control == 0);
    }

    #[test]
    fn what_downloads_need_is_no_flood() {
        let (limits, mut meter) = (limits(1, 1), meter());
        for _ in 0..100_000 {
            meter.carried += 10;
            (0..2).for_each(|_| meter.note(head(8, 4)));
            assert!(meter.is_within_bounds(&limits), "WINDOW_UPDATE");
        }
        (0..1000).for_each(|_| meter.note(head(DATA, 100)));
        assert!(meter.is_within_bounds(&limits), "DATA");
    }

    #[test]
    fn frames_that_carry_nothing_are_bounded_whatever_they_are() {
        for (kind, length) in [(8, 4), (DATA, 0), (CONTINUATION, 0), (0xfa, 16_000)] {
            let (limits, mut meter) = (limits(1, 1), meter());
            let mut is_fine = || {
                meter.note(head(kind, length));
                meter.is_within_bounds(&limits)
            };
            let sent = (0..1_000_000).take_while(|_| is_fine()).count();
            assert!((50..200_000).contains(&sent), "{kind}: {sent}");
        }
    }

    #[test]
    fn what_is_written_is_read_however_it_is_cut() {
        let bytes = [
            frame(SETTINGS, &[0; 18]),
            frame(RST_STREAM, &[0, 0, 0, 1]),
            frame(DATA, &[1; 50]),
            frame(DATA, &[]),
            frame(GOAWAY, &[0, 0, 0, 1, 0, 0, 0, 0]),
            frame(GOAWAY, &[&[0, 0, 0, 1, 0, 0, 0, 11][..], b"calm"].concat()),
            frame(RST_STREAM, &[0, 0, 0, 5]),
        ]
        .concat();
        for size in 1..40 {
            let (mut frames, mut found) = (WrittenFrames::default(), Vec::new());
            for piece in bytes.chunks(size) {
                frames.read(piece, |head, reason| found.push((head.kind, head.length, reason)));
            }
            let expected = [
                (SETTINGS, 18, None),
                (RST_STREAM, 4, Some(1)),
                (DATA, 50, None),
                (DATA, 0, None),
                (GOAWAY, 8, Some(0)),
                (GOAWAY, 12, Some(11)),
                (RST_STREAM, 4, Some(5)),
            ];
            assert_eq!(found, expected, "{size}");
        }
    }
}
