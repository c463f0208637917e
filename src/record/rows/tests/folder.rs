//! What processes of a state folder leave to each other.

use super::*;
use crate::record::files::beside;
use std::fs::File;
use std::path::PathBuf;
use tempfile::TempDir;

/// A process that serves one file everywhere.
struct Process {
    folder: RowFolder,
    own: RowDocument,
}

fn open(place: &TempDir, memory: RowsMemory) -> (Process, bool) {
    let (folder, own, is_lost) = RowFolder::open(
        &place.path().join("rows"),
        memory,
        NoticeClock::going_on_from(NoticeTime::default()),
        process_name(),
    )
    .unwrap();
    (Process { folder, own }, is_lost)
}

fn served(path: u64) -> ServedVersions {
    let at = [("*".into(), version(&closing(path)))].into();
    ServedVersions { at, elsewhere: None }
}

impl Process {
    fn serve(&mut self, path: u64) -> NoticeTime {
        let (now, served) = (self.own.clock.now(), served(path));
        self.own.hosts.serve(&served, SystemTime::now());
        self.own.hosts.close(|host, one| served.of(host) == Some(one), now);
        self.folder.write(&mut self.own).unwrap();
        self.own.noted
    }

    /// How many rows there are, by process.
    fn rows(&self) -> (usize, Vec<usize>) {
        let count = |hosts: &PastRows| hosts.rows().count();
        (count(&self.own.hosts), self.own.others.values().map(count).collect())
    }
}

fn document(place: &TempDir) -> PathBuf {
    place.path().join("rows/served.rows")
}

/// How many processes left what they hold while they live.
fn left(place: &TempDir) -> usize {
    let entries = std::fs::read_dir(place.path().join("rows")).unwrap();
    entries
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "alive"))
        .count()
}

#[test]
fn what_a_process_served_is_taken_up_by_the_next_one_and_what_it_left_goes() {
    let place = tempfile::tempdir().unwrap();
    let (mut first, is_lost) = open(&place, RowsMemory::Nothing);
    assert!(!is_lost);
    let noted = first.serve(1);
    drop(first);
    let (mut next, is_lost) = open(&place, RowsMemory::Noted(noted));
    assert!(!is_lost && !next.folder.is_written());
    let until = next.own.hosts.rows().next().unwrap().until().unwrap();
    assert!(until >= noted, "it served until it was found to be gone, at the latest");
    next.serve(2);
    assert_eq!((next.rows(), left(&place)), ((2, vec![]), 1));
}

#[test]
fn a_process_that_lives_is_heard_and_is_taken_up_when_it_ends() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, _) = open(&place, RowsMemory::Nothing);
    old.serve(1);
    let (mut new, _) = open(&place, RowsMemory::Nothing);
    new.serve(2);
    assert_eq!(new.rows(), (1, vec![1]));
    assert!(old.folder.refresh(&mut old.own).unwrap() && !old.folder.refresh(&mut old.own).unwrap());
    old.serve(3);
    assert!(new.folder.refresh(&mut new.own).unwrap());
    assert_eq!(new.rows(), (1, vec![2]), "each write replaces the whole document");
    drop(old);
    assert!(new.folder.refresh(&mut new.own).unwrap());
    assert_eq!(new.rows(), (3, vec![]));
    assert!(new.own.hosts.rows().filter(|row| row.until().is_some()).count() == 2);
}

/// It says so again when it looks next. Until then what it served goes on to excuse, and a little longer than it is gone.
#[test]
fn a_process_that_somebody_removed_all_traces_of_is_heard_again() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, _) = open(&place, RowsMemory::Nothing);
    old.serve(1);
    let (mut new, _) = open(&place, RowsMemory::Nothing);
    new.serve(2);
    std::fs::remove_dir_all(place.path().join("rows")).unwrap();
    let missing = new.own.clock.now();
    assert!(new.folder.refresh(&mut new.own).unwrap());
    assert_eq!(new.rows(), (2, vec![]));
    let until = new.own.hosts.rows().filter_map(HostRow::until).max().unwrap();
    assert!(until.since(missing) >= SEEN, "others let it see what they begin to serve until then");
    // One that begins meanwhile knows nothing of them, and writes first, by a later clock.
    let (mut third, is_lost) = open(&place, RowsMemory::Noted(new.own.noted));
    assert!(is_lost);
    third.serve(3);
    old.serve(1);
    new.folder.refresh(&mut new.own).unwrap();
    assert_eq!(new.rows().1, [2, 1], "the old one, which does not know all, and the third");
}

#[test]
fn rows_that_are_lost_or_put_back_are_told_from_a_first_start() {
    for loss in ["nothing", "removed", "truncated", "changed", "put back"] {
        let place = tempfile::tempdir().unwrap();
        let (mut first, _) = open(&place, RowsMemory::Nothing);
        first.serve(1);
        let path = document(&place);
        let bytes = std::fs::read(&path).unwrap();
        let noted = first.serve(2);
        drop(first);
        match loss {
            "removed" => std::fs::remove_file(&path).unwrap(),
            "truncated" => std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
            "changed" => {
                std::fs::write(&path, String::from_utf8(bytes).unwrap().replace("known", "kmown")).unwrap();
            }
            "put back" => std::fs::write(&path, bytes).unwrap(),
            _ => {}
        }
        let (next, is_lost) = open(&place, RowsMemory::Noted(noted));
        assert_eq!(is_lost, loss != "nothing", "{loss}");
        let is_later = next.own.clock.now() > noted.after(Duration::from_secs(3_000));
        assert_eq!(is_later, is_lost, "{loss}: what was read before bears an earlier time");
    }
}

#[test]
fn where_the_store_cannot_tell_rows_that_are_there_may_be_older_ones_and_none_are_a_loss() {
    let place = tempfile::tempdir().unwrap();
    let (mut first, is_lost) = open(&place, RowsMemory::Unreadable);
    assert!(is_lost);
    first.serve(1);
    drop(first);
    assert!(open(&place, RowsMemory::Unreadable).1);
    assert!(!open(&place, RowsMemory::Nothing).1);
}

#[test]
fn a_damaged_document_is_doubt_until_that_is_written() {
    let place = tempfile::tempdir().unwrap();
    let (mut first, _) = open(&place, RowsMemory::Nothing);
    first.serve(1);
    drop(first);
    let path = document(&place);
    std::fs::write(&path, "what was a document\n").unwrap();
    for _ in 0..2 {
        let (_killed, is_lost) = open(&place, RowsMemory::Nothing);
        assert!(is_lost && path.exists(), "who is killed before it wrote that leaves it to the next one");
    }
    let (mut next, _) = open(&place, RowsMemory::Nothing);
    next.serve(2);
    assert!(next.folder.is_written() && path.with_file_name("served.rows.damaged").exists());
    assert!(!open(&place, RowsMemory::Nothing).1);
}

#[test]
fn a_robots_txt_that_nobody_names_stays_while_another_process_may_be_about_to() {
    let place = tempfile::tempdir().unwrap();
    let (mut process, _) = open(&place, RowsMemory::Nothing);
    let name = digest(b"abc");
    let path = place.path().join(format!("rows/{name}.txt"));
    process.folder.keep(&name, b"abc").unwrap();
    let (other, _) = open(&place, RowsMemory::Nothing);
    process.serve(1);
    assert!(path.exists());
    drop(other);
    process.serve(1);
    assert!(!path.exists() && left(&place) == 1);
}

#[test]
fn a_document_that_somebody_removed_is_written_again() {
    let place = tempfile::tempdir().unwrap();
    let (mut process, _) = open(&place, RowsMemory::Nothing);
    process.serve(1);
    assert!(process.folder.is_written());
    std::fs::write(document(&place), "other\n").unwrap();
    assert!(!process.folder.is_written());
    process.serve(1);
    assert!(process.folder.is_written());
}

#[test]
fn a_robots_txt_that_is_not_the_one_it_is_called_is_none() {
    let place = tempfile::tempdir().unwrap();
    let (process, _) = open(&place, RowsMemory::Nothing);
    let name = digest(b"abc");
    assert!(name.starts_with("ba7816bf8f01"));
    process.folder.keep(&name, b"abc").unwrap();
    let kept = || kept_robots(&place.path().join("rows"), &name);
    assert_eq!(kept().as_deref(), Some(&b"abc"[..]));
    std::fs::write(place.path().join(format!("rows/{name}.txt")), "abd").unwrap();
    assert_eq!((kept(), file_bytes(&name, "YWJk")), (None, None));
    assert_eq!(file_bytes(&name, "YWJj").as_deref(), Some(&b"abc"[..]));
    process.folder.keep(&name, b"abc").unwrap();
    assert!(kept().is_some());
}

#[test]
fn who_finds_a_later_clock_of_this_boot_goes_by_it_and_knows_no_more_when_anything_ended() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, _) = open(&place, RowsMemory::Nothing);
    old.serve(1);
    old.serve(2);
    std::fs::remove_file(document(&place)).unwrap();
    // It begins anew, much later by its own clock, and the old one writes again what it serves.
    let (mut new, is_lost) = open(&place, RowsMemory::Noted(old.own.clock.now()));
    let (by_old, by_new) = (old.own.clock, new.own.clock);
    assert!(is_lost && by_new > by_old);
    let noted = new.serve(3);
    let found = new.own.clock.now();
    assert!(old.folder.refresh(&mut old.own).unwrap() && !old.folder.is_written());
    assert_eq!(old.own.clock, by_new);
    assert!(old.own.hosts.rows().filter_map(HostRow::until).all(|until| until >= found));
    assert!(old.own.hosts.rows().any(|row| row.version.doubt() == Some(Doubt::Lost)));
    old.serve(2);
    new.folder.refresh(&mut new.own).unwrap();
    assert_eq!((new.rows(), new.own.clock), ((1, vec![3]), by_new));
    drop((old, new));
    assert!(!open(&place, RowsMemory::Noted(noted)).1, "the document bears the later clock");
}

/// Who wrote it goes by the later one from its next look on, and says again what it serves.
#[test]
fn what_was_written_by_an_earlier_clock_of_this_boot_is_doubt() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, _) = open(&place, RowsMemory::Nothing);
    old.serve(1);
    std::fs::remove_file(document(&place)).unwrap();
    let (mut later, _) = open(&place, RowsMemory::Noted(old.own.clock.now()));
    std::fs::write(document(&place), old.own.bytes().unwrap()).unwrap();
    assert!(later.folder.refresh(&mut later.own).unwrap());
    assert!(later.own.hosts.rows().any(|row| row.version.doubt() == Some(Doubt::Lost)));
    later.serve(3);
    old.serve(1);
    assert_eq!((old.own.clock, old.rows().1), (later.own.clock, vec![2]));
}

#[test]
fn two_that_write_at_once_lose_nothing_of_each_other() {
    let place = tempfile::tempdir().unwrap();
    let (mut one, _) = open(&place, RowsMemory::Nothing);
    one.serve(100);
    let (mut other, _) = open(&place, RowsMemory::Nothing);
    let at_once = |process: &mut Process, first: u64| {
        for path in first..first + 20 {
            process.serve(path);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| at_once(&mut one, 100));
        at_once(&mut other, 200);
    });
    for process in [&mut one, &mut other] {
        process.folder.refresh(&mut process.own).unwrap();
        assert_eq!(process.rows(), (20, vec![20]));
        assert!(process.folder.is_written());
    }
}

/// What others wrote before it is read once more.
#[test]
fn a_write_that_fails_loses_nothing_that_others_wrote() {
    let place = tempfile::tempdir().unwrap();
    let (mut one, _) = open(&place, RowsMemory::Nothing);
    one.serve(1);
    let (mut other, _) = open(&place, RowsMemory::Nothing);
    other.serve(2);
    // The document cannot be replaced, and the turn can be taken.
    let next = beside(&document(&place), &format!(".{}.new", std::process::id()));
    std::fs::create_dir(&next).unwrap();
    assert!(one.folder.write(&mut one.own.clone()).is_err());
    assert_eq!(one.rows().1, [0; 0]);
    std::fs::remove_dir(&next).unwrap();
    assert!(one.folder.refresh(&mut one.own).unwrap());
    assert_eq!(one.rows().1, [1]);
}

#[test]
fn an_older_document_that_is_put_back_while_processes_run_is_doubt() {
    let place = tempfile::tempdir().unwrap();
    let (mut one, _) = open(&place, RowsMemory::Nothing);
    one.serve(1);
    let (mut other, _) = open(&place, RowsMemory::Nothing);
    other.serve(2);
    let bytes = std::fs::read(document(&place)).unwrap();
    other.serve(3);
    one.folder.refresh(&mut one.own).unwrap();
    std::fs::write(document(&place), bytes).unwrap();
    assert!(one.folder.refresh(&mut one.own).unwrap());
    assert!(one.own.hosts.rows().any(|row| row.version.doubt() == Some(Doubt::Lost)));
    assert_eq!(one.rows().1, [2], "what it said last");
}

#[test]
fn who_removes_the_file_of_turns_gives_nobody_a_turn_beside_another() {
    let place = tempfile::tempdir().unwrap();
    let (mut one, _) = open(&place, RowsMemory::Nothing);
    one.serve(1);
    let turn = place.path().join("rows/turn.lock");
    std::fs::remove_file(&turn).unwrap();
    one.serve(2);
    let held = File::open(&turn).unwrap();
    held.lock().unwrap();
    let source = one.folder.write(&mut one.own.clone()).unwrap_err();
    let busy = RowsError { path: turn.clone(), source };
    assert!(busy.to_string().contains("another process with this state folder"), "{busy}");
    std::fs::remove_file(&turn).unwrap();
    one.serve(3);
}
