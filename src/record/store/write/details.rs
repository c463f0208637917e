//! Targets and events: kept while there is room for them, and else only counted.

use super::super::error::StoreError;
use super::super::shares::StoredDetail;
use super::Writing;
use crate::record::event::EventKind;
use crate::record::tables::OTHER_PATHS;
use crate::record::tally::{DAY, FullEvent, start_of};
use crate::request::address::Network;
use std::hash::Hash;

/// Targets of a subject and day that are kept by name; as many more have places that only violations take.
const PATHS_PER_DAY: i64 = 1_000;

/// For how many details it is enough to measure the store once.
const MEASURED_FOR: u32 = 16;

/// Events of a subject and decision that are kept in full: so many first ones, and as many of the last.
const FIRST: i64 = 10;
const LAST: i64 = 10;

/// How often one of the last is replaced by a newer one, in microseconds.
const SAMPLE_PAUSE: i64 = 10 * 1_000_000;

impl Writing<'_> {
    /// Whether a target is counted under its own name: it is so already, or takes one of the places of its day.
    pub(super) fn keeps_target(
        &mut self,
        subject: i64,
        target: &str,
        detail: &StoredDetail<Option<Network>>,
    ) -> Result<bool, StoreError> {
        let day = detail.day;
        let known = "SELECT 1 FROM path WHERE subject = ?1 AND day = ?2 AND target = ?3";
        if self.database.value::<i64>(known, (subject, day, target))?.is_some() {
            return Ok(true);
        }
        let sql = "INSERT INTO path_day (day, subject, targets) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING";
        self.database.run(sql, [day, subject])?;
        if target == OTHER_PATHS || !self.has_room(detail)? {
            return Ok(false);
        }
        let places = PATHS_PER_DAY * if detail.is_violation { 2 } else { 1 };
        let taken =
            "UPDATE path_day SET targets = targets + 1 WHERE day = ?1 AND subject = ?2 AND targets < ?3";
        let has_place = self.database.run(taken, [day, subject, places])? > 0;
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
        Ok(self.networks.has_room(detail, self.bytes))
    }

    /// Keeps an event in full: the first ones, and then one now and then in place of the oldest of the others.
    pub(super) fn sample(
        &mut self,
        subject: i64,
        is_confirmed: bool,
        kept: &FullEvent,
    ) -> Result<(), StoreError> {
        let is_violation = kept.decision.kind == EventKind::Violation;
        let (network, day, bytes) = (kept.network, start_of(kept.at, DAY), kept.line.len());
        let detail = StoredDetail { network, is_confirmed, day, bytes, is_violation };
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
