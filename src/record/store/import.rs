//! A store made of rows that were exported from others: what a fleet counted, to be read like any store.

use super::STORE_FILE;
use super::database::{Database, SqlValue, transaction};
use super::error::{StoreError, StoreErrorKind};
use super::outbox::ExportedRows;
use super::reader::StoreReader;
use super::schema;
use super::sqlite::Sqlite;
use super::write::{ADD_PATH, ADD_SENT};
use crate::record::file_bytes;
use SqlValue::{Blob, Integer, Text};
use std::collections::HashMap;
use std::fs::{DirBuilder, remove_dir_all};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

impl StoreReader {
    /// A store of `rows`, made in a folder of its own in `base`. Its file is removed at once: whoever has it open goes on
    /// to read it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn of_rows(rows: &ExportedRows, base: &Path) -> Result<Self, StoreError> {
        let folder = private_folder(base)?;
        let path = folder.join(STORE_FILE);
        let made = import(&path, rows).and_then(|()| Self::open(&path));
        let _ = remove_dir_all(&folder);
        made
    }
}

/// A folder that nobody else can look into.
fn private_folder(base: &Path) -> Result<PathBuf, StoreError> {
    let mut why = String::new();
    for attempt in 0..100 {
        let path = base.join(format!(".robots-gateway-report-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) => why = error.to_string(),
        }
    }
    let message = format!("{}: cannot make a folder for the counts of the fleet: {why}", base.display());
    Err(StoreError::new(StoreErrorKind::Io, message))
}

fn import(path: &Path, rows: &ExportedRows) -> Result<(), StoreError> {
    let mut database = Sqlite::open(path)?;
    schema::migrate(&mut database, path)?;
    transaction(&mut database, |database| {
        let ids = ImportedIds { subjects: subjects(database, rows)?, decisions: decisions(database, rows)? };
        counts(database, rows, &ids)?;
        paths(database, rows, &ids)?;
        reads(database, rows, &ids)?;
        versions(database, rows)?;
        missing(database, rows)
    })?;
    database.checkpoint()
}

/// The numbers that rows have in this store, by what they are called in all.
struct ImportedIds<'a> {
    subjects: HashMap<&'a str, i64>,
    decisions: HashMap<&'a str, i64>,
}

impl ImportedIds<'_> {
    /// A row of what is not among the names is no row.
    fn subject(&self, name: &str) -> SqlValue<'static> {
        Integer(self.subjects.get(name).copied().unwrap_or_default())
    }
}

fn subjects<'a>(database: &mut Sqlite, rows: &'a ExportedRows) -> Result<HashMap<&'a str, i64>, StoreError> {
    let mut ids = HashMap::new();
    for (id, (name, words)) in (1..).zip(&rows.subjects) {
        let [site, client, crawler, purpose, proof] = words.each_ref().map(|word| Text(word));
        database.run(
            "INSERT INTO subject (id, site, client, crawler, purpose, proof, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
            &[Integer(id), site, client, crawler, purpose, proof],
        )?;
        ids.insert(&**name, id);
    }
    Ok(ids)
}

fn decisions<'a>(database: &mut Sqlite, rows: &'a ExportedRows) -> Result<HashMap<&'a str, i64>, StoreError> {
    let mut ids = HashMap::new();
    for (id, (name, (words, line))) in (1..).zip(&rows.decisions) {
        let [kind, action, notice, version, tokens, rule, proof_by] = words.each_ref().map(|word| Text(word));
        database.run(
            "INSERT INTO decision (id, kind, action, notice, version, tokens, line, rule, proof_by, used)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)",
            &[Integer(id), kind, action, notice, version, tokens, Integer(i64::from(*line)), rule, proof_by],
        )?;
        ids.insert(&**name, id);
    }
    Ok(ids)
}

fn count(count: u64) -> SqlValue<'static> {
    super::database::integer(count)
}

fn counts(database: &mut Sqlite, rows: &ExportedRows, ids: &ImportedIds<'_>) -> Result<(), StoreError> {
    for ((span, start, subject, decision), sum) in &rows.rollups {
        let decision = Integer(ids.decisions.get(&**decision).copied().unwrap_or_default());
        database.run(
            "INSERT INTO rollup (span, start, subject, decision, count) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET count = count + excluded.count",
            &[Integer(*span), Integer(*start), ids.subject(subject), decision, count(*sum)],
        )?;
    }
    for ((span, start, subject), bytes) in &rows.sent {
        let values = [Integer(*span), Integer(*start), ids.subject(subject), count(*bytes)];
        database.run(ADD_SENT, &values)?;
    }
    for ((day, subject), (first, last)) in &rows.presence {
        database.run(
            "INSERT INTO presence (day, subject, first, last) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)",
            &[Integer(*day), ids.subject(subject), Integer(*first), Integer(*last)],
        )?;
    }
    Ok(())
}

fn paths(database: &mut Sqlite, rows: &ExportedRows, ids: &ImportedIds<'_>) -> Result<(), StoreError> {
    for ((day, subject, target), sums) in &rows.paths {
        let [allowed, violations, stale, variants, spoofed, refused] = sums.map(count);
        let (who, day) = (ids.subject(subject), Integer(*day));
        let values = [who, day, Text(target), allowed, violations, stale, variants, spoofed, refused];
        database.run(ADD_PATH, &values)?;
    }
    Ok(())
}

fn reads(database: &mut Sqlite, rows: &ExportedRows, ids: &ImportedIds<'_>) -> Result<(), StoreError> {
    for ((subject, version, in_force, host, network, chosen), (rules, first, last, sum, _)) in &rows.reads {
        let key = [ids.subject(subject), Text(version), Integer(*in_force), Text(host), Text(network)];
        let [who, version, in_force, host, network] = key;
        database.run(
            "INSERT INTO read (subject, version, in_force, host, network, first, last, count, rules, chosen)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last),
             count = count + excluded.count",
            &[
                who,
                version,
                in_force,
                host,
                network,
                Integer(*first),
                Integer(*last),
                count(*sum),
                Text(rules),
                Text(chosen),
            ],
        )?;
    }
    Ok(())
}

fn versions(database: &mut Sqlite, rows: &ExportedRows) -> Result<(), StoreError> {
    for (sha256, bytes) in &rows.robots {
        let Some(bytes) = file_bytes(sha256, bytes) else { continue };
        database.run(
            "INSERT INTO robots (sha256, bytes) VALUES (unhex(?1), ?2) ON CONFLICT DO NOTHING",
            &[Text(sha256), Blob(&bytes)],
        )?;
    }
    for (site, sha256, since, until) in &rows.versions {
        database.run(
            "INSERT INTO version (site, sha256, since, until) VALUES (?1, unhex(?2), ?3, ?4)",
            &[Text(site), Text(sha256), Integer(*since), Integer(*until)],
        )?;
    }
    Ok(())
}

fn missing(database: &mut Sqlite, rows: &ExportedRows) -> Result<(), StoreError> {
    for ((start, span, kind), sum) in &rows.losses {
        database.run(
            "INSERT INTO loss (start, span, kind, count) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET count = count + excluded.count",
            &[Integer(*start), Integer(*span), Text(kind), count(*sum)],
        )?;
    }
    for (since, until) in &rows.unclean {
        database.run(
            "INSERT INTO unclean (since, until) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            &[Integer(*since), Integer(*until)],
        )?;
    }
    for ((site, reason), (first, last)) in &rows.unseen {
        database.run(
            "INSERT INTO unseen_reads (site, reason, first, last) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET last = max(last, excluded.last)",
            &[Text(site), Text(reason), Integer(*first), Integer(*last)],
        )?;
    }
    Ok(())
}
