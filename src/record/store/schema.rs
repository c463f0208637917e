//! The shape of the store.
//!
//! Its version is the file's `user_version`; 0 is an empty file. A store of a later version is refused and left where it is:
//! it is whole, and the program that wrote it may be writing this very moment, as during the return from an upgrade. The
//! gateway then counts in memory and asks again.

use super::error::{StoreError, StoreErrorKind};
use super::sqlite::Sqlite;
use std::path::Path;

const SCHEMA: &str = include_str!("schema_1.sql");

/// The version of the schema.
pub(super) const VERSION: i64 = 1;

/// Sets up an empty store; `true` where it was one. Two processes may try at once; the second finds it done.
pub(super) fn set_up(database: &Sqlite) -> Result<bool, StoreError> {
    if version(database)? == VERSION {
        return Ok(false);
    }
    database.transaction(|| {
        let is_empty = version(database)? == 0;
        if is_empty {
            database.script(SCHEMA)?;
            database.script(&format!("PRAGMA user_version = {VERSION}"))?;
        }
        Ok(is_empty)
    })
}

/// The version of a store that this program can write.
pub(super) fn version(database: &Sqlite) -> Result<i64, StoreError> {
    let found = database.number("PRAGMA user_version", ())?;
    refuse_newer(found).map(|()| found)
}

/// Why there is nothing to read in the place of a store.
pub(super) fn missing(path: &Path) -> StoreError {
    let message = format!("{}: there is no store: nothing has been recorded here", path.display());
    StoreError::new(StoreErrorKind::Missing, message)
}

/// Why there is nothing to read in an empty one.
pub(super) fn not_set_up(path: &Path) -> StoreError {
    let message = format!(
        "{}: the store is not set up yet: a gateway is just beginning it, or somebody emptied the file; start the \
         gateway, or ask again in a moment if it runs",
        path.display()
    );
    StoreError::new(StoreErrorKind::Other, message)
}

pub(super) fn refuse_newer(found: i64) -> Result<(), StoreError> {
    if found <= VERSION {
        return Ok(());
    }
    let message = format!(
        "the store was written by a later robots-gateway (schema {found}; this one knows {VERSION}); \
         run that one, or move the store away to begin a new one"
    );
    Err(StoreError::new(StoreErrorKind::Other, message))
}
