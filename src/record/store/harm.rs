//! What befalls the files of a store while it is open: somebody removes, replaces or empties one of them.
//!
//! The database does not notice by itself: it goes on in a file that has no name any more, or writes over what is
//! left of one. So the files are looked at before each batch, by their inodes and lengths alone: to open and close
//! one of them would release the locks that this process holds on it.

use super::database::Database as _;
use super::error::StoreError;
use super::sqlite::Sqlite;
use crate::record::files::{FileId, beside, inode};
use std::path::Path;

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
pub(super) struct DatabaseFile {
    pub(super) inode: FileId,
    pub(super) length: u64,
}

/// The files of a store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DatabaseFiles {
    pub(super) main: Option<DatabaseFile>,
    pub(super) log: Option<DatabaseFile>,
    pub(super) index: Option<DatabaseFile>,
}

impl DatabaseFile {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { inode: inode(&metadata), length: metadata.len() })
    }
}

impl DatabaseFiles {
    pub(super) fn of(path: &Path) -> Self {
        let part = |end| DatabaseFile::of(&beside(path, end));
        Self { main: DatabaseFile::of(path), log: part("-wal"), index: part("-shm") }
    }

    /// What has befallen these files since they were as they `were`, as far as that shows without asking the database.
    pub(super) fn harm(&self, were: &Self) -> Option<StoreDamage> {
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
    pub(super) fn harm_within(
        &self,
        were: &Self,
        path: &Path,
        database: &mut Sqlite,
    ) -> Result<Option<StoreDamage>, StoreError> {
        let mut number = |sql| {
            let number = database.number(sql, &[])?;
            Ok::<_, StoreError>(u64::try_from(number.unwrap_or_default()).unwrap_or_default())
        };
        let (page, pages) = (number("PRAGMA page_size")?, number("PRAGMA page_count")?);
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
