//! What other proxies asked, and what was wrong with how they ask.

use super::sharded::Counters;
use std::sync::atomic::{AtomicU64, Ordering};
use strum::EnumCount as _;

/// What is answered for other proxies, by the form of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::Display, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
pub enum ProxyDoor {
    /// `/forward`: Caddy, Traefik.
    #[strum(serialize = "/forward")]
    Forward,
    /// `/nginx`: `auth_request`.
    #[strum(serialize = "/nginx")]
    Nginx,
    /// `/envoy/…`: Envoy's external authorisation over HTTP.
    #[strum(serialize = "/envoy")]
    Envoy,
    /// `/robots.txt`.
    #[strum(serialize = "/robots.txt")]
    RobotsTxt,
}

/// What is wrong with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::Display, strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum DoorFault {
    /// Whoever asks is not in `trusted_proxies`.
    Peer,
    /// The secret is missing, or another.
    Secret,
    /// A field is missing that describes the request.
    #[strum(serialize = "missing-field")]
    Missing,
    /// Such a field came twice.
    #[strum(serialize = "double-field")]
    Twice,
    /// Nothing is answered at its path.
    #[strum(serialize = "unknown-path")]
    Path,
    /// The question itself cannot be read.
    Head,
    /// A disallowed page of a host whose robots.txt does not come through the door: nothing is enforced that is not served.
    Unpublished,
}

/// Counters of what other proxies ask.
#[derive(Debug, Default)]
pub struct DoorTotals {
    /// Questions.
    pub asked: Counters<ProxyDoor, { ProxyDoor::COUNT }>,
    /// What was wrong with them.
    pub faults: Counters<DoorFault, { DoorFault::COUNT }>,
    /// A bit for each place where the operator was told of a fault.
    told: [AtomicU64; DoorFault::COUNT],
}

impl DoorTotals {
    /// Counts a fault; whether the operator is to be told of it. `place` tells faults of one kind apart, up to 64 of them.
    pub fn fault(&self, fault: DoorFault, place: usize) -> bool {
        self.faults.count(fault);
        let bit = 1 << place.min(63);
        let told = self.told.get(fault as usize);
        told.is_some_and(|told| told.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_told_once_and_counted_always() {
        let doors = DoorTotals::default();
        assert!(doors.fault(DoorFault::Missing, 0) && doors.fault(DoorFault::Missing, 1));
        assert!(!doors.fault(DoorFault::Missing, 0) && doors.fault(DoorFault::Path, 0));
        assert_eq!((doors.faults.of(DoorFault::Missing), doors.faults.of(DoorFault::Peer)), (3, 0));
        doors.asked.count(ProxyDoor::Envoy);
        assert_eq!(doors.asked.all().map(|(_, count)| count).collect::<Vec<_>>(), [0, 0, 1, 0]);
    }
}
