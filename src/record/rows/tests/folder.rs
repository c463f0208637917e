//! What processes of a state folder leave to each other.

use super::*;
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
        &memory,
        NoticeClock::going_on_from(NoticeTime::default()),
    )
    .unwrap();
    (Process { folder, own }, is_lost)
}

fn served(path: u64) -> ServedVersions {
    let at = [("*".into(), [version(&closing(path))].into())].into();
    ServedVersions { at, elsewhere: None }
}

impl Process {
    fn serve(&mut self, path: u64) -> NoticeTime {
        let (now, served) = (self.folder.clock().now(), served(path));
        self.own.hosts.serve(&served, |_| HostRows::default(), SystemTime::now());
        self.own.hosts.close(&served, now);
        self.folder.write(&self.own).unwrap()
    }

    /// How many rows there are, by process.
    fn rows(&self) -> (usize, Vec<usize>) {
        let count = |hosts: &PastRows| hosts.rows().count();
        (count(&self.own.hosts), self.folder.others().map(|other| count(&other.hosts)).collect())
    }
}

fn documents(place: &TempDir) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place.path().join("rows")).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".rows"))
        .collect()
}

#[test]
fn what_a_process_served_is_taken_up_by_the_next_one_and_its_document_goes() {
    let place = tempfile::tempdir().unwrap();
    let (mut first, is_lost) = open(&place, RowsMemory::Nothing);
    assert!(!is_lost);
    let noted = first.serve(1);
    drop(first);
    let (mut next, is_lost) = open(&place, RowsMemory::Noted(noted));
    assert!(!is_lost && next.folder.has_taken_up());
    let until = next.own.hosts.rows().next().unwrap().until().unwrap();
    assert!(until >= noted, "it served until it was found to be gone, at the latest");
    next.serve(2);
    assert_eq!((next.rows(), documents(&place).len()), ((2, vec![]), 1));
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

/// What it serves goes on to excuse: it writes its document again when it looks next.
#[test]
fn a_process_whose_document_somebody_removed_goes_on_to_be_heard() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, _) = open(&place, RowsMemory::Nothing);
    old.serve(1);
    let removed = documents(&place).remove(0);
    let (mut new, _) = open(&place, RowsMemory::Nothing);
    new.serve(2);
    std::fs::remove_file(&removed).unwrap();
    assert!(!new.folder.refresh(&mut new.own).unwrap());
    assert_eq!(new.rows(), (1, vec![1]));
    old.serve(1);
    new.folder.refresh(&mut new.own).unwrap();
    assert_eq!(new.rows(), (1, vec![1]));
    drop(old);
    std::fs::remove_file(&removed).unwrap();
    let missing = new.folder.clock().now();
    while !new.folder.refresh(&mut new.own).unwrap() {
        std::thread::yield_now();
    }
    assert_eq!(new.rows(), (2, vec![]));
    let until = new.own.hosts.rows().find_map(HostRow::until).unwrap();
    assert!(until.since(missing) >= SEEN, "nobody wrote it again");
}

#[test]
fn rows_that_are_lost_or_put_back_are_told_from_a_first_start() {
    for loss in ["nothing", "removed", "truncated", "changed", "put back"] {
        let place = tempfile::tempdir().unwrap();
        let (mut first, _) = open(&place, RowsMemory::Nothing);
        first.serve(1);
        let path = documents(&place).remove(0);
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
        let is_later = next.folder.clock().now() > noted.after(Duration::from_secs(3_000));
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
    let path = documents(&place).remove(0);
    std::fs::write(&path, "what was a document\n").unwrap();
    for _ in 0..2 {
        let (_killed, is_lost) = open(&place, RowsMemory::Nothing);
        assert!(is_lost && path.exists(), "who is killed before it wrote that leaves it to the next one");
    }
    let (mut next, _) = open(&place, RowsMemory::Nothing);
    next.serve(2);
    assert!(!path.exists() && !next.folder.has_taken_up());
    assert!(!open(&place, RowsMemory::Nothing).1);
}

#[test]
fn a_robots_txt_that_is_about_to_be_named_again_is_as_new() {
    let place = tempfile::tempdir().unwrap();
    let (mut process, _) = open(&place, RowsMemory::Nothing);
    let name = digest(b"abc");
    let path = place.path().join(format!("rows/{name}.txt"));
    let make_old = || {
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7_200)).unwrap();
    };
    process.folder.keep(&name, b"abc").unwrap();
    make_old();
    // Another process keeps it, and has not written yet that it names it.
    open(&place, RowsMemory::Nothing).0.folder.keep(&name, b"abc").unwrap();
    process.serve(1);
    assert!(path.exists());
    make_old();
    process.serve(1);
    assert!(!path.exists(), "nobody names it");
}

#[test]
fn a_document_that_somebody_removed_is_written_again() {
    let place = tempfile::tempdir().unwrap();
    let (mut process, _) = open(&place, RowsMemory::Nothing);
    process.serve(1);
    assert!(process.folder.is_written());
    process.folder.note_time().unwrap();
    assert!(process.folder.is_written(), "the time is noted in its place");
    std::fs::write(&documents(&place)[0], "other\n").unwrap();
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
    assert_eq!(process.folder.bytes(&name).as_deref(), Some(&b"abc"[..]));
    std::fs::write(place.path().join(format!("rows/{name}.txt")), "abd").unwrap();
    assert_eq!((process.folder.bytes(&name), file_bytes(&name, "YWJk")), (None, None));
    assert_eq!(file_bytes(&name, "YWJj").as_deref(), Some(&b"abc"[..]));
    process.folder.keep(&name, b"abc").unwrap();
    assert!(process.folder.bytes(&name).is_some());
}

#[test]
fn a_document_that_another_clock_wrote_in_this_boot_is_read_by_this_one() {
    let place = tempfile::tempdir().unwrap();
    let (mut old, _) = open(&place, RowsMemory::Nothing);
    old.serve(1);
    old.serve(2);
    let ended = old.own.hosts.rows().find_map(HostRow::until).unwrap();
    let path = documents(&place).remove(0);
    let kept = place.path().join("kept");
    std::fs::rename(&path, &kept).unwrap();
    // It begins anew, much later by its own clock, and the old one writes its document again.
    let (mut new, is_lost) = open(&place, RowsMemory::Noted(old.folder.clock().now()));
    assert!(is_lost);
    new.serve(2);
    std::fs::rename(&kept, &path).unwrap();
    new.folder.refresh(&mut new.own).unwrap();
    let heard = new.folder.others().next().unwrap().hosts.rows().find_map(HostRow::until).unwrap();
    let (by_old, by_new) = (old.folder.clock().now().since(ended), new.folder.clock().now().since(heard));
    assert!(by_old.abs_diff(by_new) < Duration::from_secs(60), "{by_old:?} {by_new:?}");
    drop(old);
}
