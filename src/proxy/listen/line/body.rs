//! A request's body on its way: how large it may become, and how slowly it may come.

use super::Line;
use crate::record::ConnectionEvent;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// One request's body on its way; dropping it ends the watch.
#[derive(Debug)]
pub(in crate::proxy) struct BodyWatch {
    pub(super) line: Arc<Line>,
    pub(super) number: u32,
    pub(super) start: Instant,
    pub(super) octets: u64,
}

/// Why a body is not taken any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proxy) enum BodyFault {
    /// It is larger than it may be (RFC 9110 §15.5.14).
    TooLarge,
    /// It comes too slowly (RFC 9110 §15.5.9).
    TooSlow,
}

impl BodyWatch {
    /// Notes a piece of the body.
    pub(in crate::proxy) fn piece(&mut self, octets: usize, is_last: bool) -> Result<(), BodyFault> {
        self.octets = self.octets.saturating_add(octets as u64);
        let line = &self.line;
        if line.limits.body_size.is_some_and(|most| self.octets > most) {
            line.count(ConnectionEvent::BodyTooLarge);
            return Err(BodyFault::TooLarge);
        }
        if is_last {
            line.body_ended();
            self.forget();
        } else if line.is_multiplexed && octets > 0 {
            let now = Instant::now();
            if self.is_too_slow(now) {
                line.count(ConnectionEvent::BodyTooSlow);
                return Err(BodyFault::TooSlow);
            }
            let mut bodies = line.bodies.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, last)) = bodies.iter_mut().find(|(number, _)| *number == self.number) {
                *last = now;
            }
        }
        Ok(())
    }

    /// On HTTP/2 the time that the origin took cannot be told from the client's own; it is allowed as much
    /// as the origin may take at once.
    fn is_too_slow(&self, now: Instant) -> bool {
        let allowed = self.line.body_grace() + self.line.timeouts.origin_write;
        let counted = now.duration_since(self.start).saturating_sub(allowed);
        self.octets < counted.as_secs().saturating_mul(self.line.limits.body_rate)
    }

    fn forget(&self) {
        if self.line.is_multiplexed {
            let mut bodies = self.line.bodies.lock().unwrap_or_else(PoisonError::into_inner);
            bodies.retain(|(number, _)| *number != self.number);
        }
    }
}

impl Drop for BodyWatch {
    fn drop(&mut self) {
        self.forget();
    }
}
