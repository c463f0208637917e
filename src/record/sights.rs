//! When requests for robots.txt came through other proxies, by host: which of them pass it on, and since when.
//!
//! Kept in a file of the state folder, since a proxy goes on passing it on while the gateway is started anew. What cannot be
//! read there is nothing: then nobody is accused until the next such request.

use super::ledger::whole_micros;
use crate::decide::NoticeTime;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long robots.txt is taken to come through after it last did.
const SEEN_FOR: Duration = Duration::from_secs(24 * 3_600);

/// How many hosts are kept: with a wildcard or a default site clients make them up.
const HOSTS: usize = 4_096;

/// The file, in the state folder.
const FILE: &str = "robots-seen";

/// More than the file can have: a host has 255 bytes at most.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// Requests without a day between one and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// When the first of them came.
    pub since: NoticeTime,
    /// When the last one did.
    pub last: NoticeTime,
}

impl Sight {
    const fn has_ended(&self, now: NoticeTime) -> bool {
        now.since(self.last).as_secs() >= SEEN_FOR.as_secs()
    }

    /// What both say, where another process of an upgrade has seen some of it.
    fn with(self, other: Self) -> Self {
        let (first, second) = if self.since <= other.since { (self, other) } else { (other, self) };
        if first.has_ended(second.since) {
            return second;
        }
        Self { since: first.since, last: first.last.max(second.last) }
    }
}

/// A line of the file; microseconds.
#[derive(Deserialize, Serialize)]
struct Line<'a> {
    host: std::borrow::Cow<'a, str>,
    since: u64,
    last: u64,
}

type SeenHosts = HashMap<Box<str>, Sight>;

/// The sights of all hosts.
#[derive(Debug, Default)]
pub struct Sights {
    hosts: Mutex<SeenHosts>,
}

impl Sights {
    fn hosts(&self) -> MutexGuard<'_, SeenHosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the robots.txt of `host` was asked for.
    pub fn note(&self, host: &str, now: NoticeTime) {
        let mut hosts = self.hosts();
        if let Some(sight) = hosts.get_mut(host) {
            *sight = sight.with(Sight { since: now, last: now });
            return;
        }
        add(&mut hosts, host.into(), Sight { since: now, last: now });
    }

    /// What was seen of `host`; `None` where that was nothing, or is too long ago to say that it goes on.
    pub fn of(&self, host: &str, now: NoticeTime) -> Option<Sight> {
        self.hosts().get(host).copied().filter(|sight| !sight.has_ended(now))
    }

    /// Everything that goes on.
    pub fn all(&self, now: NoticeTime) -> Vec<(Box<str>, Sight)> {
        let hosts = self.hosts();
        let open = hosts.iter().filter(|(_, sight)| !sight.has_ended(now));
        open.map(|(host, sight)| (host.clone(), *sight)).collect()
    }

    /// Takes up what was seen before. What lies ahead of the clock is another clock's.
    pub fn restore(&self, folder: &Path, now: NoticeTime) {
        let mut hosts = self.hosts();
        for (host, sight) in read(folder) {
            if sight.since <= sight.last && sight.last <= now {
                add(&mut hosts, host, sight);
            }
        }
    }

    /// Writes what is known, and what another process has written, for the next start.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        let mut known = self.hosts().clone();
        if known.is_empty() {
            return Ok(());
        }
        let written = read(folder);
        if known.len() == written.len() && written.iter().all(|(host, sight)| known.get(host) == Some(sight))
        {
            return Ok(());
        }
        for (host, other) in written {
            let both = known.get(&host).map_or(other, |sight| sight.with(other));
            add(&mut known, host, both);
        }
        let mut text = Vec::new();
        for (host, Sight { since, last }) in &known {
            let line =
                Line { host: (&**host).into(), since: whole_micros(since.0), last: whole_micros(last.0) };
            serde_json::to_writer(&mut text, &line).map_err(io::Error::other)?;
            text.push(b'\n');
        }
        let beside = folder.join(format!("{FILE}.{}", std::process::id()));
        fs::write(&beside, text)?;
        fs::rename(&beside, folder.join(FILE))
    }
}

/// Adds a host; where there is no room, half of the others go, those that were seen longest ago.
fn add(hosts: &mut SeenHosts, host: Box<str>, sight: Sight) {
    if hosts.len() >= HOSTS && !hosts.contains_key(&host) {
        let mut times: Vec<NoticeTime> = hosts.values().map(|sight| sight.last).collect();
        let middle = times.len() / 2;
        let bound = *times.select_nth_unstable(middle).1;
        hosts.retain(|_, sight| sight.last > bound);
    }
    hosts.insert(host, sight);
}

fn read(folder: &Path) -> Vec<(Box<str>, Sight)> {
    let mut text = String::new();
    let Ok(file) = File::open(folder.join(FILE)) else { return Vec::new() };
    if file.take(MOST_BYTES).read_to_string(&mut text).is_err() {
        return Vec::new();
    }
    let at = |micros| NoticeTime(Duration::from_micros(micros));
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line<'_>>(line).ok());
    lines.map(|line| (line.host.into(), Sight { since: at(line.since), last: at(line.last) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3_600;

    const fn at(seconds: u64) -> NoticeTime {
        NoticeTime(Duration::from_secs(seconds))
    }

    const fn sight(since: u64, last: u64) -> Sight {
        Sight { since: at(since), last: at(last) }
    }

    #[test]
    fn robots_txt_comes_through_until_a_day_goes_by_without() {
        let sights = Sights::default();
        assert_eq!(sights.of("a", at(0)), None);
        sights.note("a", at(10));
        sights.note("a", at(9 + DAY));
        assert_eq!(sights.of("a", at(8 + 2 * DAY)), Some(sight(10, 9 + DAY)));
        assert_eq!(sights.of("a", at(9 + 2 * DAY)), None);
        assert_eq!(sights.of("b", at(10)), None);
        sights.note("a", at(10 + 2 * DAY));
        assert_eq!(sights.all(at(10 + 2 * DAY)), [("a".into(), sight(10 + 2 * DAY, 10 + 2 * DAY))]);
    }

    #[test]
    fn what_was_seen_is_known_after_a_restart_and_what_two_processes_saw_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = [(); 3].map(|()| Sights::default());
        first.save(folder.path()).unwrap();
        assert!(!folder.path().join(FILE).exists(), "nothing was seen");
        first.note("a", at(10));
        first.save(folder.path()).unwrap();
        second.restore(folder.path(), at(20));
        second.note("a", at(30));
        second.note("b", at(40));
        second.save(folder.path()).unwrap();
        first.note("a", at(20));
        first.save(folder.path()).unwrap();
        third.restore(folder.path(), at(50));
        assert_eq!(
            (third.of("a", at(50)), third.of("b", at(50))),
            (Some(sight(10, 30)), Some(sight(40, 40)))
        );
        let other_clock = Sights::default();
        other_clock.restore(folder.path(), at(35));
        assert_eq!((other_clock.of("a", at(35)), other_clock.of("b", at(35))), (Some(sight(10, 30)), None));
        fs::write(folder.path().join(FILE), "{\"host\":\"a\"}\n\u{fffd}\n").unwrap();
        assert_eq!(read(folder.path()), []);
    }

    #[test]
    fn hosts_that_clients_make_up_find_an_end() {
        let sights = Sights::default();
        for number in 0..(HOSTS as u64 + 10) {
            sights.note(&number.to_string(), at(number));
        }
        let last = HOSTS as u64 + 9;
        assert!(sights.hosts().len() <= HOSTS && sights.of(&last.to_string(), at(last)).is_some());
    }
}
