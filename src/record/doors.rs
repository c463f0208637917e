//! What other proxies asked, and what was wrong with how they ask.

use super::sharded::Sharded;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is answered for other proxies, by the form of the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyDoor {
    /// `/forward`: Caddy, Traefik.
    Forward,
    /// `/nginx`: `auth_request`.
    Nginx,
    /// `/envoy/…`: Envoy's external authorisation over HTTP.
    Envoy,
    /// `/robots.txt`.
    RobotsTxt,
}

impl ProxyDoor {
    /// Every one, in the order of the counters.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Nginx, Self::Envoy, Self::RobotsTxt];

    /// Its path.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "/forward",
            Self::Nginx => "/nginx",
            Self::Envoy => "/envoy",
            Self::RobotsTxt => "/robots.txt",
        }
    }
}

/// What is wrong with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoorFault {
    /// Whoever asks is not in `trusted_proxies`.
    Peer,
    /// The secret is missing, or another.
    Secret,
    /// A field is missing that describes the request.
    Missing,
    /// Such a field came twice.
    Twice,
    /// Such a field holds nothing that can be judged.
    Unusable,
    /// The question itself cannot be read.
    Head,
}

impl DoorFault {
    /// Every one, in the order of the counters.
    pub const ALL: [Self; 6] =
        [Self::Peer, Self::Secret, Self::Missing, Self::Twice, Self::Unusable, Self::Head];

    /// The name used in metrics and `status`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Secret => "secret",
            Self::Missing => "missing-field",
            Self::Twice => "double-field",
            Self::Unusable => "unusable-field",
            Self::Head => "head",
        }
    }
}

/// Counters of what other proxies ask.
#[derive(Debug, Default)]
pub struct DoorTotals {
    asked: Sharded<{ ProxyDoor::ALL.len() }>,
    faults: [AtomicU64; DoorFault::ALL.len()],
    /// A bit for each place where the operator was told of a fault.
    told: [AtomicU64; DoorFault::ALL.len()],
}

impl DoorTotals {
    /// Counts a question.
    pub fn ask(&self, door: ProxyDoor) {
        self.asked.add(door as usize, 1);
    }

    /// Counts a fault; whether the operator is to be told of it. `place` tells faults of one kind apart, up to 64 of them.
    pub fn fault(&self, fault: DoorFault, place: usize) -> bool {
        let (Some(count), Some(told)) = (self.faults.get(fault as usize), self.told.get(fault as usize))
        else {
            return false;
        };
        count.fetch_add(1, Ordering::Relaxed);
        let bit = 1 << place.min(63);
        told.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Questions by door.
    pub fn asked(&self) -> impl Iterator<Item = (ProxyDoor, u64)> {
        ProxyDoor::ALL.into_iter().map(|door| (door, self.asked.get(door as usize)))
    }

    /// Faults by what is wrong.
    pub fn faults(&self) -> impl Iterator<Item = (DoorFault, u64)> {
        DoorFault::ALL
            .into_iter()
            .zip(&self.faults)
            .map(|(fault, count)| (fault, count.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_told_once_and_counted_always() {
        let doors = DoorTotals::default();
        assert!(doors.fault(DoorFault::Missing, 0) && doors.fault(DoorFault::Missing, 1));
        assert!(!doors.fault(DoorFault::Missing, 0) && doors.fault(DoorFault::Unusable, 0));
        let count = |wanted| doors.faults().find(|(fault, _)| *fault == wanted).map(|(_, count)| count);
        assert_eq!((count(DoorFault::Missing), count(DoorFault::Peer)), (Some(3), Some(0)));
        doors.ask(ProxyDoor::Envoy);
        assert_eq!(doors.asked().map(|(_, count)| count).collect::<Vec<_>>(), [0, 0, 1, 0]);
    }
}
