//! What a process that ends leaves beside the store, and what the next one makes of it.

use super::*;

/// The names of the files of processes beside the store.
fn beside_the_store(folder: &StoreFolder) -> Vec<String> {
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("unwritten")).collect()
}

/// What the next process finds, after its first turn.
fn next_start(folder: &StoreFolder) -> (SentCounts, StoreStatus) {
    let mut next = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    next.write_turn(&Tally::default());
    let status = next.shown.status.lock().unwrap().clone();
    next.end(&Tally::default());
    (stored(folder), status)
}

/// Wherever the store begins to fail: what was kept beside it when the process was killed is taken up, and nothing twice.
#[test]
fn what_was_kept_beside_the_store_is_taken_up_once_after_a_kill_at_any_statement() {
    let whole = statements();
    for nth in 1..=whole {
        let kind = [StoreErrorKind::Full, StoreErrorKind::Busy, StoreErrorKind::Io][nth % 3];
        for ill in [InjectedFault::Fails(kind), InjectedFault::DoneButFails(kind)] {
            let (folder, fate, tally) =
                (StoreFolder::new(), FaultOutcome::at(nth, ill, usize::MAX), Tally::default());
            let mut writer = writer(&folder, &fate);
            let mut ledger = SentCounts::new();
            for round in 0..2 {
                send(&tally, round, &mut ledger);
                writer.write_turn(&tally);
            }
            if writer.shown.status.lock().unwrap().error.is_some() {
                writer.spill_all(false).unwrap();
            }
            send(&tally, 2, &mut SentCounts::new());
            drop(writer);
            let (found, status) = next_start(&folder);
            assert_eq!(found, ledger, "{ill:?} at {nth} of {whole}");
            assert_eq!((status.error, status.unclean_ends.len()), (None, 1), "{ill:?} at {nth}");
            assert_eq!(beside_the_store(&folder), [""; 0]);
            assert_eq!(next_start(&folder).1.unclean_ends, [], "it is told once");
        }
    }
}

#[test]
fn what_a_process_that_ends_could_not_write_is_taken_up_by_the_next_and_nothing_is_missing() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut ledger = SentCounts::new();
    let mut writer =
        writer(&folder, &FaultOutcome::at(1, InjectedFault::Fails(StoreErrorKind::Busy), usize::MAX));
    send(&tally, 0, &mut ledger);
    writer.write_turn(&tally);
    send(&tally, 1, &mut ledger);
    writer.end(&tally);
    assert_eq!(beside_the_store(&folder).len(), 1);
    let ever = Window { from: SystemTime::UNIX_EPOCH, to: SystemTime::now() };
    let missing = StoreReader::open(&folder.store()).unwrap().missing(&ever).unwrap();
    let told: Vec<_> = missing.iter().map(|missing| (missing.reason, missing.requests)).collect();
    assert_eq!(told, [(LossReason::Waiting, Some(12))]);
    let (found, status) = next_start(&folder);
    assert_eq!((found, status.unclean_ends), (ledger, vec![]));
    assert_eq!(StoreReader::open(&folder.store()).unwrap().missing(&ever).unwrap(), []);
    assert_eq!(beside_the_store(&folder), [""; 0]);
}

/// Told by the report before another gateway has started, and by that one from then on.
#[test]
fn a_process_that_vanishes_is_told_with_the_time_of_which_counts_may_be_missing() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut writer = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    send(&tally, 0, &mut SentCounts::new());
    writer.write_turn(&tally);
    let ends = || {
        let now = SystemTime::now();
        let ever = Window { from: SystemTime::UNIX_EPOCH, to: now };
        let reader = StoreReader::open(&folder.store()).unwrap();
        let missing = reader.missing(&ever).unwrap();
        assert!(missing.iter().all(|end| (end.reason, end.requests) == (LossReason::UncleanEnd, None)));
        let reads = reader.unseen_reads(&ever).unwrap();
        assert_eq!(reads.len(), missing.len(), "reads may be among what is missing");
        missing.into_iter().map(|end| (end.from, end.to)).collect::<Vec<_>>()
    };
    assert_eq!(ends(), [], "it lives");
    let written = SystemTime::now();
    send(&tally, 1, &mut SentCounts::new());
    drop(writer);
    let [(since, _)] = ends()[..] else { panic!("it is gone") };
    assert!(since <= written && since > written - Duration::from_secs(60), "{since:?} {written:?}");
    assert_eq!(next_start(&folder).1.unclean_ends.len(), 1);
    let [(from, until)] = ends()[..] else { panic!("it was gone") };
    assert!(from == since && until >= written, "{from:?} {until:?}");

    // Also where its file has vanished with it.
    let mut writer = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    writer.write_turn(&tally);
    for name in beside_the_store(&folder) {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    drop(writer);
    assert_eq!(ends().len(), 2);
    assert_eq!(next_start(&folder).1.unclean_ends.len(), 1);
    assert_eq!(ends().len(), 2);
}

#[test]
fn a_damaged_file_is_set_aside_and_told() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut writer =
        writer(&folder, &FaultOutcome::at(1, InjectedFault::Fails(StoreErrorKind::Busy), usize::MAX));
    send(&tally, 0, &mut SentCounts::new());
    writer.write_turn(&tally);
    writer.spill_all(false).unwrap();
    drop(writer);
    let path = folder.path().join(&beside_the_store(&folder)[0]);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (found, status) = next_start(&folder);
    assert_eq!((found, status.unclean_ends.len()), (SentCounts::new(), 1));
    let [aside] = &status.set_aside[..] else { panic!("{status:?}") };
    assert_eq!(std::fs::read(aside).unwrap().len(), whole.len() - 1);
    assert_eq!(next_start(&folder).1.set_aside, [""; 0]);
}

/// As during an upgrade: each leaves the other's file alone, and what the first could not write the second takes up.
#[test]
fn processes_side_by_side_leave_each_other_alone() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut ledger = SentCounts::new();
    let fate = FaultOutcome::default();
    let mut old = writer(&folder, &fate);
    send(&tally, 0, &mut ledger);
    old.write_turn(&tally);
    let mut new = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    new.write_turn(&Tally::default());
    assert_eq!(
        (beside_the_store(&folder).len(), &new.shown.status.lock().unwrap().unclean_ends[..]),
        (2, &[][..])
    );
    fate.0.lock().unwrap().ill = Some((0, InjectedFault::Fails(StoreErrorKind::Busy), usize::MAX));
    send(&tally, 1, &mut ledger);
    old.end(&tally);
    new.left_due = Instant::now();
    new.write_turn(&Tally::default());
    assert_eq!((stored(&folder), &new.shown.status.lock().unwrap().unclean_ends[..]), (ledger, &[][..]));
    new.end(&Tally::default());
    assert_eq!(beside_the_store(&folder), [""; 0]);
}
