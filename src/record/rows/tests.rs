//! What rows say of one host.

mod folder;

use super::*;
use crate::decide::{Doubt, KnownVersion, NoticePeriod, RobotsVersion, SiteRules, VersionId};
use crate::robots::{ParseLimits, Robots};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

const PERIOD: NoticePeriod = NoticePeriod { notice: Duration::from_secs(100), settle: Duration::ZERO };

fn compiled(text: &str) -> Arc<RobotsVersion> {
    let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
    Arc::new(RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots)))
}

fn closing(path: u64) -> String {
    format!("User-agent: *\nDisallow: /{path}\n")
}

fn version(text: &str) -> RowVersion {
    RowVersion::Known { rules: compiled(text).rules, file: Some(digest(text.as_bytes())) }
}

fn at(second: u64) -> NoticeTime {
    NoticeTime(Duration::from_secs(second))
}

fn date(second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(second)
}

/// A host, and the texts that it was given.
#[derive(Default)]
struct Host {
    rows: HostRows,
    beside: HostRows,
    texts: HashMap<Box<str>, String>,
}

impl Host {
    /// Serves a text and nothing else from a second on.
    fn serve(&mut self, text: &str, second: u64) {
        self.serve_dated(text, second, second);
    }

    fn serve_dated(&mut self, text: &str, second: u64, shown: u64) {
        self.texts.insert(digest(text.as_bytes()), text.to_owned());
        let version = version(text);
        self.rows.serve(&version, date(shown));
        self.rows.close(|one| *one == version, at(second));
        self.rows.prune(PERIOD, at(second));
    }

    fn stop(&mut self, second: u64) {
        self.rows.close(|_| false, at(second));
    }

    fn rules(&self, text: &str) -> SiteRules {
        let known = |file: &FileDigest| -> KnownVersion {
            let text = file.as_ref().and_then(|file| self.texts.get(file));
            Ok(text.map_or_else(RobotsVersion::allowing_everything, |text| compiled(text)))
        };
        let mut rows = self.rows.clone();
        rows.add(&self.beside);
        rows.rules(&compiled(text), at(0), known)
    }

    /// The former versions beside `text`, and when they were replaced.
    fn former(&self, text: &str) -> Vec<(Option<VersionId>, Option<u64>)> {
        let rules = self.rules(text);
        let each = rules.former.iter();
        each.map(|row| {
            (row.version.as_ref().map_or(None, |row| row.id), row.until.map(|until| until.0.as_secs()))
        })
        .collect()
    }
}

fn id(text: &str) -> VersionId {
    VersionId::of(text.as_bytes())
}

#[test]
fn a_version_is_replaced_when_the_last_one_ceases_to_serve_it() {
    let (a, b) = (closing(1), closing(2));
    let mut host = Host::default();
    host.serve(&b, 200);
    host.texts.insert(digest(a.as_bytes()), a.clone());
    host.beside.serve(&version(&a), date(1));
    assert_eq!(host.former(&b), [(Some(id(&a)), None)]);
    host.beside.close(|_| false, at(1_000));
    assert_eq!(host.former(&b), [(Some(id(&a)), Some(1_000))]);
    host.rows.add(&host.beside.clone());
    host.beside = HostRows::default();
    host.rows.prune(PERIOD, at(1_099));
    assert_eq!(host.former(&b).len(), 1);
    host.rows.prune(PERIOD, at(1_100));
    assert_eq!(host.former(&b), []);
}

#[test]
fn a_restart_changes_nothing_of_what_goes_on() {
    let mut host = Host::default();
    host.rows.doubt(Doubt::Before, Some(at(1)));
    host.serve(&closing(1), 1);
    host.serve(&closing(2), 2);
    host.stop(5);
    host.serve(&closing(2), 6);
    let rules = host.rules(&closing(2));
    assert_eq!((rules.since, rules.is_dated), (Some(date(2)), true));
    assert_eq!(host.former(&closing(2)), [(Some(id(&closing(1))), Some(2)), (None, Some(1))]);
}

#[test]
fn a_version_that_returns_is_no_former_one_and_in_force_anew() {
    let mut host = Host::default();
    for (second, path) in [(1, 1), (2, 2), (3, 1)] {
        host.serve(&closing(path), second);
    }
    assert_eq!(host.former(&closing(1)), [(Some(id(&closing(2))), Some(3))]);
    let rules = host.rules(&closing(1));
    assert_eq!((rules.since, rules.is_dated), (Some(date(3)), true));
}

#[test]
fn a_date_that_an_earlier_version_had_tells_nothing_ever_after() {
    let mut host = Host::default();
    host.serve_dated(&closing(1), 1, 10);
    assert!(host.rules(&closing(1)).is_dated);
    for (number, shown, is_dated) in [(2, 10, false), (3, 7, false), (4, 10, false), (5, 11, true)] {
        host.serve_dated(&closing(number), number * 1_000, shown);
        host.rows.prune(PERIOD, at(number * 1_000 + 500));
        let rules = host.rules(&closing(number));
        assert_eq!((rules.former.len(), rules.is_dated), (0, is_dated), "{number}");
    }
}

#[test]
fn a_date_that_another_process_gave_another_version_tells_nothing_ever_after() {
    let (a, b) = (closing(1), closing(2));
    let mut host = Host::default();
    host.texts.insert(digest(a.as_bytes()), a.clone());
    host.beside.serve(&version(&a), date(10));
    host.serve_dated(&b, 2, 10);
    assert!(!host.rules(&b).is_dated);
    host.beside.close(|_| false, at(3));
    host.rows.add(&host.beside.clone());
    host.beside = HostRows::default();
    host.rows.prune(PERIOD, at(200));
    assert_eq!(host.former(&b), []);
    assert!(!host.rules(&b).is_dated, "who has the other file would be told that it is this one");
    host.serve_dated(&a, 300, 12);
    assert!(host.rules(&a).is_dated);
}

#[test]
fn versions_that_say_the_same_are_one() {
    let mut host = Host::default();
    let text = |number| format!("# {number}\nUser-agent: *\nDisallow: /a\n");
    (1..=40).for_each(|number| host.serve(&text(number), number));
    let rules = host.rules(&text(40));
    assert_eq!((host.former(&text(40)), rules.since), (vec![], Some(date(40))), "bytes decide what is shown");
}

#[test]
fn what_finds_no_room_is_something_unknown_until_it_was_replaced() {
    let mut host = Host::default();
    (1..=20).for_each(|number| host.serve(&closing(number), number));
    let rules = host.rules(&closing(20));
    let unknown: Vec<_> = rules.former.iter().filter(|row| row.version.is_err()).collect();
    assert_eq!((rules.former.len(), unknown.len()), (17, 1));
    assert_eq!((unknown[0].version.as_ref().err(), unknown[0].until), (Some(&Doubt::Dropped), Some(at(4))));
}

#[test]
fn hosts_that_are_told_apart_keep_what_they_were_given() {
    let serves = |at: &[(&str, u64)]| ServedVersions {
        elsewhere: None,
        at: at.iter().map(|(host, path)| ((*host).into(), version(&closing(*path)))).collect(),
    };
    let mut rows = PastRows::default();
    rows.serve(&serves(&[("*", 1)]), date(1));
    let next = serves(&[("*", 1), ("*.w.example", 2)]);
    rows.serve(&next, date(2));
    let is_next = |host: &str, one: &RowVersion| next.of(host) == Some(one);
    assert!(rows.close(is_next, at(2)) && !rows.close(is_next, at(3)));
    let count = |rows: &PastRows, host| rows.of(host).unwrap().rows.len();
    assert_eq!((count(&rows, "x.w.example"), count(&rows, "x.example")), (2, 1));
    assert_eq!(rows.of("a.example"), rows.of("*"));
    rows.prune(PERIOD, at(200), |pattern| pattern == "*");
    assert_eq!(rows.0.len(), 1, "nobody can hold what they had apart");
}

#[test]
fn a_host_that_nobody_names_any_more_gets_no_past_of_others() {
    let serves = |at: &[(&str, u64)]| ServedVersions {
        elsewhere: None,
        at: at.iter().map(|(host, path)| ((*host).into(), version(&closing(*path)))).collect(),
    };
    let mut rows = PastRows::default();
    for (second, next) in [(1, serves(&[("*", 1), ("a", 2)])), (2, serves(&[("*", 2)]))] {
        rows.serve(&next, date(second));
        rows.close(|host, one| next.of(host) == Some(one), at(second));
        rows.prune(PERIOD, at(second), |pattern| next.at.contains_key(pattern));
    }
    let count = |rows: &PastRows, host| rows.of(host).unwrap().rows.len();
    assert_eq!((count(&rows, "a"), count(&rows, "b")), (1, 2));
    rows.prune(PERIOD, at(102), |pattern| pattern == "*");
    assert_eq!((rows.0.len(), count(&rows, "a")), (1, 1));
}
