//! HTTP/2 frames as they pass by: how many there are of the kinds that cost the receiver more than the
//! sender.
//!
//! A stream that is opened and cancelled at once has already reached the origin (CVE-2023-44487), and
//! `PING` and `SETTINGS` each demand an answer (RFC 9113 §10.5). The h2 library bounds what it keeps in
//! memory for these; how often they may come is counted here. Only frame heads are read (RFC 9113 §4.1).

use crate::config::Limits;
use std::time::{Duration, Instant};

/// The connection preface of a client (RFC 9113 §3.4).
const PREFACE: usize = 24;

/// The head of a frame.
const HEAD: usize = 9;

/// Over how long frames are counted.
const WINDOW: Duration = Duration::from_secs(10);

/// Frame types (RFC 9113 §6).
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

/// Reads along, and counts.
#[derive(Debug)]
pub(super) struct FrameMeter {
    /// Octets of the preface or of a frame's payload that are still to come.
    skip: usize,
    head: [u8; HEAD],
    /// How much of a head has come.
    have: usize,
    window: Instant,
    resets: u32,
    control: u32,
    most_resets: u32,
    most_control: u32,
}

impl FrameMeter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            skip: PREFACE,
            head: [0; HEAD],
            have: 0,
            window: Instant::now(),
            resets: 0,
            control: 0,
            most_resets: limits.h2_resets,
            most_control: limits.h2_control_frames,
        }
    }

    /// Reads `octets` along; `false` once there were too many.
    pub(super) fn read(&mut self, mut octets: &[u8]) -> bool {
        loop {
            let skipped = self.skip.min(octets.len());
            self.skip -= skipped;
            octets = octets.get(skipped..).unwrap_or_default();
            if octets.is_empty() {
                return self.is_within_bounds();
            }
            let taken = (HEAD - self.have).min(octets.len());
            let (part, rest) = octets.split_at(taken);
            if let Some(place) = self.head.get_mut(self.have..self.have + taken) {
                place.copy_from_slice(part);
            }
            self.have += taken;
            octets = rest;
            if self.have == HEAD {
                self.have = 0;
                let [high, middle, low, kind, ..] = self.head;
                self.skip = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.count(kind);
            }
        }
    }

    fn count(&mut self, kind: u8) {
        match kind {
            RST_STREAM => self.resets += 1,
            PRIORITY | SETTINGS | PING => self.control += 1,
            _ => {}
        }
    }

    fn is_within_bounds(&mut self) -> bool {
        let is_within = self.resets <= self.most_resets && self.control <= self.most_control;
        // The clock is asked only where there is something to forget.
        if is_within && self.resets + self.control > 0 && self.window.elapsed() > WINDOW {
            self.window = Instant::now();
            (self.resets, self.control) = (0, 0);
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
        FrameMeter::new(&Limits { h2_resets: resets, h2_control_frames: control, ..limits })
    }

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, 0, 0, 0, 0, 1], payload].concat()
    }

    #[test]
    fn frames_are_counted_however_they_are_cut() {
        let octets =
            [&[b'P'; PREFACE][..], &frame(SETTINGS, &[0; 6]), &frame(0, &[3; 300]), &frame(PING, &[3; 8])]
                .concat();
        for size in 1..40 {
            let mut meter = meter(1, 2);
            assert!(octets.chunks(size).all(|piece| meter.read(piece)), "{size}");
            assert_eq!((meter.control, meter.resets), (2, 0), "{size}");
            assert!(meter.read(&frame(RST_STREAM, &[0; 4])));
            assert!(!meter.read(&frame(RST_STREAM, &[0; 4])), "{size}");
        }
    }

    #[test]
    fn what_downloads_need_is_not_counted() {
        let mut meter = meter(1, 1);
        assert!(meter.read(&[0; PREFACE]));
        assert!((0..1000).all(|_| meter.read(&frame(8, &[0; 4]))), "WINDOW_UPDATE");
        assert!((0..1000).all(|_| meter.read(&frame(0, &[0; 100]))), "DATA");
    }
}
