//! Opening the store, whatever is found in its place.
//!
//! A file that is no database, or a broken one, is set aside under another name and never deleted. One that
//! was moved away or replaced while it was open is noticed by its inode, and left to whoever moved it.

use super::database::Database;
use super::error::{StoreError, StoreErrorKind};
use super::schema;
use super::sqlite::Sqlite;
use jiff::Timestamp;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files up to this size, in octets, are checked when they are first opened: a fraction of a second.
const CHEAP_CHECK: u64 = 64 * 1024 * 1024;

/// What came of opening.
#[derive(Debug)]
pub(in crate::record) struct Opened<D> {
    pub(super) database: D,
    /// Where the broken store went that was found.
    pub(super) set_aside: Option<PathBuf>,
}

/// Where databases come from.
pub(in crate::record) trait Source {
    type Database: Database;

    /// Opens the store, new if need be. With `thorough`, it is checked in full whatever its size.
    fn open(&mut self, thorough: bool) -> Result<Opened<Self::Database>, StoreError>;

    /// Whether the store that was opened last is still the one in its place.
    fn is_in_place(&self) -> bool;

    /// Leaves the store tidy before it is closed.
    fn close(&mut self, database: Self::Database);
}

/// A file and the inode it had when it was opened.
#[derive(Debug)]
pub(in crate::record) struct StoreFile {
    path: PathBuf,
    inode: Option<(u64, u64)>,
    /// The inode that was checked and found sound.
    sound: Option<(u64, u64)>,
}

impl StoreFile {
    pub(in crate::record) const fn new(path: PathBuf) -> Self {
        Self { path, inode: None, sound: None }
    }

    fn try_open(&mut self, thorough: bool) -> Result<Sqlite, StoreError> {
        let size = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        self.inode = inode(&self.path);
        let mut database = Sqlite::open(&self.path)?;
        if self.inode.is_none() {
            self.inode = inode(&self.path);
        }
        let is_known = self.sound.is_some() && self.sound == self.inode;
        if thorough || (size <= CHEAP_CHECK && !is_known) {
            database.check()?;
            self.sound = self.inode;
        }
        schema::migrate(&mut database, &self.path)?;
        Ok(database)
    }

    /// Moves the broken store out of the way, unless another process has done so already.
    fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        if self.inode.is_none() || inode(&self.path) != self.inode {
            return Ok(None);
        }
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let aside = beside(&self.path, &format!(".corrupt-{time}"));
        let refused = |error: std::io::Error| {
            let message = format!("cannot set the broken store aside as {}: {error}", aside.display());
            StoreError::new(StoreErrorKind::Io, message)
        };
        std::fs::rename(&self.path, &aside).map_err(refused)?;
        for part in ["-wal", "-shm"] {
            // Where there is none, nothing is left behind that could be taken for the new store's.
            let _ = std::fs::rename(beside(&self.path, part), beside(&aside, part));
        }
        Ok(Some(aside))
    }
}

impl Source for StoreFile {
    type Database = Sqlite;

    fn open(&mut self, thorough: bool) -> Result<Opened<Sqlite>, StoreError> {
        match self.try_open(thorough) {
            Ok(database) => Ok(Opened { database, set_aside: None }),
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                let set_aside = self.set_aside()?;
                let database = self.try_open(false)?;
                Ok(Opened { database, set_aside })
            }
            Err(error) => Err(error),
        }
    }

    fn is_in_place(&self) -> bool {
        self.inode.is_some() && inode(&self.path) == self.inode
    }

    fn close(&mut self, mut database: Sqlite) {
        // A reader may be at work; then the log stays, and is read with the file.
        let _ = database.checkpoint();
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::tests::Folder;

    #[test]
    fn a_new_store_has_the_newest_schema() {
        let folder = Folder::new();
        let mut file = StoreFile::new(folder.store());
        assert!(!file.is_in_place());
        let mut opened = file.open(true).unwrap();
        assert_eq!(schema::version(&mut opened.database).unwrap(), schema::newest());
        assert!(opened.set_aside.is_none() && file.is_in_place());
        let mode = opened.database.number("PRAGMA auto_vacuum", &[]).unwrap();
        assert_eq!(mode, Some(2), "incremental");
        assert_eq!(opened.database.number("PRAGMA synchronous", &[]).unwrap(), Some(2), "full");
    }

    #[test]
    fn what_is_no_database_is_set_aside_whole() {
        let folder = Folder::new();
        let garbage = b"this is no database".repeat(500);
        std::fs::write(folder.store(), &garbage).unwrap();
        let mut file = StoreFile::new(folder.store());
        let mut opened = file.open(false).unwrap();
        let aside = opened.set_aside.expect("it was set aside");
        assert!(aside.file_name().unwrap().to_str().unwrap().starts_with("store.sqlite.corrupt-2"));
        assert_eq!(std::fs::read(aside).unwrap(), garbage);
        assert_eq!(schema::version(&mut opened.database).unwrap(), schema::newest());
    }

    #[test]
    fn a_broken_page_is_found_when_the_store_is_opened() {
        let folder = Folder::new();
        let mut file = StoreFile::new(folder.store());
        let mut database = file.open(false).unwrap().database;
        for number in 0..2_000 {
            let values = [super::super::database::Value::Integer(number)];
            database.run("INSERT INTO stranger (day, name) VALUES (?1, 'name ' || ?1)", &values).unwrap();
        }
        file.close(database);
        let mut octets = std::fs::read(folder.store()).unwrap();
        let middle = octets.len() - 8_192;
        octets[middle..middle + 4_096].fill(0x5A);
        std::fs::write(folder.store(), octets).unwrap();
        assert!(StoreFile::new(folder.store()).open(false).unwrap().set_aside.is_some());
    }

    #[test]
    fn a_store_of_a_later_program_is_refused_and_left_alone() {
        let folder = Folder::new();
        let mut file = StoreFile::new(folder.store());
        let mut database = file.open(false).unwrap().database;
        database.script("PRAGMA user_version = 99").unwrap();
        file.close(database);
        let before = std::fs::read(folder.store()).unwrap();
        let error = StoreFile::new(folder.store()).open(true).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Newer);
        assert!(error.to_string().contains("schema 99"), "{error}");
        assert!(std::fs::read(folder.store()).unwrap() == before, "it was touched");
    }

    #[test]
    fn two_that_open_a_new_store_at_once_agree() {
        let folder = Folder::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut file = StoreFile::new(folder.store());
                    // A process that finds the other at work asks again, as the writer does.
                    let opened = (0..100).find_map(|_| match file.open(false) {
                        Ok(opened) => Some(opened),
                        Err(error) if error.kind() == StoreErrorKind::Busy => None,
                        Err(error) => panic!("{error}"),
                    });
                    assert!(opened.expect("opened").set_aside.is_none());
                });
            }
        });
    }

    #[test]
    fn a_store_that_was_moved_away_is_not_in_place() {
        let folder = Folder::new();
        let mut file = StoreFile::new(folder.store());
        let _database = file.open(false).unwrap();
        std::fs::rename(folder.store(), folder.store().with_extension("away")).unwrap();
        assert!(!file.is_in_place());
    }
}
