//! The store as a whole: what is recorded through the real writer is what the reader tells.

use super::*;
use crate::decide::{Notice, Outcome, Reason, Ruling, Verdict, VersionId};
use crate::enforce::{Action, Mode};
use crate::identify::{Basis, Client, Identity, Proof};
use crate::record::{AddressDetail, CompleteRead, Event, EventKind, Occurrence, Reader, Recorder};
use crate::request::{RequestFacts, Scheme};
use crate::robots::{Kind, Rule};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A folder of one test, removed at its end.
#[derive(Debug)]
pub(in crate::record) struct Folder(PathBuf);

impl Folder {
    pub(in crate::record) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // In memory where the system has such a folder: the tests of faults write a great many times.
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!("store-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(in crate::record) fn store(&self) -> PathBuf {
        self.0.join(STORE_FILE)
    }

    pub(in crate::record) fn options(&self) -> StoreOptions {
        let (retention, max_bytes) = (Duration::from_secs(90 * 86_400), 1 << 30);
        StoreOptions { path: self.store(), retention, max_bytes }
    }

    pub(in crate::record) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(in crate::record) fn identity(crawler: &str, basis: Basis) -> Identity {
    let (client, tokens) = (Client::Crawler, Arc::new([]));
    Identity { client, crawler: Some(crawler.into()), purpose: None, tokens, star: true, basis }
}

/// What a test sends: who, whence its name is known, where to, and what comes of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct Request<'a> {
    pub(in crate::record) crawler: &'a str,
    pub(in crate::record) basis: Basis,
    pub(in crate::record) target: &'a str,
    pub(in crate::record) outcome: Outcome,
    pub(in crate::record) at: SystemTime,
}

impl<'a> Request<'a> {
    pub(in crate::record) fn of(crawler: &'a str, target: &'a str) -> Self {
        let outcome = Outcome::Violation(Notice::Read);
        Self { crawler, basis: Basis::Catalogue, target, outcome, at: SystemTime::now() }
    }

    pub(in crate::record) fn record(self, recorder: &Recorder) {
        let rule = Rule { kind: Kind::Disallow, line: 2, text: b"Disallow: /", pattern: b"/", octets: 1 };
        let ruling = Some(Ruling { group: vec!["*"], token: "*", rule: Some(rule) });
        let version = Some(VersionId::of(b"a"));
        let verdict = Verdict { outcome: self.outcome, reason: Reason::Rule, ruling, version };
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("example.org"),
            target: Cow::Borrowed(self.target.as_bytes()),
            user_agent: None,
            address: None,
        };
        let occurrence = Occurrence {
            facts: &facts,
            identity: &identity(self.crawler, self.basis),
            proof: Proof::Unchecked,
            verdict: &verdict,
            mode: Mode::Enforce,
            action: if self.outcome == Outcome::Allow { Action::Forward } else { Action::Refuse },
            site: "example.org",
            now: self.at,
            request_id: "1",
            addresses: AddressDetail::Full,
        };
        let kind = EventKind::of(&verdict, Proof::Unchecked);
        if let Some(wanted) = recorder.count(&occurrence, kind) {
            recorder.keep(wanted, &Event::new(&occurrence));
        }
    }
}

pub(in crate::record) fn everything(reader: &StoreReader) -> Window {
    reader.span().unwrap().unwrap()
}

/// Requests by crawler.
pub(in crate::record) fn by_crawler(reader: &StoreReader) -> HashMap<String, u64> {
    let mut sums = HashMap::new();
    for total in reader.totals(&everything(reader), &Filter::default()).unwrap() {
        let name = total.subject.crawler.as_deref().unwrap_or_default().to_owned();
        *sums.entry(name).or_default() += total.count;
    }
    sums
}

fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_014_400)
}

#[test]
fn what_is_recorded_is_what_is_read() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for number in 0..600_u64 {
        let at = noon() + Duration::from_secs(number);
        let (crawler, outcome) = match number % 3 {
            0 => ("GPTBot", Outcome::Allow),
            1 => ("GPTBot", Outcome::Violation(Notice::Read)),
            _ => ("bingbot", Outcome::Stale),
        };
        Request { outcome, at, ..Request::of(crawler, &format!("/{}", number % 7)) }.record(&recorder);
    }
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = everything(&reader);
    assert_eq!((window.from, window.to), (noon(), noon() + Duration::from_secs(600)));
    let totals = reader.totals(&window, &Filter::default()).unwrap();
    let count = |crawler: &str, kind: EventKind| -> u64 {
        let of = totals
            .iter()
            .filter(|total| total.subject.crawler.as_deref() == Some(crawler) && total.decision.kind == kind);
        of.map(|total| total.count).sum()
    };
    assert_eq!((count("GPTBot", EventKind::Allowed), count("GPTBot", EventKind::Violation)), (200, 200));
    assert_eq!((count("bingbot", EventKind::Stale), totals.len()), (200, 3));
    let violation = totals.iter().find(|total| total.decision.kind == EventKind::Violation).unwrap();
    assert_eq!(
        *violation.decision,
        crate::record::Decision {
            kind: EventKind::Violation,
            action: Action::Refuse,
            notice: Some(Notice::Read),
            version: Some(VersionId::of(b"a")),
            group: vec!["*".into()],
            line: Some(2),
            rule: Some("Disallow: /".into()),
        }
    );
    assert_eq!(&*violation.subject.site, "example.org");
}

#[test]
fn a_time_and_a_filter_narrow_what_is_read() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for minute in 0..10 {
        for crawler in ["GPTBot", "bingbot"] {
            let at = noon() + Duration::from_secs(minute * 60 + 30);
            Request { at, ..Request::of(crawler, "/x") }.record(&recorder);
        }
    }
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = reader.window(noon() + Duration::from_secs(90), noon() + Duration::from_secs(241)).unwrap();
    assert_eq!(window.from, noon() + Duration::from_secs(60));
    assert_eq!(window.to, noon() + Duration::from_secs(300));
    let filter = Filter { crawler: Some("gptbot".to_owned()), site: Some("example.org".to_owned()) };
    let totals = reader.totals(&window, &filter).unwrap();
    assert_eq!((totals.len(), totals[0].count), (1, 4));
    let points = reader.series(&window, &filter, Duration::from_secs(120)).unwrap();
    let counts: Vec<u64> = points.iter().map(|point| point.count).collect();
    assert_eq!(counts, [1, 2, 1], "stretches begin at multiples of the step");
    let elsewhere = Filter { site: Some("example.com".to_owned()), ..Filter::default() };
    assert!(reader.totals(&window, &elsewhere).unwrap().is_empty());
}

#[test]
fn the_first_thousand_targets_of_a_day_are_exact() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for round in 0..2 {
        for number in 0..1_500 {
            let outcome = if round == 0 { Outcome::Allow } else { Outcome::Violation(Notice::Lapsed) };
            let target = format!("/{number}");
            Request { outcome, at: noon(), ..Request::of("GPTBot", &target) }.record(&recorder);
            if number == 999 {
                recorder.flush();
            }
        }
    }
    Request { at: noon(), ..Request::of("bingbot", "/caf\u{e9}?a=b") }.record(&recorder);
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let paths = reader.paths(&everything(&reader), &Filter::default(), usize::MAX).unwrap();
    let of = |crawler: &str| -> Vec<_> {
        paths.iter().filter(|path| path.subject.crawler.as_deref() == Some(crawler)).collect()
    };
    let named = of("GPTBot");
    assert_eq!(named.len(), 1_001);
    for path in &named {
        let each = if path.target == OTHER_PATHS { 500 } else { 1 };
        assert_eq!((path.counts.allowed, path.counts.refused), (each, each), "{path:?}");
    }
    assert_eq!(named.iter().map(|path| path.counts.requests()).sum::<u64>(), 3_000);
    assert_eq!(of("bingbot")[0].target, "/caf\u{e9}?a=b", "its own thousand");
    let top = reader.paths(&everything(&reader), &Filter::default(), 3).unwrap();
    assert_eq!(top.len(), 3 + 1 + 1);
}

#[test]
fn the_first_thousand_made_up_names_of_a_day_are_exact() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for number in 0..1_700 {
        let (known, made_up) = (format!("known-{}", number % 40), format!("made-up-{number}"));
        Request { at: noon(), ..Request::of(&known, "/") }.record(&recorder);
        Request { at: noon(), basis: Basis::Sign, ..Request::of(&made_up, "/") }.record(&recorder);
        if number % 600 == 599 {
            recorder.flush();
        }
    }
    recorder.close();
    let sums = by_crawler(&StoreReader::open(&folder.store()).unwrap());
    assert_eq!(sums.len(), 40 + 1_000 + 1);
    assert_eq!(sums[crate::record::OTHER_CRAWLERS], 700);
    assert_eq!(sums.values().sum::<u64>(), 3_400);
}

#[test]
fn events_in_full_are_few_and_hold_their_line() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for round in 0..12 {
        for number in 0..30 {
            Request::of("GPTBot", &format!("/{round}/{number}")).record(&recorder);
        }
        Request { outcome: Outcome::Allow, ..Request::of("GPTBot", "/") }.record(&recorder);
        recorder.flush();
    }
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let all = Window { from: UNIX_EPOCH, to: SystemTime::now() + Duration::from_secs(60) };
    let samples = reader.samples(&all, &Filter::default()).unwrap();
    assert_eq!(samples.len(), 20);
    let event: serde_json::Value = serde_json::from_str(&samples[0].event).unwrap();
    assert_eq!((event["crawler"].as_str(), event["line"].as_u64()), (Some("GPTBot"), Some(2)));
    assert!(samples.is_sorted_by(|newer, older| newer.time >= older.time));
}

#[test]
fn reads_versions_and_presence_are_kept() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    recorder.in_force("example.org", Some(b"old"), noon());
    recorder.in_force("example.org", Some(b"old"), noon() + Duration::from_secs(5));
    recorder.in_force("example.org", Some(b"new"), noon() + Duration::from_secs(60));
    recorder.in_force("other.example", None, noon());
    let who = identity("GPTBot", Basis::Catalogue);
    let address = "198.51.100.7".parse().ok();
    let reader = Reader::new("example.org", "www.example.org", &who, Proof::Unchecked, address);
    for second in [70, 90, 80] {
        recorder.read(&CompleteRead {
            identity: &who,
            reader: &reader,
            version: VersionId::of(b"new"),
            in_force: noon() + Duration::from_secs(60),
            at: noon() + Duration::from_secs(second),
            addresses: AddressDetail::Full,
        });
    }
    recorder.close();
    let store = StoreReader::open(&folder.store()).unwrap();
    let versions = store.versions(Some("example.org")).unwrap();
    let told: Vec<_> =
        versions.iter().map(|version| (version.bytes.as_deref().unwrap(), version.until)).collect();
    assert_eq!(told, [(&b"old"[..], Some(noon() + Duration::from_secs(60))), (&b"new"[..], None)]);
    assert_eq!(versions[0].id, Some(VersionId::of(b"old")));
    assert_eq!(versions[0].from, noon());
    let other = store.versions(Some("other.example")).unwrap();
    assert_eq!((other.len(), other[0].sha256, other[0].bytes.as_ref()), (1, None, None));
    let reads = store.reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads[0].count, &*reads[0].host), (1, 3, "www.example.org"));
    assert_eq!(reads[0].network.as_deref(), Some("198.51.100.0/24"));
    assert_eq!(
        (reads[0].first, reads[0].last),
        (noon() + Duration::from_secs(70), noon() + Duration::from_secs(90))
    );
    let presence = store.presence(&Filter::default()).unwrap();
    assert_eq!((presence.len(), presence[0].last), (1, noon() + Duration::from_secs(90)));

    let remembered = store.remembered(noon() + Duration::from_secs(61)).unwrap();
    assert_eq!(remembered.versions.len(), 2, "the version in force of each site");
    let book = crate::record::ReadBook::default();
    book.take_up(&remembered.reads);
    let read = crate::decide::Read { version: VersionId::of(b"new"), at: noon() + Duration::from_secs(70) };
    assert_eq!(book.of(&reader), [read]);
}

#[test]
fn where_addresses_are_not_kept_no_network_is() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let who = identity("GPTBot", Basis::Catalogue);
    let reader = Reader::new("s", "h", &who, Proof::Unchecked, "198.51.100.7".parse().ok());
    let version = VersionId::of(b"a");
    let (identity, addresses) = (&who, AddressDetail::None);
    recorder.read(&CompleteRead {
        identity,
        reader: &reader,
        version,
        in_force: noon(),
        at: noon(),
        addresses,
    });
    recorder.close();
    let store = StoreReader::open(&folder.store()).unwrap();
    let reads = store.reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads[0].network.as_deref()), (1, None));
    let book = crate::record::ReadBook::default();
    book.take_up(&reads);
    assert!(book.of(&reader).is_empty(), "nobody can be told from anybody");
}

#[test]
fn readers_beyond_the_first_thousand_are_counted_together() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let who = identity("GPTBot", Basis::Catalogue);
    for number in 0..1_200_u32 {
        let address = std::net::Ipv4Addr::from(0xC633_0000 + number * 256).into();
        let reader = Reader::new("s", "h", &who, Proof::Unchecked, Some(address));
        recorder.read(&CompleteRead {
            identity: &who,
            reader: &reader,
            version: VersionId::of(b"a"),
            in_force: noon(),
            at: noon(),
            addresses: AddressDetail::Full,
        });
    }
    recorder.close();
    let reads = StoreReader::open(&folder.store()).unwrap().reads(&Filter::default()).unwrap();
    assert_eq!((reads.len(), reads.iter().map(|read| read.count).sum::<u64>()), (1_001, 1_200));
    assert!(reads.iter().any(|read| &*read.host == OTHER_PATHS && read.count == 200));
}

#[test]
fn two_writers_of_one_store_lose_nothing_and_count_nothing_twice() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let options = folder.options();
            scope.spawn(move || {
                let recorder = Recorder::start(&options).unwrap();
                for number in 0..5_000 {
                    let (crawler, target) = (format!("bot{}", number % 20), format!("/{}", number % 150));
                    Request { at: noon(), ..Request::of(&crawler, &target) }.record(&recorder);
                    if number % (700 + 300 * writer) == 0 {
                        recorder.flush();
                    }
                }
                recorder.close();
                assert_eq!(recorder.status().counts_lost, 0);
            });
        }
    });
    let reader = StoreReader::open(&folder.store()).unwrap();
    let sums = by_crawler(&reader);
    assert_eq!(sums.len(), 20);
    assert!(sums.values().all(|sum| *sum == 500), "{sums:?}");
    let paths = reader.paths(&everything(&reader), &Filter::default(), usize::MAX).unwrap();
    assert_eq!(paths.iter().map(|path| path.counts.refused).sum::<u64>(), 10_000);
}

#[test]
fn a_reader_sees_one_moment_while_writing_goes_on() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    Request::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    let reader = StoreReader::open(&folder.store()).unwrap();
    Request::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    assert_eq!(by_crawler(&reader)["GPTBot"], 1);
    assert_eq!(by_crawler(&StoreReader::open(&folder.store()).unwrap())["GPTBot"], 2);
    recorder.close();
}

#[test]
fn reads_that_may_have_gone_unseen_are_told_of_the_time_they_concern() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    Request::of("GPTBot", "/").record(&recorder);
    recorder.flush();
    let around = |from: SystemTime| Window { from, to: from + Duration::from_secs(60) };
    let past = around(SystemTime::now() - Duration::from_secs(30));
    let is_partial = |window| StoreReader::open(&folder.store()).unwrap().reads_are_partial(window).unwrap();
    assert!(!is_partial(&past));
    recorder.set_partial_reads(true);
    Request::of("GPTBot", "/").record(&recorder);
    recorder.close();
    assert!(is_partial(&past));
    assert!(!is_partial(&around(SystemTime::now() + Duration::from_secs(1))));
}

#[test]
fn where_there_is_no_store_it_is_said() {
    let folder = Folder::new();
    let error = StoreReader::open(&folder.store()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing);
    std::fs::write(folder.store(), "not a database, whatever its name says").unwrap();
    assert_eq!(StoreReader::open(&folder.store()).unwrap_err().kind(), StoreErrorKind::Corrupt);
}

/// The writer keeps up with many more requests a second than a gateway on this machine could answer.
#[test]
fn the_writer_sustains_a_heavy_crawl() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let crawlers: Vec<_> = (0..50).map(|number| format!("bot{number}")).collect();
    let targets: Vec<_> = (0..200).map(|number| format!("/{number}")).collect();
    let begun = std::time::Instant::now();
    let sent = 200_000_u32;
    for number in 0..sent as usize {
        Request { at: noon(), ..Request::of(&crawlers[number % 50], &targets[number / 50 % 200]) }
            .record(&recorder);
    }
    let counting = begun.elapsed();
    recorder.close();
    let written = begun.elapsed();
    let rate = f64::from(sent) / written.as_secs_f64();
    println!("{sent} violations recorded in {counting:.2?}, written in {written:.2?}: {rate:.0} a second");
    let reader = StoreReader::open(&folder.store()).unwrap();
    assert_eq!(by_crawler(&reader).values().sum::<u64>(), u64::from(sent));
    let paths = reader.paths(&everything(&reader), &Filter::default(), usize::MAX).unwrap();
    assert!(paths.len() == 10_000 && paths.iter().all(|path| path.counts.refused == 20));
}

/// `cargo test --release --lib season -- --ignored --nocapture`
#[test]
#[ignore = "fills a store of 90 days; run it with --release"]
fn a_season_of_three_hundred_crawlers_is_read_in_a_second() {
    let folder = Folder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    let crawlers: Vec<_> = (0..300).map(|number| format!("bot{number}")).collect();
    let targets: Vec<_> = (0..100).map(|number| format!("/section/{number}")).collect();
    // Every crawler once an hour for 90 days, by minute for the last two: ten million violations.
    let (now, mut sent) = (SystemTime::now(), 0_u64);
    for hour in 0..90 * 24 {
        for (number, crawler) in crawlers.iter().enumerate() {
            for times in 0..16_u8 {
                let at = now - Duration::from_secs(hour * 3_600 + u64::from(times) * 60 + 60);
                Request { at, ..Request::of(crawler, &targets[(number + usize::from(times)) % 100]) }
                    .record(&recorder);
                sent += 1;
            }
        }
        if hour % 24 == 23 {
            recorder.flush();
        }
    }
    recorder.close();
    while !recorder_is_tidy(&folder) {}
    let size = std::fs::metadata(folder.store()).unwrap().len();
    let begun = std::time::Instant::now();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = everything(&reader);
    let totals = reader.totals(&window, &Filter::default()).unwrap();
    let read = begun.elapsed();
    let paths = reader.paths(&window, &Filter::default(), 10).unwrap();
    let points = reader.series(&window, &Filter::default(), Duration::from_secs(86_400)).unwrap();
    println!(
        "{sent} violations, {size} octets: totals in {read:.2?}, with paths and series in {:.2?} ({} paths, {} points)",
        begun.elapsed(),
        paths.len(),
        points.len()
    );
    assert_eq!(totals.iter().map(|total| total.count).sum::<u64>(), sent);
    assert!(begun.elapsed() < Duration::from_secs(2));
}

fn recorder_is_tidy(folder: &Folder) -> bool {
    use super::open::Source as _;
    let mut database = StoreFile::new(folder.store()).open(false).unwrap().database;
    let now = crate::record::tally::micros(SystemTime::now());
    (0..1_000).any(|_| {
        housekeeping::step(&mut database, folder.options().keep(), now).unwrap() == housekeeping::Step::Done
    })
}
