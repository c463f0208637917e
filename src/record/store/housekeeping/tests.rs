//! Folding is exact, retention takes what is old and nothing else, and the cap holds.

use super::*;
use crate::decide::VerdictOutcome;
use crate::decide::VersionId;
use crate::identify::{Basis, Proof};
use crate::record::missing::{Missing, MissingWhat, RETENTION, SIZE_CAP};
use crate::record::store::open::StoreFile;
use crate::record::store::sqlite::Sqlite;
use crate::record::store::tests::{
    SampleRequest, StoreFolder, by_crawler, everything, identity, requests, some_read,
};
use crate::record::store::{Filter, StoreReader, Window};
use crate::record::{AddressDetail, CompleteRead, ReaderId, Recorder};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The size of a store that has room for everything.
const ROOM: u64 = 1 << 30;

fn kept(days: u64, max_bytes: u64) -> StoreOptions {
    let retention = Duration::from_secs(days * 86_400);
    StoreOptions { path: PathBuf::new(), retention, max_bytes, is_shared: false }
}

/// A moment in the middle of a minute, an hour and a day.
const NOW: u64 = 1_800_012_345;

fn ago(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW - seconds)
}

fn open(folder: &StoreFolder) -> Sqlite {
    StoreFile::new(folder.store()).open(false).unwrap().database
}

fn tidy(database: &Sqlite, keep: &StoreOptions, now: u64) -> usize {
    let now = i64::try_from(now * 1_000_000).unwrap();
    (0..100_000).take_while(|_| step(database, keep, now).unwrap()).count()
}

fn number(database: &Sqlite, sql: &str) -> i64 {
    database.number(sql, ()).unwrap()
}

/// What the store tells as missing from a moment on.
fn missing(folder: &StoreFolder, from: SystemTime) -> Vec<Missing> {
    let ever = Window { from, to: UNIX_EPOCH + Duration::from_secs(2 * NOW) };
    StoreReader::open(&folder.store()).unwrap().missing(&ever).unwrap()
}

/// What each request was sent.
const BYTES: u64 = 5_000_000_000;

/// Requests every 47 minutes over twenty days.
fn filled(folder: &StoreFolder) -> u64 {
    // The writer's own housekeeping goes by the clock; these times are no trouble to it.
    let options = StoreOptions { retention: Duration::from_secs(100 * 366 * 86_400), ..folder.options() };
    let recorder = Recorder::start(&options).unwrap();
    let mut sent = 0;
    for at in (0..20 * 86_400).step_by(47 * 60) {
        for crawler in ["GPTBot", "bingbot"] {
            SampleRequest { at: ago(at), ..SampleRequest::of(crawler, "/x") }.record(&recorder);
            SampleRequest { at: ago(at), outcome: VerdictOutcome::Allow, ..SampleRequest::of(crawler, "/y") }
                .record(&recorder);
            let who = identity(crawler, Basis::Catalogue);
            recorder.sent("example.org", &who, Proof::Unchecked, ago(at), 2 * BYTES);
            sent += 2;
        }
    }
    recorder.close();
    sent
}

#[test]
fn folding_keeps_every_count_and_leaves_few_rows() {
    let folder = StoreFolder::new();
    let sent = filled(&folder);
    let database = open(&folder);
    assert!(tidy(&database, &kept(90, ROOM), NOW) > 0);
    assert_eq!(tidy(&database, &kept(90, ROOM), NOW), 0, "there is nothing left to do");
    for (span, oldest) in [
        ("SELECT min(start) FROM rollup WHERE span = 60", MINUTES_FOR),
        ("SELECT min(start) FROM rollup WHERE span = 3600", HOURS_FOR + DAY),
    ] {
        let oldest = i64::try_from(NOW).unwrap() - oldest - DAY;
        assert!(number(&database, span) >= oldest, "{span}");
    }
    assert_eq!(number(&database, "SELECT count(*) FROM rollup WHERE span = 86400"), 4 * 12);
    let reader = StoreReader::open(&folder.store()).unwrap();
    assert_eq!(by_crawler(&reader).values().sum::<u64>(), sent);
    assert_eq!(number(&database, "SELECT count(*) FROM sent WHERE span = 86400"), 2 * 12);
    let all = reader.activities(&everything(&reader), &Filter::default(), Some(9)).unwrap();
    assert_eq!(all.values().map(|activity| activity.bytes).collect::<Vec<_>>(), [Some(sent / 2 * BYTES); 2]);
    let stretches = all.values().flat_map(|activity| &activity.stretches);
    assert_eq!(stretches.map(|stretch| stretch.requests).sum::<u64>(), sent);
}

#[test]
fn a_window_reaches_to_the_bounds_of_what_is_folded() {
    let folder = StoreFolder::new();
    filled(&folder);
    tidy(&open(&folder), &kept(90, ROOM), NOW);
    let reader = StoreReader::open(&folder.store()).unwrap();
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let window = reader.window(ago(3_600), ago(600)).unwrap();
    assert_eq!((seconds(window.from) % 60, seconds(window.to) % 60), (0, 0));
    assert!(window.from <= ago(3_600) && window.from > ago(3_660));
    let window = reader.window(ago(4 * 86_400), ago(3 * 86_400)).unwrap();
    assert_eq!((seconds(window.from) % 3_600, seconds(window.to) % 3_600), (0, 0));
    let window = reader.window(ago(15 * 86_400), ago(12 * 86_400)).unwrap();
    assert_eq!((seconds(window.from) % 86_400, seconds(window.to) % 86_400), (0, 0));
    assert!(window.from <= ago(15 * 86_400) && window.to >= ago(12 * 86_400));
    // How long the longest stretch of a window is, wherever the window begins.
    let grain = |from, to| {
        let window = reader.window(ago(from), ago(to)).unwrap();
        let all = reader.counts(&window, &Filter::default()).unwrap();
        let lengths = all.values().flat_map(|activity| &activity.stretches).map(|stretch| stretch.length);
        lengths.max()
    };
    assert_eq!(grain(3_600, 600), Some(60));
    assert_eq!((grain(4 * 86_400, 3 * 86_400), grain(4 * 86_400, 0)), (Some(3_600), Some(3_600)));
    assert_eq!((grain(15 * 86_400, 14 * 86_400), grain(15 * 86_400, 0)), (Some(86_400), Some(86_400)));
    // Three windows side by side hold what one over all of them holds.
    let sum = |from, to| -> u64 {
        let window = reader.window(from, to).unwrap();
        requests(&reader, &window)
    };
    let (one, two) = (reader.window(ago(21 * 86_400), ago(11 * 86_400)).unwrap(), ago(4 * 86_400));
    let two = reader.window(one.to, two).unwrap();
    assert_eq!(
        sum(one.from, one.to) + sum(one.to, two.to) + sum(two.to, ago(0) + Duration::from_secs(60)),
        sum(ago(21 * 86_400), ago(0) + Duration::from_secs(60))
    );
}

#[test]
fn retention_takes_what_is_old_and_nothing_else() {
    let folder = StoreFolder::new();
    let sent = filled(&folder);
    let database = open(&folder);
    let keep = &kept(10, ROOM);
    tidy(&database, keep, NOW);
    let cutoff = i64::try_from(NOW).unwrap() - 10 * DAY;
    for (sql, span) in [
        ("SELECT min(start) FROM rollup", DAY),
        ("SELECT min(day) FROM path", DAY),
        ("SELECT min(day) FROM path_day", DAY),
        ("SELECT min(day) FROM presence", DAY),
        ("SELECT min(start) FROM sent", DAY),
    ] {
        let oldest = number(&database, sql);
        assert!(oldest + span > cutoff - 1, "{sql}: {oldest} is older than {cutoff}");
        assert!(oldest < cutoff + 2 * DAY, "{sql}: {oldest}, and {cutoff} was to be kept");
    }
    let left = number(&database, "SELECT sum(count) FROM rollup");
    let missing = missing(&folder, UNIX_EPOCH);
    let [missing] = &missing[..] else { panic!("it is told what went") };
    assert_eq!(*missing.reason, *RETENTION);
    assert_eq!(missing.count.unwrap() + u64::try_from(left).unwrap(), sent);
    let to = crate::record::instant(missing.to);
    assert!(to <= ago(10 * 86_400) && to > ago(12 * 86_400), "{missing:?}");
    assert_eq!(self::missing(&folder, to), [], "nothing is missing of what is kept");
    let after = NOW + 100 * 86_400;
    tidy(&database, keep, after);
    for sql in [
        "SELECT count(*) FROM rollup",
        "SELECT count(*) FROM path",
        "SELECT count(*) FROM path_day",
        "SELECT count(*) FROM presence",
        "SELECT count(*) FROM sample",
        "SELECT count(*) FROM sent",
    ] {
        assert_eq!(number(&database, sql), 0, "{sql}");
    }
}

#[test]
fn versions_in_force_and_their_reads_outlive_retention() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for (bytes, day) in [(&b"a"[..], 300), (&b"b"[..], 200), (&b"c"[..], 120)] {
        recorder.in_force("example.org", Some(bytes), ago(day * 86_400));
    }
    recorder.close();
    let database = open(&folder);
    tidy(&database, &kept(90, ROOM), NOW);
    let versions = StoreReader::open(&folder.store()).unwrap().versions(None).unwrap();
    let bytes: Vec<_> = versions.iter().map(|version| version.bytes.as_deref().unwrap()).collect();
    assert_eq!(bytes, [b"c"], "`b` went out of force 120 days ago");
    assert_eq!(number(&database, "SELECT count(*) FROM robots"), 1);
}

/// A read that ended a moment after its version: whoever is told of it can see what was read.
#[test]
fn the_text_of_a_version_stays_as_long_as_a_read_of_it() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    recorder.in_force("example.org", Some(b"a"), ago(300 * 86_400));
    recorder.in_force("example.org", Some(b"b"), ago(91 * 86_400));
    let who = identity("GPTBot", Basis::Catalogue);
    let reader = ReaderId::new("h", &who, Proof::Unchecked, Some([198, 51, 100, 7].into()));
    recorder.read(&CompleteRead {
        chosen: "*".into(),
        site: "example.org".into(),
        identity: Arc::new(who.clone()),
        reader: reader.clone().into_owned(),
        version: VersionId::of(b"a"),
        in_force: ago(300 * 86_400),
        time: ago(89 * 86_400),
        read: some_read(),
        addresses: AddressDetail::Full,
    });
    recorder.close();
    let database = open(&folder);
    let keep = &kept(90, ROOM);
    tidy(&database, keep, NOW);
    assert_eq!(number(&database, "SELECT count(*) FROM robots"), 2);
    tidy(&database, keep, NOW + 2 * 86_400);
    assert_eq!(number(&database, "SELECT count(*) FROM robots"), 1);
}

#[test]
fn the_cap_takes_the_oldest_details_first_and_tells() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for day in 0..6 {
        for number in 0..900 {
            let target = format!("/{number}/{}", "x".repeat(200));
            let at = SystemTime::now() - Duration::from_secs(day * 86_400);
            SampleRequest { at, ..SampleRequest::of("GPTBot", &target) }.record(&recorder);
        }
    }
    recorder.close();
    let database = open(&folder);
    let counted = number(&database, "SELECT sum(count) FROM rollup");
    let days = number(&database, "SELECT count(DISTINCT day) FROM path");
    let size = number(&database, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let max_bytes = u64::try_from(size).unwrap() * 2 / 3;
    tidy(&database, &kept(90, max_bytes), now);
    database.checkpoint().unwrap();
    assert!(std::fs::metadata(folder.store()).unwrap().len() <= max_bytes, "{max_bytes}");
    let left = number(&database, "SELECT count(DISTINCT day) FROM path");
    assert!((1..days).contains(&left), "{left} of {days} days");
    assert_eq!(number(&database, "SELECT sum(count) FROM rollup"), counted, "counts outlive details");
    let removed = |what| Missing::sum(&missing(&folder, UNIX_EPOCH), what);
    let details = removed(MissingWhat::Details);
    assert_eq!((removed(MissingWhat::Requests), details % 900), (0, 0), "{details}");
    assert!(details >= 900);
    tidy(&database, &kept(90, 50_000), now);
    let left = number(&database, "SELECT sum(count) FROM rollup");
    assert_eq!(i64::try_from(removed(MissingWhat::Requests)).unwrap() + left, counted);
    let missing = missing(&folder, UNIX_EPOCH);
    assert!(missing.iter().all(|missing| *missing.reason == *SIZE_CAP), "{missing:?}");
    assert!(Missing::sum(&missing, MissingWhat::Requests) >= 900);
    let today = UNIX_EPOCH + Duration::from_secs(now - now % 86_400);
    let of_today = Missing::sum(&self::missing(&folder, today), MissingWhat::Requests);
    assert_eq!(of_today, 0, "today's are all there");
}

/// Of the reads that the size cap takes at last, the sites and times are noted.
#[test]
fn the_cap_notes_at_which_sites_it_took_reads() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for number in 0..2_000_u32 {
        let who = identity(&format!("bot{number}"), Basis::Catalogue);
        let address = std::net::Ipv4Addr::from(0xC633_0000 + number * 256).into();
        let reader = ReaderId::new("h", &who, Proof::Unchecked, Some(address));
        recorder.read(&CompleteRead {
            chosen: "*".into(),
            site: (if number < 700 { "old" } else { "new" }).into(),
            identity: Arc::new(who.clone()),
            reader: reader.clone().into_owned(),
            version: VersionId::of(b"a"),
            in_force: SystemTime::now(),
            time: SystemTime::now(),
            read: some_read(),
            addresses: AddressDetail::Full,
        });
    }
    recorder.close();
    let database = open(&folder);
    let now = SystemTime::now();
    let seconds = now.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let size = number(&database, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    let max_bytes = u64::try_from(size).unwrap();
    tidy(&database, &kept(90, max_bytes), seconds);
    let gone = 2_000 - number(&database, "SELECT count(*) FROM read");
    assert!((500..=1_500).contains(&gone), "{gone}");
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = Window { from: now - Duration::from_secs(60), to: now };
    let missing = reader.missing(&window).unwrap();
    let reads = missing.iter().filter(|missing| missing.what == MissingWhat::Reads);
    let noted: Vec<_> = reads.map(|missing| (&*missing.site, &*missing.reason)).collect();
    assert!(noted.contains(&("old", SIZE_CAP)), "{noted:?}");
    assert_eq!(noted.contains(&("new", SIZE_CAP)), gone > 700, "{noted:?}");
}
