//! A store made of rows that were exported from others: what a fleet counted, to be read like any store.

use super::STORE_FILE;
use super::error::{StoreError, StoreErrorKind};
use super::outbox::ExportedRows;
use super::reader::StoreReader;
use super::schema;
use super::sqlite::Sqlite;
use crate::record::{file_bytes, private_folder};
use std::collections::HashMap;
use std::fs::remove_dir_all;
use std::path::Path;

impl StoreReader {
    /// A store of `rows`, made in a folder of its own in `base`. Its file is removed at once: whoever has it open goes on
    /// to read it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn of_rows(rows: &ExportedRows, base: &Path) -> Result<Self, StoreError> {
        let folder = private_folder(base, ".robots-gateway-report").map_err(|error| {
            let message =
                format!("{}: cannot make a folder for the counts of the fleet: {error}", base.display());
            StoreError::new(StoreErrorKind::Io, message)
        })?;
        let path = folder.join(STORE_FILE);
        let made = import(&path, rows).and_then(|()| Self::open(&path));
        let _ = remove_dir_all(&folder);
        made
    }
}

fn import(path: &Path, rows: &ExportedRows) -> Result<(), StoreError> {
    let database = Sqlite::open(path)?;
    schema::set_up(&database)?;
    database.transaction(|| {
        counts(&database, rows)?;
        versions(&database, rows)?;
        rows.missing.iter().try_for_each(|missing| database.add_missing(missing))
    })?;
    database.checkpoint()
}

fn counts(database: &Sqlite, rows: &ExportedRows) -> Result<(), StoreError> {
    let (mut subjects, mut decisions) = (HashMap::new(), HashMap::new());
    for (name, words) in &rows.subjects {
        subjects.insert(&**name, database.subject(words.each_ref().map(|word| &**word), 0)?);
    }
    for (name, (words, line)) in &rows.decisions {
        decisions.insert(&**name, database.decision(words.each_ref().map(|word| &**word), *line, 0)?);
    }
    // A row of what is not among the names is no row.
    let subject = |name: &str| subjects.get(name).copied().unwrap_or_default();
    for ((span, start, who, decision), count) in &rows.rollups {
        let decision = decisions.get(&**decision).copied().unwrap_or_default();
        database.add_rollup((*span, *start), subject(who), decision, *count)?;
    }
    for ((span, start, who), bytes) in &rows.sent {
        database.add_sent((*span, *start), subject(who), *bytes)?;
    }
    for ((day, who), seen) in &rows.presence {
        database.add_presence(*day, subject(who), *seen)?;
    }
    for ((day, who, target), counts) in &rows.paths {
        database.add_path(subject(who), *day, target, *counts)?;
    }
    for read in &rows.reads {
        let ((who, ..), _) = read;
        database.add_read(subject(who), read, (0, 0))?;
    }
    Ok(())
}

fn versions(database: &Sqlite, rows: &ExportedRows) -> Result<(), StoreError> {
    for (sha256, bytes) in &rows.robots {
        let Some(bytes) = file_bytes(sha256, bytes) else { continue };
        let sql = "INSERT INTO robots (sha256, bytes) VALUES (unhex(?1), ?2) ON CONFLICT DO NOTHING";
        database.run(sql, (sha256, bytes))?;
    }
    for version in &rows.versions {
        let sql = "INSERT INTO version (site, sha256, since, until) VALUES (?1, unhex(?2), ?3, ?4)";
        let (site, sha256, since, until) = version;
        database.run(sql, (site, sha256, since, until))?;
    }
    Ok(())
}
