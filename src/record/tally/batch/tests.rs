//! A batch keeps every count, or says which it did not.

use super::*;
use crate::decide::{Notice, RobotsVersion, Verdict, VerdictOutcome, VerdictReason, VersionId};
use crate::enforce::Action;
use crate::identify::{ClientKind, Proof};

const ROOMY: BatchLimits = BatchLimits {
    rollups: 1_000,
    paths: 1_000,
    details: 1_000_000,
    strangers: 100,
    samples: 100,
    reads: 100,
    robots: 100_000,
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

fn verdict(outcome: VerdictOutcome) -> Verdict<'static> {
    Verdict { outcome, reason: VerdictReason::Rule, ruling: None, version: Some(VersionId::of(b"a")) }
}

const GUILTY: VerdictOutcome = VerdictOutcome::Violation(Notice::Read);

fn count(batch: &mut CountBatch, crawler: &str, is_known: bool, target: &str, minute: i64) -> bool {
    count_from(batch, NetworkId::NONE, crawler, is_known, target, minute)
}

fn count_from(
    batch: &mut CountBatch,
    network: NetworkId,
    crawler: &str,
    is_known: bool,
    target: &str,
    minute: i64,
) -> bool {
    let verdict = verdict(GUILTY);
    batch.count(&CountedRequest {
        subject: subject(crawler),
        is_known,
        decision: DecisionRef::new(EventKind::of(&verdict, Proof::Unchecked), Action::Refuse, &verdict, None),
        target: target.as_bytes(),
        at: minute * 60_000_000,
        network,
    })
}

fn key(host: &str) -> ReadKey {
    ReadKey {
        version: VersionId::of(b"a"),
        rules: RobotsVersion::allowing_everything().rules,
        in_force: 5,
        sequence: 1,
        host: host.into(),
        network: Some("192.0.2.0/24".into()),
        chosen: Some("*".into()),
    }
}

fn read(at: i64) -> SeenRead {
    SeenRead { seen: SeenInstants { first: at, last: at, count: 1 }, at }
}

fn path_requests(batch: &CountBatch) -> u64 {
    let of = |account: &SubjectCounts| account.path_days().map(|(_, counts)| counts.requests()).sum::<u64>();
    batch.accounts.values().map(of).sum()
}

#[test]
fn merging_adds_up() {
    let (mut one, mut two) = (CountBatch::new(ROOMY), CountBatch::new(ROOMY));
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

/// What a batch holds, in an order of its own.
fn contents(batch: &CountBatch) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (subject, account) in &batch.accounts {
        let name = subject.crawler.as_deref().unwrap_or_default();
        let mut add = |entry: &dyn std::fmt::Debug| all.push(format!("{name} {entry:?}"));
        add(&account.is_known);
        account.presence.iter().for_each(|day| add(day));
        account.decisions.values().flat_map(|uses| &uses.periods).for_each(|period| add(period));
        for (target, uses) in &account.paths {
            for day in &uses.days {
                add(&(target, day));
            }
        }
        account.reads.iter().for_each(|read| add(&read));
    }
    all.sort_unstable();
    all
}

#[test]
fn parts_come_to_what_one_batch_would_have_counted() {
    let mut whole = CountBatch::new(ROOMY);
    let mut parts = vec![CountBatch::new(ROOMY); 3];
    let verdict = verdict(GUILTY);
    for number in 0..780_i64 {
        // Even subjects are of one part alone, odd ones of all.
        let crawler = number % 26;
        let part = if crawler % 2 == 0 { crawler / 2 } else { number / 26 } % 3;
        let (name, target) = (format!("bot{crawler}"), format!("/{}", number % 11));
        let (is_known, at) = (crawler % 3 == 0, number / 390 * DAY * 1_000_000);
        for batch in [&mut whole, &mut parts[usize::try_from(part).unwrap()]] {
            batch.count(&CountedRequest {
                subject: subject(&name),
                is_known,
                decision: DecisionRef::new(
                    EventKind::of(&verdict, Proof::Unchecked),
                    Action::Refuse,
                    &verdict,
                    None,
                ),
                target: target.as_bytes(),
                at,
                network: NetworkId::NONE,
            });
            if number % 5 == 0 {
                batch.read(subject(&name), is_known, key("example.org"), read(at));
            }
        }
    }
    assert!(parts.iter().all(|part| (17..=18).contains(&part.accounts.len())), "13 of all and a third of 13");
    let merged = CountBatch::of(parts, ROOMY);
    assert_eq!(contents(&merged), contents(&whole));
    assert_eq!(format!("{:?}", merged.room), format!("{:?}", whole.room));
    assert_eq!(merged.losses(), Losses::default());
}

/// A part with requests of one crawler for so many targets.
fn part(crawler: &str, targets: usize) -> CountBatch {
    let mut batch = CountBatch::new(ROOMY);
    for number in 0..targets {
        count(&mut batch, crawler, true, &format!("/{number}"), 0);
    }
    batch
}

#[test]
fn an_account_that_does_not_fit_whole_is_added_as_far_as_it_goes() {
    let merged = CountBatch::of(vec![part("a", 8), part("b", 8)], BatchLimits { paths: 5, ..ROOMY });
    let [first, second] =
        ["a", "b"].map(|name| merged.accounts[&CountSubject::from(&subject(name))].paths.len());
    assert_eq!((first, second), (8, 2));
    assert_eq!((merged.requests(), path_requests(&merged)), (16, 16));
    assert_eq!((merged.room.sizes.paths, merged.losses().details_dropped), (10, 6));
}

#[test]
fn a_table_is_taken_whole_where_all_of_it_fits_and_takes_its_room() {
    let mut batch = CountBatch::new(BatchLimits { paths: 20, ..ROOMY });
    batch.merge(part("a", 20));
    assert_eq!((batch.room.sizes.paths, batch.room.sizes.rollups), (20, 1));
    batch.merge(part("b", 30));
    assert_eq!(
        (batch.room.sizes.paths, batch.losses().details_dropped),
        (40, 10),
        "violations have twice the room"
    );
    assert_eq!((batch.requests(), path_requests(&batch)), (50, 50));
    let mut small = CountBatch::new(BatchLimits { paths: 5, ..ROOMY });
    small.merge(part("a", 20));
    assert_eq!((small.room.sizes.paths, small.losses().details_dropped), (10, 10));
    assert_eq!((small.requests(), path_requests(&small)), (20, 20));
}

#[test]
fn made_up_names_of_several_parts_find_room_in_all() {
    let strangers = |part: usize, bounds| {
        let mut batch = CountBatch::new(bounds);
        (0..4).for_each(|number| {
            count(&mut batch, &format!("made-up-{part}-{number}"), false, "/", 0);
        });
        batch
    };
    let of_rest = |batch: &CountBatch| {
        let rest = batch.accounts.get(&CountSubject::from(&subject(super::super::OTHER_CRAWLERS)));
        rest.map_or(0, |rest| rest.paths[&b"/"[..]].days[0].1.violations)
    };
    let few = BatchLimits { strangers: 2, ..ROOMY };
    let merged = CountBatch::of(vec![strangers(0, few), strangers(1, few)], ROOMY);
    assert_eq!((merged.accounts.len(), merged.room.sizes.strangers, of_rest(&merged)), (5, 4, 4));
    let merged =
        CountBatch::of(vec![strangers(0, ROOMY), strangers(1, ROOMY)], BatchLimits { strangers: 5, ..ROOMY });
    assert_eq!((merged.accounts.len(), merged.room.sizes.strangers, of_rest(&merged)), (6, 5, 3));
    assert_eq!((merged.requests(), merged.losses()), (8, Losses::default()));
}

#[test]
fn targets_without_room_are_counted_with_the_rest() {
    let mut batch = CountBatch::new(BatchLimits { paths: 5, ..ROOMY });
    for number in 0..30 {
        count(&mut batch, "a", true, &format!("/{number}"), 0);
    }
    let account = &batch.accounts[&CountSubject::from(&subject("a"))];
    assert_eq!((account.paths.len(), account.other_paths[0].1.refused), (10, 20));
    assert_eq!(batch.losses(), Losses { details_dropped: 20, ..Losses::default() });
    assert_eq!(batch.requests(), 30);
}

#[test]
fn an_endless_target_is_one_of_the_rest() {
    let mut batch = CountBatch::new(ROOMY);
    count(&mut batch, "a", true, &"/x".repeat(2_000), 0);
    assert!(batch.accounts[&CountSubject::from(&subject("a"))].paths.is_empty());
    assert_eq!((path_requests(&batch), batch.losses()), (1, Losses::default()));
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
    assert_eq!((batch.requests(), batch.losses()), (40, Losses::default()));
}

#[test]
fn minutes_become_hours_before_a_count_is_lost() {
    let mut batch = CountBatch::new(BatchLimits { rollups: 10, ..ROOMY });
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
    let mut batch = CountBatch::new(ROOMY);
    let mut wanted = |last: u8, count: u32| {
        let network = NetworkId::of(Some([192, 0, last, 1].into()));
        (0..count).filter(|_| count_from(&mut batch, network, "a", true, "/", 0)).count()
    };
    assert_eq!(
        (wanted(1, 50), wanted(2, 1), wanted(1, 50), wanted(3, 50)),
        (2, 1, 0, 1),
        "four, two of the first"
    );
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
    assert_eq!(account.reads[&key("example.org")], SeenRead { seen, at: 10 });
    assert_eq!(account.presence[0].1, SeenInstants { first: 1, last: 30, count: 4 });
    assert_eq!(batch.losses(), Losses::default());
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
    assert_eq!(batch.losses(), Losses { reads_lost: 1, ..Losses::default() });
    assert!(batch.accounts[&CountSubject::from(&subject("b"))].reads.contains_key(&of_any_host));
    let noted: Vec<_> =
        batch.unseen.iter().map(|unseen| (&*unseen.site, &*unseen.reason, unseen.at)).collect();
    assert_eq!(noted, [("example.org", "lost", 60)]);
    // What does not fit when batches come together is noted likewise.
    let mut both = CountBatch::new(BatchLimits { reads: 2, ..ROOMY });
    both.merge(batch);
    assert_eq!(both.losses().reads_lost, 1);
    let mut other = CountBatch::new(ROOMY);
    // Of these, two find a place at most, whatever the order in which the accounts came together.
    for crawler in ["d", "e", "f", "g"] {
        other.read(subject(crawler), true, key("example.org"), read(7_200_000_000));
    }
    both.merge(other);
    let later: Vec<_> = both.unseen.iter().filter(|unseen| unseen.at == 7_200_000_000).collect();
    assert!(both.losses().reads_lost > 2 && later.len() == 1, "{:?} {:?}", both.losses(), both.unseen);
}

#[test]
fn versions_are_bounded_by_their_bytes() {
    let mut batch = CountBatch::new(BatchLimits { robots: 1_000, ..ROOMY });
    for _ in 0..5 {
        let bytes = Some(Arc::from(vec![b'#'; 100]));
        batch.in_force(InForce { site: "example.org".into(), bytes, since: 0, until: 0 });
    }
    assert_eq!((batch.versions.len(), batch.losses().details_dropped), (2, 3));
}
