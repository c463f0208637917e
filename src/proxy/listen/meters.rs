//! What a client sends of heads and bodies of HTTP/1.1, and how long it takes.

use super::line::Line;
use crate::record::ConnectionEvent;
use std::time::{Duration, Instant};

/// How much of a head of HTTP/1.1 has come.
#[derive(Debug, Default)]
pub(super) struct HeadMeter {
    /// How many requests came before it.
    before: u32,
    octets: usize,
}

/// How long a body of HTTP/1.1 has been waited for: only time in which the client was asked for more.
#[derive(Debug, Default)]
pub(super) struct BodyClock {
    /// The request it belongs to.
    request: u32,
    octets: u64,
    waited: Duration,
    waiting: Option<Instant>,
}

impl HeadMeter {
    pub(super) fn came(&mut self, line: &Line, octets: usize) -> Result<(), ConnectionEvent> {
        if self.before != line.requests() {
            *self = Self { before: line.requests(), octets: 0 };
        }
        self.octets = self.octets.saturating_add(octets);
        // The read that completes a head may bring some of what follows. Exactly is the size looked at when the
        // head is complete.
        if self.octets > 2 * line.limits.header_size + 4_096 {
            return Err(ConnectionEvent::HeaderTooLarge);
        }
        Ok(())
    }
}

impl BodyClock {
    fn of_request(&mut self, line: &Line) -> &mut Self {
        if self.request != line.requests() {
            *self = Self { request: line.requests(), ..Self::default() };
        }
        self
    }

    pub(super) fn came(&mut self, line: &Line, octets: usize) {
        let clock = self.of_request(line);
        clock.octets = clock.octets.saturating_add(octets as u64);
        if let Some(since) = clock.waiting.take() {
            clock.waited += since.elapsed();
        }
    }

    /// When the client will have been too slow, if it goes on like this.
    pub(super) fn deadline(&mut self, line: &Line) -> Option<Instant> {
        let clock = self.of_request(line);
        let waiting = *clock.waiting.get_or_insert_with(Instant::now);
        let earned = clock.octets.saturating_mul(1_000).checked_div(line.limits.body_rate)?;
        Some(waiting + (line.body_grace() + Duration::from_millis(earned)).saturating_sub(clock.waited))
    }
}
