//! The seam between the store's logic and the database: one statement at a time.
//!
//! All writing goes through [`Database`], so that a test can put one in its place that fails at any
//! statement. Reading has no such seam.

use super::error::StoreError;

/// One value of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum SqlValue<'a> {
    Integer(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// A database that runs statements.
pub(in crate::record) trait Database {
    /// Runs a statement; how many rows it changed.
    fn run(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<usize, StoreError>;

    /// Runs a query to its end; the first column of its first row.
    fn number(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<Option<i64>, StoreError>;

    /// Runs a query; the first column of every row, which is a blob.
    fn bodies(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<Vec<Vec<u8>>, StoreError>;
}

/// Does `work` in whole or not at all. The lock is taken at the beginning: a transaction that reads first
/// and writes later could fail half-way with no way to wait.
pub(super) fn transaction<D: Database, T>(
    database: &mut D,
    work: impl FnOnce(&mut D) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    database.run("BEGIN IMMEDIATE", &[])?;
    let done = work(database).and_then(|value| database.run("COMMIT", &[]).map(|_| value));
    if done.is_err() {
        // Some faults have rolled back already; then there is nothing to roll back.
        let _ = database.run("ROLLBACK", &[]);
    }
    done
}

/// A count as the database keeps it.
pub(super) fn integer(count: u64) -> SqlValue<'static> {
    SqlValue::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}
