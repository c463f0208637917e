//! Adding rows to the tables: those of a batch, and those that other stores exported.

use super::error::StoreError;
use super::reader::StoreReader;
use super::schema;
use super::sqlite::{Sqlite, integer};
use crate::record::file_bytes;
use crate::record::tables::{ReadKey, ReadSum, Tables, name};
use crate::record::tally::PathCounts;
use serde::Serialize;
use std::collections::HashMap;

impl Sqlite {
    /// Adds rows, but for versions: of these it matters whose they are. Subjects and decisions are marked as used on a `day`:
    /// what nothing uses for long may go.
    pub(super) fn apply(&self, rows: &Tables, day: i64) -> Result<(), StoreError> {
        let (mut subjects, mut decisions) = (HashMap::new(), HashMap::new());
        for (id, subject) in &rows.subjects {
            subjects.insert(&**id, self.id_of("subject", subject, day)?);
        }
        for (id, decision) in &rows.decisions {
            decisions.insert(&**id, self.id_of("decision", decision, day)?);
        }
        // A row of what is not among the names is no row.
        let subject = |id: &str| subjects.get(id).copied().unwrap_or_default();
        for ((span, start, who, what), count) in &rows.rollups {
            let decision = decisions.get(&**what).copied().unwrap_or_default();
            self.run(
                "INSERT INTO rollup (span, start, subject, decision, count) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [*span, *start, subject(who), decision, integer(*count)],
            )?;
        }
        for ((span, start, who), bytes) in &rows.sent {
            self.run(
                "INSERT INTO sent (span, start, subject, bytes) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
                [*span, *start, subject(who), integer(*bytes)],
            )?;
        }
        for ((day, who), (first, last)) in &rows.presence {
            self.run(
                "INSERT INTO presence (day, subject, first, last) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)",
                [*day, subject(who), *first, *last],
            )?;
        }
        for ((day, who, target), counts) in &rows.paths {
            self.add_path(subject(who), *day, target, counts)?;
        }
        for ((who, key), read) in &rows.reads {
            self.add_read(subject(who), key, read)?;
        }
        for (sha256, bytes) in &rows.robots {
            let Some(bytes) = file_bytes(sha256, bytes) else { continue };
            let sql = "INSERT INTO robots (sha256, bytes) VALUES (unhex(?1), ?2) ON CONFLICT DO NOTHING";
            self.run(sql, (sha256, bytes))?;
        }
        rows.missing.iter().try_for_each(|missing| self.add_missing(missing))
    }

    /// The id of a subject or a decision, marked as used on a day.
    pub(super) fn id_of(&self, table: &str, of: &impl Serialize, day: i64) -> Result<i64, StoreError> {
        let name = name(of);
        let key = (&*name, day);
        let known = format!("SELECT id FROM {table} WHERE name = ?1 AND used >= ?2");
        if let Some(id) = self.value(&known, key)? {
            return Ok(id);
        }
        let sql = format!(
            "INSERT INTO {table} (name, used) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id"
        );
        self.number(&sql, key)
    }

    /// Adds the counts of a target of a subject and day.
    pub(super) fn add_path(
        &self,
        subject: i64,
        day: i64,
        target: &str,
        counts: &PathCounts,
    ) -> Result<(), StoreError> {
        let PathCounts { allowed, violations, stale, variants, spoofed, refused } = *counts;
        let [allowed, violations, stale, variants, spoofed, refused] =
            [allowed, violations, stale, variants, spoofed, refused].map(integer);
        self.run(
            "INSERT INTO path (subject, day, target, allowed, violations, stale, variants, spoofed, refused)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET allowed = allowed + excluded.allowed,
             violations = violations + excluded.violations, stale = stale + excluded.stale,
             variants = variants + excluded.variants, spoofed = spoofed + excluded.spoofed,
             refused = refused + excluded.refused",
            (subject, day, target, allowed, violations, stale, variants, spoofed, refused),
        )
        .map(drop)
    }

    /// Adds reads of a subject, as [`ReadSum::add`] does.
    pub(super) fn add_read(&self, subject: i64, key: &ReadKey, read: &ReadSum) -> Result<(), StoreError> {
        let ReadKey { version, in_force, host, network, chosen } = key;
        let (network, chosen) =
            (network.as_deref().unwrap_or_default(), chosen.as_deref().unwrap_or_default());
        let (version, rules) = (version.to_string(), read.rules.to_string());
        let (first, last, count) = (read.seen.first, read.seen.last, integer(read.seen.count));
        let (as_of, at) = (integer(read.as_of), read.at);
        self.run(
            "INSERT INTO read (subject, version, in_force, host, network, chosen, rules, first, last, count, as_of,
             at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last),
             count = count + excluded.count,
             rules = CASE WHEN as_of < excluded.as_of THEN excluded.rules ELSE rules END,
             at = CASE WHEN as_of = excluded.as_of THEN min(at, excluded.at)
             WHEN as_of < excluded.as_of THEN excluded.at ELSE at END,
             as_of = max(as_of, excluded.as_of)",
            (subject, version, in_force, host, network, chosen, rules, first, last, count, as_of, at),
        )
        .map(drop)
    }
}

impl StoreReader {
    /// A store of `rows` that others exported, in memory, to be read like any store.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn of_rows(rows: &Tables) -> Result<Self, StoreError> {
        let database = Sqlite::in_memory()?;
        schema::set_up(&database)?;
        database.transaction(|| {
            database.apply(rows, 0)?;
            for version in &rows.versions {
                let sql = "INSERT INTO version (site, sha256, since, until) VALUES (?1, unhex(?2), ?3, ?4)";
                let (site, sha256, since, until) = version;
                database.run(sql, (site, sha256, since, until))?;
            }
            Ok(())
        })?;
        Ok(Self { database, second: None, gone: Vec::new() })
    }
}
