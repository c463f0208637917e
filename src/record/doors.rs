//! What other proxies asked, and what was wrong with how they ask.

use super::sharded::Sharded;
use std::sync::atomic::{AtomicU64, Ordering};
use strum::{EnumCount as _, VariantArray as _};

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
    asked: Sharded<{ ProxyDoor::COUNT }>,
    faults: Sharded<{ DoorFault::COUNT }>,
    /// A bit for each place where the operator was told of a fault.
    told: [AtomicU64; DoorFault::COUNT],
}

impl DoorTotals {
    /// Counts a question.
    pub fn ask(&self, door: ProxyDoor) {
        self.asked.add(door as usize, 1);
    }

    /// Counts a fault; whether the operator is to be told of it. `place` tells faults of one kind apart, up to 64 of them.
    pub fn fault(&self, fault: DoorFault, place: usize) -> bool {
        self.faults.add(fault as usize, 1);
        let bit = 1 << place.min(63);
        let told = self.told.get(fault as usize);
        told.is_some_and(|told| told.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }

    /// Questions by door.
    pub fn asked(&self) -> impl Iterator<Item = (ProxyDoor, u64)> {
        self.asked.of(ProxyDoor::VARIANTS.iter().copied())
    }

    /// Faults by what is wrong.
    pub fn faults(&self) -> impl Iterator<Item = (DoorFault, u64)> {
        self.faults.of(DoorFault::VARIANTS.iter().copied())
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
        let count = |wanted| doors.faults().find(|(fault, _)| *fault == wanted).map(|(_, count)| count);
        assert_eq!((count(DoorFault::Missing), count(DoorFault::Peer)), (Some(3), Some(0)));
        doors.ask(ProxyDoor::Envoy);
        assert_eq!(doors.asked().map(|(_, count)| count).collect::<Vec<_>>(), [0, 0, 1, 0]);
    }
}
