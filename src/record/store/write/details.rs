//! Events in full and readers: bounded for each subject, so that no client can fill the store.

use super::{OTHER, SubjectRow, Writing};
use crate::record::store::error::StoreError;
use crate::record::store::outbox::word;
use crate::record::store::rows::{ReadValues, ReaderRow};
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

impl Writing<'_> {
    /// Keeps an event in full: the first ones, then one now and then in place of an older one.
    pub(super) fn sample(&self, subject: i64, kept: &KeptEvent) -> Result<(), StoreError> {
        let decision = self.decision(&kept.decision)?;
        let count = "SELECT count(*) FROM sample WHERE subject = ?1 AND decision = ?2";
        if self.database.number(count, [subject, decision])? >= SAMPLES
            && !self.has_made_room(subject, decision, kept)?
        {
            return Ok(());
        }
        let sql = "INSERT INTO sample (subject, decision, time, event, network) VALUES (?1, ?2, ?3, ?4, ?5)";
        let network = kept.network.number();
        self.database.run(sql, (subject, decision, kept.at, kept.line.trim_end(), network)).map(drop)
    }

    /// Removes an older event for the sake of this one, unless it is too soon for that. What goes is of the same network
    /// if that has its share, and else of the one that has most: nobody can wash out what others did.
    fn has_made_room(&self, subject: i64, decision: i64, kept: &KeptEvent) -> Result<bool, StoreError> {
        let (all, of) = ([subject, decision], [subject, decision, kept.network.number()]);
        let own = "SELECT count(*) FROM sample WHERE subject = ?1 AND decision = ?2 AND network = ?3";
        let own = self.database.number(own, of)?;
        let (newest, pause) = if own > 0 {
            let newest = "SELECT max(time) FROM sample WHERE subject = ?1 AND decision = ?2 AND network = ?3";
            (self.database.number(newest, of)?, SAMPLE_PAUSE)
        } else {
            let newest = "SELECT max(time) FROM sample WHERE subject = ?1 AND decision = ?2";
            (self.database.number(newest, all)?, NEWCOMERS_PAUSE)
        };
        if kept.at < newest.saturating_add(pause) {
            return Ok(false);
        }
        if own >= SAMPLES_OF_A_NETWORK {
            let oldest = "DELETE FROM sample WHERE id IN (SELECT id FROM sample WHERE subject = ?1
                          AND decision = ?2 AND network = ?3 ORDER BY time LIMIT 1)";
            self.database.run(oldest, of)?;
        } else {
            let oldest = "DELETE FROM sample WHERE id IN (SELECT id FROM sample AS one WHERE subject = ?1
                          AND decision = ?2 ORDER BY (SELECT count(*) FROM sample AS other
                          WHERE other.subject = ?1 AND other.decision = ?2 AND other.network = one.network) DESC,
                          time LIMIT 1)";
            self.database.run(oldest, all)?;
        }
        Ok(true)
    }

    pub(super) fn read(&mut self, who: &SubjectRow, key: &ReadKey, read: SeenRead) -> Result<(), StoreError> {
        let (version, rules) = (&*key.version.to_string(), &*key.rules.to_string());
        let (in_force, sequence, seen) = (key.in_force, key.sequence, read.seen);
        let named = ReaderRow {
            subject: who.id,
            version,
            in_force,
            host: &key.host,
            network: key.network.as_deref().unwrap_or_default(),
            chosen: key.chosen.as_deref().unwrap_or_default(),
        };
        let kept = if self.has_room_for_reader(named)? {
            named
        } else {
            ReaderRow { host: OTHER, network: "", ..named }
        };
        let (first, last, count) = (seen.first, seen.last, seen.count);
        self.database.add_read(kept, ReadValues { rules, first, last, count, sequence, at: read.at })?;
        self.share(who, |rows, name| {
            let ReaderRow { host, network, chosen, .. } = kept;
            let key = (name, version.into(), in_force, host.into(), network.into(), word(chosen));
            rows.reads.push((key, (rules.into(), first, last, count, sequence)));
        });
        Ok(())
    }

    /// Whether reads of a reader are kept by its host and network.
    fn has_room_for_reader(&self, who: ReaderRow<'_>) -> Result<bool, StoreError> {
        let ReaderRow { subject, version, in_force, host, network, chosen } = who;
        let known = "SELECT 1 FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3 AND host = ?4
                     AND network = ?5 AND chosen = ?6";
        let key = (subject, version, in_force, host, network, chosen);
        if self.database.value::<i64>(known, key)?.is_some() {
            return Ok(true);
        }
        let readers = "SELECT count(*) FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3";
        Ok(self.database.number(readers, (subject, version, in_force))? < READERS_PER_VERSION)
    }
}
