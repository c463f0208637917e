//! Who may write to the ledger at a time, and which processes are alive: each holds a locked file beside it, and notes
//! the time in that.

use super::entry::whole_micros;
use crate::decide::NoticeTime;
use crate::record::files::{FileId, beside, inode, inode_at};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Said once: others see by the lock that this process is alive.
#[derive(Debug)]
pub(super) struct ProcessPresence {
    path: PathBuf,
    file: File,
}

impl ProcessPresence {
    /// Marks the process as alive.
    pub(super) fn new(ledger: &Path, process: &str) -> io::Result<Self> {
        let path = beside(ledger, &format!(".{process}"));
        let file = options().truncate(true).open(&path)?;
        file.try_lock()?;
        Ok(Self { path, file })
    }

    /// Notes the time, so that the clock can go on from it after the machine was off.
    pub(super) fn note(&self, now: NoticeTime) -> io::Result<()> {
        self.file.write_all_at(format!("{:020}\n", whole_micros(now.0)).as_bytes(), 0)?;
        self.file.sync_data()
    }

    /// The process serves nothing any more.
    pub(super) fn remove(self) {
        // Without the lock it says the same.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A process that is gone.
#[derive(Debug)]
pub(super) struct GoneProcess(PathBuf);

impl GoneProcess {
    /// The time that it noted last.
    pub(super) fn last_time(&self) -> NoticeTime {
        let mut text = String::new();
        let read = File::open(&self.0).and_then(|file| file.take(64).read_to_string(&mut text));
        let micros = read.ok().and_then(|_| text.trim().parse().ok());
        NoticeTime(Duration::from_micros(micros.unwrap_or_default()))
    }

    /// Clears away what it left.
    pub(super) fn clear(self) {
        let _ = std::fs::remove_file(self.0);
    }
}

/// The process, where it is gone. What cannot be told is alive: its versions go on to excuse.
pub(super) fn find_gone(ledger: &Path, process: &str) -> Option<GoneProcess> {
    let path = beside(ledger, &format!(".{process}"));
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(GoneProcess(path)),
        Err(_) => None,
        Ok(file) => match file.try_lock() {
            Ok(()) => Some(GoneProcess(path)),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        },
    }
}

/// Whether another process than `own` is alive, whatever the ledger says of it.
pub(super) fn has_other_processes(ledger: &Path, own: &str) -> bool {
    let (Some(folder), Some(name)) = (ledger.parent(), ledger.file_name().and_then(|name| name.to_str()))
    else {
        return false;
    };
    let is_alive = |entry: std::fs::DirEntry| {
        let file = entry.file_name();
        let process = file.to_str()?.strip_prefix(name)?.strip_prefix('.').filter(|who| *who != own)?;
        find_gone(ledger, process).is_none().then_some(())
    };
    std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().find_map(is_alive).is_some())
}

/// How long another process may hold the lock; it does so for one sync to disk.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o640);
    options
}

/// The file at `path`, locked, once it is the one there.
pub(super) fn locked(path: &Path) -> io::Result<(File, FileId)> {
    let start = Instant::now();
    loop {
        let file = options().truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                let found = inode(&file.metadata()?);
                if inode_at(path) == Some(found) {
                    return Ok((file, found));
                }
            }
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps it locked"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_its_lock_is_alive() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger");
        assert!(find_gone(&ledger, "1").is_some(), "it was never there");
        let presence = ProcessPresence::new(&ledger, "1").unwrap();
        let noted = NoticeTime(Duration::from_micros(12_345));
        presence.note(noted).unwrap();
        assert!(find_gone(&ledger, "1").is_none());
        assert!(has_other_processes(&ledger, "2") && !has_other_processes(&ledger, "1"));
        drop(presence);
        assert!(!has_other_processes(&ledger, "2"), "the file of a process that ended does not count");
        let gone = find_gone(&ledger, "1").unwrap();
        assert_eq!(gone.last_time(), noted);
        gone.clear();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        ProcessPresence::new(&ledger, "2").unwrap().remove();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
