//! Which processes write the store, and how they ended: one that is killed has counted what it did not write.

use super::error::StoreError;
use super::sqlite::Sqlite;
use super::writer::UncleanEndStatus;
use crate::record::event::timestamp;
use crate::record::missing::{Missing, MissingWhat, UNCLEAN_END};
use crate::record::tally::instant;

/// A process begins to write.
pub(super) fn begin(database: &Sqlite, process: &str, now: i64) -> Result<(), StoreError> {
    let sql = "INSERT INTO writer (process, sequence, written, is_open) VALUES (?1, 0, ?2, 1)
               ON CONFLICT DO UPDATE SET is_open = 1";
    database.run(sql, (process, now)).map(drop)
}

/// A process had written by `now` all that it had counted.
pub(super) fn is_written(database: &Sqlite, process: &str, now: i64) -> Result<(), StoreError> {
    let sql = "UPDATE writer SET written = ?2 WHERE process = ?1 AND written <> ?2";
    database.run(sql, (process, now)).map(drop)
}

/// A process has written all that it counted, and counts no more.
pub(super) fn clean(database: &Sqlite, process: &str) -> Result<(), StoreError> {
    database.run("UPDATE writer SET is_open = 0 WHERE process = ?1", [process]).map(drop)
}

/// A process was found gone at `now` that had written all that it had counted by `since`. `None` where that is noted already.
pub(super) fn unclean(
    database: &Sqlite,
    process: &str,
    since: i64,
    now: i64,
) -> Result<Option<UncleanEndStatus>, StoreError> {
    database.transaction(|| {
        let sql = "INSERT INTO writer (process, sequence, written, is_open) VALUES (?1, 0, ?2, 0)
                   ON CONFLICT DO UPDATE SET is_open = 0 WHERE is_open = 1";
        if database.run(sql, (process, since))? == 0 {
            return Ok(None);
        }
        note(database, since, now).map(Some)
    })
}

fn note(database: &Sqlite, since: i64, now: i64) -> Result<UncleanEndStatus, StoreError> {
    let until = now.max(since);
    database.add_missing(&Missing::new(MissingWhat::Requests, UNCLEAN_END, (since, until), None))?;
    let [since, until] = [since, until].map(|at| timestamp(instant(at)));
    Ok(UncleanEndStatus { since, until })
}
