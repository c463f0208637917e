//! Targets and events: kept while there is room for them, and else only counted.

use super::super::error::StoreError;
use super::super::shares::StoredDetail;
use super::super::sqlite::unsigned;
use super::{OTHER, Writing};
use crate::record::event::EventKind;
use crate::record::network::NetworkId;
use crate::record::tally::{DAY, KeptEvent, PathCounts, start_of};
use std::borrow::Cow;
use std::hash::Hash;

/// Targets of a subject and day that are kept by name.
const PATHS_PER_DAY: i64 = 1_000;

/// For how many details it is enough to measure the store once.
const MEASURED_FOR: u32 = 16;

/// Events of a subject and decision that are kept in full: so many first ones, and as many of the last.
const FIRST: i64 = 10;
const LAST: i64 = 10;

/// How often one of the last is replaced by a newer one, in microseconds.
const SAMPLE_PAUSE: i64 = 10 * 1_000_000;

impl Writing<'_> {
    /// The name under which a target is counted: its own, or `(other)`.
    pub(super) fn kept_target(
        &mut self,
        subject: i64,
        network: Option<NetworkId>,
        target: Cow<'_, str>,
        day: i64,
        counts: &PathCounts,
    ) -> Result<Box<str>, StoreError> {
        let known = "SELECT 1 FROM path WHERE subject = ?1 AND day = ?2 AND target = ?3";
        let is_known = self.database.value::<i64>(known, (subject, day, &target))?.is_some();
        let detail = StoredDetail { network, day, bytes: target.len(), is_violation: counts.violations > 0 };
        let has_place = is_known || self.has_place(subject, &target, &detail)?;
        Ok(if has_place { target.into() } else { OTHER.into() })
    }

    /// Takes one of the day's places for a target, if one is left, or, for a violation, that of a target without one. The day
    /// is noted in any case.
    fn has_place(
        &mut self,
        subject: i64,
        target: &str,
        detail: &StoredDetail<NetworkId>,
    ) -> Result<bool, StoreError> {
        let day = detail.day;
        let noted = "INSERT INTO path_day (day, subject, targets) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING";
        self.database.run(noted, [day, subject])?;
        if target == OTHER || !self.has_room(detail)? {
            return Ok(false);
        }
        let taken =
            "UPDATE path_day SET targets = targets + 1 WHERE day = ?1 AND subject = ?2 AND targets < ?3";
        let is_free = self.database.run(taken, [day, subject, PATHS_PER_DAY])? > 0;
        let has_place = is_free || (detail.is_violation && self.has_made_place(subject, day)?);
        if has_place {
            self.networks.take(detail);
        }
        Ok(has_place)
    }

    /// Whether network and store have room for a detail.
    pub(super) fn has_room(&mut self, detail: &StoredDetail<impl Hash + Copy>) -> Result<bool, StoreError> {
        if self.is_measured_for == 0 {
            self.bytes = self.database.bytes_on_disk()?;
            self.is_measured_for = MEASURED_FOR;
        }
        self.is_measured_for -= 1;
        Ok(self.bytes <= self.networks.limit(detail.is_violation) && self.networks.has_room(detail))
    }

    /// Counts a target that has no violations with the rest. A fleet keeps it by name: its counts cannot be taken back.
    fn has_made_place(&mut self, subject: i64, day: i64) -> Result<bool, StoreError> {
        if self.full.contains(&(subject, day)) {
            return Ok(false);
        }
        let least = "SELECT target, allowed, stale, variants, spoofed, refused FROM path
                     WHERE subject = ?1 AND day = ?2 AND violations = 0 AND target <> ?3 LIMIT 1";
        let found = self.database.rows(least, (subject, day, OTHER), |row| {
            let count = |column| row.get::<_, i64>(column).map(unsigned);
            let counts = PathCounts {
                allowed: count(1)?,
                violations: 0,
                stale: count(2)?,
                variants: count(3)?,
                spoofed: count(4)?,
                refused: count(5)?,
            };
            Ok((row.get(0)?, counts))
        })?;
        let Some((target, counts)): Option<(String, PathCounts)> = found.into_iter().next() else {
            self.full.insert((subject, day));
            return Ok(false);
        };
        let delete = "DELETE FROM path WHERE subject = ?1 AND day = ?2 AND target = ?3";
        self.database.run(delete, (subject, day, target))?;
        self.database.add_path(subject, day, OTHER, &counts)?;
        Ok(true)
    }

    /// Keeps an event in full: the first ones, and then one now and then in place of the oldest of the others.
    pub(super) fn sample(
        &mut self,
        subject: i64,
        network: Option<NetworkId>,
        kept: &KeptEvent,
    ) -> Result<(), StoreError> {
        let is_violation = kept.decision.kind == EventKind::Violation;
        let (day, bytes) = (start_of(kept.at, DAY), kept.line.len());
        let detail = StoredDetail { network, day, bytes, is_violation };
        if !self.has_room(&detail)? {
            return Ok(());
        }
        let decision = self.database.id_of("decision", &kept.decision, start_of(self.now, DAY))?;
        let count = "SELECT count(*) FROM sample WHERE subject = ?1 AND decision = ?2";
        if self.database.number(count, [subject, decision])? >= FIRST + LAST {
            let newest = "SELECT max(time) FROM sample WHERE subject = ?1 AND decision = ?2";
            if kept.at < self.database.number(newest, [subject, decision])?.saturating_add(SAMPLE_PAUSE) {
                return Ok(());
            }
            let oldest = "DELETE FROM sample WHERE id IN (SELECT id FROM sample WHERE subject = ?1
                          AND decision = ?2 ORDER BY time, id LIMIT 1 OFFSET ?3)";
            self.database.run(oldest, [subject, decision, FIRST])?;
        }
        self.networks.take(&detail);
        let sql = "INSERT INTO sample (subject, decision, time, event) VALUES (?1, ?2, ?3, ?4)";
        self.database.run(sql, (subject, decision, kept.at, kept.line.trim_end())).map(drop)
    }
}
