//! Events in full and readers: bounded for each subject, so that no client can fill the store.

use super::Value::{Integer, Text};
use super::{OTHER, Writing};
use crate::record::store::database::{Database, integer};
use crate::record::store::error::StoreError;
use crate::record::tally::{KeptEvent, ReadKey, Seen};

/// Readers of a subject and version that are kept by host and network.
const READERS_PER_VERSION: i64 = 1_000;

/// Events of a subject and decision that are kept in full.
const SAMPLES: i64 = 20;

/// Once there are that many, a newer one replaces the oldest at most this often, in microseconds.
const SAMPLE_PAUSE: i64 = 60 * 1_000_000;

impl<D: Database> Writing<'_, D> {
    /// Keeps an event in full: the first ones, then one now and then in place of the oldest.
    pub(super) fn sample(&mut self, subject: i64, kept: &KeptEvent) -> Result<(), StoreError> {
        let decision = self.decision(&kept.decision)?;
        let of = [Integer(subject), Integer(decision)];
        let count = "SELECT count(*) FROM sample WHERE subject = ?1 AND decision = ?2";
        if self.database.number(count, &of)?.unwrap_or_default() >= SAMPLES {
            let newest = "SELECT max(time) FROM sample WHERE subject = ?1 AND decision = ?2";
            let newest = self.database.number(newest, &of)?.unwrap_or_default();
            if kept.at < newest.saturating_add(SAMPLE_PAUSE) {
                return Ok(());
            }
            self.database.run(
                "DELETE FROM sample WHERE id IN (SELECT id FROM sample WHERE subject = ?1 AND decision = ?2
                 ORDER BY time LIMIT 1)",
                &of,
            )?;
        }
        let line = String::from_utf8_lossy(kept.event.line().trim_ascii_end());
        self.database.run(
            "INSERT INTO sample (subject, decision, time, event) VALUES (?1, ?2, ?3, ?4)",
            &[Integer(subject), Integer(decision), Integer(kept.at), Text(&line)],
        )?;
        Ok(())
    }

    pub(super) fn read(&mut self, subject: i64, key: &ReadKey, seen: Seen) -> Result<(), StoreError> {
        let version = key.version.to_string();
        let network = key.network.as_deref().unwrap_or_default();
        let values = |host, network| {
            let (first, last) = (Integer(seen.first), Integer(seen.last));
            let (host, network) = (Text(host), Text(network));
            [
                Integer(subject),
                Text(&version),
                Integer(key.in_force),
                host,
                network,
                first,
                last,
                integer(seen.count),
            ]
        };
        let [subject, shown, in_force, ..] = values(OTHER, "");
        let changed = self.database.run(
            "UPDATE read SET first = min(first, ?6), last = max(last, ?7), count = count + ?8
             WHERE subject = ?1 AND version = ?2 AND in_force = ?3 AND host = ?4 AND network = ?5",
            &values(&key.host, network),
        )?;
        if changed > 0 {
            return Ok(());
        }
        let count = self.database.number(
            "SELECT count(*) FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3",
            &[subject, shown, in_force],
        )?;
        let has_room = count.unwrap_or_default() < READERS_PER_VERSION;
        let values = if has_room { values(&key.host, network) } else { values(OTHER, "") };
        self.database.run(
            "INSERT INTO read (subject, version, in_force, host, network, first, last, count)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last),
             count = count + excluded.count",
            &values,
        )?;
        Ok(())
    }
}
