//! A batch keeps every count, or says which it did not.

use super::*;
use crate::decide::{Notice, Outcome, Reason, Verdict, VersionId};
use crate::enforce::Action;
use crate::identify::{Client, Proof};

const ROOMY: Bounds =
    Bounds { rollups: 1_000, paths: 1_000, strangers: 100, samples: 100, reads: 100, robots: 100_000 };

fn subject(crawler: &str) -> SubjectRef<'_> {
    SubjectRef {
        site: "example.org",
        client: Client::Crawler,
        crawler: Some(crawler),
        purpose: None,
        proof: Proof::Unchecked,
    }
}

fn verdict(outcome: Outcome) -> Verdict<'static> {
    Verdict { outcome, reason: Reason::Rule, ruling: None, version: Some(VersionId::of(b"a")) }
}

const GUILTY: Outcome = Outcome::Violation(Notice::Read);

fn count(batch: &mut Batch, crawler: &str, is_known: bool, target: &str, minute: i64) -> bool {
    let verdict = verdict(GUILTY);
    batch.count(&Entry {
        subject: subject(crawler),
        is_known,
        decision: DecisionRef::plain(&verdict, Proof::Unchecked, Action::Refuse),
        target: target.as_bytes(),
        at: minute * 60_000_000,
        gap: None,
    })
}

fn path_requests(batch: &Batch) -> u64 {
    let of = |account: &Account| {
        let days = account.paths.values().flatten().chain(&account.other_paths);
        days.map(|(_, counts)| counts.requests()).sum::<u64>()
    };
    batch.accounts.values().map(of).sum()
}

#[test]
fn merging_adds_up() {
    let (mut one, mut two) = (Batch::new(ROOMY), Batch::new(ROOMY));
    for number in 0..500 {
        let batch = if number % 3 == 0 { &mut one } else { &mut two };
        count(
            batch,
            ["a", "b"][number % 2],
            true,
            &format!("/{}", number % 7),
            i64::try_from(number / 100).unwrap(),
        );
    }
    one.merge(two);
    assert_eq!((one.requests(), path_requests(&one)), (500, 500));
    assert_eq!(one.losses(), Losses::default());
    assert_eq!(one.accounts.len(), 2);
    assert_eq!(one.room.sizes.rollups, 10);
    assert_eq!(one.room.sizes.paths, 14);
}

#[test]
fn targets_without_room_are_counted_with_the_rest() {
    let mut batch = Batch::new(Bounds { paths: 10, ..ROOMY });
    for number in 0..30 {
        count(&mut batch, "a", true, &format!("/{number}"), 0);
    }
    let account = &batch.accounts[&Subject::from(&subject("a"))];
    assert_eq!((account.paths.len(), account.other_paths[0].1.refused), (10, 20));
    assert_eq!(batch.losses(), Losses { details_dropped: 20, counts_lost: 0 });
    assert_eq!(batch.requests(), 30);
}

#[test]
fn an_endless_target_is_one_of_the_rest() {
    let mut batch = Batch::new(ROOMY);
    count(&mut batch, "a", true, &"/x".repeat(2_000), 0);
    assert!(batch.accounts[&Subject::from(&subject("a"))].paths.is_empty());
    assert_eq!((path_requests(&batch), batch.losses()), (1, Losses::default()));
}

#[test]
fn made_up_names_without_room_are_counted_together_and_known_ones_never() {
    let mut batch = Batch::new(Bounds { strangers: 5, ..ROOMY });
    for number in 0..20 {
        count(&mut batch, &format!("made-up-{number}"), false, "/", 0);
        count(&mut batch, &format!("known-{number}"), true, "/", 0);
    }
    assert_eq!(batch.accounts.len(), 5 + 20 + 1);
    let rest = &batch.accounts[&Subject::from(&subject(super::super::OTHER_CRAWLERS))];
    assert_eq!(rest.paths[&b"/"[..]][0].1.violations, 15);
    assert_eq!((batch.requests(), batch.losses()), (40, Losses::default()));
}

#[test]
fn minutes_become_hours_before_a_count_is_lost() {
    let mut batch = Batch::new(Bounds { rollups: 10, ..ROOMY });
    for minute in 0..600 {
        count(&mut batch, "a", true, "/", minute);
    }
    assert_eq!(batch.room.sizes.rollups, 20, "ten minutes and ten hours");
    assert_eq!((batch.requests(), batch.losses().counts_lost), (600, 0));
    for minute in 600..660 {
        count(&mut batch, "a", true, "/", minute);
    }
    assert_eq!((batch.requests(), batch.losses().counts_lost), (600, 60));
}

#[test]
fn a_few_events_of_a_batch_are_wanted_in_full() {
    let mut batch = Batch::new(ROOMY);
    let wanted = (0..50).filter(|_| count(&mut batch, "a", true, "/", 0)).count();
    assert_eq!(wanted, usize::from(SAMPLES_PER_DECISION));
}

#[test]
fn reads_of_one_reader_are_one() {
    let mut batch = Batch::new(Bounds { reads: 1, ..ROOMY });
    let key = |host: &str| ReadKey {
        version: VersionId::of(b"a"),
        in_force: 5,
        host: host.into(),
        network: Some("192.0.2.0/24".into()),
    };
    for at in [30, 10, 20] {
        batch.read(subject("a"), true, key("example.org"), Seen { first: at, last: at, count: 1 });
    }
    batch.read(subject("a"), true, key("www.example.org"), Seen { first: 1, last: 1, count: 1 });
    let account = &batch.accounts[&Subject::from(&subject("a"))];
    assert_eq!(account.reads[&key("example.org")], Seen { first: 10, last: 30, count: 3 });
    assert_eq!(account.presence[&0], Seen { first: 1, last: 30, count: 4 });
    assert_eq!(batch.losses().details_dropped, 1);
}

#[test]
fn versions_are_bounded_by_their_octets() {
    let mut batch = Batch::new(Bounds { robots: 1_000, ..ROOMY });
    for _ in 0..5 {
        let bytes = Some(Arc::from(vec![b'#'; 100]));
        batch.in_force(InForce { site: "example.org".into(), bytes, since: 0 });
    }
    assert_eq!((batch.versions.len(), batch.losses().details_dropped), (2, 3));
}
