//! When requests for robots.txt came through other proxies, by host: for which hosts these pass them on, and since when.
//!
//! Kept in a file of the state folder, since a proxy goes on passing them on while the gateway is started anew. A line that
//! cannot be read is left out: then nobody is accused at that host until the next such request.

use super::files::replace_file;
use super::ledger::whole_micros;
use crate::decide::NoticeTime;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::fs::File;
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

/// A span of requests for the robots.txt of a host, with less than a day between one and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RobotsTxtSpan {
    /// When the first of them came.
    pub since: NoticeTime,
    /// When the last one did.
    pub last: NoticeTime,
}

impl RobotsTxtSpan {
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

type SeenHosts = HashMap<Box<str>, RobotsTxtSpan>;

/// The spans of all hosts.
#[derive(Debug, Default)]
pub struct RobotsTxtSpans {
    hosts: Mutex<SeenHosts>,
}

impl RobotsTxtSpans {
    fn hosts(&self) -> MutexGuard<'_, SeenHosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the robots.txt of `host` was asked for.
    pub fn note(&self, host: &str, now: NoticeTime) {
        let mut hosts = self.hosts();
        if let Some(span) = hosts.get_mut(host) {
            *span = span.with(RobotsTxtSpan { since: now, last: now });
            return;
        }
        add(&mut hosts, host.into(), RobotsTxtSpan { since: now, last: now });
    }

    /// What was seen of `host`; `None` where that was nothing, or is too long ago to say that it goes on.
    pub fn of(&self, host: &str, now: NoticeTime) -> Option<RobotsTxtSpan> {
        self.hosts().get(host).copied().filter(|span| !span.has_ended(now))
    }

    /// Everything that goes on.
    pub fn all(&self, now: NoticeTime) -> Vec<(Box<str>, RobotsTxtSpan)> {
        let hosts = self.hosts();
        let open = hosts.iter().filter(|(_, span)| !span.has_ended(now));
        open.map(|(host, span)| (host.clone(), *span)).collect()
    }

    /// Takes up what was seen before. What lies ahead of the clock is another clock's.
    pub fn restore(&self, folder: &Path, now: NoticeTime) {
        let mut hosts = self.hosts();
        for (host, span) in read(folder) {
            if span.since <= span.last && span.last <= now {
                add(&mut hosts, host, span);
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
        if known.len() == written.len() && written.iter().all(|(host, span)| known.get(host) == Some(span)) {
            return Ok(());
        }
        for (host, other) in written {
            let both = known.get(&host).map_or(other, |span| span.with(other));
            add(&mut known, host, both);
        }
        let mut text = Vec::new();
        for (host, RobotsTxtSpan { since, last }) in &known {
            let line =
                Line { host: (&**host).into(), since: whole_micros(since.0), last: whole_micros(last.0) };
            serde_json::to_writer(&mut text, &line).map_err(io::Error::other)?;
            text.push(b'\n');
        }
        replace_file(&folder.join(FILE), &text)
    }
}

/// Adds a host; where there is no room, half of the others go, those that were seen longest ago.
fn add(hosts: &mut SeenHosts, host: Box<str>, span: RobotsTxtSpan) {
    if hosts.len() >= HOSTS && !hosts.contains_key(&host) {
        let mut times: Vec<NoticeTime> = hosts.values().map(|span| span.last).collect();
        let middle = times.len() / 2;
        let bound = *times.select_nth_unstable(middle).1;
        hosts.retain(|_, span| span.last > bound);
    }
    hosts.insert(host, span);
}

fn read(folder: &Path) -> Vec<(Box<str>, RobotsTxtSpan)> {
    let mut text = String::new();
    let Ok(file) = File::open(folder.join(FILE)) else { return Vec::new() };
    if file.take(MOST_BYTES).read_to_string(&mut text).is_err() {
        return Vec::new();
    }
    let at = |micros| NoticeTime(Duration::from_micros(micros));
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line<'_>>(line).ok());
    lines
        .map(|line| (line.host.into(), RobotsTxtSpan { since: at(line.since), last: at(line.last) }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const DAY: u64 = 24 * 3_600;

    const fn at(seconds: u64) -> NoticeTime {
        NoticeTime(Duration::from_secs(seconds))
    }

    const fn span(since: u64, last: u64) -> RobotsTxtSpan {
        RobotsTxtSpan { since: at(since), last: at(last) }
    }

    #[test]
    fn robots_txt_comes_through_until_a_day_goes_by_without() {
        let spans = RobotsTxtSpans::default();
        assert_eq!(spans.of("a", at(0)), None);
        spans.note("a", at(10));
        spans.note("a", at(9 + DAY));
        assert_eq!(spans.of("a", at(8 + 2 * DAY)), Some(span(10, 9 + DAY)));
        assert_eq!(spans.of("a", at(9 + 2 * DAY)), None);
        assert_eq!(spans.of("b", at(10)), None);
        spans.note("a", at(10 + 2 * DAY));
        assert_eq!(spans.all(at(10 + 2 * DAY)), [("a".into(), span(10 + 2 * DAY, 10 + 2 * DAY))]);
    }

    #[test]
    fn what_was_seen_is_known_after_a_restart_and_what_two_processes_saw_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, third] = [(); 3].map(|()| RobotsTxtSpans::default());
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
        assert_eq!((third.of("a", at(50)), third.of("b", at(50))), (Some(span(10, 30)), Some(span(40, 40))));
        let other_clock = RobotsTxtSpans::default();
        other_clock.restore(folder.path(), at(35));
        assert_eq!((other_clock.of("a", at(35)), other_clock.of("b", at(35))), (Some(span(10, 30)), None));
        fs::write(folder.path().join(FILE), "{\"host\":\"a\"}\n\u{fffd}\n").unwrap();
        assert_eq!(read(folder.path()), []);
    }

    #[test]
    fn hosts_that_clients_make_up_find_an_end() {
        let spans = RobotsTxtSpans::default();
        for number in 0..(HOSTS as u64 + 10) {
            spans.note(&number.to_string(), at(number));
        }
        let last = HOSTS as u64 + 9;
        assert!(spans.hosts().len() <= HOSTS && spans.of(&last.to_string(), at(last)).is_some());
    }
}
