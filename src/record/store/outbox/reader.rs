//! Reading the outbox, beside the writer.

use super::ExportedRows;
use crate::record::hexadecimal;
use crate::record::store::error::StoreError;
use crate::record::store::sqlite::Sqlite;
use sha2::{Digest as _, Sha256};
use std::path::Path;
use std::time::Duration;

/// How long a reader waits for a writer that is just starting.
const PATIENCE: Duration = Duration::from_millis(500);

/// The outbox of a store.
#[derive(Debug)]
pub struct OutboxReader(Sqlite);

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
        Sqlite::open_to_read(path, PATIENCE).map(Self)
    }

    /// What tells this store from every other one; `None` of one that is not set up yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn store(&self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE name = 'store_id'";
        Ok(self.0.value(sql, ())?.map(|id: i64| format!("{id:016x}")))
    }

    /// What waits after `mark`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn state(&self, mark: i64) -> Result<OutboxState, StoreError> {
        let last = self.0.number("SELECT value FROM meta WHERE name = 'outbox'", ())?;
        let sql = "SELECT count(*) FILTER (WHERE sealed = 1) + (count(*) FILTER (WHERE sealed = 0) > 0),
                   coalesce(min(written), 0) FROM outbox WHERE last > ?1";
        let found = self
            .0
            .rows(sql, [mark], |row| Ok(OutboxState { last, waiting: row.get(0)?, since: row.get(1)? }))?;
        Ok(found.first().copied().unwrap_or_default())
    }

    /// The next batch after `mark`; `None` where nothing is sealed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn after(&self, mark: i64) -> Result<Option<OutboxBatch>, StoreError> {
        let sql = "SELECT first, last, written, body FROM outbox WHERE sealed = 1 AND last > ?1 ORDER BY last LIMIT 1";
        let found = self.0.rows(sql, [mark], |row| row.try_into())?;
        let batch = |row: PieceRow| {
            let rows = ExportedRows::unpacked(&row.3).inspect_err(|error| tracing::error!("{error}")).ok();
            OutboxBatch { first: row.0, last: row.1, piece: piece(&row), rows }
        };
        Ok(found.into_iter().next().map(batch))
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
        Ok(self.0.rows(sql, [mark], read)?.first().copied().unwrap_or(false))
    }

    /// Whether something up to `mark` is not noted as taken yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_news(&self, mark: i64) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) > 0 FROM outbox WHERE sealed = 1 AND taken = 0 AND last <= ?1";
        Ok(self.0.value(sql, [mark])?.unwrap_or(false))
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
