//! What is on its way to a fleet: the rows of each batch as they were written, until the fleet has taken them.
//!
//! A piece is written in the transaction that writes its batch, so the outbox and the counts never differ. Pieces are
//! sealed into one from time to time, and only what is sealed is sent: the fleet's mark stands at the end of one. What
//! the fleet has taken is kept for a day, since a database that is restored, or a standby that lost its last second, asks
//! for it again.

mod anew;
mod of_batch;
mod reader;
mod rows;

pub(super) use anew::begin_anew;
pub(super) use of_batch::unseen_row;
pub use reader::{OutboxBatch, OutboxReader, OutboxState};
pub use rows::{ExportedRows, LossRow, PathRow, PresenceRow, ReadRow, RollupRow, SentRow, UnseenRow};
pub(super) use rows::{RowId, path_counts, word};

use super::database::{Database, SqlValue, transaction};
use super::error::{StoreError, StoreErrorKind};
use SqlValue::{Blob, Integer};

/// How long what the fleet has taken is kept, in microseconds.
const KEPT: i64 = 24 * 3_600 * 1_000_000;

/// What is sealed at once: more is sealed in several pieces.
const SEALED_AT_ONCE: i64 = 400;

fn is_shared<D: Database>(database: &mut D) -> Result<bool, StoreError> {
    let found = database.number("SELECT value FROM meta WHERE name = 'is_shared'", &[])?;
    Ok(found == Some(1))
}

/// The rows of a batch, where they are wanted.
pub(super) fn wanted<D: Database>(database: &mut D) -> Result<Option<ExportedRows>, StoreError> {
    Ok(is_shared(database)?.then(ExportedRows::default))
}

/// Says whether the gateway is a member of a fleet. What one that is none any more had not sent is dropped; one that
/// becomes a member sends what is in force.
pub(super) fn share<D: Database>(database: &mut D, is_member: bool, now: i64) -> Result<(), StoreError> {
    if is_member {
        // What comes from now on is told from what a store that was copied back held.
        while seal(database, now)? {}
    }
    if is_shared(database)? == is_member {
        return Ok(());
    }
    transaction(database, |database| {
        database.run(
            "INSERT INTO meta (name, value) VALUES ('is_shared', ?1)
             ON CONFLICT DO UPDATE SET value = excluded.value",
            &[Integer(i64::from(is_member))],
        )?;
        if is_member {
            return anew::put_in_force(database, now);
        }
        database.run("DELETE FROM outbox", &[]).map(drop)
    })
}

/// Puts a piece in the outbox, within the transaction of its batch.
pub(super) fn put<D: Database>(database: &mut D, rows: &ExportedRows, now: i64) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let next = "UPDATE meta SET value = value + 1 WHERE name = 'outbox' RETURNING value";
    let number = Integer(database.number(next, &[])?.unwrap_or_default());
    database.run(
        "INSERT INTO outbox (last, first, written, taken, sealed, body) VALUES (?1, ?1, ?2, 0, 0, ?3)",
        &[number, Integer(now), Blob(&rows.packed()?)],
    )?;
    Ok(())
}

/// Makes one of the pieces that came since the last time; `true` where there was anything to seal.
pub(super) fn seal<D: Database>(database: &mut D, now: i64) -> Result<bool, StoreError> {
    transaction(database, |database| {
        let first = database.number("SELECT min(first) FROM outbox WHERE sealed = 0", &[])?;
        let Some(first) = first else { return Ok(false) };
        let mut end = first.saturating_add(SEALED_AT_ONCE);
        let all = "SELECT body FROM outbox WHERE sealed = 0 AND first >= ?1 AND first < ?2 ORDER BY first";
        let mut sum = ExportedRows::default();
        for (place, body) in (0..).zip(database.bodies(all, &[Integer(first), Integer(end)])?) {
            match ExportedRows::unpacked(&body) {
                Ok(rows) => sum.add(rows),
                Err(error) => {
                    let number = "SELECT first FROM outbox WHERE sealed = 0 AND first >= ?1 ORDER BY first LIMIT 1 OFFSET ?2";
                    end = database.number(number, &[Integer(first), Integer(place)])?.unwrap_or(first);
                    if end == first {
                        // The fleet knows by its number that it is missing.
                        tracing::error!("{error}; what was counted then is missing in the fleet");
                        database
                            .run("DELETE FROM outbox WHERE sealed = 0 AND first = ?1", &[Integer(first)])?;
                        return Ok(true);
                    }
                    break;
                }
            }
        }
        let range = [Integer(first), Integer(end)];
        let ends = "SELECT CAST(since || ' ' || until AS BLOB) FROM unclean";
        sum.unclean = database.bodies(ends, &[])?.iter().filter_map(|end| unclean(end)).collect();
        let open = "SELECT max(last) FROM outbox WHERE sealed = 0 AND first >= ?1 AND first < ?2";
        let last = database.number(open, &range)?.unwrap_or(first);
        database.run("DELETE FROM outbox WHERE sealed = 0 AND first >= ?1 AND first < ?2", &range)?;
        database.run(
            "INSERT INTO outbox (last, first, written, taken, sealed, body) VALUES (?1, ?2, ?3, 0, 1, ?4)",
            &[Integer(last), Integer(first), Integer(now), Blob(&sum.summed().packed()?)],
        )?;
        Ok(true)
    })
}

/// The fleet has taken everything up to `mark`.
pub(super) fn taken<D: Database>(database: &mut D, mark: i64, now: i64) -> Result<(), StoreError> {
    database.run(
        "UPDATE outbox SET taken = ?2 WHERE last <= ?1 AND sealed = 1 AND taken = 0",
        &[Integer(mark), Integer(now)],
    )?;
    Ok(())
}

/// Removes what nobody will ask for again, and the oldest of what takes more than `most` bytes.
pub(super) fn prune<D: Database>(database: &mut D, most: u64, now: i64) -> Result<(), StoreError> {
    if !is_shared(database)? {
        return Ok(());
    }
    let old = "DELETE FROM outbox WHERE taken > 0 AND taken < ?1";
    database.run(old, &[Integer(now.saturating_sub(KEPT))])?;
    let size = database.number("SELECT sum(length(body)) FROM outbox", &[])?.unwrap_or_default();
    if u64::try_from(size).unwrap_or_default() > most {
        // What the fleet has taken goes first. What it has not it will know to be missing by the numbers.
        let oldest = "DELETE FROM outbox WHERE last IN
                      (SELECT last FROM outbox WHERE sealed = 1 ORDER BY taken = 0, last LIMIT 100)";
        let gone = database.run(oldest, &[])?;
        tracing::warn!(
            pieces = gone,
            "the outbox of the fleet takes too much room in the store: its oldest pieces go"
        );
    }
    Ok(())
}

fn unclean(end: &[u8]) -> Option<(i64, i64)> {
    let (since, until) = std::str::from_utf8(end).ok()?.split_once(' ')?;
    since.parse().ok().zip(until.parse().ok())
}

fn unreadable(error: impl std::fmt::Display) -> StoreError {
    StoreError::new(StoreErrorKind::Other, format!("a piece of the fleet's outbox cannot be read: {error}"))
}
