//! What other proxies asked, and what was wrong with how they ask.

use super::sharded::Sharded;
use crate::decide::NoticeTime;
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long robots.txt is taken to be asked for here after it last was.
const SEEN_FOR: Duration = Duration::from_secs(24 * 3_600);

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
    #[must_use]
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
    #[must_use]
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

/// Counters of what other proxies ask, and when they last passed on a request for robots.txt.
#[derive(Debug, Default)]
pub struct DoorTotals {
    asked: Sharded<{ ProxyDoor::ALL.len() }>,
    faults: [AtomicU64; DoorFault::ALL.len()],
    /// A bit for each place where the operator was told of a fault.
    told: [AtomicU64; DoorFault::ALL.len()],
    /// By the pattern of its hosts. The configuration bounds how many there are.
    seen: ArcSwap<BTreeMap<Box<str>, NoticeTime>>,
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

    /// Notes that robots.txt of these hosts was asked for here.
    pub fn note_robots_txt(&self, pattern: &str, now: NoticeTime) {
        // To the second is enough, and spares a crowd of readers the copy.
        let is_known = |seen: &NoticeTime| now.since(*seen) < Duration::from_secs(1);
        if self.seen.load().get(pattern).is_some_and(is_known) {
            return;
        }
        self.seen.rcu(|seen| {
            let mut seen = BTreeMap::clone(seen);
            let last = seen.entry(pattern.into()).or_insert(now);
            *last = now.max(*last);
            Arc::new(seen)
        });
    }

    /// How long ago robots.txt of these hosts was last asked for here; `None` where that was never, or too long ago to
    /// say that it still is.
    #[must_use]
    pub fn robots_txt_seen(&self, pattern: &str, now: NoticeTime) -> Option<Duration> {
        let ago = now.since(*self.seen.load().get(pattern)?);
        (ago < SEEN_FOR).then_some(ago)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> NoticeTime {
        NoticeTime(Duration::from_secs(seconds))
    }

    #[test]
    fn robots_txt_is_seen_for_a_day() {
        let doors = DoorTotals::default();
        let day = 24 * 3_600;
        assert_eq!(doors.robots_txt_seen("a", at(0)), None);
        doors.note_robots_txt("a", at(10));
        assert_eq!(doors.robots_txt_seen("a", at(10)), Some(Duration::ZERO));
        assert_eq!(doors.robots_txt_seen("a", at(9 + day)), Some(Duration::from_secs(day - 1)));
        assert_eq!(doors.robots_txt_seen("a", at(10 + day)), None);
        assert_eq!(doors.robots_txt_seen("b", at(10)), None);
        doors.note_robots_txt("a", at(day));
        assert!(doors.robots_txt_seen("a", at(10 + day)).is_some());
    }

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
