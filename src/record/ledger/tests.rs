use super::compaction::open_processes;
use super::entry::whole_micros;
use super::file::GROWN;
use super::*;
use crate::decide::NoticeTime;
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;

const KEEP: Duration = Duration::from_secs(3_600);

fn serving(host: &str, file: &[u8]) -> Vec<LedgerChange> {
    let hosts = BTreeMap::from([(host.into(), Some(digest(file)))]);
    vec![LedgerChange::file(file), LedgerChange::Serving { hosts, gone: Vec::new() }]
}

struct LedgerPlace(TempDir);

impl LedgerPlace {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("state").join(LEDGER_FILE)
    }

    fn open(&self, memory: &LedgerMemory) -> (Ledger, LedgerNews) {
        Ledger::open(&self.path(), memory, KEEP).unwrap()
    }

    fn aside(&self) -> usize {
        let names = std::fs::read_dir(self.path().parent().unwrap()).unwrap();
        names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().contains("damaged")).count()
    }
}

fn changes(news: &LedgerNews) -> Vec<&LedgerChange> {
    news.entries.iter().map(|entry| &entry.change).collect()
}

#[test]
fn what_was_written_is_found_again_in_order() {
    let place = LedgerPlace::new();
    let (mut ledger, news) = place.open(&LedgerMemory::Nothing);
    assert_eq!(changes(&news), [&LedgerChange::Begun { after_loss: false }]);
    ledger.append(serving("*", b"a")).unwrap();
    let last = ledger.last();
    let process = ledger.process().to_owned();
    ledger.close();
    let (_, news) = place.open(&LedgerMemory::Entry(last));
    assert_eq!(news.entries.len(), 4);
    assert_eq!(news.entries[3].change, LedgerChange::Stopped { who: process.into() });
    assert!(news.entries.is_sorted_by_key(|entry| entry.sequence));
    assert!(news.entries.is_sorted_by_key(|entry| entry.moment().at));
}

#[test]
fn a_process_that_was_killed_is_noted_as_ended_and_a_living_one_is_not() {
    let place = LedgerPlace::new();
    let (mut killed, _) = place.open(&LedgerMemory::Nothing);
    killed.append(serving("*", b"a")).unwrap();
    let (mut alive, _) = place.open(&LedgerMemory::Nothing);
    alive.append(serving("*", b"b")).unwrap();
    let others = [killed.process().into()];
    assert!(alive.refresh(&others).unwrap().entries.is_empty());
    let who: Box<str> = killed.process().into();
    drop(killed);
    let news = alive.refresh(&others).unwrap();
    assert_eq!(changes(&news), [&LedgerChange::Stopped { who }]);
    let (_, news) = place.open(&LedgerMemory::Nothing);
    let stopped = changes(&news).into_iter().filter(|change| matches!(change, LedgerChange::Stopped { .. }));
    assert_eq!(stopped.count(), 1, "the other one lives");
}

#[test]
fn two_processes_see_what_each_other_writes() {
    let place = LedgerPlace::new();
    let (mut one, _) = place.open(&LedgerMemory::Nothing);
    let (mut other, _) = place.open(&LedgerMemory::Nothing);
    assert_eq!(one.clock().now().since(other.clock().now()).as_secs(), 0);
    one.append(serving("*", b"a")).unwrap();
    let news = other.append(serving("*", b"b")).unwrap();
    assert!(!news.is_all);
    assert_eq!(news.entries.len(), 4);
    assert_eq!(one.refresh(&[]).unwrap().entries.len(), 2);
}

#[test]
fn processes_whose_clocks_differ_agree_on_when_something_was() {
    let place = LedgerPlace::new();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    // Of a boot a year ago: this one goes on from it.
    let year = Duration::from_secs(366 * 86_400);
    let begun = LedgerEntry::new(
        1,
        "p",
        "another boot",
        NoticeClock::default(),
        LedgerChange::Begun { after_loss: false },
    );
    let clock = NoticeTime(NoticeClock::default().now().0 + year);
    let begun = LedgerEntry { clock: whole_micros(clock.0), ..begun };
    std::fs::write(place.path(), begun.line().unwrap()).unwrap();
    let (mut old, _) = place.open(&LedgerMemory::Nothing);
    std::fs::remove_file(place.path()).unwrap();
    let (mut new, _) = place.open(&LedgerMemory::Entry(1));
    assert!(old.clock().now().since(new.clock().now()) > year / 2);
    new.append(serving("*", b"a")).unwrap();
    let is_now = |at: NoticeTime, ledger: &Ledger| {
        let now = ledger.clock().now();
        now.since(at).max(at.since(now)) < Duration::from_secs(60)
    };
    let news = old.refresh(&[]).unwrap();
    assert!(news.entries.iter().all(|entry| is_now(entry.moment().at, &old)), "{news:?}");
    old.append(serving("*", b"b")).unwrap();
    let news = new.append(Vec::new()).unwrap();
    assert!(news.entries.iter().all(|entry| is_now(entry.moment().at, &new)), "{news:?}");
    drop((old, new));
    let (ledger, news) = place.open(&LedgerMemory::Nothing);
    assert!(news.entries.iter().all(|entry| is_now(entry.moment().at, &ledger)), "{news:?}");
}

#[test]
fn a_line_cut_off_by_a_kill_was_never_served() {
    let place = LedgerPlace::new();
    let (mut ledger, _) = place.open(&LedgerMemory::Nothing);
    ledger.append(serving("*", b"a")).unwrap();
    let last = ledger.last();
    drop(ledger);
    let mut bytes = std::fs::read(place.path()).unwrap();
    bytes.extend(b"0123456789abcdef {\"sequence\":9");
    std::fs::write(place.path(), &bytes).unwrap();
    let (_, news) = place.open(&LedgerMemory::Entry(last));
    assert_eq!((news.entries.len(), place.aside()), (4, 0));
}

#[test]
fn what_is_lost_or_damaged_is_set_aside_and_told() {
    let lost = LedgerChange::Begun { after_loss: true };
    for damage in ["flipped", "shortened", "older", "cut, and nobody remembers", "gone"] {
        let place = LedgerPlace::new();
        let (mut ledger, _) = place.open(&LedgerMemory::Nothing);
        ledger.append(serving("*", b"a")).unwrap();
        let mut memory = LedgerMemory::Entry(ledger.last());
        drop(ledger);
        let mut bytes = std::fs::read(place.path()).unwrap();
        match damage {
            "flipped" => bytes[200] ^= 1,
            "shortened" => bytes.truncate(bytes.len() - 10),
            "older" => {
                let line = bytes.iter().position(|byte| *byte == b'\n').unwrap();
                bytes.truncate(line + 1);
            }
            "gone" => bytes.clear(),
            _ => {
                bytes.truncate(bytes.len() - 10);
                memory = LedgerMemory::Unreadable;
            }
        }
        std::fs::write(place.path(), &bytes).unwrap();
        let (_, news) = place.open(&memory);
        assert_eq!(changes(&news)[0], &lost, "{damage}");
        assert_eq!(news.entries.len(), 1, "{damage}");
        assert_eq!(place.aside(), usize::from(damage != "gone"), "{damage}");
    }
}

#[test]
fn what_is_begun_after_a_loss_comes_after_entries_that_nobody_had_seen() {
    let place = LedgerPlace::new();
    let (mut one, _) = place.open(&LedgerMemory::Nothing);
    let (mut other, _) = place.open(&LedgerMemory::Nothing);
    for _ in 0..100 {
        other.append(serving("*", b"a")).unwrap();
    }
    let seen_by_nobody_else = other.last();
    std::fs::remove_file(place.path()).unwrap();
    let news = one.refresh(&[]).unwrap();
    assert_eq!(changes(&news), [&LedgerChange::Begun { after_loss: true }]);
    assert!(news.entries[0].sequence > seen_by_nobody_else, "{news:?}");
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let place = LedgerPlace::new();
    std::fs::create_dir_all(place.path()).unwrap();
    let error = Ledger::open(&place.path(), &LedgerMemory::Nothing, KEEP).unwrap_err().to_string();
    assert!(error.contains("make the state folder writable"), "{error}");
}

#[test]
fn a_ledger_that_has_grown_keeps_what_is_needed() {
    let place = LedgerPlace::new();
    let (mut ledger, _) = Ledger::open(&place.path(), &LedgerMemory::Nothing, Duration::ZERO).unwrap();
    let large = |number: u32| format!("# {number}\n").repeat(40_000).into_bytes();
    for number in 0..30 {
        ledger.append(serving("*", &large(number))).unwrap();
    }
    ledger.append(serving("a.example", b"a")).unwrap();
    let size = std::fs::metadata(place.path()).unwrap().len();
    assert!(size < 3 * GROWN, "{size}");
    let last = ledger.last();
    drop(ledger);
    let (_, news) = place.open(&LedgerMemory::Entry(last));
    assert!(news.entries.len() < 60, "{}", news.entries.len());
    let has = |file: &[u8]| news.entries.iter().any(|entry| entry.change == LedgerChange::file(file));
    assert!(has(&large(29)) && !has(&large(0)));
    let open = open_processes(&news.entries);
    assert_eq!(open.len(), 0, "it is noted as ended");
}

#[test]
fn compaction_keeps_what_each_process_served() {
    let place = LedgerPlace::new();
    let (mut one, _) = place.open(&LedgerMemory::Nothing);
    one.append(serving("*", b"a")).unwrap();
    one.append(serving("a.example", b"b")).unwrap();
    let gone = LedgerChange::Serving { hosts: BTreeMap::new(), gone: vec!["a.example".into()] };
    one.append(vec![gone]).unwrap();
    one.append(serving("*", b"c")).unwrap();
    let (_, news) = place.open(&LedgerMemory::Nothing);
    let kept = compacted(&news.entries, one.clock().now());
    let told: Vec<&LedgerChange> = kept.iter().map(|entry| &entry.change).collect();
    let hosts = BTreeMap::from([("*".into(), Some(digest(b"c")))]);
    let table = LedgerChange::Serving { hosts, gone: Vec::new() };
    assert_eq!(told, [&LedgerChange::Begun { after_loss: false }, &LedgerChange::file(b"c"), &table]);
}
