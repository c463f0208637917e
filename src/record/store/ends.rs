//! Which processes write the store, and how they ended: one that is killed has counted what it did not write.

use super::error::StoreError;
use super::reader::{StoreReader, Window};
use super::spill::{SpillReader, others};
use super::sqlite::Sqlite;
use super::writer::UncleanEndStatus;
use crate::record::event::timestamp;
use crate::record::tally::{instant, micros};
use std::collections::HashSet;
use std::time::SystemTime;

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

/// A process was found gone at `now` that had written, or kept beside the store, all that it had counted by `kept`.
/// `None` where the store knows that it ended cleanly.
pub(super) fn unclean(
    database: &Sqlite,
    process: &str,
    kept: i64,
    now: i64,
) -> Result<Option<UncleanEndStatus>, StoreError> {
    database.transaction(|| {
        let written = "SELECT CASE is_open WHEN 1 THEN written ELSE -1 END FROM writer WHERE process = ?1";
        let since = match database.value(written, [process])? {
            Some(..0) => return Ok(None),
            Some(written) => kept.max(written),
            None => kept,
        };
        clean(database, process)?;
        note(database, since, now).map(Some)
    })
}

/// The same of one that the store knows of and that is none of those `present`, whose names stand in one text.
pub(super) fn vanished(
    database: &Sqlite,
    present: &str,
    now: i64,
) -> Result<Option<UncleanEndStatus>, StoreError> {
    database.transaction(|| {
        let oldest = "SELECT min(written) FROM writer WHERE is_open = 1 AND instr(?1, process) = 0";
        let Some(since) = database.value(oldest, [present])? else { return Ok(None) };
        let ended =
            "UPDATE writer SET is_open = 0 WHERE is_open = 1 AND written = ?2 AND instr(?1, process) = 0";
        database.run(ended, (present, since))?;
        note(database, since, now).map(Some)
    })
}

fn note(database: &Sqlite, since: i64, now: i64) -> Result<UncleanEndStatus, StoreError> {
    let until = now.max(since);
    database.add_unclean(since, until)?;
    let [since, until] = [since, until].map(|at| timestamp(instant(at)));
    Ok(UncleanEndStatus { since, until })
}

impl StoreReader {
    /// Times of which counts may be missing, since a gateway ended without writing what it had counted last; also of one
    /// that no other has found gone yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unclean_ends(&self, window: &Window) -> Result<Vec<(SystemTime, SystemTime)>, StoreError> {
        let (from, to) = (micros(window.from), micros(window.to));
        let sql = "SELECT since, until FROM unclean WHERE until >= ?1 AND since < ?2 ORDER BY since";
        let mut ends: Vec<(i64, i64)> = self.database.rows(sql, [from, to], |row| row.try_into())?;
        ends.extend(self.not_found_yet()?.into_iter().filter(|since| *since < to).map(|since| (since, to)));
        Ok(ends.into_iter().map(|(since, until)| (instant(since), instant(until))).collect())
    }

    /// Until when the counts are whole of processes that are gone, and that the store takes to be writing.
    fn not_found_yet(&self) -> Result<Vec<i64>, StoreError> {
        // Who writes now, and who did when the store was opened: a process may have ended or begun since.
        let Ok(now) = others(&self.path, SpillReader::ToRead) else { return Ok(Vec::new()) };
        let present: HashSet<&str> =
            now.iter().filter(|other| other.is_alive).map(|other| &*other.process).collect();
        let mut gone = Vec::new();
        let writers: Vec<(String, i64)> =
            self.database
                .rows("SELECT process, written FROM writer WHERE is_open = 1", (), |row| row.try_into())?;
        let mut open = HashSet::new();
        for (process, written) in writers {
            let file = self.processes.iter().find(|other| other.process == process);
            let kept = file.and_then(|other| other.read().ok());
            let is_whole = kept.as_ref().is_some_and(|kept| kept.is_all);
            let is_present = present.contains(&*process) || file.is_some_and(|other| other.is_alive);
            if !is_present && !is_whole {
                gone.push(kept.map_or(written, |kept| kept.at.max(written)));
            }
            open.insert(process);
        }
        // Of these the store never heard: it could not be written while they lived.
        for other in self.processes.iter().filter(|other| !other.is_alive && !open.contains(&other.process)) {
            if let Ok(kept) = other.read()
                && !kept.is_all
                && self.written(&other.process)?.is_none()
            {
                gone.push(kept.at);
            }
        }
        Ok(gone)
    }

    /// The last batch of a process that the store has; `None` of a process that it does not know.
    pub(super) fn written(&self, process: &str) -> Result<Option<i64>, StoreError> {
        self.database.value("SELECT sequence FROM writer WHERE process = ?1", [process])
    }
}
