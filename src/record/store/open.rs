//! Opening the store, whatever is found in its place.
//!
//! A file that is no database, or a broken one, is set aside under another name and never deleted. One that was moved
//! away, replaced or emptied while it was open is noticed, and left to whoever did it ([`StoreDamage`]).

use super::error::{StoreError, StoreErrorKind};
use super::schema;
use super::sqlite::{Sqlite, rename};
#[cfg(test)]
use super::tests::faulty::FaultOutcome;
use crate::record::files::{FileId, beside, inode, inode_at};
use jiff::Timestamp;
use std::path::PathBuf;

/// What came of opening.
#[derive(Debug)]
pub(in crate::record) struct OpenedStore {
    pub(super) database: Sqlite,
    /// Where the broken store went that was found.
    pub(super) set_aside: Option<PathBuf>,
    /// Whether there was none.
    pub(super) is_new: bool,
}

/// A file and the inode it had when it was opened.
#[derive(Debug)]
pub(in crate::record) struct StoreFile {
    path: PathBuf,
    inode: Option<FileId>,
    /// What the statements of its databases meet with in a test.
    #[cfg(test)]
    pub(super) faults: FaultOutcome,
}

/// A store of this size is checked within a second, and so always when a process opens it first.
const CHEAP_CHECK: u64 = 64 * 1024 * 1024;

impl StoreFile {
    pub(in crate::record) fn new(path: PathBuf) -> Self {
        Self {
            path,
            inode: None,
            #[cfg(test)]
            faults: FaultOutcome::default(),
        }
    }

    /// The store, and whether there was none.
    fn try_open(&mut self, thorough: bool) -> Result<(Sqlite, bool), StoreError> {
        let is_first = self.inode.is_none();
        self.inode = inode_at(&self.path);
        let database = Sqlite::open(&self.path)?;
        if self.inode.is_none() {
            self.inode = inode_at(&self.path);
        }
        if thorough || is_first && database.bytes()? <= CHEAP_CHECK {
            database.check()?;
        }
        let is_new = schema::set_up(&database)?;
        Ok((database, is_new))
    }

    /// Moves the broken store out of the way, unless another process has done so already.
    fn set_aside(&self) -> Result<Option<PathBuf>, StoreError> {
        if self.inode.is_none() || inode_at(&self.path) != self.inode {
            return Ok(None);
        }
        let aside = beside(&self.path, &format!(".corrupt-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ")));
        let refused = |error: std::io::Error| {
            let message = format!("cannot set the broken store aside as {}: {error}", aside.display());
            StoreError::new(StoreErrorKind::Io, message)
        };
        rename(&self.path, &aside).map_err(refused)?;
        Ok(Some(aside))
    }

    /// Opens the store, new if need be. With `thorough`, it is checked in full.
    pub(super) fn open(&mut self, thorough: bool) -> Result<OpenedStore, StoreError> {
        #[cfg(test)]
        self.faults.refuse_the_dead()?;
        let ((database, is_new), set_aside) = match self.try_open(thorough) {
            Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                let set_aside = self.set_aside()?;
                (self.try_open(false)?, set_aside)
            }
            opened => (opened?, None),
        };
        #[cfg(test)]
        let database = database.with_faults(&self.faults);
        Ok(OpenedStore { database, set_aside, is_new })
    }

    /// Closes the store if its file is not there any more, or is empty, or another: says whether it was.
    pub(super) fn leave_if_replaced(&self, database: &mut Option<Sqlite>) -> bool {
        let found = std::fs::metadata(&self.path).ok();
        let is_ours = found.as_ref().map(inode) == self.inode;
        let is_empty = found.is_some_and(|found| found.len() == 0);
        let left = database.take_if(|_| !is_ours || is_empty);
        // Where the file was moved, it gets what is not in it yet. An emptied one stays empty.
        left.map(|database| database.leave(!is_ours)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::tests::StoreFolder;
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn a_new_store_has_the_newest_schema() {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let opened = file.open(true).unwrap();
        assert_eq!(schema::version(&opened.database).unwrap(), schema::VERSION);
        assert!(opened.set_aside.is_none() && opened.is_new);
        let mode = opened.database.number("PRAGMA auto_vacuum", ()).unwrap();
        assert_eq!(mode, 2, "incremental");
        assert_eq!(opened.database.number("PRAGMA synchronous", ()).unwrap(), 2, "full");
    }

    #[test]
    fn what_is_no_database_is_set_aside_whole() {
        let folder = StoreFolder::new();
        let garbage = b"this is no database".repeat(500);
        std::fs::write(folder.store(), &garbage).unwrap();
        let mut file = StoreFile::new(folder.store());
        let opened = file.open(false).unwrap();
        let aside = opened.set_aside.expect("it was set aside");
        assert!(aside.file_name().unwrap().to_str().unwrap().starts_with("store.sqlite.corrupt-2"));
        assert_eq!(std::fs::read(aside).unwrap(), garbage);
        assert_eq!(schema::version(&opened.database).unwrap(), schema::VERSION);
    }

    #[test]
    fn a_broken_page_is_found_by_a_check() {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let database = file.open(false).unwrap().database;
        for number in 0..2_000 {
            database.run("INSERT INTO stranger (day, name) VALUES (?1, 'name ' || ?1)", [number]).unwrap();
        }
        drop(database);
        let mut bytes = std::fs::read(folder.store()).unwrap();
        let middle = bytes.len() - 8_192;
        bytes[middle..middle + 4_096].fill(0x5A);
        std::fs::write(folder.store(), bytes).unwrap();
        assert!(StoreFile::new(folder.store()).open(true).unwrap().set_aside.is_some());
    }

    #[test]
    fn a_store_of_a_later_program_is_refused_and_left_alone() {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let database = file.open(false).unwrap().database;
        database.script("PRAGMA user_version = 99").unwrap();
        drop(database);
        let before = std::fs::read(folder.store()).unwrap();
        let error = StoreFile::new(folder.store()).open(true).unwrap_err();
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

    /// A store that holds something, of which its file does not have all yet.
    fn with_late(folder: &StoreFolder) -> (StoreFile, Option<Sqlite>) {
        let mut file = StoreFile::new(folder.store());
        let database = file.open(false).unwrap().database;
        database.checkpoint().unwrap();
        database.run("INSERT INTO meta (name, value) VALUES ('late', 7)", ()).unwrap();
        let mut database = Some(database);
        assert!(!file.leave_if_replaced(&mut database) && database.is_some(), "nothing has befallen it");
        (file, database)
    }

    fn has_late(opened: &OpenedStore) -> bool {
        opened.database.number("SELECT value FROM meta WHERE name = 'late'", ()).unwrap() == 7
    }

    #[test]
    fn a_store_that_is_removed_or_emptied_is_begun_anew() {
        let emptied = |path: &Path| drop(std::fs::File::create(path).unwrap());
        let removed = |path: &Path| std::fs::remove_file(path).unwrap();
        let removed_whole = |path: &Path| {
            for end in ["", "-wal", "-shm"] {
                std::fs::remove_file(beside(path, end)).unwrap();
            }
        };
        for work in [&emptied as &dyn Fn(&Path), &removed, &removed_whole] {
            let folder = StoreFolder::new();
            let (mut file, mut database) = with_late(&folder);
            work(&folder.store());
            assert!(file.leave_if_replaced(&mut database) && database.is_none());
            let opened = file.open(true).unwrap();
            assert!(opened.is_new && opened.set_aside.is_none() && !has_late(&opened));
        }
    }

    #[test]
    fn what_a_store_left_is_not_taken_for_that_of_the_one_in_its_place() {
        let (folder, other) = (StoreFolder::new(), StoreFolder::new());
        drop(StoreFile::new(other.store()).open(false).unwrap());
        let (mut file, mut database) = with_late(&folder);
        // While somebody reads the old store, what is late cannot be put into its file.
        let reader = Sqlite::open_to_read(&folder.store(), Duration::ZERO).unwrap();
        reader.script("BEGIN; SELECT count(*) FROM meta;").unwrap();
        database.as_ref().unwrap().run("INSERT INTO meta (name, value) VALUES ('later', 8)", ()).unwrap();
        std::fs::rename(other.store(), folder.store()).unwrap();
        assert!(file.leave_if_replaced(&mut database));
        let opened = file.open(true).unwrap();
        assert!(!opened.is_new && opened.set_aside.is_none() && !has_late(&opened));
    }

    #[test]
    fn a_store_that_is_moved_away_has_all_that_was_counted() {
        let folder = StoreFolder::new();
        let (file, mut database) = with_late(&folder);
        let away = folder.path().join("away.sqlite");
        std::fs::rename(folder.store(), &away).unwrap();
        assert!(file.leave_if_replaced(&mut database));
        assert!(has_late(&StoreFile::new(away).open(true).unwrap()));
    }
}
