//! The shape of the store, by version, and the way from each to the next.
//!
//! The version is the file's `user_version`; 0 is an empty file. A store of a later version is refused and
//! left where it is: it is whole, and the program that wrote it may be writing this very moment, as during
//! the return from an upgrade. The gateway then counts in memory and asks again.
//!
//! What an older program would refuse once it is migrated is copied first, as far as there is room, to a file beside the
//! store: the way back to that program.

use super::copy::copy;
use super::error::{StoreError, StoreErrorKind};
use super::sqlite::Sqlite;
use crate::record::files::beside;
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// What leads to version 1, to version 2, and so on.
const STEPS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];

/// The version this program writes.
pub(super) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the store in the file `path` to the newest version; `true` where it was empty. Two processes may try at once;
/// the second finds it done.
pub(super) fn migrate(database: &Sqlite, path: &Path) -> Result<bool, StoreError> {
    if version(database)? == newest() {
        return Ok(false);
    }
    let mut kept = None;
    let migrated = database.transaction(|| {
        let found = version(database)?;
        if (1..newest()).contains(&found) {
            // Nobody else writes while this transaction holds the lock, so the copy misses nothing.
            kept = keep(path, found);
        }
        let done = usize::try_from(found).unwrap_or_default();
        for step in STEPS.iter().skip(done) {
            database.script(step)?;
        }
        database.script(&format!("PRAGMA user_version = {}", newest()))?;
        Ok(found == 0)
    });
    if migrated.is_err()
        && let Some(kept) = kept
    {
        // The store is as it was, and will be tried again.
        let _ = std::fs::remove_file(kept);
    }
    migrated
}

/// Copies a store of version `found`; without room for a copy the store is migrated without one.
fn keep(path: &Path, found: i64) -> Option<PathBuf> {
    let mut to = beside(path, &format!(".schema-{found}"));
    if to.exists() {
        to = beside(&to, &Timestamp::now().strftime("-%Y%m%dT%H%M%SZ").to_string());
    }
    match copy(path, &to) {
        Ok(bytes) => {
            tracing::info!(
                store = %path.display(),
                bytes,
                "the store is brought from schema {found} to {}; what the older robots-gateway can read was \
                 kept as {}",
                newest(),
                to.display()
            );
            Some(to)
        }
        Err(error) => {
            tracing::warn!(
                store = %path.display(),
                "the store is brought from schema {found} to {}, and no copy was kept that the older \
                 robots-gateway could read: {error}",
                newest()
            );
            None
        }
    }
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
