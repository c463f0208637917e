//! Keeping the store small: minutes become hours and hours days, what is old goes, and when the store
//! outgrows its cap the oldest details go first.
//!
//! Every step is a small transaction of its own, so the counts of the moment never wait long. Folding adds
//! counts up and loses none. What the cap removes is counted and told. The bytes of a robots.txt that went out
//! of force less than a week ago are not touched by the cap: fair notice needs them (RFC 9309 §2.4).

use super::StoreOptions;
use super::error::StoreError;
use super::sqlite::{Sqlite, integer, log_pages, unsigned};
use crate::record::missing::{Missing, MissingWhat, RETENTION, SIZE_CAP};
use crate::record::tally::{DAY, HOUR, MINUTE, begins, start_of};

/// How long roll-ups stay by minute.
const MINUTES_FOR: i64 = 48 * HOUR;

/// How long they stay by hour: a report of the last week is exact to the hour.
const HOURS_FOR: i64 = 8 * DAY;

/// What the pages in use may take of the cap, in tenths: the rest is for the write-ahead log and for what
/// is written until the next step.
const TENTHS: u64 = 9;

/// Does one step; `false` where there is nothing to do for now. `now`, in microseconds, is a plausible time: see [`StoreClock`].
///
/// [`StoreClock`]: super::clock::StoreClock
pub(super) fn step(database: &Sqlite, options: &StoreOptions, now: i64) -> Result<bool, StoreError> {
    let retention = i64::try_from(options.retention.as_secs()).unwrap_or(i64::MAX);
    let minutes_end = start_of(now, HOUR) - MINUTES_FOR;
    let hours_end = start_of(now, DAY) - HOURS_FOR;
    let cutoff = start_of(now, 1).saturating_sub(retention);
    Ok(shrink(database, options.max_bytes, now)?
        || fold(database, &ROLLUPS, MINUTE, HOUR, minutes_end)?
        || fold(database, &ROLLUPS, HOUR, DAY, hours_end)?
        || fold(database, &SENT, MINUTE, HOUR, minutes_end)?
        || fold(database, &SENT, HOUR, DAY, hours_end)?
        || expire(database, cutoff)?)
}

/// The statements that fold a table: in them `?1` is a span and `?2` a start, `?3` and `?4` are those that it goes to.
struct FoldedTable {
    oldest: &'static str,
    add: &'static str,
    remove: &'static str,
}

const ROLLUPS: FoldedTable = FoldedTable {
    oldest: "SELECT min(start) FROM rollup WHERE span = ?1",
    add: "INSERT INTO rollup (span, start, subject, decision, count)
          SELECT ?3, ?4, subject, decision, count FROM rollup WHERE span = ?1 AND start = ?2
          ON CONFLICT DO UPDATE SET count = count + excluded.count",
    remove: "DELETE FROM rollup WHERE span = ?1 AND start = ?2",
};

const SENT: FoldedTable = FoldedTable {
    oldest: "SELECT min(start) FROM sent WHERE span = ?1",
    add: "INSERT INTO sent (span, start, subject, bytes)
          SELECT ?3, ?4, subject, bytes FROM sent WHERE span = ?1 AND start = ?2
          ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
    remove: "DELETE FROM sent WHERE span = ?1 AND start = ?2",
};

/// Adds the oldest period of `fine` length to the `coarse` one it lies in, if that ended before `end`.
fn fold(
    database: &Sqlite,
    table: &FoldedTable,
    fine: i64,
    coarse: i64,
    end: i64,
) -> Result<bool, StoreError> {
    let oldest = database.value(table.oldest, [fine])?;
    let Some(start) = oldest.filter(|start| *start < end) else { return Ok(false) };
    database.transaction(|| {
        database.run(table.add, [fine, start, coarse, start - start.rem_euclid(coarse)])?;
        database.run(table.remove, [fine, start])
    })?;
    Ok(true)
}

/// Removes what ended before `cutoff`, in seconds: one piece of the first kind that has any.
fn expire(database: &Sqlite, cutoff: i64) -> Result<bool, StoreError> {
    for span in SPANS {
        let removed = database.transaction(|| remove_counts(database, span, cutoff, RETENTION));
        if removed?.is_some() {
            return Ok(true);
        }
    }
    for sql in EXPIRED {
        if database.transaction(|| database.run(sql, [cutoff]))? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the oldest roll-ups of one length that ended by `end`, in seconds, and notes whose counts they were: a report
/// of that time tells that they are missing. How many requests; `None` where there are no such roll-ups.
fn remove_counts(database: &Sqlite, span: i64, end: i64, reason: &str) -> Result<Option<u64>, StoreError> {
    let oldest = database.value("SELECT min(start) FROM rollup WHERE span = ?1", [span])?;
    let Some(start) = oldest.filter(|start: &i64| start.saturating_add(span) <= end) else { return Ok(None) };
    let sum = "SELECT sum(count) FROM rollup WHERE span = ?1 AND start = ?2";
    let sum = unsigned(database.number(sum, [span, start])?);
    let lasts = span.max(HOUR);
    let from = start - start.rem_euclid(lasts);
    let lost = (begins(from), begins(from + lasts));
    database.add_missing(&Missing::new(MissingWhat::Requests, reason, lost, Some(sum)))?;
    database.run(ROLLUPS.remove, [span, start])?;
    database.run(SENT.remove, [span, start])?;
    Ok(Some(sum))
}

/// Roll-ups by their length, in the order in which they grow old.
const SPANS: [i64; 3] = [DAY, HOUR, MINUTE];

/// What else is removed once it is older than `?1`. A day is old when its end is. Subjects and decisions stay two
/// days longer than everything that names them; what is missing of a time is told for 400 days longer.
const EXPIRED: [&str; 13] = [
    "DELETE FROM sent WHERE (span, start) IN
     (SELECT span, start FROM sent WHERE start + span <= ?1 ORDER BY start LIMIT 1)",
    "DELETE FROM path WHERE (subject, day) IN
     (SELECT subject, day FROM path_day WHERE day + 86400 <= ?1 ORDER BY day LIMIT 4)",
    "DELETE FROM path_day WHERE day + 86400 <= ?1 AND NOT EXISTS
     (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)",
    "DELETE FROM presence WHERE day = (SELECT min(day) FROM presence) AND day + 86400 <= ?1",
    "DELETE FROM stranger WHERE day = (SELECT min(day) FROM stranger) AND day + 86400 <= ?1",
    "DELETE FROM missing WHERE until <= (?1 - 34560000) * 1000000",
    "DELETE FROM sample WHERE id IN
     (SELECT id FROM sample WHERE time < ?1 * 1000000 ORDER BY time LIMIT 2000)",
    // The text of a version that somebody is known to have read is kept as long as that is.
    "DELETE FROM version WHERE until > 0 AND until < ?1 * 1000000
     AND lower(hex(substr(sha256, 1, 6))) NOT IN (SELECT version FROM read WHERE last >= ?1 * 1000000)",
    "DELETE FROM robots WHERE ?1 > 0 AND sha256 NOT IN (SELECT sha256 FROM version)",
    // A read of the version in force is what `notice = \"read\"` rests on, however long ago it was.
    "DELETE FROM read WHERE last < ?1 * 1000000 AND version NOT IN
     (SELECT lower(hex(substr(sha256, 1, 6))) FROM version WHERE until = 0)",
    "DELETE FROM writer WHERE written < ?1 * 1000000 AND is_open = 0",
    "DELETE FROM subject WHERE used + 259200 < ?1 AND id NOT IN (SELECT subject FROM read)",
    "DELETE FROM decision WHERE used + 259200 < ?1",
];

/// Makes the store smaller by one piece when it is larger than it may be, and gives what is free back to the
/// disk when that is much; `false` where it is small enough. The log is put into the file before anything goes because of it.
pub(super) fn shrink(database: &Sqlite, max_bytes: u64, now: i64) -> Result<bool, StoreError> {
    let limit = max_bytes / 10 * TENTHS;
    if database.bytes_on_disk()? > limit {
        // Where a reader is at work, what is left of the log stays until the next time.
        database.checkpoint()?;
    }
    let pages = database.number("PRAGMA page_count", ())?;
    let free = database.number("PRAGMA freelist_count", ())?;
    let is_larger = database.bytes()? > limit;
    if free > (pages / 8).max(256) || (free > 0 && is_larger) {
        database.number(&format!("PRAGMA incremental_vacuum({})", log_pages(max_bytes) / 2), ())?;
        return Ok(true);
    }
    if !is_larger {
        return Ok(false);
    }
    for piece in &OLDEST {
        if database.transaction(|| piece.remove(database, now))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// One kind of row that can go. In its statements `?1` is the start of the day, in seconds.
enum RemovableRows {
    Details(&'static str),
    /// The oldest roll-ups of former days of this length.
    Counts(i64),
    /// Reads, whose sites are noted.
    Reads,
}

impl RemovableRows {
    fn remove(&self, database: &Sqlite, now: i64) -> Result<bool, StoreError> {
        let today = start_of(now, DAY);
        let rows = |rows| u64::try_from(rows).unwrap_or_default();
        let (counter, removed, is_gone) = match *self {
            Self::Details(delete) => {
                let gone = database.run(delete, [today])?;
                (DETAILS_REMOVED, rows(gone), gone > 0)
            }
            Self::Counts(span) => {
                let removed = remove_counts(database, span, today, SIZE_CAP)?;
                (COUNTS_REMOVED, removed.unwrap_or_default(), removed.is_some())
            }
            Self::Reads => {
                database.run(NOTE_READS, ())?;
                let gone = database.run(REMOVE_READS, ())?;
                (DETAILS_REMOVED, rows(gone), gone > 0)
            }
        };
        database.run(
            "INSERT INTO meta (name, value) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET value = value + excluded.value",
            (counter, integer(removed)),
        )?;
        Ok(is_gone)
    }
}

/// What the size cap takes, in this order: the details of former days, then those of today, and counts of former days only
/// when no details are left. Who fills the store today cannot take what is known of yesterday.
const OLDEST: [RemovableRows; 11] = [
    RemovableRows::Details(
        "DELETE FROM path WHERE (subject, day) IN
         (SELECT subject, day FROM path_day WHERE day < ?1 AND EXISTS
         (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)
         ORDER BY day, subject LIMIT 4)",
    ),
    RemovableRows::Details(
        "DELETE FROM sample WHERE id IN
         (SELECT id FROM sample WHERE time < ?1 * 1000000 ORDER BY time LIMIT 2000)",
    ),
    RemovableRows::Details(
        "DELETE FROM robots WHERE sha256 IN (SELECT sha256 FROM version
         WHERE until > 0 AND until < (?1 - 604800) * 1000000 ORDER BY until LIMIT 4)
         AND sha256 NOT IN (SELECT sha256 FROM version
         WHERE until = 0 OR until >= (?1 - 604800) * 1000000)",
    ),
    RemovableRows::Details(
        "DELETE FROM path WHERE violations = 0 AND (subject, day) IN
         (SELECT subject, day FROM path_day WHERE day >= ?1 AND EXISTS
         (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day AND violations = 0)
         ORDER BY targets DESC LIMIT 1)",
    ),
    RemovableRows::Details(
        "DELETE FROM path WHERE (subject, day) IN
         (SELECT subject, day FROM path_day WHERE day >= ?1 AND EXISTS
         (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)
         ORDER BY targets DESC LIMIT 1)",
    ),
    RemovableRows::Details(
        "DELETE FROM sample WHERE id IN
         (SELECT id FROM sample WHERE time >= ?1 * 1000000 ORDER BY time DESC LIMIT 2000)",
    ),
    RemovableRows::Counts(DAY),
    RemovableRows::Counts(HOUR),
    RemovableRows::Counts(MINUTE),
    RemovableRows::Details(
        "DELETE FROM sent WHERE (span, start) IN
         (SELECT span, start FROM sent WHERE start < ?1 ORDER BY start LIMIT 1)",
    ),
    RemovableRows::Reads,
];

/// The sites and times of the reads that go next, one row for a site and day: there it cannot be said that nothing was read.
const NOTE_READS: &str = "INSERT INTO missing (what, reason, site, since, until)
     SELECT 'reads', 'size-cap', site, oldest.first / 86400000000 * 86400000000, max(oldest.last)
     FROM (SELECT subject, first, last FROM read ORDER BY last LIMIT 500) AS oldest
     JOIN subject ON subject.id = oldest.subject GROUP BY 3, 4
     ON CONFLICT DO UPDATE SET until = max(until, excluded.until)";

const REMOVE_READS: &str = "DELETE FROM read WHERE (subject, version, in_force, host, network, chosen) IN
     (SELECT subject, version, in_force, host, network, chosen FROM read ORDER BY last LIMIT 500)";

/// Counters in the store of what the size cap took.
pub(super) const DETAILS_REMOVED: &str = "details_removed";
pub(super) const COUNTS_REMOVED: &str = "counts_removed";

#[cfg(test)]
mod tests;
