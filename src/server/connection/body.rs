//! How large a request's body may become, and how slowly it may come.

use crate::config::{ConnectionLimits, Timeouts};
use std::time::{Duration, Instant};

/// Watches one body. Only time in which the client was waited for counts.
#[derive(Debug, Default)]
pub(in crate::server) struct BodyMeter {
    bytes: u64,
    waited: Duration,
    waiting: Option<Instant>,
    is_ignored: bool,
}

impl BodyMeter {
    /// Notes that so many bytes of it came; whether there are more now than there may be.
    pub(in crate::server) fn note(&mut self, bytes: usize, limits: &ConnectionLimits) -> bool {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if let Some(since) = self.waiting.take() {
            self.waited += since.elapsed();
        }
        !self.is_ignored && limits.body_size.is_some_and(|most| self.bytes > *most)
    }

    /// What still comes of the body is thrown away, however large it is.
    pub(in crate::server) const fn ignore(&mut self) {
        self.is_ignored = true;
    }

    /// When the client will have been too slow, if nothing more comes. A body has as long to start as a head may take:
    /// the client may be waiting for `100 Continue`, and a first window of TCP is small.
    pub(in crate::server) fn deadline(&mut self, limits: &ConnectionLimits, timeouts: &Timeouts) -> Instant {
        let waiting = *self.waiting.get_or_insert_with(Instant::now);
        let silent = waiting + *timeouts.client_read;
        let Some(earned) = self.bytes.saturating_mul(1_000).checked_div(*limits.body_rate) else {
            return silent;
        };
        let allowed = *timeouts.client_header + Duration::from_millis(earned);
        silent.min(waiting + allowed.saturating_sub(self.waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config, SizeValue};

    #[test]
    fn a_body_has_a_size_and_a_rate() {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        let limits =
            ConnectionLimits { body_size: Some(SizeValue(10)), body_rate: SizeValue(1), ..config.limits };
        let mut meter = BodyMeter::default();
        assert!(!meter.note(10, &limits));
        // Ten bytes at one a second, and as long as a head may take.
        let silent = *config.timeouts.client_read;
        let allowed = *config.timeouts.client_header + Duration::from_secs(10);
        let left = meter.deadline(&limits, &config.timeouts) - Instant::now();
        assert!(left <= silent.min(allowed) && left + Duration::from_secs(1) > silent.min(allowed));
        assert!(meter.note(1, &limits));
        meter.ignore();
        assert!(!meter.note(100, &limits));
    }
}
