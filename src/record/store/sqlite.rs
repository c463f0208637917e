//! The real database: `SQLite` through rusqlite.
//!
//! WAL, so that a report reads while the gateway writes. `synchronous = FULL`: the usual advice for WAL is
//! `NORMAL`, but that syncs at checkpoints only, so a loss of power could take many seconds of counts with
//! it. A few commits a second on a thread of its own can afford the sync.

use super::database::{Database, SqlValue};
use super::error::{StoreError, StoreErrorKind};
use super::schema::refuse_newer;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// How long a statement waits for another process that holds the database.
const PATIENCE: Duration = Duration::from_millis(200);

/// How many prepared statements are kept.
const STATEMENTS: usize = 64;

/// The write-ahead log is cut back to this many bytes when all of it is in the database.
const WAL_BYTES: u32 = 4 * 1024 * 1024;

/// A connection that writes.
#[derive(Debug)]
pub(in crate::record) struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Opens or creates the file. Nothing is checked yet but that it is a database, and of no later schema:
    /// such a one is not touched.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // The library would make it for everybody to read; its other files get the mode of this one. A file that is there
        // is not opened here: to close it again would give up the locks that this process has on it.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o640).open(path);
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
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
        connection.pragma_update(None, "journal_size_limit", WAL_BYTES)?;
        Ok(Self { connection })
    }

    /// Opens a file that exists, to read it and no more.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self { connection })
    }

    /// How large the database is, in bytes, without what is free in it.
    pub(super) fn bytes(&mut self) -> Result<u64, StoreError> {
        let mut pragma = |sql| self.number(sql, &[]).map(Option::unwrap_or_default);
        let pages = pragma("PRAGMA page_count")?.saturating_sub(pragma("PRAGMA freelist_count")?);
        Ok(u64::try_from(pages.saturating_mul(pragma("PRAGMA page_size")?)).unwrap_or_default())
    }

    /// Writes all that is in the database, as of one moment, to a file that does not exist.
    pub(super) fn vacuum_into(&mut self, path: &Path) -> Result<(), StoreError> {
        let Some(path) = path.to_str() else {
            let message = format!("{}: the name is not UTF-8, which the database needs", path.display());
            return Err(StoreError::new(StoreErrorKind::Io, message));
        };
        self.run("VACUUM INTO ?1", &[SqlValue::Text(path)]).map(|_| ())
    }

    /// Runs several statements that give no rows.
    pub(super) fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(StoreError::from)
    }

    /// Whether the structure of the file is sound.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let verdict: String = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict == "ok" {
            return Ok(());
        }
        Err(StoreError::new(StoreErrorKind::Corrupt, format!("the database is broken: {verdict}")))
    }

    /// How many pages the write-ahead log holds.
    pub(super) fn frames_in_log(&mut self) -> Result<u64, StoreError> {
        let sql = "PRAGMA wal_checkpoint(NOOP)";
        let frames: i64 = self.connection.query_row(sql, [], |row| row.get(1))?;
        Ok(u64::try_from(frames).unwrap_or_default())
    }

    /// Closes the database and leaves its files as they are.
    pub(super) fn abandon(self) {
        let as_is = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        // It fails for no reason that could be mended.
        let _ = self.connection.set_db_config(as_is, true);
    }

    /// Puts all of the write-ahead log into the database.
    pub(super) fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.number("PRAGMA wal_checkpoint(TRUNCATE)", &[]).map(|_| ())
    }
}

impl Database for Sqlite {
    fn run(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<usize, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        statement.execute(params_from_iter(values)).map_err(StoreError::from)
    }

    fn number(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<Option<i64>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let has_columns = statement.column_count() > 0;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut first = None;
        // To the end: some statements do their work row by row, and their rows are empty.
        while let Some(row) = rows.next()? {
            if has_columns && first.is_none() {
                first = row.get(0)?;
            }
        }
        Ok(first)
    }

    fn bodies(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
        rows.collect::<Result<_, _>>().map_err(StoreError::from)
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
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
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreErrorKind::ReadOnly,
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => StoreErrorKind::Io,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Other,
        };
        Self::new(kind, error.to_string())
    }
}
