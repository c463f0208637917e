//! How processes end, and what the next one makes of it.

use super::*;

/// The names of the files of processes beside the store.
fn beside_the_store(folder: &StoreFolder) -> Vec<String> {
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains("writer-")).collect()
}

/// What the next process finds, after its first turn.
fn next_start(folder: &StoreFolder) -> (SentCounts, StoreStatus) {
    let mut next = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    next.write_turn(&Tally::default());
    let status = next.shown.status.lock().clone();
    next.end(&Tally::default());
    (stored(folder), status)
}

/// Whether the store knows of it or not: what it did not take is lost, nothing is counted twice, and the time is told.
#[test]
fn what_a_process_that_ends_could_not_write_is_told_as_missing_with_its_time() {
    for knows in [true, false] {
        let (folder, fate, tally) = (StoreFolder::new(), FaultOutcome::default(), Tally::default());
        let begun = SystemTime::now();
        next_start(&folder);
        let mut ledger = SentCounts::new();
        let mut writer = writer(&folder, &fate);
        if knows {
            send(&tally, 0, &mut ledger);
            writer.write_turn(&tally);
        }
        fate.0.lock().unwrap().ill = Some((0, InjectedFault::Fails(StoreErrorKind::Busy), usize::MAX));
        send(&tally, 1, &mut SentCounts::new());
        writer.end(&tally);
        let ever = Window { from: SystemTime::UNIX_EPOCH, to: SystemTime::now() };
        let told = || {
            let missing = StoreReader::open(&folder.store()).unwrap().missing(&ever).unwrap();
            let requests = missing.into_iter().filter(|missing| missing.what == MissingWhat::Requests);
            requests.map(|missing| (String::from(missing.reason), missing.count)).collect::<Vec<_>>()
        };
        assert_eq!(told(), [(UNCLEAN_END.to_owned(), None)], "{knows}");
        let (found, status) = next_start(&folder);
        assert_eq!((found, status.incidents.len()), (ledger, 1), "{knows}");
        let since = status.incidents[0].split("requests after ").nth(1).expect("since when");
        assert!(since > &*crate::record::timestamp(begun), "{status:?}");
        assert_eq!(told(), [(UNCLEAN_END.to_owned(), None)], "{knows}");
        assert_eq!(beside_the_store(&folder), [""; 0]);
        assert_eq!(next_start(&folder).1.incidents, [""; 0], "it is told once");
    }
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
        assert!(missing.iter().all(|end| (&*end.reason, end.count) == (UNCLEAN_END, None)));
        let is_read = |missing: &Missing| missing.what == MissingWhat::Reads;
        let (reads, requests) = missing.into_iter().partition::<Vec<_>, _>(is_read);
        assert_eq!(reads.len(), requests.len(), "reads may be among what is missing");
        requests.into_iter().map(|end| (instant(end.from), instant(end.to))).collect::<Vec<_>>()
    };
    assert_eq!(ends(), [], "it lives");
    let written = SystemTime::now();
    send(&tally, 1, &mut SentCounts::new());
    drop(writer);
    let [(since, _)] = ends()[..] else { panic!("it is gone") };
    assert!(since <= written && since > written - Duration::from_secs(60), "{since:?} {written:?}");
    assert_eq!(next_start(&folder).1.incidents.len(), 1);
    let [(from, until)] = ends()[..] else { panic!("it was gone") };
    assert!(from == since && until >= written, "{from:?} {until:?}");
}

/// As during an upgrade: each leaves the other's file alone.
#[test]
fn processes_side_by_side_leave_each_other_alone() {
    let (folder, tally) = (StoreFolder::new(), Tally::default());
    let mut ledger = SentCounts::new();
    let mut old = writer(&folder, &FaultOutcome::default());
    send(&tally, 0, &mut ledger);
    old.write_turn(&tally);
    let mut new = StoreWriter::new(StoreFile::new(folder.store()), folder.options());
    new.write_turn(&Tally::default());
    assert_eq!((beside_the_store(&folder).len(), new.shown.status.lock().incidents.len()), (2, 0));
    send(&tally, 1, &mut ledger);
    old.end(&tally);
    new.housekeeping_due = Instant::now();
    new.write_turn(&Tally::default());
    assert_eq!((stored(&folder), new.shown.status.lock().incidents.len()), (ledger, 0));
    new.end(&Tally::default());
    assert_eq!(beside_the_store(&folder), [""; 0]);
}
