//! A copy of a store in one file, of one moment, while gateways go on writing.
//!
//! Copying the files of a running database one after the other is not that: the write-ahead log that is copied a moment
//! later need not belong to the file.

use super::error::{StoreError, StoreErrorKind};
use super::schema;
use super::sqlite::{PATIENCE, Sqlite};
use crate::record::files::beside;
use std::fmt::Display;
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a copy of the store in `from` to the file `to`, which must not exist, and gives its size in bytes. It is on the
/// disk, whole, before it has that name.
///
/// # Errors
/// When there is something in the place of `to` or too little room for the copy, and when the store cannot be read. Then
/// nothing is left of the copy.
pub fn copy(from: &Path, to: &Path) -> Result<u64, StoreError> {
    if to.symlink_metadata().is_ok() {
        return Err(refused(to, "there is something already; name a file that does not exist"));
    }
    if !from.exists() {
        return Err(schema::missing(from));
    }
    let source = Sqlite::open_to_read(from, PATIENCE)?;
    if source.number("PRAGMA user_version", ())? == 0 {
        return Err(schema::not_set_up(from));
    }
    let part = &beside(to, ".part");
    // What a copy that was interrupted has left; nothing else has this name.
    let _ = fs::remove_file(part);
    // It may hold addresses: it is not for everybody to read.
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o640).open(part);
    let file = file.map_err(|error| refused(part, error))?;
    let named = || file.sync_all().and_then(|()| fs::rename(part, to)).and_then(|()| file.metadata());
    let copied = source.vacuum_into(part).and_then(|()| named().map_err(|error| refused(to, error)));
    if copied.is_err() {
        // Half a copy helps nobody, and takes the room that was too little.
        let _ = fs::remove_file(part);
    }
    Ok(copied?.len())
}

fn refused(path: &Path, why: impl Display) -> StoreError {
    StoreError::new(StoreErrorKind::CopyTarget, format!("{}: {why}", path.display()))
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
