//! Reading the outbox, beside the writer.

use super::ExportedRows;
use crate::record::store::error::StoreError;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::Path;
use std::time::Duration;

/// How long a reader waits for a writer that is just starting.
const PATIENCE: Duration = Duration::from_millis(500);

/// The outbox of a store.
#[derive(Debug)]
pub struct OutboxReader {
    connection: Connection,
}

/// What is sent at once.
#[derive(Clone, Debug)]
pub struct OutboxBatch {
    /// The number of its first piece.
    pub first: i64,
    /// The number of its last piece.
    pub last: i64,
    /// Its rows.
    pub rows: ExportedRows,
}

/// What of an outbox is after a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxState {
    /// The number of the last piece there ever was.
    pub last: i64,
    /// How many batches wait, the one counted that is not sealed yet.
    pub waiting: i64,
    /// When the oldest of them was written, in microseconds; 0 where none waits.
    pub since: i64,
}

impl OutboxReader {
    /// Opens the outbox of the store in the file `path`.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        Ok(Self { connection })
    }

    /// What tells this store from every other one; `None` of one that is not set up yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn store(&self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE name = 'store_id'";
        let found: Option<i64> = self.connection.query_row(sql, [], |row| row.get(0)).optional()?;
        Ok(found.map(|id| format!("{id:016x}")))
    }

    /// What waits after `mark`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn state(&self, mark: i64) -> Result<OutboxState, StoreError> {
        let last = "SELECT value FROM meta WHERE name = 'outbox'";
        let last = self.connection.query_row(last, [], |row| row.get(0)).optional()?.unwrap_or_default();
        let sql = "SELECT count(*) FILTER (WHERE sealed = 1) + (count(*) FILTER (WHERE sealed = 0) > 0),
                   coalesce(min(written), 0) FROM outbox WHERE last > ?1";
        let (waiting, since) =
            self.connection.query_row(sql, [mark], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(OutboxState { last, waiting, since })
    }

    /// The next batch after `mark`; `None` where nothing is sealed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn after(&self, mark: i64) -> Result<Option<OutboxBatch>, StoreError> {
        let sql = "SELECT first, last, body FROM outbox WHERE sealed = 1 AND last > ?1 ORDER BY last LIMIT 1";
        let found: Option<(i64, i64, Vec<u8>)> =
            self.connection.query_row(sql, [mark], |row| row.try_into()).optional()?;
        let batch = |(first, last, body): (i64, i64, Vec<u8>)| {
            Ok(OutboxBatch { first, last, rows: ExportedRows::unpacked(&body)? })
        };
        found.map(batch).transpose()
    }
}
