//! When requests for robots.txt came through other proxies, by host: for which hosts these pass them on, and since when.
//!
//! Kept beside the rows, since a proxy goes on passing them on while the gateway is started anew. Where they are lost nobody is
//! accused at a host until the next such request.

use super::rows::WrittenTime;
use crate::decide::NoticeTime;
use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long robots.txt is taken to come through after it last did.
const SEEN_FOR: Duration = Duration::from_secs(24 * 3_600);

/// How many hosts are kept that the configuration does not name: with a wildcard or a default site clients make them up.
const HOSTS: usize = 4_096;

/// A span of requests for the robots.txt of a host, with less than a day between one and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RobotsTxtSpan {
    /// When the first of them came.
    #[serde(with = "WrittenTime")]
    pub since: NoticeTime,
    /// When the last one did.
    #[serde(with = "WrittenTime")]
    pub last: NoticeTime,
    /// Whether the configuration names the host.
    #[serde(skip)]
    is_named: bool,
}

impl RobotsTxtSpan {
    const fn has_ended(&self, now: NoticeTime) -> bool {
        now.since(self.last).as_secs() >= SEEN_FOR.as_secs()
    }
}

type SeenHosts = HashMap<Box<str>, RobotsTxtSpan>;

/// Spans by host, for the next start.
pub type KeptSpans = BTreeMap<Box<str>, RobotsTxtSpan>;

/// The spans of all hosts.
#[derive(Debug, Default)]
pub struct RobotsTxtSpans {
    hosts: Mutex<SeenHosts>,
}

impl RobotsTxtSpans {
    /// Notes that the robots.txt of `host` was asked for. A host that the configuration names is never given up for others.
    pub fn note(&self, host: &str, is_named: bool, now: NoticeTime) {
        let mut hosts = self.hosts.lock();
        if let Some(seen) = hosts.get_mut(host).filter(|seen| !seen.has_ended(now)) {
            (seen.last, seen.is_named) = (seen.last.max(now), is_named);
            return;
        }
        hosts.remove(host);
        add(&mut hosts, host.into(), RobotsTxtSpan { since: now, last: now, is_named }, now);
    }

    /// What was seen of `host`; `None` where that was nothing, or is too long ago to say that it goes on.
    pub fn of(&self, host: &str, now: NoticeTime) -> Option<RobotsTxtSpan> {
        self.hosts.lock().get(host).copied().filter(|span| !span.has_ended(now))
    }

    /// Everything that goes on.
    pub fn all(&self, now: NoticeTime) -> KeptSpans {
        let hosts = self.hosts.lock();
        let open = hosts.iter().filter(|(_, span)| !span.has_ended(now));
        open.map(|(host, span)| (host.clone(), *span)).collect()
    }

    /// Takes up what was seen before. What lies ahead of the clock is another clock's.
    pub fn restore(&self, kept: &KeptSpans, now: NoticeTime) {
        let mut hosts = self.hosts.lock();
        for (host, span) in kept.iter().filter(|(_, span)| span.last <= now) {
            add(&mut hosts, host.clone(), *span, now);
        }
    }
}

/// Adds a host. Where there is no room, one goes that the configuration does not name: one whose span has ended, else the
/// newest, and of those that were seen only once where there are any. So hosts that clients make up push out each other,
/// and none that has been seen for a day.
fn add(hosts: &mut SeenHosts, host: Box<str>, seen: RobotsTxtSpan, now: NoticeTime) {
    if hosts.len() >= HOSTS {
        let others = hosts.iter().filter(|(_, other)| !other.is_named);
        let newest =
            others.max_by_key(|(_, span)| (span.has_ended(now), span.since == span.last, span.since));
        let is_old = |span: &RobotsTxtSpan| now.since(span.since) >= SEEN_FOR && !span.has_ended(now);
        match newest.filter(|(_, newest)| !is_old(newest)).map(|(newest, _)| newest.clone()) {
            Some(newest) => drop(hosts.remove(&newest)),
            None if seen.is_named => {}
            None => return,
        }
    }
    hosts.insert(host, seen);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3_600;

    const fn at(seconds: u64) -> NoticeTime {
        NoticeTime(Duration::from_secs(seconds))
    }

    const fn span(since: u64, last: u64) -> RobotsTxtSpan {
        RobotsTxtSpan { since: at(since), last: at(last), is_named: false }
    }

    #[test]
    fn robots_txt_comes_through_until_a_day_goes_by_without() {
        let spans = RobotsTxtSpans::default();
        assert_eq!(spans.of("a", at(0)), None);
        spans.note("a", false, at(10));
        spans.note("a", false, at(9 + DAY));
        assert_eq!(spans.of("a", at(8 + 2 * DAY)), Some(span(10, 9 + DAY)));
        assert_eq!(spans.of("a", at(9 + 2 * DAY)), None);
        assert_eq!(spans.of("b", at(10)), None);
        spans.note("a", false, at(10 + 2 * DAY));
        assert_eq!(spans.all(at(10 + 2 * DAY)), [("a".into(), span(10 + 2 * DAY, 10 + 2 * DAY))].into());
    }

    #[test]
    fn what_was_seen_is_known_after_a_restart() {
        let [first, second, other_clock] = [(); 3].map(|()| RobotsTxtSpans::default());
        first.note("a", false, at(10));
        first.note("a", false, at(30));
        let kept = first.all(at(40));
        second.restore(&kept, at(50));
        assert_eq!(second.of("a", at(50)), Some(span(10, 30)));
        other_clock.restore(&kept, at(20));
        assert_eq!(other_clock.of("a", at(20)), None, "it lies ahead of the clock");
    }

    #[test]
    fn hosts_that_clients_make_up_find_an_end_and_push_out_no_other() {
        let spans = RobotsTxtSpans::default();
        let flood = |word: &str, from: u64| {
            for number in 0..(HOSTS as u64 + 100) {
                spans.note(&format!("{word}{number}"), false, at(from + number / 1_000));
            }
        };
        spans.note("early", false, at(0));
        flood("a", 1);
        assert!(spans.hosts.lock().len() <= HOSTS && spans.of("early", at(10)).is_some());
        spans.note("named", true, at(10));
        spans.note("new", false, at(11));
        spans.note("new", false, at(12));
        flood("b", 13);
        for host in ["early", "named", "new"] {
            assert!(spans.of(host, at(20)).is_some(), "{host}");
        }
        // Those of the flood have ended.
        for second in [DAY / 2, DAY] {
            spans.note("early", false, at(second));
        }
        flood("c", DAY + 100);
        assert!(spans.of("early", at(DAY + 110)).is_some() && spans.of("a1", at(DAY + 110)).is_none());
        assert!(spans.of("c1", at(DAY + 110)).is_some() && spans.hosts.lock().len() <= HOSTS);
    }

    #[test]
    fn hosts_that_have_been_seen_for_a_day_stay_and_those_of_the_configuration_always_find_room() {
        let spans = RobotsTxtSpans::default();
        for second in [0, DAY / 2, DAY] {
            for number in 0..HOSTS {
                spans.note(&number.to_string(), false, at(second));
            }
        }
        spans.note("new", false, at(DAY));
        spans.note("named", true, at(DAY));
        assert_eq!(spans.of("new", at(DAY)), None);
        assert!(spans.of("named", at(DAY)).is_some() && spans.hosts.lock().len() == HOSTS + 1);
        assert!((0..HOSTS).all(|number| spans.of(&number.to_string(), at(DAY)).is_some()));
    }
}
