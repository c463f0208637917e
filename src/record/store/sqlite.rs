//! The database: `SQLite` through rusqlite, one statement at a time.
//!
//! WAL, so that a report reads while the gateway writes. `synchronous = FULL`: the usual advice for WAL is
//! `NORMAL`, but that syncs at checkpoints only, so a loss of power could take many seconds of counts with
//! it. A few commits a second on a thread of its own can afford the sync.

use super::error::{StoreError, StoreErrorKind};
use super::schema::refuse_newer;
#[cfg(test)]
use super::tests::faulty::FaultOutcome;
use crate::record::files::{FileId, beside, inode_at};
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, OpenFlags, Params, Row};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a statement waits for another process that holds the database.
pub(super) const PATIENCE: Duration = Duration::from_millis(200);

/// How many prepared statements are kept.
const STATEMENTS: usize = 64;

/// The size of a page, in bytes, as the library makes it.
const PAGE: u64 = 4_096;

/// How many pages of the log of a store of at most `max_bytes` are put into its file at once: a part that is small beside
/// it, and 4 MiB at most.
pub(super) fn log_pages(max_bytes: u64) -> u64 {
    (max_bytes / 16).min(4 * 1024 * 1024) / PAGE
}

/// A connection to the store's file.
#[derive(Debug)]
pub(in crate::record) struct Sqlite {
    connection: Connection,
    /// The write-ahead log that it was opened with, where it may write.
    log: Option<FileId>,
    /// What statements meet with in a test.
    #[cfg(test)]
    pub(super) faults: FaultOutcome,
}

/// A count as the database keeps it.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count of the database; none is below zero.
pub(super) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

/// What the names of the write-ahead log and of its index end in.
const LOG: &str = "-wal";
const INDEX: &str = "-shm";

/// Renames a database with its log and index.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    for end in [LOG, INDEX] {
        // Where there is none, nothing is left behind that could be taken for another database's.
        let _ = std::fs::rename(beside(from, end), beside(to, end));
    }
    Ok(())
}

impl Sqlite {
    /// Opens a file as `flags` say; a statement waits for another process for as long as `patience`.
    fn connect(path: impl AsRef<Path>, flags: OpenFlags, patience: Duration) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(patience)?;
        Ok(Self {
            connection,
            log: None,
            #[cfg(test)]
            faults: FaultOutcome::default(),
        })
    }

    /// Opens or creates the file. Nothing is checked yet but that it is a database, and of no later schema:
    /// such a one is not touched.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        // The library would make it for everybody to read; its other files get the mode of this one. A file that is there
        // is not opened here: to close it again would give up the locks that this process has on it.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o640).open(path);
        let mut database = Self::connect(path, flags, PATIENCE)?;
        let connection = &database.connection;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        refuse_newer(version)?;
        if version == 0 {
            // Before the first table, or it has no effect: space that retention frees goes back to the disk.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            tracing::debug!(mode, "the store has no write-ahead log here; a report may have to wait");
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
        database.log = inode_at(&beside(path, LOG));
        Ok(database)
    }

    /// Opens a file that exists, to read it and no more.
    pub(super) fn open_to_read(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, patience)
    }

    /// Opens an empty database of its own, which the system removes; what is large in it lies on disk.
    pub(super) fn in_memory() -> Result<Self, StoreError> {
        Self::connect("", OpenFlags::SQLITE_OPEN_READ_WRITE, Duration::ZERO)
    }

    /// Runs a statement; how many rows it changed.
    pub(super) fn run(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        self.met(|| Ok(self.connection.prepare_cached(sql)?.execute(values)?))
    }

    /// Runs a query to its end; the first column of its first row, unless that is null.
    pub(super) fn value<T: FromSql>(&self, sql: &str, values: impl Params) -> Result<Option<T>, StoreError> {
        self.met(|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            let has_columns = statement.column_count() > 0;
            let mut rows = statement.query(values)?;
            let mut first = None;
            // To the end: some statements do their work row by row, and their rows are empty.
            while let Some(row) = rows.next()? {
                if has_columns && first.is_none() {
                    first = row.get(0)?;
                }
            }
            Ok(first)
        })
    }

    /// A number that there is always, or 0.
    pub(super) fn number(&self, sql: &str, values: impl Params) -> Result<i64, StoreError> {
        self.value(sql, values).map(Option::unwrap_or_default)
    }

    /// Every row of an answer, as `of` reads it.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.met(|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            Ok(statement.query_map(values, of)?.collect::<Result<_, _>>()?)
        })
    }

    /// Adds the rows of a query to `sums`. The query gives each to `add` itself, by the name `taken`, as in
    /// `SELECT count(taken(a, b)) FROM t`: 1.5 million targets take 187 ms so, and 258 ms where values are asked of an answer.
    pub(super) fn fold<S: Default + Send + 'static>(
        &self,
        sums: S,
        sql: &str,
        values: impl Params,
        add: fn(&mut S, &Context<'_>) -> rusqlite::Result<()>,
    ) -> Result<S, StoreError> {
        let sums = Arc::new(Mutex::new(sums));
        let shared = Arc::clone(&sums);
        let taken = move |row: &Context<'_>| add(&mut shared.lock(), row).map(|()| true);
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        self.connection.create_scalar_function("taken", -1, flags, taken)?;
        self.number(sql, values)?;
        Ok(std::mem::take(&mut *sums.lock()))
    }

    /// Does `work` in whole or not at all. The lock is taken at the beginning: a transaction that reads first
    /// and writes later could fail half-way with no way to wait.
    pub(super) fn transaction<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.run("BEGIN IMMEDIATE", ())?;
        let done = work().and_then(|value| self.run("COMMIT", ()).map(|_| value));
        if done.is_err() {
            // Some faults have rolled back already; then there is nothing to roll back.
            let _ = self.run("ROLLBACK", ());
        }
        done
    }

    /// A statement, which meets with a fault where a test wants it to.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "faults are a test's"))]
    fn met<T>(&self, statement: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        #[cfg(test)]
        return self.faults.meet(statement);
        #[cfg(not(test))]
        statement()
    }

    /// Gives up a statement with an error as soon as `is_late`, which is asked every few `steps` of the database's machine.
    pub(super) fn give_up_when(
        &self,
        steps: i32,
        is_late: impl FnMut() -> bool + Send + 'static,
    ) -> Result<(), StoreError> {
        self.connection.progress_handler(steps, Some(is_late)).map_err(StoreError::from)
    }

    /// How large the database is, in bytes, once all that is written so far is in it.
    pub(super) fn bytes(&self) -> Result<u64, StoreError> {
        let pages = self.number("PRAGMA page_count", ())?;
        Ok(unsigned(pages.saturating_mul(self.number("PRAGMA page_size", ())?)))
    }

    /// The same, or what its file takes where that is more, with what its log takes.
    pub(super) fn bytes_on_disk(&self) -> Result<u64, StoreError> {
        let length = |file: &Path| file.metadata().map_or(0, |metadata| metadata.len());
        let file = self.connection.path().map(Path::new);
        let log = file.map_or(0, |file| length(&beside(file, LOG)));
        Ok(self.bytes()?.max(file.map_or(0, length)) + log)
    }

    /// Keeps the log, and what is in memory before it is in the log, small beside a store of at most `max_bytes`.
    pub(super) fn bound_log(&self, max_bytes: u64) -> Result<(), StoreError> {
        let pages = integer(log_pages(max_bytes));
        for (name, value) in [
            ("wal_autocheckpoint", pages),
            ("journal_size_limit", pages * integer(PAGE)),
            ("cache_size", pages / 2),
        ] {
            self.connection.pragma_update(None, name, value)?;
        }
        Ok(())
    }

    /// Writes all that is in the database, as of one moment, to a file that does not exist.
    pub(super) fn vacuum_into(&self, path: &Path) -> Result<(), StoreError> {
        let Some(path) = path.to_str() else {
            let message = format!("{}: the name is not UTF-8, which the database needs", path.display());
            return Err(StoreError::new(StoreErrorKind::Io, message));
        };
        self.run("VACUUM INTO ?1", [path]).map(drop)
    }

    /// Runs several statements that give no rows.
    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(StoreError::from)
    }

    /// Whether the structure of the file is sound.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let verdict: String = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict == "ok" {
            return Ok(());
        }
        Err(StoreError::new(StoreErrorKind::Corrupt, format!("the database is broken: {verdict}")))
    }

    /// Closes a store whose file was moved or emptied. With `saves`, that file gets what only the log has. The log and its
    /// index go: they must not be taken for those of another store.
    pub(super) fn leave(self, saves: bool) {
        if saves {
            // What it cannot get is lost.
            let _ = self.checkpoint();
        }
        if let Some(path) = self.connection.path().map(Path::new)
            && self.log.is_some_and(|log| inode_at(&beside(path, LOG)) == Some(log))
        {
            for end in [LOG, INDEX] {
                let _ = std::fs::remove_file(beside(path, end));
            }
        }
        // It fails for no reason that could be mended.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    }

    /// Puts all of the write-ahead log into the database.
    pub(super) fn checkpoint(&self) -> Result<(), StoreError> {
        self.number("PRAGMA wal_checkpoint(TRUNCATE)", ()).map(drop)
    }
}

/// What a fault of the database calls for, in words an operator can use.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                return Self::new(StoreErrorKind::Busy, "reading the store took too long");
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreErrorKind::Busy,
            Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => StoreErrorKind::Io,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Other,
        };
        Self::new(kind, error.to_string())
    }
}
