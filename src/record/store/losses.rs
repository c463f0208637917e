//! What is missing of the counts, by the time it is missing of. It is kept with the counts, so that it is told as long as
//! they are, whichever process lost it.

use super::error::StoreError;
use super::reader::{StoreReader, Window};
use super::sqlite::{Sqlite, unsigned};
use crate::record::event::write_timestamp;
use crate::record::tally::{DAY, HOUR, Losses, begins, instant, micros};
use crate::record::unseen::Unseen;
use serde::{Serialize, Serializer};
use std::time::SystemTime;

/// Why requests of a time are not in the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossReason {
    /// The store could not be written for longer than memory had room.
    NotWritten,
    /// The size cap of the store took their counts.
    SizeCap,
    /// Their counts were older than `retention`.
    Retention,
    /// A gateway ended without writing what it had counted last.
    UncleanEnd,
}

/// Requests of a time that are not in the counts, for one reason; field names are public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MissingCounts {
    /// Why.
    pub reason: LossReason,
    /// When the first of them may have come: the start of its period.
    #[serde(serialize_with = "write_timestamp")]
    pub from: SystemTime,
    /// When the last of them had come: the end of its period.
    #[serde(serialize_with = "write_timestamp")]
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
pub(super) fn add(
    database: &Sqlite,
    lost: NotedLoss,
    (start, span): (i64, i64),
    count: u64,
) -> Result<(), StoreError> {
    let span = span.max(HOUR);
    if count > 0 {
        database.add_loss((start - start.rem_euclid(span), span), lost.into(), count)?;
    }
    Ok(())
}

/// How long a copy of robots.txt may be gone by, in microseconds (RFC 9309 §2.4). What is noted at shorter intervals is
/// one stretch of time.
const CACHED_FOR: i64 = DAY * 1_000_000;

/// What shows it where a process was gone that had not written all reads that it had seen.
const UNCLEAN_END: &str = "unclean-end";

/// A time in which reads at a site may have gone unseen; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartialReads {
    /// The site; empty, and as JSON null, for all sites.
    #[serde(serialize_with = "site_or_all")]
    pub site: Box<str>,
    /// What showed it: a field of requests, a stand-in for names of visitors (`Amazon CloudFront`), `configured`; `lost`,
    /// `removed` or `unclean-end` where the records of reads are.
    pub reason: Box<str>,
    /// When it was first noted.
    #[serde(serialize_with = "write_timestamp")]
    pub from: SystemTime,
    /// When it was last noted.
    #[serde(serialize_with = "write_timestamp")]
    pub to: SystemTime,
}

fn site_or_all<S: Serializer>(site: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(site).filter(|site| !site.is_empty()).serialize(serializer)
}

/// Notes where reads of robots.txt may have gone unseen.
pub(super) fn note_unseen(database: &Sqlite, all: &[Unseen]) -> Result<(), StoreError> {
    for Unseen { site, reason, at } in all {
        let longer = "UPDATE unseen_reads SET last = max(last, ?3)
                      WHERE site = ?1 AND reason = ?2 AND first <= ?3 AND last >= ?4";
        if database.run(longer, (site, reason, at, at.saturating_sub(CACHED_FOR)))? == 0 {
            let sql = "INSERT INTO unseen_reads (site, reason, first, last) VALUES (?1, ?2, ?3, ?3)
                       ON CONFLICT DO NOTHING";
            database.run(sql, (site, reason, at))?;
        }
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
    pub fn missing(&self, window: &Window) -> Result<Vec<MissingCounts>, StoreError> {
        let mut found = Vec::new();
        for (lost, reason) in [
            (NotedLoss::Requests, LossReason::NotWritten),
            (NotedLoss::Removed, LossReason::SizeCap),
            (NotedLoss::Expired, LossReason::Retention),
        ] {
            found.extend(self.lost(lost, window)?.map(|(first, end, requests)| {
                let [from, to] = [first, end].map(|second| instant(begins(second)));
                MissingCounts { reason, from, to, requests: Some(requests) }
            }));
        }
        let ends = self.unclean_ends(window)?.into_iter();
        let reason = LossReason::UncleanEnd;
        found.extend(ends.map(|(from, to)| MissingCounts { reason, from, to, requests: None }));
        Ok(found)
    }

    /// The first second, the second after the last, and the sum.
    fn lost(&self, lost: NotedLoss, window: &Window) -> Result<Option<(i64, i64, u64)>, StoreError> {
        let (from, to) = window.seconds();
        let sql = "SELECT min(start), max(start + span), sum(count) FROM loss
                   WHERE kind = ?1 AND start + span > ?2 AND start < ?3 HAVING count(*) > 0";
        let found = self.database.rows(sql, (<&str>::from(lost), from, to), |row| {
            Ok((row.get(0)?, row.get(1)?, unsigned(row.get(2)?)))
        })?;
        Ok(found.first().copied())
    }

    /// Where reads may have gone unseen that matter in a time. One up to 24 hours before its first moment matters: a
    /// crawler may go by that copy for so long (RFC 9309 §2.4).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unseen_reads(&self, window: &Window) -> Result<Vec<PartialReads>, StoreError> {
        let sql = "SELECT site, reason, first, last FROM unseen_reads WHERE last >= ?1 AND first < ?2
                   ORDER BY site, reason, first";
        let since = micros(window.from).saturating_sub(CACHED_FOR);
        let mut found = self.database.rows(sql, [since, micros(window.to)], |row| {
            let (from, to) = (instant(row.get(2)?), instant(row.get(3)?));
            Ok(PartialReads { site: row.get(0)?, reason: row.get(1)?, from, to })
        })?;
        let ends = self.unclean_ends(&Window { from: instant(since), to: window.to })?.into_iter();
        let of_end =
            |(from, to)| PartialReads { site: Box::from(""), reason: Box::from(UNCLEAN_END), from, to };
        found.extend(ends.map(of_end));
        Ok(found)
    }
}
