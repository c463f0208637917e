//! The writer under faults at every statement, judged by a ledger of what was sent.

mod ends;

use super::super::open::StoreFile;
use super::super::reader::{StoreReader, Window};
use super::super::tests::faulty::{FaultOutcome, InjectedFault};
use super::super::tests::{SampleRequest, StoreFolder, paths, requests};
use super::*;
use crate::decide::{RobotsVersion, VerdictOutcome, VersionId};
use crate::identify::{Basis, ClientKind, Proof};
use crate::record::instant;
use crate::record::missing::{Missing, MissingWhat, UNCLEAN_END};
use crate::record::tables::{ReadKey, ReadSum};
use crate::record::tally::{InForce, SeenInstants, SubjectRef};
use std::collections::BTreeMap;

/// Requests by crawler and target, as the sender knows them.
type SentCounts = BTreeMap<(String, String), u64>;

fn subject(crawler: &str) -> SubjectRef<'_> {
    SubjectRef {
        site: "example.org",
        client: ClientKind::Crawler,
        crawler: Some(crawler),
        purpose: None,
        proof: Proof::Unchecked,
    }
}

/// Sends what is a little different in every round.
fn send(tally: &Tally, round: u64, ledger: &mut SentCounts) {
    for number in 0..6 {
        let (crawler, target) = (format!("bot{}", (round + number) % 3), format!("/{}", number % 4));
        let basis = if number % 2 == 0 { Basis::Catalogue } else { Basis::Sign };
        let outcome = VerdictOutcome::Allow;
        let _ = SampleRequest { basis, outcome, ..SampleRequest::of(&crawler, &target) }.count(tally);
        *ledger.entry((crawler, target)).or_default() += 1;
    }
    let version = VersionId::of(b"a");
    let key = ReadKey { version, in_force: 1, host: "h".into(), network: None, chosen: Some("*".into()) };
    let now = micros(SystemTime::now());
    let rules = RobotsVersion::allowing_everything().rules;
    let sum = ReadSum { rules, seen: SeenInstants::once(now), as_of: 1, at: 1 };
    tally.shard(subject("bot0")).read(subject("bot0"), true, key, sum);
    let bytes = Some(Arc::from(format!("# {round}\n").into_bytes()));
    let since = i64::try_from(round).unwrap() + 1;
    tally.common().in_force(InForce { site: "example.org".into(), bytes, since });
}

/// Targets and roll-ups as the store tells them; the two must agree.
fn stored(folder: &StoreFolder) -> SentCounts {
    let Ok(reader) = StoreReader::open(&folder.store()) else { return SentCounts::new() };
    let Some(window) = reader.span().unwrap() else { return SentCounts::new() };
    let mut ledger = SentCounts::new();
    for path in paths(&reader, usize::MAX) {
        let crawler = path.subject.crawler.as_deref().unwrap().to_owned();
        ledger.insert((crawler, path.target.clone()), path.counts.requests());
    }
    assert_eq!(requests(&reader, &window), ledger.values().sum::<u64>());
    ledger
}

fn writer(folder: &StoreFolder, fate: &FaultOutcome) -> StoreWriter {
    StoreWriter::new(StoreFile::with_faults(folder.store(), fate), folder.options())
}

/// How many statements a process runs for two rounds: faults are tried at each of them.
fn statements() -> usize {
    let (folder, fate, tally) = (StoreFolder::new(), FaultOutcome::default(), Tally::default());
    let mut writer = writer(&folder, &fate);
    let mut ledger = SentCounts::new();
    for round in 0..2 {
        send(&tally, round, &mut ledger);
        writer.write_turn(&tally);
    }
    assert_eq!(stored(&folder), ledger);
    fate.statements()
}

#[test]
fn a_statement_that_fails_costs_nothing_once_it_succeeds_again() {
    let whole = statements();
    assert!(whole > 100, "{whole}");
    let kinds = [StoreErrorKind::Full, StoreErrorKind::Busy, StoreErrorKind::Io, StoreErrorKind::Other];
    for nth in 1..=whole {
        let kind = kinds[nth % kinds.len()];
        for (ill, times) in [
            (InjectedFault::Fails(kind), 1),
            (InjectedFault::DoneButFails(kind), 1),
            (InjectedFault::Fails(kind), 30),
        ] {
            let (folder, fate, tally) =
                (StoreFolder::new(), FaultOutcome::at(nth, ill, times), Tally::default());
            let mut writer = writer(&folder, &fate);
            let mut ledger = SentCounts::new();
            let mut saw_error = writer.shown.status.lock().error.is_some();
            for round in 0..2 {
                send(&tally, round, &mut ledger);
                writer.write_turn(&tally);
                saw_error |= writer.housekeeping_fails || writer.shown.status.lock().error.is_some();
            }
            // Now and then two rounds take a statement or two less than they did when they were counted; what does not
            // come cannot fail.
            let is_ill = fate.statements() >= nth;
            for _ in 0..40 {
                writer.write_turn(&tally);
            }
            assert!(saw_error || !is_ill, "{ill:?} at {nth} of {whole} was not told");
            assert!(is_ill || nth + 8 > whole, "only {} of {whole} statements", fate.statements());
            assert_eq!(stored(&folder), ledger, "{ill:?} at {nth} of {whole}");
            let status = writer.shown.status.lock();
            assert_eq!((status.error.as_ref(), status.counts_lost), (None, 0), "{ill:?} at {nth}");
        }
    }
}

#[test]
fn a_process_killed_at_any_statement_loses_at_most_what_it_had_not_written() {
    let whole = statements();
    for nth in 1..=whole {
        for ill in [InjectedFault::Killed, InjectedFault::DoneThenKilled] {
            let (folder, fate) = (StoreFolder::new(), FaultOutcome::at(nth, ill, 1));
            // What each round had sent, as far as the dead process got.
            let (mut sent, mut ledger) = (vec![SentCounts::new()], SentCounts::new());
            let mut written = 0;
            {
                let tally = Tally::default();
                let mut writer = writer(&folder, &fate);
                for round in 0..2 {
                    send(&tally, round, &mut ledger);
                    sent.push(ledger.clone());
                    writer.write_turn(&tally);
                    if !fate.is_dead() {
                        written = sent.len() - 1;
                    }
                }
            }
            let found = stored(&folder);
            let at = sent.iter().position(|ledger| *ledger == found);
            let at = at.unwrap_or_else(|| panic!("{ill:?} at {nth}: {found:?} is no round's end"));
            assert!(at == written || at == written + 1, "{ill:?} at {nth}: {at}, and {written} were written");

            // The next process goes on from there, and its counts come on top.
            let (tally, mut next) = (Tally::default(), SentCounts::new());
            let mut writer = writer(&folder, &FaultOutcome::default());
            send(&tally, 7, &mut next);
            writer.write_turn(&tally);
            let mut expected = found;
            for (key, count) in next {
                *expected.entry(key).or_default() += count;
            }
            assert_eq!(stored(&folder), expected, "{ill:?} at {nth}");
        }
    }
}

#[test]
fn counts_wait_while_another_process_holds_the_store() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut writer = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    let mut ledger = SentCounts::new();
    let mut other = StoreFile::new(folder.store());
    let other = other.open(false).unwrap().database;
    other.run("BEGIN EXCLUSIVE", ()).unwrap();
    for round in 0..3 {
        send(&tally, round, &mut ledger);
        writer.write_turn(&tally);
        let status = writer.shown.status.lock();
        assert!(status.error.as_ref().is_some_and(|error| error.contains("locked")), "{status:?}");
        assert!(status.failing_since.is_some());
    }
    other.run("ROLLBACK", ()).unwrap();
    writer.write_turn(&tally);
    assert_eq!(stored(&folder), ledger);
    assert_eq!(writer.shown.status.lock().error, None);
}

#[test]
fn a_store_that_breaks_while_it_is_open_is_set_aside_and_no_count_is_lost() {
    let (folder, fate, tally) = (StoreFolder::new(), FaultOutcome::default(), Tally::default());
    let mut writer = writer(&folder, &fate);
    send(&tally, 0, &mut SentCounts::new());
    writer.write_turn(&tally);
    // What the database says when it meets a broken page, once for nothing and once for cause.
    let breaks = || {
        let mut course = fate.0.lock().unwrap();
        course.ill = Some((course.statements + 10, InjectedFault::Fails(StoreErrorKind::Corrupt), 1));
    };
    breaks();
    for round in 1..3 {
        send(&tally, round, &mut SentCounts::new());
        writer.write_turn(&tally);
    }
    assert_eq!(writer.shown.status.lock().incidents, Vec::<String>::new(), "the file is sound");
    assert_eq!(stored(&folder).values().sum::<u64>(), 18);

    for part in ["store.sqlite", "store.sqlite-wal"] {
        let path = folder.path().join(part);
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::write(path, vec![0x5A; usize::try_from(length).unwrap()]).unwrap();
    }
    let mut after = SentCounts::new();
    breaks();
    send(&tally, 99, &mut after);
    for _ in 0..3 {
        writer.write_turn(&tally);
    }
    let status = writer.shown.status.lock().clone();
    assert_eq!((status.error, status.incidents.len()), (None, 1));
    assert!(status.incidents[0].contains("store.sqlite.corrupt-"), "{:?}", status.incidents);
    assert_eq!(stored(&folder), after, "the batch that was not written is in the new store");
}

#[test]
fn a_store_that_was_moved_away_is_begun_anew() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut writer = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    send(&tally, 0, &mut SentCounts::new());
    writer.write_turn(&tally);
    let away = folder.path().join("away");
    std::fs::create_dir(&away).unwrap();
    for part in ["", "-wal", "-shm"] {
        let name = format!("store.sqlite{part}");
        std::fs::rename(folder.path().join(&name), away.join(&name)).unwrap();
    }
    let mut ledger = SentCounts::new();
    send(&tally, 1, &mut ledger);
    writer.write_turn(&tally);
    assert_eq!(stored(&folder), ledger);
}

#[test]
fn a_folder_that_comes_back_is_written_again() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let state = folder.path().join("state");
    let options = StoreOptions { path: state.join("store.sqlite"), ..folder.options() };
    let mut writer = StoreWriter::new(StoreFile::new(options.path.clone()), options.clone());
    send(&tally, 0, &mut SentCounts::new());
    writer.write_turn(&tally);
    assert!(writer.shown.status.lock().error.is_some());
    std::fs::create_dir(&state).unwrap();
    writer.write_turn(&tally);
    assert_eq!(writer.shown.status.lock().error, None);
    let reader = StoreReader::open(&options.path).unwrap();
    assert_eq!(requests(&reader, &reader.span().unwrap().unwrap()), 6);
}

#[test]
fn a_store_of_a_later_program_is_waited_for() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut writer = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    let mut ledger = SentCounts::new();
    send(&tally, 0, &mut ledger);
    writer.write_turn(&tally);
    let mut later = StoreFile::new(folder.store());
    let later = later.open(false).unwrap().database;
    later.script("PRAGMA user_version = 99").unwrap();
    send(&tally, 1, &mut ledger);
    writer.write_turn(&tally);
    let error = writer.shown.status.lock().error.clone().unwrap();
    assert!(error.contains("later robots-gateway"), "{error}");
    later.script("PRAGMA user_version = 1").unwrap();
    writer.write_turn(&tally);
    assert_eq!(stored(&folder), ledger);
}
