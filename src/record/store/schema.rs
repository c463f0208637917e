//! The shape of the store, by version, and the way from each to the next.
//!
//! The version is the file's `user_version`; 0 is an empty file. A store of a later version is refused and
//! left where it is: it is whole, and the program that wrote it may be writing this very moment, as during
//! the return from an upgrade. The gateway then counts in memory and asks again.

use super::database::{Database, transaction};
use super::error::{StoreError, StoreErrorKind};
use super::sqlite::Sqlite;

/// What leads to version 1, to version 2, and so on.
const STEPS: [&str; 1] = [include_str!("schema_1.sql")];

/// The version this program writes.
pub(super) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings a store to the newest version. Two processes may try at once; the second finds it done.
pub(super) fn migrate(database: &mut Sqlite) -> Result<(), StoreError> {
    if version(database)? == newest() {
        return Ok(());
    }
    transaction(database, |database| {
        let found = version(database)?;
        let done = usize::try_from(found).unwrap_or_default();
        for step in STEPS.iter().skip(done) {
            database.script(step)?;
        }
        database.script(&format!("PRAGMA user_version = {}", newest()))
    })
}

/// The version of a store that this program can write.
pub(super) fn version<D: Database>(database: &mut D) -> Result<i64, StoreError> {
    let found = database.number("PRAGMA user_version", &[])?.unwrap_or_default();
    refuse_newer(found).map(|()| found)
}

pub(super) fn refuse_newer(found: i64) -> Result<(), StoreError> {
    if found <= newest() {
        return Ok(());
    }
    let message = format!(
        "the store was written by a later robots-gateway (schema {found}; this one knows {}); \
         run that one, or move the store away to begin a new one",
        newest()
    );
    Err(StoreError::new(StoreErrorKind::Newer, message))
}
