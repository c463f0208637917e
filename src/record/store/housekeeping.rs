//! Keeping the store small: minutes become hours and hours days, what is old goes, and when the store
//! outgrows its cap the oldest details go first.
//!
//! Every step is a small transaction of its own, so the counts of the moment never wait long. Folding adds
//! counts up and loses none. What the cap removes is counted and told. The bytes of a robots.txt that went out
//! of force less than a week ago are not touched by the cap: fair notice needs them (RFC 9309 §2.4).

use super::database::{Database, Value, transaction};
use super::error::StoreError;
use crate::record::tally::{DAY, HOUR, MINUTE, start_of};
use Value::Integer;

/// How long roll-ups stay by minute.
const MINUTES_FOR: i64 = 48 * HOUR;

/// How long they stay by hour: a report of the last week is exact to the hour.
const HOURS_FOR: i64 = 8 * DAY;

/// What the pages in use may take of the cap, in tenths: the rest is for the write-ahead log and for what
/// is written until the next step.
const TENTHS: u64 = 9;

/// What is kept, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keep {
    /// Seconds.
    pub(super) retention: i64,
    /// Octets.
    pub(super) max_bytes: u64,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// There may be more to do.
    More,
    /// There is nothing to do for now.
    Done,
}

impl Step {
    const fn of(did_something: bool) -> Self {
        if did_something { Self::More } else { Self::Done }
    }
}

/// Does one step, if there is one to do. `now` is in microseconds.
pub(super) fn step<D: Database>(database: &mut D, keep: Keep, now: i64) -> Result<Step, StoreError> {
    let minutes_end = start_of(now, HOUR) - MINUTES_FOR;
    let hours_end = start_of(now, DAY) - HOURS_FOR;
    let cutoff = start_of(now, 1).saturating_sub(keep.retention);
    let did_something = shrink(database, keep.max_bytes, now)? == Step::More
        || fold(database, MINUTE, HOUR, minutes_end)?
        || fold(database, HOUR, DAY, hours_end)?
        || expire(database, cutoff)?;
    Ok(Step::of(did_something))
}

/// Adds the oldest period of `fine` length to the `coarse` one it lies in, if that ended before `end`.
fn fold<D: Database>(database: &mut D, fine: i64, coarse: i64, end: i64) -> Result<bool, StoreError> {
    let oldest = database.number("SELECT min(start) FROM rollup WHERE span = ?1", &[Integer(fine)])?;
    let Some(start) = oldest.filter(|start| *start < end) else { return Ok(false) };
    let whole = start - start.rem_euclid(coarse);
    transaction(database, |database| {
        database.run(
            "INSERT INTO rollup (span, start, subject, decision, count)
             SELECT ?3, ?4, subject, decision, count FROM rollup WHERE span = ?1 AND start = ?2
             ON CONFLICT DO UPDATE SET count = count + excluded.count",
            &[Integer(fine), Integer(start), Integer(coarse), Integer(whole)],
        )?;
        database.run("DELETE FROM rollup WHERE span = ?1 AND start = ?2", &[Integer(fine), Integer(start)])
    })?;
    Ok(true)
}

/// Removes what ended before `cutoff`, in seconds: one piece of the first kind that has any.
fn expire<D: Database>(database: &mut D, cutoff: i64) -> Result<bool, StoreError> {
    for sql in EXPIRED {
        if transaction(database, |database| database.run(sql, &[Integer(cutoff)]))? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is removed once it is older than `?1`. A day is old when its end is. Subjects and decisions stay two
/// days longer than everything that names them.
const EXPIRED: [&str; 17] = [
    "DELETE FROM rollup WHERE span = 86400 AND start = (SELECT min(start) FROM rollup WHERE span = 86400)
     AND start + 86400 <= ?1",
    "DELETE FROM rollup WHERE span = 3600 AND start = (SELECT min(start) FROM rollup WHERE span = 3600)
     AND start + 3600 <= ?1",
    "DELETE FROM rollup WHERE span = 60 AND start = (SELECT min(start) FROM rollup WHERE span = 60)
     AND start + 60 <= ?1",
    "DELETE FROM path WHERE (subject, day) IN
     (SELECT subject, day FROM path_day WHERE day + 86400 <= ?1 ORDER BY day LIMIT 4)",
    "DELETE FROM path_day WHERE day + 86400 <= ?1 AND NOT EXISTS
     (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)",
    "DELETE FROM presence WHERE day = (SELECT min(day) FROM presence) AND day + 86400 <= ?1",
    "DELETE FROM gap WHERE day = (SELECT min(day) FROM gap) AND day + 86400 <= ?1",
    "DELETE FROM stranger WHERE day = (SELECT min(day) FROM stranger) AND day + 86400 <= ?1",
    "DELETE FROM loss WHERE start + span <= ?1",
    "DELETE FROM sample WHERE id IN
     (SELECT id FROM sample WHERE time < ?1 * 1000000 ORDER BY time LIMIT 2000)",
    "DELETE FROM unseen_reads WHERE last < ?1 * 1000000",
    "DELETE FROM version WHERE until > 0 AND until < ?1 * 1000000",
    "DELETE FROM robots WHERE ?1 > 0 AND sha256 NOT IN (SELECT sha256 FROM version)",
    // A read of the version in force is what `notice = \"read\"` rests on, however long ago it was.
    "DELETE FROM read WHERE last < ?1 * 1000000 AND version NOT IN
     (SELECT lower(hex(substr(sha256, 1, 6))) FROM version WHERE until = 0)",
    "DELETE FROM writer WHERE written < ?1 * 1000000",
    "DELETE FROM subject WHERE used + 259200 < ?1 AND id NOT IN (SELECT subject FROM read)",
    "DELETE FROM decision WHERE used + 259200 < ?1",
];

/// Makes the store smaller by one piece when it is larger than it may be, and gives what is free back to the
/// disk when that is much.
pub(super) fn shrink<D: Database>(database: &mut D, max_bytes: u64, now: i64) -> Result<Step, StoreError> {
    let mut pragma = |sql| database.number(sql, &[]).map(Option::unwrap_or_default);
    let pages = pragma("PRAGMA page_count")?;
    let (free, size) = (pragma("PRAGMA freelist_count")?, pragma("PRAGMA page_size")?);
    let octets = |pages: i64| u64::try_from(pages.saturating_mul(size)).unwrap_or_default();
    let limit = max_bytes / 10 * TENTHS;
    let is_worth_it = free > (pages / 8).max(256) || (free > 0 && octets(pages) > limit);
    if is_worth_it {
        database.number("PRAGMA incremental_vacuum(1000)", &[])?;
        return Ok(Step::More);
    }
    if octets(pages) <= limit {
        return Ok(Step::Done);
    }
    for piece in &OLDEST {
        if transaction(database, |database| piece.remove(database, now))? {
            return Ok(Step::More);
        }
    }
    Ok(Step::Done)
}

/// One kind of row that can go. In its statements `?1` is the start of the day, in seconds.
struct Piece {
    /// The counter that tells of it.
    counter: &'static str,
    /// How many requests it counts, where it counts any.
    requests: Option<&'static str>,
    delete: &'static str,
}

impl Piece {
    fn remove<D: Database>(&self, database: &mut D, now: i64) -> Result<bool, StoreError> {
        let today = [Integer(start_of(now, DAY))];
        let requests = self.requests.map(|sql| database.number(sql, &today)).transpose()?;
        let rows = database.run(self.delete, &today)?;
        let removed = requests.unwrap_or_else(|| i64::try_from(rows).ok());
        database.run(
            "INSERT INTO meta (name, value) VALUES (?1, ?2)
             ON CONFLICT DO UPDATE SET value = value + excluded.value",
            &[Value::Text(self.counter), Integer(removed.unwrap_or_default())],
        )?;
        Ok(rows > 0)
    }
}

/// What the size cap takes, in this order: the details of former days, then the oldest counts, and what is
/// of today only when nothing else is left.
const OLDEST: [Piece; 8] = [
    Piece {
        counter: DETAILS_REMOVED,
        requests: None,
        delete: "DELETE FROM path WHERE (subject, day) IN
                 (SELECT subject, day FROM path_day WHERE day < ?1 AND EXISTS
                 (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)
                 ORDER BY day, subject LIMIT 4)",
    },
    Piece {
        counter: DETAILS_REMOVED,
        requests: None,
        delete: "DELETE FROM sample WHERE id IN
                 (SELECT id FROM sample WHERE time < ?1 * 1000000 ORDER BY time LIMIT 2000)",
    },
    Piece {
        counter: DETAILS_REMOVED,
        requests: None,
        delete: "DELETE FROM robots WHERE sha256 IN (SELECT sha256 FROM version
                 WHERE until > 0 AND until < (?1 - 604800) * 1000000 ORDER BY until LIMIT 4)
                 AND sha256 NOT IN (SELECT sha256 FROM version
                 WHERE until = 0 OR until >= (?1 - 604800) * 1000000)",
    },
    Piece {
        counter: COUNTS_REMOVED,
        requests: Some(
            "SELECT sum(count) FROM rollup WHERE span = 86400 AND start < ?1
             AND start = (SELECT min(start) FROM rollup WHERE span = 86400)",
        ),
        delete: "DELETE FROM rollup WHERE span = 86400 AND start < ?1
                 AND start = (SELECT min(start) FROM rollup WHERE span = 86400)",
    },
    Piece {
        counter: COUNTS_REMOVED,
        requests: Some(
            "SELECT sum(count) FROM rollup WHERE span = 3600 AND start < ?1
             AND start = (SELECT min(start) FROM rollup WHERE span = 3600)",
        ),
        delete: "DELETE FROM rollup WHERE span = 3600 AND start < ?1
                 AND start = (SELECT min(start) FROM rollup WHERE span = 3600)",
    },
    Piece {
        counter: COUNTS_REMOVED,
        requests: Some(
            "SELECT sum(count) FROM rollup WHERE span = 60 AND start < ?1
             AND start = (SELECT min(start) FROM rollup WHERE span = 60)",
        ),
        delete: "DELETE FROM rollup WHERE span = 60 AND start < ?1
                 AND start = (SELECT min(start) FROM rollup WHERE span = 60)",
    },
    Piece {
        counter: DETAILS_REMOVED,
        requests: None,
        delete: "DELETE FROM path WHERE (subject, day) IN
                 (SELECT subject, day FROM path_day WHERE day >= ?1 AND EXISTS
                 (SELECT 1 FROM path WHERE path.subject = path_day.subject AND path.day = path_day.day)
                 ORDER BY targets DESC LIMIT 1)",
    },
    Piece {
        counter: DETAILS_REMOVED,
        requests: None,
        delete: "DELETE FROM read WHERE (subject, version, in_force, host, network) IN
                 (SELECT subject, version, in_force, host, network FROM read WHERE ?1 > 0
                 ORDER BY last LIMIT 500)",
    },
];

/// Counters in the store of what the size cap took.
pub(super) const DETAILS_REMOVED: &str = "details_removed";
pub(super) const COUNTS_REMOVED: &str = "counts_removed";

#[cfg(test)]
mod tests;
