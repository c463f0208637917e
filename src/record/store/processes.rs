//! Which processes write a store: each keeps a locked file beside it, from its start to its clean end. So a file that nobody
//! locks is of a process that is gone, and so is a process that the store knows and that has none.

use super::error::StoreError;
use super::sqlite::Sqlite;
use crate::record::at_once;
use crate::record::files::{beside, inode, inode_at};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Between the store's name and that of the process.
const NAMED: &str = ".writer-";

/// The end of the name under which a new file is made and locked.
const PART: &str = ".part";

fn file_of(store: &Path, process: &str) -> PathBuf {
    beside(store, &format!("{NAMED}{process}"))
}

/// Whether a file that is open is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|ours| Some(inode(&ours)) == inode_at(path))
}

/// Says that this process is alive.
#[derive(Debug)]
pub(super) struct WriterFile {
    path: PathBuf,
    /// Locked as long as the process lives.
    file: Option<File>,
}

impl WriterFile {
    pub(super) fn new(store: &Path, process: &str) -> Self {
        Self { path: file_of(store, process), file: None }
    }

    /// Says it, unless it is said already. `now`, in microseconds, is when the process began to count.
    pub(super) fn mark(&mut self, now: i64) -> io::Result<()> {
        if self.file.as_ref().is_some_and(|file| is_at(file, &self.path)) {
            return Ok(());
        }
        let part = beside(&self.path, PART);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(&part)?;
        // On a file system without locks others cannot tell that this process is gone.
        let _ = file.try_lock();
        write!(file, "{now}")?;
        std::fs::rename(&part, &self.path)?;
        self.file = Some(file);
        Ok(())
    }

    /// The process has written all that it counted, and counts no more.
    pub(super) fn remove(self) {
        // One that stays says that nothing is missing, too: the store knows that the process ended cleanly.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A process that has a file beside a store.
#[derive(Clone, Debug)]
pub(super) struct WriterProcess {
    process: String,
    /// When it began to count, in microseconds.
    began: i64,
    /// It lives, or it cannot be told whether it does.
    is_alive: bool,
}

/// All processes that have a file beside the store.
pub(super) fn present(store: &Path) -> io::Result<Vec<WriterProcess>> {
    let (Some(folder), Some(name)) = (store.parent(), store.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(Vec::new());
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name();
        let process = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix(NAMED));
        if let Some(process) = process.filter(|process| !process.ends_with(PART)) {
            found.extend(look(&entry.path(), process)?);
        }
    }
    Ok(found)
}

/// `None` where the process has ended meanwhile.
fn look(path: &Path, process: &str) -> io::Result<Option<WriterProcess>> {
    let mut file = match at_once(OpenOptions::new().read(true)).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let is_alive = match file.try_lock_shared() {
        Ok(()) => !is_at(&file, path),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    };
    let mut began = String::new();
    // A machine that lost its power may have left an empty file.
    let _ = (&mut file).take(32).read_to_string(&mut began);
    let began = began.trim().parse().unwrap_or_default();
    Ok(Some(WriterProcess { process: process.to_owned(), began, is_alive }))
}

/// Processes that are gone without a clean end, and until when all that they counted is in the store.
pub(super) fn gone(
    database: &Sqlite,
    present: &[WriterProcess],
) -> Result<BTreeMap<String, i64>, StoreError> {
    let sql = "SELECT process, written, is_open FROM writer";
    let known = database.rows(sql, (), |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    let known: BTreeMap<String, (i64, bool)> = known.into_iter().collect();
    let is_alive = |process: &str| present.iter().any(|one| one.process == process && one.is_alive);
    let open = known.iter().filter(|(process, (_, is_open))| *is_open && !is_alive(process));
    let open = open.map(|(process, (written, _))| (process.clone(), *written));
    // Of the others the store never heard: it could not be written while they lived.
    let strangers = present.iter().filter(|one| !is_alive(&one.process) && !known.contains_key(&one.process));
    Ok(open.chain(strangers.map(|one| (one.process.clone(), one.began))).collect())
}

/// Removes the files of processes that are gone and of which the store knows how they ended.
pub(super) fn clear(store: &Path, present: &[WriterProcess]) {
    for one in present.iter().filter(|one| !one.is_alive) {
        // What stays is found again, and changes nothing.
        let _ = std::fs::remove_file(file_of(store, &one.process));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_its_lock_is_alive_and_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.sqlite");
        let alive =
            || present(&store).unwrap().iter().map(|one| (one.began, one.is_alive)).collect::<Vec<_>>();
        let mut file = WriterFile::new(&store, "1-2-a");
        file.mark(7).unwrap();
        assert_eq!(alive(), [(7, true)]);
        // Put back where it was taken away.
        std::fs::remove_file(&file.path).unwrap();
        file.mark(8).unwrap();
        file.mark(9).unwrap();
        assert_eq!(alive(), [(8, true)]);
        drop(file);
        assert_eq!(alive(), [(8, false)], "and whoever looks leaves no lock behind");
        clear(&store, &present(&store).unwrap());
        assert_eq!(alive(), []);
        let mut file = WriterFile::new(&store, "1-2-a");
        file.mark(7).unwrap();
        file.remove();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no part of a file stays");
    }
}
