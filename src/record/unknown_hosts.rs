//! Hosts that are no site's, as requests named them: often a name of the site that was forgotten.
//!
//! Clients can make up any number of them, so few are kept, and each only while it is asked for.

use super::bytes::printable;
use super::event::timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How many hosts are kept by name.
const MOST: usize = 100;

/// The longest name that is kept, as long as a name of DNS can be (RFC 1035 §2.3.4).
const LONGEST: usize = 255;

/// When room is needed, a host that nobody has asked for so long is forgotten.
const FORGET: Duration = Duration::from_secs(600);

/// Between two lines of the log; what is not told then is counted.
const QUIET: Duration = Duration::from_secs(10);

/// Hosts that are no site's.
#[derive(Debug, Default)]
pub struct UnknownHosts(Mutex<HostCounts>);

#[derive(Debug, Default)]
struct HostCounts {
    hosts: BTreeMap<Box<str>, HostRequests>,
    told: Option<SystemTime>,
}

#[derive(Clone, Copy, Debug)]
struct HostRequests {
    count: u64,
    first: SystemTime,
    last: SystemTime,
    is_told: bool,
}

/// One of them; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownHost {
    /// Its name as it was asked for.
    pub host: String,
    /// How many requests were for it, since `first_seen`.
    pub count: u64,
    /// When the first of them came.
    pub first_seen: String,
    /// When the last of them came.
    pub last_seen: String,
}

impl UnknownHosts {
    /// Counts a request for `host`; how many there were, where a line of the log is due for it.
    pub fn note(&self, host: &str, now: SystemTime) -> Option<u64> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let HostCounts { hosts, told } = &mut *kept;
        let name: String = host.chars().take(LONGEST).collect();
        let since = |then: SystemTime| now.duration_since(then).unwrap_or_default();
        if !hosts.contains_key(&*name) && hosts.len() >= MOST {
            let oldest = hosts.iter().min_by_key(|(_, asked)| asked.last);
            let (oldest, asked) = oldest.map(|(oldest, asked)| (oldest.clone(), *asked))?;
            if since(asked.last) < FORGET {
                return None;
            }
            hosts.remove(&oldest);
        }
        let new = HostRequests { count: 0, first: now, last: now, is_told: false };
        let asked = hosts.entry(name.into()).or_insert(new);
        (asked.count, asked.last) = (asked.count + 1, now);
        let is_quiet = told.is_some_and(|told| since(told) < QUIET);
        if asked.is_told || is_quiet {
            return None;
        }
        asked.is_told = true;
        *told = Some(now);
        Some(asked.count)
    }

    /// Those that are kept, the one that is asked for most first.
    pub fn all(&self) -> Vec<UnknownHost> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = kept.hosts.iter().collect();
        all.sort_by_key(|(_, asked)| std::cmp::Reverse(asked.count));
        all.into_iter()
            .map(|(host, asked)| UnknownHost {
                host: printable(host.as_bytes()),
                count: asked.count,
                first_seen: timestamp(asked.first),
                last_seen: timestamp(asked.last),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    fn counts(hosts: &UnknownHosts) -> Vec<(String, u64)> {
        hosts.all().into_iter().map(|host| (host.host, host.count)).collect()
    }

    #[test]
    fn each_is_counted_and_told_once() {
        let hosts = UnknownHosts::default();
        assert_eq!(hosts.note("a.example", at(0)), Some(1));
        assert_eq!(hosts.note("b.example", at(1)), None, "not a line for each name that is made up");
        assert_eq!(hosts.note("b.example", at(11)), Some(2));
        assert_eq!(hosts.note("a.example", at(30)), None, "it was told of");
        assert_eq!(hosts.note("b.example", at(50)), None);
        assert_eq!(counts(&hosts), [("b.example".to_owned(), 3), ("a.example".to_owned(), 2)]);
    }

    #[test]
    fn made_up_names_take_no_more_room_than_the_bound_and_give_it_back() {
        let hosts = UnknownHosts::default();
        for number in 0..2 * MOST {
            hosts.note(&format!("{number}.example"), at(0));
        }
        assert_eq!(hosts.all().len(), MOST);
        hosts.note("www.example.org", at(1));
        assert!(!counts(&hosts).iter().any(|(host, _)| host == "www.example.org"), "no room yet");
        hosts.note("www.example.org", at(601));
        assert!(counts(&hosts).iter().any(|(host, _)| host == "www.example.org"));
        assert_eq!(hosts.all().len(), MOST);
        let hosts = UnknownHosts::default();
        hosts.note(&"x".repeat(1_000), at(0));
        assert_eq!(hosts.all()[0].host.len(), LONGEST);
    }
}
