//! Which processes write a store: each keeps a locked file beside it, from its start to its clean end. So a file that nobody
//! locks is of a process that is gone, and that had counted what it did not write.

use super::error::StoreError;
use super::sqlite::Sqlite;
use crate::record::at_once;
use crate::record::files::{beside, inode, inode_at, sync_folder_of};
use crate::record::tally::micros;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Between the store's name and that of the process.
const NAMED: &str = ".writer-";

/// The end of the name under which a new file is made and locked.
const PART: &str = ".part";

fn file_of(store: &Path, process: &str) -> PathBuf {
    beside(store, &format!("{NAMED}{process}"))
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

    /// Says it, unless it is said already. The file's time is when the process began to count.
    pub(super) fn mark(&mut self) -> io::Result<()> {
        let is_there =
            |file: &File| file.metadata().is_ok_and(|own| inode_at(&self.path) == Some(inode(&own)));
        if self.file.as_ref().is_some_and(is_there) {
            return Ok(());
        }
        let part = beside(&self.path, PART);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(&part)?;
        // On a file system without locks others cannot tell that this process is gone.
        let _ = file.try_lock();
        std::fs::rename(&part, &self.path)?;
        self.file = Some(file);
        // It outlives a loss of power: then the process is gone, too.
        sync_folder_of(&self.path)
    }

    /// The process has written all that it counted, and counts no more.
    pub(super) fn remove(self) {
        // Where it stays, the next start tells of an end that was none.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Processes that are gone without a clean end, and when each began to count, in microseconds.
pub(super) fn gone(store: &Path) -> io::Result<Vec<(String, i64)>> {
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty());
    let every = file_of(store, "");
    let begins = every.file_name().and_then(|name| name.to_str()).unwrap_or(NAMED);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.unwrap_or_else(|| Path::new(".")))? {
        let entry = entry?;
        let file = entry.file_name();
        let process = file.to_str().and_then(|file| file.strip_prefix(begins));
        if let Some(process) = process.filter(|process| !process.ends_with(PART)) {
            found.extend(left_at(&entry.path())?.map(|began| (process.to_owned(), began)));
        }
    }
    Ok(found)
}

/// When the process began whose file this is; `None` where it lives, has ended meanwhile, or it cannot be told whether it
/// lives.
fn left_at(path: &Path) -> io::Result<Option<i64>> {
    let file = match at_once(OpenOptions::new().read(true)).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let metadata = file.metadata()?;
    // A process that has ended well meanwhile has removed it.
    let is_gone = file.try_lock_shared().is_ok() && inode_at(path) == Some(inode(&metadata));
    Ok(is_gone.then_some(micros(metadata.modified()?)))
}

/// A process had written by `now`, in microseconds, all that it had counted.
pub(super) fn note_written(database: &Sqlite, process: &str, now: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO writer (process, sequence, written) VALUES (?1, 0, ?2)
               ON CONFLICT DO UPDATE SET written = excluded.written WHERE written <> excluded.written";
    database.run(sql, (process, now)).map(drop)
}

/// Until when all is in the store that a process counted which began then.
pub(super) fn written(database: &Sqlite, process: &str, began: i64) -> Result<i64, StoreError> {
    let written = database.value("SELECT written FROM writer WHERE process = ?1", [process])?;
    Ok(written.unwrap_or(began))
}

/// Removes the file of a process whose end is noted. What stays is found again, and changes nothing.
pub(super) fn forget(store: &Path, process: &str) {
    let _ = std::fs::remove_file(file_of(store, process));
}
