//! What a gate counts and tells of heads that are no requests.

use super::super::malformed::Fragment;
use super::{Gate, Phase};
use crate::proxy::faults::CLIENT_GONE;
use crate::proxy::listen::Line;
use crate::record::ConnectionEvent;
use crate::request::message::Fault;
use std::io;

impl Gate {
    pub(super) fn tell(&self, octets: &[u8], status: u16, bytes: usize, fault: &'static str) {
        let fragment = Fragment { octets, since: self.since, status, bytes, fault };
        self.malformed.tell(&self.inner, &fragment);
    }

    /// Tells of a head that has begun and does not come to its end: the guard lost its patience, and said so to the client
    /// where it could, or the client left, which `error` tells apart.
    pub(super) fn tell_of_end(&self, error: Option<io::ErrorKind>) {
        let told = Line::behind(&*self.inner).and_then(|line| line.told());
        if !matches!(self.phase, Phase::Head(_)) || (told.is_none() && self.since.is_none()) {
            return;
        }
        let is_late = error == Some(io::ErrorKind::TimedOut);
        let status = told.unwrap_or(if is_late { 408 } else { CLIENT_GONE });
        let fault = match status {
            431 => Fault::HeadSize.as_str(),
            CLIENT_GONE => "unfinished",
            _ => "late",
        };
        self.tell(&self.held, status, 0, fault);
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
