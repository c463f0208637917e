//! Opening the store, whatever is found in its place.
//!
//! A file that is no database, or a broken one, is set aside under another name and never deleted. One that was moved
//! away, replaced or emptied while it was open is noticed ([`StoreDamage`]), and left to whoever moved it.

use super::error::{StoreError, StoreErrorKind};
use super::schema;
use super::sqlite::{Sqlite, unsigned};
#[cfg(test)]
use super::tests::faulty::FaultOutcome;
use crate::record::files::{FileId, beside, inode, inode_at};
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// Files up to this size, in bytes, are checked when they are first opened: a fraction of a second.
const CHEAP_CHECK: u64 = 64 * 1024 * 1024;

/// What came of opening.
#[derive(Debug)]
pub(in crate::record) struct OpenedStore {
    pub(super) database: Sqlite,
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

/// A file and the inode it had when it was opened.
#[derive(Debug)]
pub(in crate::record) struct StoreFile {
    path: PathBuf,
    inode: Option<FileId>,
    /// The inode that was checked and found sound.
    sound: Option<FileId>,
    /// Its files as they were looked at last.
    parts: DatabaseFiles,
    /// What the statements of its databases meet with in a test.
    #[cfg(test)]
    pub(super) faults: FaultOutcome,
}

impl StoreFile {
    pub(in crate::record) fn new(path: PathBuf) -> Self {
        Self {
            path,
            inode: None,
            sound: None,
            parts: DatabaseFiles::default(),
            #[cfg(test)]
            faults: FaultOutcome::default(),
        }
    }

    /// The store, and whether there was none.
    fn try_open(&mut self, thorough: bool) -> Result<(Sqlite, bool), StoreError> {
        let size = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        self.inode = inode_at(&self.path);
        let database = Sqlite::open(&self.path)?;
        if self.inode.is_none() {
            self.inode = inode_at(&self.path);
        }
        let is_known = self.sound.is_some() && self.sound == self.inode;
        if thorough || (size <= CHEAP_CHECK && !is_known) {
            database.check()?;
            self.sound = self.inode;
        }
        let is_new = schema::set_up(&database)?;
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

    /// Opens the store, new if need be. With `thorough`, it is checked in full whatever its size.
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

    /// What has befallen the store's files since they were looked at last.
    pub(super) fn harm(&mut self, database: &Sqlite) -> Result<Option<StoreDamage>, StoreError> {
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

    /// Closes a store that came to harm; what is left of it is saved or set aside.
    pub(super) fn leave(&mut self, database: Sqlite, harm: StoreDamage) -> Result<DamagedStore, StoreError> {
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
}

/// What the header of the log takes, and that of each page in it, in bytes.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// What has befallen a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum StoreDamage {
    /// Its file is not there, or another is.
    Gone,
    /// Its file is empty.
    Emptied,
    /// Its file may have been cut short: a full check tells.
    Cut,
    /// Its log, or the index of that, is not there, or another is. What it held is in the file now.
    LogGone,
    /// The log was cut short.
    LogCut,
    /// The index of the log was cut short. Whoever looks into it dies of that (SIGBUS).
    IndexCut,
}

impl StoreDamage {
    /// What an operator is told once a store is open again, unless the old one is told to be set aside.
    pub(super) const fn message(self, is_new: bool) -> Option<&'static str> {
        match self {
            Self::Gone if is_new => Some(
                "the store was removed or moved away while it was open: reports no longer know what it held; a new one \
                 was begun",
            ),
            Self::Gone => {
                Some("the store was replaced while it was open: the one in its place is gone on with")
            }
            Self::Emptied | Self::Cut => None,
            Self::LogGone => Some(
                "the store's log (-wal) or the index of that (-shm) was removed while it was open: nothing is lost",
            ),
            Self::LogCut => Some(
                "the store's log (-wal) was cut short while it was open: what was counted last may be missing",
            ),
            Self::IndexCut => {
                Some("the index of the store's log (-shm) was cut short while it was open: nothing is lost")
            }
        }
    }
}

/// One file: its inode, and its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DatabaseFile {
    inode: FileId,
    length: u64,
}

/// The files of a store.
#[derive(Clone, Copy, Debug, Default)]
struct DatabaseFiles {
    main: Option<DatabaseFile>,
    log: Option<DatabaseFile>,
    index: Option<DatabaseFile>,
}

impl DatabaseFile {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { inode: inode(&metadata), length: metadata.len() })
    }
}

impl DatabaseFiles {
    fn of(path: &Path) -> Self {
        let part = |end| DatabaseFile::of(&beside(path, end));
        Self { main: DatabaseFile::of(path), log: part("-wal"), index: part("-shm") }
    }

    /// What has befallen these files since they were as they `were`, as far as that shows without asking the database.
    fn harm(&self, were: &Self) -> Option<StoreDamage> {
        let is_same = |one: Option<DatabaseFile>, was: Option<DatabaseFile>| {
            one.map(|one| one.inode) == was.map(|was| was.inode)
        };
        let is_cut = self.index.zip(were.index).is_some_and(|(is, was)| is.length < was.length);
        if were.main.is_none() || !is_same(self.main, were.main) {
            return Some(StoreDamage::Gone);
        }
        if self.main.is_some_and(|main| main.length == 0) {
            return Some(StoreDamage::Emptied);
        }
        if is_same(self.index, were.index) && is_cut {
            return Some(StoreDamage::IndexCut);
        }
        let is_lost = |is, was: Option<DatabaseFile>| was.is_some() && !is_same(is, was);
        (is_lost(self.log, were.log) || is_lost(self.index, were.index)).then_some(StoreDamage::LogGone)
    }

    /// The same as far as the database knows how long its files should be. Another process may be at work on them.
    fn harm_within(
        &self,
        were: &Self,
        path: &Path,
        database: &Sqlite,
    ) -> Result<Option<StoreDamage>, StoreError> {
        let (page, pages) =
            (database.number("PRAGMA page_size", ())?, database.number("PRAGMA page_count", ())?);
        let (page, pages) = (unsigned(page), unsigned(pages));
        let shrunk = self.main.zip(were.main).filter(|(is, was)| is.length < was.length);
        if shrunk.is_some_and(|(is, _)| is.length < page * pages) {
            return Ok(Some(StoreDamage::Cut));
        }
        let frames = database.frames_in_log()?;
        // Looked at again, because the log may have grown. Whoever empties it as one should says so in its index first.
        let log = Self::of(path).log.filter(|log| log.length < LOG_HEADER + frames * (page + FRAME_HEADER));
        let is_cut = frames > 0 && log.is_some() && database.frames_in_log()? == frames;
        Ok(is_cut.then_some(StoreDamage::LogCut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::tests::StoreFolder;

    #[test]
    fn a_new_store_has_the_newest_schema() {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let opened = file.open(true).unwrap();
        assert_eq!(schema::version(&opened.database).unwrap(), schema::VERSION);
        assert!(opened.set_aside.is_none() && opened.is_new);
        assert_eq!(file.harm(&opened.database), Ok(None));
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
    fn a_broken_page_is_found_when_the_store_is_opened() {
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
        assert!(StoreFile::new(folder.store()).open(false).unwrap().set_aside.is_some());
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
    fn after(work: impl Fn(&Path)) -> (Option<StoreDamage>, DamagedStore, OpenedStore) {
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let database = file.open(false).unwrap().database;
        let sql = "INSERT INTO robots (sha256, bytes) VALUES (?1, zeroblob(100000))";
        database.run(sql, [7]).unwrap();
        database.checkpoint().unwrap();
        assert_eq!(file.harm(&database), Ok(None));
        database.run("INSERT INTO meta (name, value) VALUES ('late', ?1)", [7]).unwrap();
        assert_eq!(file.harm(&database), Ok(None));
        work(&folder.store());
        let harm = file.harm(&database).unwrap();
        let left = file.leave(database, harm.unwrap()).unwrap();
        (harm, left, file.open(true).unwrap())
    }

    fn cut(path: &Path, end: &str, length: u64) {
        std::fs::File::options().write(true).open(beside(path, end)).unwrap().set_len(length).unwrap();
    }

    fn has_late(opened: &OpenedStore) -> bool {
        opened.database.number("SELECT value FROM meta WHERE name = 'late'", ()).unwrap() == 7
    }

    #[test]
    fn a_store_that_is_removed_or_emptied_is_begun_anew() {
        let (harm, left, opened) = after(|path| {
            for end in ["", "-wal", "-shm"] {
                std::fs::remove_file(beside(path, end)).unwrap();
            }
        });
        assert_eq!((harm, left.set_aside, opened.is_new), (Some(StoreDamage::Gone), None, true));
        let (harm, left, opened) = after(|path| std::fs::remove_file(path).unwrap());
        assert_eq!((harm, left.set_aside, opened.is_new), (Some(StoreDamage::Gone), None, true));
        assert!(!has_late(&opened), "the old log is not the new store's");
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
            let (harm, left, opened) = after(|path| std::fs::remove_file(beside(path, end)).unwrap());
            assert_eq!((harm, left.harm), (Some(StoreDamage::LogGone), StoreDamage::LogGone), "{end}");
            assert!(!opened.is_new && opened.set_aside.is_none() && has_late(&opened), "{end}");
        }
        let (harm, _, opened) = after(|path| cut(path, "-shm", 0));
        assert_eq!((harm, opened.is_new, has_late(&opened)), (Some(StoreDamage::IndexCut), false, true));
        for length in [0, 1_000] {
            let (harm, _, opened) = after(|path| cut(path, "-wal", length));
            assert_eq!((harm, opened.is_new, has_late(&opened)), (Some(StoreDamage::LogCut), false, false));
        }
    }

    #[test]
    fn a_store_that_is_moved_away_has_all_of_its_log() {
        let (harm, _, _) = after(|path| std::fs::rename(path, path.with_extension("away")).unwrap());
        assert_eq!(harm, Some(StoreDamage::Gone));
        let folder = StoreFolder::new();
        let mut file = StoreFile::new(folder.store());
        let database = file.open(false).unwrap().database;
        database.run("INSERT INTO meta (name, value) VALUES ('late', 7)", ()).unwrap();
        let away = folder.path().join("away.sqlite");
        std::fs::rename(folder.store(), &away).unwrap();
        let harm = file.harm(&database).unwrap().unwrap();
        file.leave(database, harm).unwrap();
        assert!(has_late(&StoreFile::new(away).open(true).unwrap()));
    }
}
