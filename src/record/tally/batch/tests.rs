//! A batch keeps every count, or says which it did not.

use super::*;
use crate::decide::{RobotsVersion, VersionId};
use crate::identify::{Basis, ClientKind, Proof};
use crate::record::store::tests::SampleRequest;
use crate::record::tables::OTHER_PATHS;
use crate::record::tally::instant;

const ROOMY: BatchLimits = BatchLimits {
    rollups: 1_000,
    paths: 1_000,
    details: 1_000_000,
    strangers: 100,
    samples: 100,
    reads: 100,
    robots: 100_000,
    lengths: &[60, 3_600, 86_400],
    day: 86_400,
};

fn subject(crawler: &str) -> SubjectRef<'_> {
    SubjectRef {
        site: "example.org",
        client: ClientKind::Crawler,
        crawler: Some(crawler),
        purpose: None,
        proof: Proof::Unchecked,
    }
}

fn count(batch: &mut CountBatch, crawler: &str, is_known: bool, target: &str, minute: i64) -> bool {
    let basis = if is_known { Basis::Catalogue } else { Basis::Sign };
    let at = instant(minute * 60_000_000);
    SampleRequest { basis, at, ..SampleRequest::of(crawler, target) }
        .occur(|occurrence| batch.count(occurrence, EventKind::Violation))
}

/// Details, reads and requests that found no room.
fn losses(batch: &CountBatch) -> [u64; 3] {
    [MissingWhat::Details, MissingWhat::Reads, MissingWhat::Requests]
        .map(|what| Missing::sum(&batch.room.missing, what))
}

fn key(host: &str) -> ReadKey {
    ReadKey {
        version: VersionId::of(b"a"),
        in_force: 5,
        host: host.into(),
        network: Some("192.0.2.0/24".into()),
        chosen: Some("*".into()),
    }
}

fn read(at: i64) -> ReadSum {
    ReadSum { rules: RobotsVersion::allowing_everything().rules, seen: SeenInstants::once(at), as_of: 1, at }
}

fn path_requests(batch: &CountBatch) -> u64 {
    let days = batch.accounts.values().flat_map(|account| account.paths.values()).flat_map(|uses| &uses.days);
    days.map(|(_, counts)| counts.requests()).sum()
}

#[test]
fn targets_without_room_are_counted_with_the_rest() {
    let mut batch = CountBatch::new(BatchLimits { paths: 5, ..ROOMY });
    for number in 0..30 {
        count(&mut batch, "a", true, &format!("/{number}"), 0);
    }
    let account = &batch.accounts[&CountSubject::from(&subject("a"))];
    let other = &account.paths[OTHER_PATHS.as_bytes()];
    assert_eq!((account.paths.len(), other.days[0].1.refused), (10 + 1, 20));
    assert_eq!(losses(&batch), [20, 0, 0]);
    assert_eq!(batch.requests(), 30);
}

#[test]
fn an_endless_target_is_one_of_the_rest() {
    let mut batch = CountBatch::new(ROOMY);
    count(&mut batch, "a", true, &"/x".repeat(2_000), 0);
    let paths = &batch.accounts[&CountSubject::from(&subject("a"))].paths;
    assert_eq!(paths.keys().collect::<Vec<_>>(), [&Box::from(OTHER_PATHS.as_bytes())]);
    assert_eq!((path_requests(&batch), losses(&batch)), (1, [0; 3]));
}

#[test]
fn made_up_names_without_room_are_counted_together_and_known_ones_never() {
    let mut batch = CountBatch::new(BatchLimits { strangers: 5, ..ROOMY });
    for number in 0..20 {
        count(&mut batch, &format!("made-up-{number}"), false, "/", 0);
        count(&mut batch, &format!("known-{number}"), true, "/", 0);
    }
    assert_eq!(batch.accounts.len(), 5 + 20 + 1);
    let rest = &batch.accounts[&CountSubject::from(&subject(super::super::OTHER_CRAWLERS))];
    assert_eq!(rest.paths[&b"/"[..]].days[0].1.violations, 15);
    assert_eq!((batch.requests(), losses(&batch)), (40, [0; 3]));
}

#[test]
fn periods_become_longer_before_a_count_is_lost() {
    let mut batch = CountBatch::new(BatchLimits { rollups: 10, ..ROOMY });
    // Which minute is counted up to, and how long the periods are then, and how many.
    for (end, length, periods) in
        [(11, 60, 11), (12, 3_600, 1), (601, 3_600, 11), (602, 86_400, 1), (14_401, 86_400, 11)]
    {
        for minute in i64::try_from(batch.requests()).unwrap()..end {
            let _ = count(&mut batch, "a", true, "/", minute);
        }
        assert_eq!((batch.length, batch.room.sizes.rollups), (length, periods), "after {end} minutes");
    }
    // An earlier time finds its period.
    let _ = count(&mut batch, "a", true, "/", 7);
    assert_eq!((batch.requests(), losses(&batch)[2]), (14_402, 0));
    let _ = count(&mut batch, "a", true, "/", 15_840);
    assert_eq!((batch.requests(), losses(&batch)[2]), (14_402, 1));
}

#[test]
fn a_few_events_of_a_batch_are_wanted_in_full() {
    let mut batch = CountBatch::new(ROOMY);
    let mut wanted = |many: u32| (0..many).filter(|_| count(&mut batch, "a", true, "/", 0)).count();
    assert_eq!((wanted(50), wanted(50)), (4, 0));
}

#[test]
fn reads_of_one_reader_are_one() {
    let mut batch = CountBatch::new(BatchLimits { reads: 1, ..ROOMY });
    for at in [30, 10, 20] {
        batch.read(subject("a"), true, key("example.org"), read(at));
    }
    batch.read(subject("a"), true, key("www.example.org"), read(1));
    let account = &batch.accounts[&CountSubject::from(&subject("a"))];
    let seen = SeenInstants { first: 10, last: 30, count: 3 };
    assert_eq!(account.reads[&key("example.org")], ReadSum { seen, ..read(10) });
    assert_eq!(account.presence[0].1, SeenInstants { first: 1, last: 30, count: 4 });
    assert_eq!(losses(&batch), [0; 3]);
}

#[test]
fn a_read_goes_without_its_host_before_it_is_lost_and_then_its_site_is_noted() {
    let mut batch = CountBatch::new(BatchLimits { reads: 2, ..ROOMY });
    for number in 0..50 {
        batch.read(subject("a"), true, key(&format!("{number}.example.org")), read(number));
    }
    let of_any_host = key("").of_any_host();
    let account = &batch.accounts[&CountSubject::from(&subject("a"))];
    assert_eq!((account.reads.len(), account.reads[&of_any_host].seen.count), (3, 48));
    for crawler in ["b", "c"] {
        batch.read(subject(crawler), true, key("example.org"), read(60));
    }
    assert_eq!(losses(&batch), [0, 1, 0]);
    assert!(batch.accounts[&CountSubject::from(&subject("b"))].reads.contains_key(&of_any_host));
    let noted = batch.room.missing.iter().map(|lost| (&*lost.site, &*lost.reason, lost.from, lost.count));
    assert_eq!(noted.collect::<Vec<_>>(), [("example.org", "not-written", 60, Some(1))]);
}

#[test]
fn versions_are_bounded_by_their_bytes() {
    let mut batch = CountBatch::new(BatchLimits { robots: 1_000, ..ROOMY });
    for _ in 0..5 {
        let bytes = Some(Arc::from(vec![b'#'; 100]));
        batch.in_force(InForce { site: "example.org".into(), bytes, since: 0 });
    }
    assert_eq!((batch.versions.len(), losses(&batch)[0]), (2, 3));
}
