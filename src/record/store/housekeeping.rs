//! Keeping the store small: minutes become hours and hours days, what is old goes, and when the store
//! outgrows its cap the oldest details go first.
//!
//! Every step is a small transaction of its own, so the counts of the moment never wait long. Folding adds
//! counts up and loses none. What the cap removes is counted and told. The bytes of a robots.txt that went out
//! of force less than a week ago are not touched by the cap: fair notice needs them (RFC 9309 §2.4).

use super::StoreOptions;
use super::error::StoreError;
use super::sqlite::{Sqlite, log_pages, unsigned};
use crate::record::missing::{Missing, MissingWhat, RETENTION, SIZE_CAP};
use crate::record::tally::{DAY, HOUR, MINUTE, begins, start_of};
use rusqlite::params_from_iter;

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
    if shrink(database, options.max_bytes, now)? {
        return Ok(true);
    }
    for table in FOLDED {
        if fold(database, table, [MINUTE, HOUR], start_of(now, HOUR) - MINUTES_FOR)?
            || fold(database, table, [HOUR, DAY], start_of(now, DAY) - HOURS_FOR)?
        {
            return Ok(true);
        }
    }
    expire(database, start_of(now, 1).saturating_sub(retention))
}

/// Tables of periods: their names, what else their rows are told apart by, and what is added up.
const FOLDED: [[&str; 3]; 2] = [["rollup", "subject, decision", "count"], ["sent", "subject", "bytes"]];

/// Adds the oldest period of `fine` length to the `coarse` one it lies in, if that ended before `end`.
fn fold(
    database: &Sqlite,
    [table, keys, sum]: [&str; 3],
    [fine, coarse]: [i64; 2],
    end: i64,
) -> Result<bool, StoreError> {
    let oldest = database.value(&format!("SELECT min(start) FROM {table} WHERE span = ?1"), [fine])?;
    let Some(start) = oldest.filter(|start| *start < end) else { return Ok(false) };
    database.transaction(|| {
        let add = format!(
            "INSERT INTO {table} (span, start, {keys}, {sum})
             SELECT ?3, ?4, {keys}, {sum} FROM {table} WHERE span = ?1 AND start = ?2
             ON CONFLICT DO UPDATE SET {sum} = {sum} + excluded.{sum}"
        );
        database.run(&add, [fine, start, coarse, start - start.rem_euclid(coarse)])?;
        database.run(&format!("DELETE FROM {table} WHERE span = ?1 AND start = ?2"), [fine, start])
    })?;
    Ok(true)
}

/// Removes what ended before `cutoff`, in seconds: one piece of the first kind that has any.
fn expire(database: &Sqlite, cutoff: i64) -> Result<bool, StoreError> {
    if remove_counts(database, cutoff, RETENTION)? {
        return Ok(true);
    }
    for sql in OLD.iter().chain([&OLD_SENT]).chain(&EXPIRED) {
        if database.transaction(|| database.run(sql, [cutoff]))? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the oldest roll-ups of the first length that has any which ended by `end`, in seconds, and notes whose counts they
/// were: a report of that time tells that they are missing. `false` where there are no such roll-ups.
fn remove_counts(database: &Sqlite, end: i64, reason: &str) -> Result<bool, StoreError> {
    for span in SPANS {
        let oldest = database.value("SELECT min(start) FROM rollup WHERE span = ?1", [span])?;
        let Some(start) = oldest.filter(|start: &i64| start.saturating_add(span) <= end) else { continue };
        database.transaction(|| {
            let sum = "SELECT sum(count) FROM rollup WHERE span = ?1 AND start = ?2";
            let sum = unsigned(database.number(sum, [span, start])?);
            let lasts = span.max(HOUR);
            let from = start - start.rem_euclid(lasts);
            let lost = (begins(from), begins(from + lasts));
            database.add_missing(&Missing::new(MissingWhat::Requests, reason, lost, Some(sum)))?;
            for [table, ..] in FOLDED {
                database
                    .run(&format!("DELETE FROM {table} WHERE span = ?1 AND start = ?2"), [span, start])?;
            }
            Ok(())
        })?;
        return Ok(true);
    }
    Ok(false)
}

/// Roll-ups by their length, in the order in which they grow old.
const SPANS: [i64; 3] = [DAY, HOUR, MINUTE];

/// Details that ended before `?1`, in seconds, a day when its end has come: some of the oldest. They go when they are as old
/// as `retention` says, and those of former days when the store is too large.
const OLD: [&str; 2] = [
    "DELETE FROM path WHERE (subject, day) IN
     (SELECT subject, day FROM path_day WHERE day + 86400 <= ?1 AND EXISTS
     (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)
     ORDER BY day, subject LIMIT 4)",
    "DELETE FROM sample WHERE id IN
     (SELECT id FROM sample WHERE time < ?1 * 1000000 ORDER BY time LIMIT 2000)",
];
const OLD_SENT: &str = "DELETE FROM sent WHERE (span, start) IN
     (SELECT span, start FROM sent WHERE start + span <= ?1 ORDER BY start LIMIT 1)";

/// What else is removed once it is older than `?1`. Subjects and decisions stay two days longer than everything that names
/// them; what is missing of a time is told for 400 days longer.
const EXPIRED: [&str; 10] = [
    "DELETE FROM path_day WHERE day + 86400 <= ?1 AND NOT EXISTS
     (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)",
    "DELETE FROM presence WHERE day = (SELECT min(day) FROM presence) AND day + 86400 <= ?1",
    "DELETE FROM stranger WHERE day = (SELECT min(day) FROM stranger) AND day + 86400 <= ?1",
    "DELETE FROM missing WHERE until <= (?1 - 34560000) * 1000000",
    // The text of a version that somebody is known to have read is kept as long as that is.
    "DELETE FROM version WHERE until > 0 AND until < ?1 * 1000000
     AND lower(hex(substr(sha256, 1, 6))) NOT IN (SELECT version FROM read WHERE last >= ?1 * 1000000)",
    "DELETE FROM robots WHERE ?1 > 0 AND sha256 NOT IN (SELECT sha256 FROM version)",
    // A read of the version in force is what `notice = \"read\"` rests on, however long ago it was.
    "DELETE FROM read WHERE last < ?1 * 1000000 AND version NOT IN
     (SELECT lower(hex(substr(sha256, 1, 6))) FROM version WHERE until = 0)",
    "DELETE FROM writer WHERE written < ?1 * 1000000",
    "DELETE FROM subject WHERE used + 259200 < ?1 AND id NOT IN (SELECT subject FROM read)",
    "DELETE FROM decision WHERE used + 259200 < ?1",
];

/// What the size cap takes after the details of former days: texts of robots.txt that went out of force a week ago, and the
/// details of today, from `?1` on. Who fills the store today cannot take what is known of yesterday.
const OF_TODAY: [&str; 4] = [
    "DELETE FROM robots WHERE sha256 IN (SELECT sha256 FROM version
     WHERE until > 0 AND until < (?1 - 604800) * 1000000 ORDER BY until LIMIT 4)
     AND sha256 NOT IN (SELECT sha256 FROM version
     WHERE until = 0 OR until >= (?1 - 604800) * 1000000)",
    "DELETE FROM path WHERE violations = 0 AND (subject, day) IN
     (SELECT subject, day FROM path_day WHERE day >= ?1 AND EXISTS
     (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day AND violations = 0)
     ORDER BY targets DESC LIMIT 1)",
    "DELETE FROM path WHERE (subject, day) IN
     (SELECT subject, day FROM path_day WHERE day >= ?1 AND EXISTS
     (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)
     ORDER BY targets DESC LIMIT 1)",
    "DELETE FROM sample WHERE id IN
     (SELECT id FROM sample WHERE time >= ?1 * 1000000 ORDER BY time DESC LIMIT 2000)",
];

/// The sites and times of the reads that go next, one row for a site and day: there it cannot be said that nothing was read.
const NOTE_READS: &str = "INSERT INTO missing (what, reason, site, since, until)
     SELECT 'reads', 'size-cap', name ->> 'site', oldest.first / 86400000000 * 86400000000, max(oldest.last)
     FROM (SELECT subject, first, last FROM read ORDER BY last LIMIT 500) AS oldest
     JOIN subject ON subject.id = oldest.subject GROUP BY 3, 4
     ON CONFLICT DO UPDATE SET until = max(until, excluded.until)";

const REMOVE_READS: &str = "DELETE FROM read WHERE (subject, version, in_force, host, network, chosen) IN
     (SELECT subject, version, in_force, host, network, chosen FROM read ORDER BY last LIMIT 500)";

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
    Ok(is_larger && take_oldest(database, start_of(now, DAY))?)
}

/// Takes what the size cap takes next, and counts it: the details of former days, then those of today, and counts of former
/// days only when no details are left; reads last.
fn take_oldest(database: &Sqlite, today: i64) -> Result<bool, StoreError> {
    // Of details it is not known how old the oldest of them were.
    let take = |sql: &str, values: &[i64], end: i64| {
        database.transaction(|| {
            let gone = database.run(sql, params_from_iter(values))?;
            if gone > 0 {
                let (when, count) = ((0, begins(end)), u64::try_from(gone).ok());
                database.add_missing(&Missing::new(MissingWhat::Details, SIZE_CAP, when, count))?;
            }
            Ok(gone > 0)
        })
    };
    for (details, end) in [(&OLD[..], today), (&OF_TODAY, today + DAY)] {
        for sql in details {
            if take(sql, &[today], end)? {
                return Ok(true);
            }
        }
    }
    if remove_counts(database, today, SIZE_CAP)? || take(OLD_SENT, &[today], today)? {
        return Ok(true);
    }
    // Before they go: what is noted and still there is doubted for nothing, and no more.
    database.run(NOTE_READS, ())?;
    take(REMOVE_READS, &[], today + DAY)
}

#[cfg(test)]
mod tests;
