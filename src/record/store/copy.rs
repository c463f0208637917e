//! A copy of a store in one file, of one moment, while gateways go on writing.
//!
//! Copying the files of a running database one after the other is not that: the write-ahead log that is copied a moment
//! later need not belong to the file.

use super::error::{StoreError, StoreErrorKind};
use super::schema;
use super::sqlite::{PATIENCE, Sqlite};
use crate::record::files::beside;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a copy of the store in `from` to the file `to`, which must not exist, and gives its size in bytes. It is on
/// the disk, whole, before it has that name.
///
/// # Errors
/// When there is something in the place of `to` or too little room for the copy, and when the store cannot be read.
pub fn copy(from: &Path, to: &Path) -> Result<u64, StoreError> {
    if to.symlink_metadata().is_ok() {
        let message =
            format!("{}: there is something already; name a file that does not exist", to.display());
        return Err(StoreError::new(StoreErrorKind::CopyTarget, message));
    }
    let part = &beside(to, ".part");
    let copied = write(from, part).and_then(|bytes| {
        File::open(part).and_then(|file| file.sync_all()).map_err(|error| refused(part, &error))?;
        fs::rename(part, to).map_err(|error| refused(to, &error))?;
        // The name, too, has to be on the disk.
        let folder = folder_of(to);
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| refused(folder, &error))?;
        Ok(bytes)
    });
    if copied.is_err() {
        // Half a copy helps nobody, and takes the room that was too little.
        let _ = fs::remove_file(part);
    }
    copied
}

fn write(from: &Path, part: &Path) -> Result<u64, StoreError> {
    if !from.exists() {
        return Err(schema::missing(from));
    }
    let source = Sqlite::open_to_read(from, PATIENCE)?;
    if source.number("PRAGMA user_version", ())? == 0 {
        return Err(schema::not_set_up(from));
    }
    let (needed, free) = (source.bytes()?, free(folder_of(part))?);
    // As much again stays free: a disk that is full stops the journal and the store.
    if free / 2 < needed {
        let message = format!(
            "{}: too little room for a copy of {needed} bytes: {free} are free, and twice as many as it takes \
             should be",
            folder_of(part).display()
        );
        return Err(StoreError::new(StoreErrorKind::Full, message));
    }
    // What a copy that was interrupted has left; nothing else has this name.
    let _ = fs::remove_file(part);
    // It may hold addresses: it is not for everybody to read.
    let mine = fs::OpenOptions::new().write(true).create_new(true).mode(0o640).open(part);
    mine.map_err(|error| refused(part, &error))?;
    source.vacuum_into(part)?;
    fs::metadata(part).map(|metadata| metadata.len()).map_err(|error| refused(part, &error))
}

/// Bytes that are free for this user on the disk of a folder.
fn free(folder: &Path) -> Result<u64, StoreError> {
    let told = rustix::fs::statvfs(folder).map_err(|error| refused(folder, &error.into()))?;
    Ok(told.f_bavail.saturating_mul(told.f_frsize))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

fn refused(path: &Path, error: &io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::CopyTarget, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::open::StoreFile;
    use crate::record::store::tests::StoreFolder;

    #[test]
    fn a_copy_holds_what_is_still_in_the_log() {
        let folder = StoreFolder::new();
        let database = StoreFile::new(folder.store()).open(false).unwrap().database;
        database.run("INSERT INTO meta (name, value) VALUES ('here', 7)", ()).unwrap();
        let to = folder.path().join("copy.sqlite");
        let bytes = copy(&folder.store(), &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().len(), bytes);
        let copied = Sqlite::open_to_read(&to, PATIENCE).unwrap();
        assert_eq!(copied.number("SELECT value FROM meta WHERE name = 'here'", ()).unwrap(), 7);
        assert!(!folder.path().join("copy.sqlite.part").exists());
    }

    #[test]
    fn nothing_is_written_over_and_nothing_is_left_of_a_copy_that_failed() {
        let folder = StoreFolder::new();
        let to = folder.path().join("copy.sqlite");
        fs::write(&to, "mine").unwrap();
        let error = copy(&folder.store(), &to).unwrap_err().to_string();
        assert!(error.contains("there is something already"), "{error}");
        assert_eq!(fs::read(&to).unwrap(), b"mine");
        fs::remove_file(&to).unwrap();
        assert_eq!(copy(&folder.store(), &to).unwrap_err().kind(), StoreErrorKind::Missing);
        fs::write(folder.store(), vec![b'x'; 8_192]).unwrap();
        assert_eq!(copy(&folder.store(), &to).unwrap_err().kind(), StoreErrorKind::Corrupt);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the store that is none");
    }
}
