//! What is missing, kept with the counts, so that it is told as long as they are, whichever process lost it.

use super::error::StoreError;
use super::reader::{StoreReader, Window};
use super::sqlite::{Sqlite, integer, unsigned};
use crate::record::missing::{Missing, MissingWhat, UNCLEAN_END};
use crate::record::tally::{DAY, begins, micros};
use rusqlite::Row;

/// For how long a crawler may use a copy of robots.txt (RFC 9309 §2.4): so long the absence of a read says nothing.
const CACHED_FOR: i64 = begins(DAY);

impl Sqlite {
    /// Adds what is missing. Of reads it is one stretch where the same is met once a day at least.
    pub(super) fn add_missing(&self, missing: &Missing) -> Result<(), StoreError> {
        let Missing { what, reason, site, from, to, count } = missing;
        let count = count.map(integer);
        let row = (<&str>::from(what), reason, site, from, to, count);
        let longer = "UPDATE missing SET until = max(until, ?5), count = count + ?6
                      WHERE what = 'reads' AND ?1 = 'reads' AND reason = ?2 AND site = ?3
                      AND since <= ?4 AND until >= ?4 - 86400000000";
        if self.run(longer, row)? == 0 {
            self.run(
                "INSERT INTO missing (what, reason, site, since, until, count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET until = max(until, excluded.until), count = count + excluded.count",
                row,
            )?;
        }
        Ok(())
    }

    /// All that is missing for a reason.
    pub(super) fn missing_because(&self, reason: &str) -> Result<Vec<Missing>, StoreError> {
        let sql = "SELECT what, reason, site, since, until, count FROM missing WHERE reason = ?1";
        self.rows(sql, [reason], missing)
    }
}

fn missing(row: &Row<'_>) -> rusqlite::Result<Missing> {
    Ok(Missing {
        what: row.get_ref(0)?.as_str()?.parse().unwrap_or(MissingWhat::Details),
        reason: row.get(1)?,
        site: row.get(2)?,
        from: row.get(3)?,
        to: row.get(4)?,
        count: row.get::<_, Option<i64>>(5)?.map(unsigned),
    })
}

impl StoreReader {
    /// What is missing of a time, to the hour: one row of each reason and site, and one of each unclean end, also of one
    /// that no gateway has found yet. Of reads it is also what is missing of the day before, for which a copy may be used.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn missing(&self, window: &Window) -> Result<Vec<Missing>, StoreError> {
        let (from, to) = (micros(window.from), micros(window.to));
        let sql = "SELECT what, reason, site, min(since), max(until), sum(count) FILTER (WHERE until > ?1) FROM missing
                   WHERE until > ?1 - iif(what = 'reads' OR reason = 'unclean-end', ?3, 0) AND since < ?2
                   GROUP BY what, reason, site, iif(reason = 'unclean-end', since, 0) ORDER BY 1, 2, 3, 4";
        let mut found = self.database.rows(sql, [from, to, CACHED_FOR], missing)?;
        let is_noted =
            |since: i64| found.iter().any(|known| *known.reason == *UNCLEAN_END && known.from == since);
        let gone: Vec<i64> =
            self.gone.iter().copied().filter(|since| *since < to && !is_noted(*since)).collect();
        let end = |since| Missing::new(MissingWhat::Requests, UNCLEAN_END, (since, to), None);
        found.extend(gone.into_iter().map(end));
        let ends = found.iter().filter(|missing| *missing.reason == *UNCLEAN_END);
        let reads: Vec<Missing> =
            ends.map(|end| Missing { what: MissingWhat::Reads, ..end.clone() }).collect();
        found.retain(|missing| missing.what == MissingWhat::Reads || missing.to >= from);
        found.extend(reads);
        Ok(found)
    }
}
