//! Events in full and readers: bounded for each subject, so that no client can fill the store.

use super::SqlValue::{Integer, Text};
use super::{OTHER, SqlValue, SubjectRow, Writing};
use crate::record::store::database::{Database, integer};
use crate::record::store::error::StoreError;
use crate::record::store::outbox::word;
use crate::record::tally::{KeptEvent, ReadKey, SeenRead};

/// Readers of a subject and version that are kept by host and network.
const READERS_PER_VERSION: i64 = 1_000;

/// Events of a subject and decision that are kept in full.
const SAMPLES: i64 = 20;

/// Once there are that many, one network has so many of them at most as others come.
const SAMPLES_OF_A_NETWORK: i64 = 5;

/// How often then a newer event replaces an older one, in microseconds: of a network that has some, and of another.
const SAMPLE_PAUSE: i64 = 60 * 1_000_000;
const NEWCOMERS_PAUSE: i64 = 10 * 1_000_000;

impl<D: Database> Writing<'_, D> {
    /// Keeps an event in full: the first ones, then one now and then in place of an older one.
    pub(super) fn sample(&mut self, subject: i64, kept: &KeptEvent) -> Result<(), StoreError> {
        let decision = self.decision(&kept.decision)?;
        let (subject, decision) = (Integer(subject), Integer(decision));
        let count = "SELECT count(*) FROM sample WHERE subject = ?1 AND decision = ?2";
        if self.database.number(count, &[subject, decision])?.unwrap_or_default() >= SAMPLES
            && !self.has_made_room(subject, decision, kept)?
        {
            return Ok(());
        }
        let line = kept.line.trim_end();
        self.database.run(
            "INSERT INTO sample (subject, decision, time, event, network) VALUES (?1, ?2, ?3, ?4, ?5)",
            &[subject, decision, Integer(kept.at), Text(line), Integer(kept.network.number())],
        )?;
        Ok(())
    }

    /// Removes an older event for the sake of this one, unless it is too soon for that. What goes is of the same network
    /// if that has its share, and else of the one that has most: nobody can wash out what others did.
    fn has_made_room(
        &mut self,
        subject: SqlValue<'_>,
        decision: SqlValue<'_>,
        kept: &KeptEvent,
    ) -> Result<bool, StoreError> {
        let of = [subject, decision, Integer(kept.network.number())];
        let [subject, decision, _] = of;
        let own = "SELECT count(*) FROM sample WHERE subject = ?1 AND decision = ?2 AND network = ?3";
        let own = self.database.number(own, &of)?.unwrap_or_default();
        let (newest, pause) = if own > 0 {
            let newest = "SELECT max(time) FROM sample WHERE subject = ?1 AND decision = ?2 AND network = ?3";
            (self.database.number(newest, &of)?, SAMPLE_PAUSE)
        } else {
            let newest = "SELECT max(time) FROM sample WHERE subject = ?1 AND decision = ?2";
            (self.database.number(newest, &[subject, decision])?, NEWCOMERS_PAUSE)
        };
        if kept.at < newest.unwrap_or_default().saturating_add(pause) {
            return Ok(false);
        }
        if own >= SAMPLES_OF_A_NETWORK {
            let oldest = "DELETE FROM sample WHERE id IN (SELECT id FROM sample WHERE subject = ?1
                          AND decision = ?2 AND network = ?3 ORDER BY time LIMIT 1)";
            self.database.run(oldest, &of)?;
        } else {
            let oldest = "DELETE FROM sample WHERE id IN (SELECT id FROM sample AS one WHERE subject = ?1
                          AND decision = ?2 ORDER BY (SELECT count(*) FROM sample AS other
                          WHERE other.subject = ?1 AND other.decision = ?2 AND other.network = one.network) DESC,
                          time LIMIT 1)";
            self.database.run(oldest, &[subject, decision])?;
        }
        Ok(true)
    }

    pub(super) fn read(&mut self, who: &SubjectRow, key: &ReadKey, read: SeenRead) -> Result<(), StoreError> {
        let (version, rules) = (key.version.to_string(), key.rules.to_string());
        let chosen = key.chosen.as_deref().unwrap_or_default();
        let values = |host, network| {
            [
                Integer(who.id),
                Text(&version),
                Integer(key.in_force),
                Text(host),
                Text(network),
                Integer(read.seen.first),
                Integer(read.seen.last),
                integer(read.seen.count),
                Text(&rules),
                integer(key.sequence),
                Integer(read.at),
                Text(chosen),
            ]
        };
        let [subject, shown, in_force, ..] = values(OTHER, "");
        let network = key.network.as_deref().unwrap_or_default();
        // A read after another change counts from then on; of those before it the first does.
        let changed = self.database.run(
            "UPDATE read SET first = min(first, ?6), last = max(last, ?7), count = count + ?8, rules = ?9,
             at = CASE WHEN sequence = ?10 THEN min(at, ?11) WHEN sequence < ?10 THEN ?11 ELSE at END,
             sequence = max(sequence, ?10)
             WHERE subject = ?1 AND version = ?2 AND in_force = ?3 AND host = ?4 AND network = ?5
             AND chosen = ?12",
            &values(&key.host, network),
        )?;
        if changed > 0 {
            self.share_read(who, key, read, (&key.host, network));
            return Ok(());
        }
        let count = self.database.number(
            "SELECT count(*) FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3",
            &[subject, shown, in_force],
        )?;
        let has_room = count.unwrap_or_default() < READERS_PER_VERSION;
        let place = if has_room { (&*key.host, network) } else { (OTHER, "") };
        let values = values(place.0, place.1);
        self.share_read(who, key, read, place);
        self.database.run(
            "INSERT INTO read (subject, version, in_force, host, network, first, last, count, rules, sequence, at,
             chosen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last),
             count = count + excluded.count",
            &values,
        )?;
        Ok(())
    }

    fn share_read(&mut self, who: &SubjectRow, key: &ReadKey, read: SeenRead, place: (&str, &str)) {
        if let Some((shared, name)) = self.shared.as_mut().zip(who.name.clone()) {
            let seen = read.seen;
            let what = (key.rules.to_string().into(), seen.first, seen.last, seen.count, key.sequence);
            let version = key.version.to_string().into();
            let chosen = word(key.chosen.as_deref().unwrap_or_default());
            let key = (name, version, key.in_force, place.0.into(), place.1.into(), chosen);
            shared.reads.push((key, what));
        }
    }
}
