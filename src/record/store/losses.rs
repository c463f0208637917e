//! What is missing of the counts, by the time it is missing of. It is kept with the counts, so that it is told as long as
//! they are, whichever process lost it.

use super::database::{Database, SqlValue, integer};
use super::error::StoreError;
use super::reader::{StoreReader, Window};
use crate::record::tally::{HOUR, Losses, begins, instant};
use SqlValue::{Integer, Text};
use serde::Serialize;
use std::time::SystemTime;

/// Why requests of a time are not in the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossReason {
    /// The store could not be written for longer than memory had room.
    NotWritten,
    /// The store could not be written; a gateway that starts takes them up.
    Waiting,
    /// The size cap of the store took their counts.
    SizeCap,
    /// Their counts were older than `retention`.
    Retention,
    /// A gateway ended without writing what it had counted last.
    UncleanEnd,
}

/// Requests of a time that are not in the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingSpan {
    /// Why.
    pub reason: LossReason,
    /// The start of the first period of which some are missing.
    pub from: SystemTime,
    /// The end of the last one.
    pub to: SystemTime,
    /// How many, where that is known: nobody knows what a process counted that was killed.
    pub requests: Option<u64>,
}

/// What the store notes as missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum NotedLoss {
    Details,
    Reads,
    /// They found no room in memory.
    #[strum(serialize = "counts")]
    Requests,
    /// The size cap took their counts.
    Removed,
    /// The retention took them.
    Expired,
}

/// Notes that `count` are missing of the period of `span` seconds that holds `start`; of the hour, where that is shorter.
pub(super) fn add<D: Database>(
    database: &mut D,
    lost: NotedLoss,
    (start, span): (i64, i64),
    count: u64,
) -> Result<(), StoreError> {
    let span = span.max(HOUR);
    if count > 0 {
        database.run(
            "INSERT INTO loss (start, span, kind, count) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET count = count + excluded.count",
            &[Integer(start - start.rem_euclid(span)), Integer(span), Text(lost.into()), integer(count)],
        )?;
    }
    Ok(())
}

impl StoreReader {
    /// What found no room of a time, to the hour.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn losses(&self, window: &Window) -> Result<Losses, StoreError> {
        let of = |lost| self.lost(lost, window).map(|found| found.map_or(0, |(_, _, count)| count));
        Ok(Losses {
            details_dropped: of(NotedLoss::Details)?,
            reads_lost: of(NotedLoss::Reads)?,
            counts_lost: of(NotedLoss::Requests)?,
        })
    }

    /// Requests of a time that are not in the counts, by why they are not. What is missing of an hour or a day that lies
    /// partly in that time is told whole.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn missing(&self, window: &Window) -> Result<Vec<MissingSpan>, StoreError> {
        let mut found = Vec::new();
        for (lost, reason) in [
            (NotedLoss::Requests, LossReason::NotWritten),
            (NotedLoss::Removed, LossReason::SizeCap),
            (NotedLoss::Expired, LossReason::Retention),
        ] {
            if let Some((from, to, requests)) = self.lost(lost, window)? {
                let [from, to] = [from, to].map(|second| instant(begins(second)));
                found.push(MissingSpan { reason, from, to, requests: Some(requests) });
            }
        }
        found.extend(self.waiting(window)?);
        let ends = self.unclean_ends(window)?.into_iter();
        found.extend(ends.map(|(from, to)| MissingSpan {
            reason: LossReason::UncleanEnd,
            from,
            to,
            requests: None,
        }));
        Ok(found)
    }

    /// Requests of a time that wait beside the store.
    fn waiting(&self, window: &Window) -> Result<Option<MissingSpan>, StoreError> {
        let (from, to) = window.seconds();
        let mut found: Option<MissingSpan> = None;
        for other in self.processes() {
            // A damaged one is told of by the gateway that sets it aside.
            let Ok(kept) = other.read() else { continue };
            let written = self.written(&other.process)?;
            let batches =
                kept.batches.iter().filter(|(sequence, _)| written.is_none_or(|last| last < *sequence));
            let counts = batches.flat_map(|(_, batch)| batch.counts());
            for (period, count) in
                counts.filter(|(period, _)| period.start + period.span > from && period.start < to)
            {
                let [from, to] =
                    [period.start, period.start + period.span].map(|second| instant(begins(second)));
                let known = found.get_or_insert(MissingSpan {
                    reason: LossReason::Waiting,
                    from,
                    to,
                    requests: Some(0),
                });
                (known.from, known.to) = (known.from.min(from), known.to.max(to));
                known.requests = known.requests.map(|requests| requests.saturating_add(count));
            }
        }
        Ok(found)
    }

    /// The first second, the second after the last, and the sum.
    fn lost(&self, lost: NotedLoss, window: &Window) -> Result<Option<(i64, i64, u64)>, StoreError> {
        let (from, to) = window.seconds();
        let sql = "SELECT min(start), max(start + span), sum(count) FROM loss
                   WHERE kind = ?1 AND start + span > ?2 AND start < ?3 HAVING count(*) > 0";
        let found: Vec<(i64, i64, i64)> =
            self.rows(sql, (<&str>::from(lost), from, to), |row| row.try_into())?;
        let sum =
            |(first, end, count): &(i64, i64, i64)| (*first, *end, u64::try_from(*count).unwrap_or_default());
        Ok(found.first().map(sum))
    }
}
