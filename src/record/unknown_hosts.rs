//! Hosts that requests name and that are no site's: often a name of the site that was forgotten.
//!
//! Bounded: a client can make up as many names as it likes. Where there is no room, the name goes that was asked for least.

use super::bytes::printable;
use super::event::timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// How many hosts are remembered, and how many lines of the log are about them at most.
const MOST: usize = 100;

/// How long a name of a host can be (RFC 1035 §2.3.4). What is longer is cut.
const LONGEST: usize = 255;

/// The hosts, how often each was asked for, and since when.
#[derive(Debug, Default)]
pub struct UnknownHosts(Mutex<BTreeMap<Box<str>, (u64, SystemTime)>>);

/// One of them, as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownHost {
    /// The host as it was named, in lower case; empty for requests that name none.
    pub host: String,
    /// How many requests named it, as far as it was remembered.
    pub count: u64,
    /// When the first of them came.
    pub first_seen: String,
}

impl UnknownHosts {
    /// Counts a request for a host that is no site's, and says whether a line of the log should tell of it.
    pub fn note(&self, host: &str, now: SystemTime) -> bool {
        let name: Box<str> = host.chars().take(LONGEST).collect();
        let mut hosts = self.0.lock();
        let (is_known, is_full) = (hosts.contains_key(&name), hosts.len() >= MOST);
        if is_full && !is_known {
            let least = hosts.iter().min_by_key(|(_, (count, _))| *count).map(|(host, _)| host.clone());
            least.map(|least| hosts.remove(&least));
        }
        hosts.entry(name).or_insert((0, now)).0 += 1;
        !is_known && !is_full
    }

    /// All that are remembered, those first that are asked for most.
    pub fn all(&self) -> Vec<UnknownHost> {
        let hosts = self.0.lock();
        let told = hosts.iter().map(|(host, (count, first))| UnknownHost {
            host: printable(host.as_bytes()),
            count: *count,
            first_seen: timestamp(*first),
        });
        let mut all: Vec<UnknownHost> = told.collect();
        all.sort_by_key(|host| std::cmp::Reverse(host.count));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(hosts: &UnknownHosts) -> Vec<(String, u64)> {
        hosts.all().into_iter().map(|host| (host.host, host.count)).collect()
    }

    #[test]
    fn each_is_counted_and_told_once() {
        let hosts = UnknownHosts::default();
        let told =
            ["a.example", "b.example", "b.example"].map(|host| hosts.note(host, SystemTime::UNIX_EPOCH));
        assert_eq!(told, [true, true, false]);
        assert_eq!(counts(&hosts), [("b.example".to_owned(), 2), ("a.example".to_owned(), 1)]);
    }

    #[test]
    fn made_up_names_take_no_more_room_than_the_bound_and_none_of_a_name_that_is_asked_for() {
        let (hosts, now) = (UnknownHosts::default(), SystemTime::UNIX_EPOCH);
        let mut told = 0;
        for number in 0..2 * MOST {
            told += usize::from(hosts.note(&format!("{number}.example"), now));
            hosts.note("www.example.org", now);
        }
        assert_eq!((hosts.all().len(), told), (MOST, MOST - 1), "not a line for each name that is made up");
        assert_eq!(counts(&hosts)[0], ("www.example.org".to_owned(), 2 * MOST as u64));
        let hosts = UnknownHosts::default();
        hosts.note(&"x".repeat(1_000), now);
        assert_eq!(hosts.all()[0].host.len(), LONGEST);
    }
}
