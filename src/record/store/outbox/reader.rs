//! Reading the outbox, beside the writer.

use super::ExportedRows;
use crate::record::hexadecimal;
use crate::record::store::error::StoreError;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use sha2::{Digest as _, Sha256};
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
    /// What tells it from one of another store with the same numbers.
    pub piece: String,
    /// Its rows; `None` where they cannot be read.
    pub rows: Option<ExportedRows>,
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
        let sql = "SELECT first, last, written, body FROM outbox WHERE sealed = 1 AND last > ?1 ORDER BY last LIMIT 1";
        let found: Option<PieceRow> =
            self.connection.query_row(sql, [mark], |row| row.try_into()).optional()?;
        let batch = |row: PieceRow| {
            let rows = ExportedRows::unpacked(&row.3).inspect_err(|error| tracing::error!("{error}")).ok();
            OutboxBatch { first: row.0, last: row.1, piece: piece(&row), rows }
        };
        Ok(found.map(batch))
    }

    /// Whether the fleet has counted something else under the numbers up to `mark`, where it had `last_piece` last: then
    /// this store was copied back from elsewhere. What is not kept any more cannot be compared.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn differs(&self, mark: i64, last_piece: &str) -> Result<bool, StoreError> {
        if mark > self.state(mark)?.last {
            return Ok(true);
        }
        let sql = "SELECT first, last, written, body, sealed FROM outbox WHERE first <= ?1 AND last >= ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let found: PieceRow = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let is_end = row.get::<_, bool>(4)? && found.1 == mark;
            Ok(!is_end || !last_piece.is_empty() && piece(&found) != last_piece)
        };
        Ok(self.connection.query_row(sql, [mark], read).optional()?.unwrap_or(false))
    }

    /// Whether something up to `mark` is not noted as taken yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_news(&self, mark: i64) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) > 0 FROM outbox WHERE sealed = 1 AND taken = 0 AND last <= ?1";
        Ok(self.connection.query_row(sql, [mark], |row| row.get(0))?)
    }
}

/// First and last number, when it was written, and the body.
type PieceRow = (i64, i64, i64, Vec<u8>);

fn piece((first, last, written, body): &PieceRow) -> String {
    let mut digest = Sha256::new();
    for number in [first, last, written] {
        digest.update(number.to_be_bytes());
    }
    digest.update(body);
    hexadecimal(&digest.finalize())
}
