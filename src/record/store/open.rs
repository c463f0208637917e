//! Opening the store, whatever is found in its place.
//!
//! A file that is no database, or a broken one, is set aside under another name and never deleted. One that was moved
//! away, replaced or emptied while it was open is noticed ([`StoreDamage`]), and left to whoever moved it.

use super::database::Database;
use super::error::{StoreError, StoreErrorKind};
use super::harm::{DatabaseFile, DatabaseFiles, StoreDamage};
use super::schema;
use super::sqlite::Sqlite;
use crate::record::files::{FileId, beside, inode_at};
use jiff::Timestamp;
use std::path::PathBuf;

/// Files up to this size, in bytes, are checked when they are first opened: a fraction of a second.
const CHEAP_CHECK: u64 = 64 * 1024 * 1024;

/// What came of opening.
#[derive(Debug)]
pub(in crate::record) struct OpenedStore<D> {
    pub(super) database: D,
    /// Where the broken store went that was found.
    pub(super) set_aside: Option<PathBuf>,
    /// Whether there was none.
    pub(super) is_new: bool,
}

/// What became of a store that came to harm.
#[derive(Debug)]
pub(in crate::record) struct DamagedStore {
    /// Where what is left of it went.
    pub(super) set_aside: Option<PathBuf>,
    /// What has befallen it after all.
    pub(super) harm: StoreDamage,
}

/// Where databases come from.
pub(in crate::record) trait DatabaseSource {
    type Database: Database;

    /// Opens the store, new if need be. With `thorough`, it is checked in full whatever its size.
    fn open(&mut self, thorough: bool) -> Result<OpenedStore<Self::Database>, StoreError>;

    /// What has befallen the store's files since they were looked at last.
    fn harm(&mut self, database: &mut Self::Database) -> Result<Option<StoreDamage>, StoreError>;

    /// Closes a store that came to harm; what is left of it is saved or set aside.
    fn leave(&mut self, database: Self::Database, harm: StoreDamage) -> Result<DamagedStore, StoreError>;

    /// Leaves the store tidy before it is closed.
    fn close(&mut self, database: Self::Database);
}

/// A file and the inode it had when it was opened.
#[derive(Debug)]
pub(in crate::record) struct StoreFile {
    path: PathBuf,
    inode: Option<FileId>,
    /// The inode that was checked and found sound.
    sound: Option<FileId>,
    /// Its files as they were looked at last.
    parts: DatabaseFiles,
}

impl StoreFile {
    pub(in crate::record) fn new(path: PathBuf) -> Self {
        Self { path, inode: None, sound: None, parts: DatabaseFiles::default() }
    }

    /// The store, and whether there was none.
    fn try_open(&mut self, thorough: bool) -> Result<(Sqlite, bool), StoreError> {
        let size = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        self.inode = inode_at(&self.path);
        let mut database = Sqlite::open(&self.path)?;
        if self.inode.is_none() {
            self.inode = inode_at(&self.path);
        }
        let is_known = self.sound.is_some() && self.sound == self.inode;
        if thorough || (size <= CHEAP_CHECK && !is_known) {
            database.check()?;
            self.sound = self.inode;
        }
        let is_new = schema::migrate(&mut database, &self.path)?;
        self.parts = DatabaseFiles::of(&self.path);
        Ok((database, is_new))
    }

    /// Moves what is left of the log out of the way: it must not be taken for that of another store.
    fn set_log_aside(&self) {
        let is_ours = |end: &str, was: Option<DatabaseFile>| {
            was.is_some() && inode_at(&beside(&self.path, end)) == was.map(|was| was.inode)
        };
        if is_ours("-wal", self.parts.log) {
            let log = beside(&self.path, "-wal");
            // Where it cannot be moved, it cannot be removed either.
            let _ = match self.parts.log {
                Some(DatabaseFile { length: 0, .. }) => std::fs::remove_file(log),
                _ => std::fs::rename(log, beside(&self.aside(), "-wal")),
            };
        }
        if is_ours("-shm", self.parts.index) {
            let _ = std::fs::remove_file(beside(&self.path, "-shm"));
        }
    }

    fn aside(&self) -> PathBuf {
        beside(&self.path, &format!(".corrupt-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ")))
    }

    /// Moves the broken store out of the way, unless another process has done so already.
    fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        if self.inode.is_none() || inode_at(&self.path) != self.inode {
            return Ok(None);
        }
        let aside = self.aside();
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

impl DatabaseSource for StoreFile {
    type Database = Sqlite;

    fn open(&mut self, thorough: bool) -> Result<OpenedStore<Sqlite>, StoreError> {
        match self.try_open(thorough) {
            Ok((database, is_new)) => Ok(OpenedStore { database, set_aside: None, is_new }),
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                let set_aside = self.set_aside()?;
                let (database, is_new) = self.try_open(false)?;
                Ok(OpenedStore { database, set_aside, is_new })
            }
            Err(error) => Err(error),
        }
    }

    fn harm(&mut self, database: &mut Sqlite) -> Result<Option<StoreDamage>, StoreError> {
        let parts = DatabaseFiles::of(&self.path);
        let harm = match parts.harm(&self.parts) {
            None => parts.harm_within(&self.parts, &self.path, database)?,
            harm => harm,
        };
        if harm.is_none() {
            // What was not there when the store was opened may be now.
            self.parts = parts;
        }
        Ok(harm)
    }

    fn leave(&mut self, mut database: Sqlite, harm: StoreDamage) -> Result<DamagedStore, StoreError> {
        // What the log holds is put into the file, wherever that is now. No other harm leaves a log to go by.
        let is_saved =
            matches!(harm, StoreDamage::Gone | StoreDamage::LogGone) && database.checkpoint().is_ok();
        database.abandon();
        let harm = if harm == StoreDamage::LogGone && !is_saved { StoreDamage::LogCut } else { harm };
        let set_aside = if harm == StoreDamage::Emptied { self.set_aside()? } else { None };
        if matches!(harm, StoreDamage::Gone | StoreDamage::LogCut) {
            self.parts.log = DatabaseFiles::of(&self.path)
                .log
                .filter(|log| Some(log.inode) == self.parts.log.map(|was| was.inode));
            self.set_log_aside();
        }
        Ok(DamagedStore { set_aside, harm })
    }

    fn close(&mut self, mut database: Sqlite) {
        // A reader may be at work; then the log stays, and is read with the file.
        let _ = database.checkpoint();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::tests::StoreFolder;
    use std::path::Path;

    #[test]
    fn a_new_store_has_the_newest_schema() {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let mut opened = file.open(true).unwrap();
        assert_eq!(schema::version(&mut opened.database).unwrap(), schema::newest());
        assert!(opened.set_aside.is_none() && opened.is_new);
        assert_eq!(file.harm(&mut opened.database), Ok(None));
        let mode = opened.database.number("PRAGMA auto_vacuum", &[]).unwrap();
        assert_eq!(mode, Some(2), "incremental");
        assert_eq!(opened.database.number("PRAGMA synchronous", &[]).unwrap(), Some(2), "full");
    }

    #[test]
    fn what_is_no_database_is_set_aside_whole() {
        let folder = StoreFolder::new();
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
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let mut database = file.open(false).unwrap().database;
        for number in 0..2_000 {
            let values = [super::super::database::SqlValue::Integer(number)];
            database.run("INSERT INTO stranger (day, name) VALUES (?1, 'name ' || ?1)", &values).unwrap();
        }
        file.close(database);
        let mut bytes = std::fs::read(folder.store()).unwrap();
        let middle = bytes.len() - 8_192;
        bytes[middle..middle + 4_096].fill(0x5A);
        std::fs::write(folder.store(), bytes).unwrap();
        assert!(StoreFile::new(folder.store()).open(false).unwrap().set_aside.is_some());
    }

    #[test]
    fn a_store_of_a_later_program_is_refused_and_left_alone() {
        let folder = StoreFolder::new();
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
        let folder = StoreFolder::new();
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

    /// What is found after `work` on the files of a store that holds something, of which the log does not know all.
    fn after(work: impl Fn(&Path)) -> (Option<StoreDamage>, DamagedStore, OpenedStore<Sqlite>) {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let mut database = file.open(false).unwrap().database;
        let values = [super::super::database::SqlValue::Integer(7)];
        let sql = "INSERT INTO robots (sha256, bytes) VALUES (?1, zeroblob(100000))";
        database.run(sql, &values).unwrap();
        database.checkpoint().unwrap();
        assert_eq!(file.harm(&mut database), Ok(None));
        database.run("INSERT INTO meta (name, value) VALUES ('late', ?1)", &values).unwrap();
        assert_eq!(file.harm(&mut database), Ok(None));
        work(&folder.store());
        let harm = file.harm(&mut database).unwrap();
        let left = file.leave(database, harm.unwrap()).unwrap();
        (harm, left, file.open(true).unwrap())
    }

    fn cut(path: &Path, end: &str, length: u64) {
        std::fs::File::options().write(true).open(beside(path, end)).unwrap().set_len(length).unwrap();
    }

    fn has_late(opened: &mut OpenedStore<Sqlite>) -> bool {
        opened.database.number("SELECT value FROM meta WHERE name = 'late'", &[]).unwrap() == Some(7)
    }

    #[test]
    fn a_store_that_is_removed_or_emptied_is_begun_anew() {
        let (harm, left, opened) = after(|path| {
            for end in ["", "-wal", "-shm"] {
                std::fs::remove_file(beside(path, end)).unwrap();
            }
        });
        assert_eq!((harm, left.set_aside, opened.is_new), (Some(StoreDamage::Gone), None, true));
        let (harm, left, mut opened) = after(|path| std::fs::remove_file(path).unwrap());
        assert_eq!((harm, left.set_aside, opened.is_new), (Some(StoreDamage::Gone), None, true));
        assert!(!has_late(&mut opened), "the old log is not the new store's");
        let (harm, left, opened) = after(|path| cut(path, "", 0));
        assert_eq!((harm, opened.is_new), (Some(StoreDamage::Emptied), true));
        assert!(left.set_aside.is_some_and(|aside| aside.to_str().unwrap().contains(".corrupt-")));
        let (harm, _, opened) = after(|path| cut(path, "", 8_192));
        assert_eq!((harm, opened.is_new), (Some(StoreDamage::Cut), true));
        assert!(opened.set_aside.is_some());
    }

    #[test]
    fn a_store_that_lacks_its_log_or_index_is_gone_on_with() {
        for end in ["-wal", "-shm"] {
            let (harm, left, mut opened) = after(|path| std::fs::remove_file(beside(path, end)).unwrap());
            assert_eq!((harm, left.harm), (Some(StoreDamage::LogGone), StoreDamage::LogGone), "{end}");
            assert!(!opened.is_new && opened.set_aside.is_none() && has_late(&mut opened), "{end}");
        }
        let (harm, _, mut opened) = after(|path| cut(path, "-shm", 0));
        assert_eq!((harm, opened.is_new, has_late(&mut opened)), (Some(StoreDamage::IndexCut), false, true));
        for length in [0, 1_000] {
            let (harm, _, mut opened) = after(|path| cut(path, "-wal", length));
            assert_eq!(
                (harm, opened.is_new, has_late(&mut opened)),
                (Some(StoreDamage::LogCut), false, false)
            );
        }
    }

    #[test]
    fn a_store_that_is_moved_away_has_all_of_its_log() {
        let (harm, _, _) = after(|path| std::fs::rename(path, path.with_extension("away")).unwrap());
        assert_eq!(harm, Some(StoreDamage::Gone));
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let mut database = file.open(false).unwrap().database;
        database.run("INSERT INTO meta (name, value) VALUES ('late', 7)", &[]).unwrap();
        let away = folder.path().join("away.sqlite");
        std::fs::rename(folder.store(), &away).unwrap();
        let harm = file.harm(&mut database).unwrap().unwrap();
        file.leave(database, harm).unwrap();
        assert!(has_late(&mut StoreFile::new(away).open(true).unwrap()));
    }
}
