//! Times in which reads of robots.txt may have gone unseen, by site and what showed it.

use super::database::{Database, SqlValue};
use super::error::StoreError;
use super::reader::{StoreReader, Window};
use crate::record::tally::{DAY, instant, micros};
use crate::record::unseen::Unseen;
use SqlValue::{Integer, Text};
use std::time::SystemTime;

/// How long a copy of robots.txt may be gone by, in microseconds (RFC 9309 §2.4). What is noted at shorter intervals is
/// one stretch of time.
const CACHED_FOR: i64 = DAY * 1_000_000;

/// What shows it where a process was gone that had not written all reads that it had seen.
const UNCLEAN_END: &str = "unclean-end";

/// A time in which reads at a site may have gone unseen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenReads {
    /// The site; empty for all sites.
    pub site: Box<str>,
    /// What showed it: a field of requests; `configured`; `lost`, `removed` or `unclean-end` where the records of
    /// reads are; or `trusted-proxy` of a gateway that looked no further.
    pub reason: Box<str>,
    /// When it was first noted.
    pub from: SystemTime,
    /// When it was last noted.
    pub to: SystemTime,
}

pub(super) fn note<D: Database>(database: &mut D, all: &[Unseen]) -> Result<(), StoreError> {
    for Unseen { site, reason, at } in all {
        let values = [Text(site), Text(reason), Integer(*at), Integer(at.saturating_sub(CACHED_FOR))];
        let longer = database.run(
            "UPDATE unseen_reads SET last = max(last, ?3)
             WHERE site = ?1 AND reason = ?2 AND first <= ?3 AND last >= ?4",
            &values,
        )?;
        if longer == 0 {
            database.run(
                "INSERT INTO unseen_reads (site, reason, first, last) VALUES (?1, ?2, ?3, ?3) ON CONFLICT DO NOTHING",
                &[Text(site), Text(reason), Integer(*at)],
            )?;
        }
    }
    Ok(())
}

impl StoreReader {
    /// Where reads may have gone unseen that matter in a time. One up to 24 hours before its first moment matters: a
    /// crawler may go by that copy for so long (RFC 9309 §2.4).
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unseen_reads(&self, window: &Window) -> Result<Vec<UnseenReads>, StoreError> {
        let sql = "SELECT site, reason, first, last FROM unseen_reads WHERE last >= ?1 AND first < ?2
                   ORDER BY site, reason, first";
        let since = micros(window.from).saturating_sub(CACHED_FOR);
        let mut found = self.rows(sql, [since, micros(window.to)], |row| {
            let text = |column| row.get::<_, String>(column).map(Box::from);
            let time = |column| row.get::<_, i64>(column).map(instant);
            Ok(UnseenReads { site: text(0)?, reason: text(1)?, from: time(2)?, to: time(3)? })
        })?;
        let ends = self.unclean_ends(&Window { from: instant(since), to: window.to })?.into_iter();
        let of_end =
            |(from, to)| UnseenReads { site: Box::from(""), reason: Box::from(UNCLEAN_END), from, to };
        found.extend(ends.map(of_end));
        Ok(found)
    }
}
