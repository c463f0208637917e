//! What a gate counts and tells of heads that are no requests.

use super::super::malformed::Fragment;
use super::{Gate, Phase};
use crate::proxy::listen::Line;
use crate::record::ConnectionEvent;
use crate::request::message::Fault;

impl Gate {
    pub(super) fn tell(&self, octets: &[u8], status: u16, bytes: usize, fault: &'static str) {
        let fragment = Fragment { octets, since: self.since, status, bytes, fault };
        self.malformed.tell(&self.inner, &fragment);
    }

    /// Tells of a head that did not come to its end, where the guard has said so to the client.
    pub(super) fn tell_of_end(&self) {
        let told = Line::behind(&*self.inner).and_then(|line| line.told());
        if let (Phase::Head(_), Some(status)) = (&self.phase, told) {
            let fault = if status == 431 { Fault::HeadSize.as_str() } else { "late" };
            self.tell(&self.held, status, 0, fault);
        }
    }

    pub(super) fn count(&self, fault: Fault) {
        let line = Line::behind(&*self.inner);
        match &line {
            Some(line) if matches!(fault, Fault::HeadSize | Fault::LineSize) => {
                line.count(ConnectionEvent::HeaderTooLarge);
            }
            Some(line) if line.awaits_request() => {
                line.count(ConnectionEvent::NoRequest);
                self.malformed.count();
            }
            _ => self.malformed.count(),
        }
        if let Some(line) = line {
            line.give_up();
        }
    }
}
