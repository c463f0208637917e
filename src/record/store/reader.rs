//! Reading the store: for the report, and for a gateway that starts.
//!
//! A [`StoreReader`] is one read transaction: all it answers is of one moment, while a gateway goes on
//! writing. It changes nothing, and reads a store whose folder it may not write to.

mod counts;
mod names;
mod notice;

pub use counts::{DecisionCount, PathTotal, PeriodCount, SeenSpan, SentBytes, TimelinePoint};
pub use notice::{ReadTotal, StoredNotice, VersionRecord};

use super::error::{StoreError, StoreErrorKind};
use super::housekeeping::{COUNTS_REMOVED, DETAILS_REMOVED};
use super::schema;
use super::spill::{Other, SpillReader, others};
use crate::identify::Purpose;
use crate::record::files::beside;
use crate::record::tally::{
    CountSubject, CountedDecision, DAY, HOUR, MINUTE, SLICE, begins, instant, micros, start_of,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Params, Row};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long a reader waits for a writer that is just starting or ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many steps of its machine the database takes between two looks at the clock: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// What to read of: everything, or one site, or one crawler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this site, upper and lower case being one, as in every host (RFC 3986 §3.2.2).
    pub site: Option<String>,
    /// Only this crawler, upper and lower case being one.
    pub crawler: Option<String>,
    /// Only what fetches for this.
    pub purpose: Option<Purpose>,
}

impl Filter {
    fn admits(&self, subject: &CountSubject) -> bool {
        let same_name =
            |wanted: &String| subject.crawler.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        self.site.as_ref().is_none_or(|site| site.eq_ignore_ascii_case(&subject.site))
            && self.crawler.as_ref().is_none_or(same_name)
            && self.purpose.is_none_or(|purpose| subject.purpose == Some(purpose))
    }
}

/// A stretch of time that begins and ends where roll-ups do, so that counts of it are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first moment.
    pub from: SystemTime,
    /// The moment after its last.
    pub to: SystemTime,
}

impl Window {
    /// First second, and the second after the last.
    pub(super) fn seconds(&self) -> (i64, i64) {
        (start_of(micros(self.from), 1), start_of(micros(self.to), 1))
    }

    /// The same in whole days.
    fn days(&self) -> (i64, i64) {
        let (from, to) = self.seconds();
        (from - from.rem_euclid(DAY), to)
    }
}

/// What the size cap has removed since the store began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedCounts {
    /// Targets by day, events in full and readers.
    pub details: u64,
    /// Requests whose counts are gone.
    pub counts: u64,
}

/// One event in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleEvent {
    /// Whose it is.
    pub subject: Arc<CountSubject>,
    /// What was decided.
    pub decision: Arc<CountedDecision>,
    /// When it was.
    pub time: SystemTime,
    /// Its line of the journal: JSON.
    pub event: String,
}

/// An open store at one moment.
#[derive(Debug)]
pub struct StoreReader {
    path: PathBuf,
    /// The files of the processes that write it, as they were just before.
    processes: Vec<Other>,
    connection: Connection,
}

impl StoreReader {
    /// Opens the store in the file `path`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read, or a later program wrote it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(schema::missing(path));
        }
        // Before the look at the store: what is moved from there to here meanwhile is not told as missing.
        let processes = others(path, SpillReader::ToRead).unwrap_or_default();
        let connection = connect(path).or_else(|error| match error.kind() {
            // Whoever holds it may be writing: a look past the lock could see half of that.
            StoreErrorKind::Busy => Err(error),
            _ => alone(path).ok_or(error)?,
        })?;
        let reader = Self { path: path.to_owned(), processes, connection };
        let version: i64 = reader.value("PRAGMA user_version", [])?.unwrap_or_default();
        schema::refuse_newer(version)?;
        if version == 0 {
            return Err(schema::not_set_up(path));
        }
        if version < schema::newest() {
            let message = format!(
                "{}: the store is of an older robots-gateway (schema {version}, and this program reads {}); \
                 start the gateway, which brings it to that",
                path.display(),
                schema::newest()
            );
            return Err(StoreError::new(StoreErrorKind::Other, message));
        }
        Ok(reader)
    }

    /// Gives up whatever takes longer than until `limit` from now, with an error. For whoever must not wait.
    ///
    /// # Errors
    /// When the database cannot be told.
    pub fn give_up_after(&self, limit: Duration) -> Result<(), StoreError> {
        let deadline = Instant::now() + limit;
        let is_late = move || Instant::now() >= deadline;
        self.connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_late)).map_err(StoreError::from)
    }

    /// The time between `from` and `to`, widened to where the roll-ups that exist there begin and end:
    /// minutes of the last two days, hours of the last eight, then days.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn window(&self, from: SystemTime, to: SystemTime) -> Result<Window, StoreError> {
        let mut first = start_of(micros(from), MINUTE);
        let mut end = start_of(micros(to).saturating_add(59_999_999), MINUTE).max(first);
        for span in [HOUR, DAY] {
            let exists = |second: i64| -> Result<bool, StoreError> {
                let start = second - second.rem_euclid(span);
                let sql = "SELECT 1 FROM rollup WHERE span = ?1 AND start = ?2 LIMIT 1";
                Ok(self.value::<i64>(sql, [span, start])?.is_some())
            };
            if exists(first)? {
                first -= first.rem_euclid(span);
            }
            if end > first && exists(end - 1)? {
                end = (end - 1) - (end - 1).rem_euclid(span) + span;
            }
        }
        Ok(Window { from: instant(begins(first)), to: instant(begins(end)) })
    }

    /// How long the longest roll-up is that begins in a time: a minute, an hour or a day. A shorter stretch could
    /// be given counts that are of more than itself.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn grain(&self, window: &Window) -> Result<Duration, StoreError> {
        let (from, to) = window.seconds();
        for span in [DAY, HOUR] {
            let sql = "SELECT 1 FROM rollup WHERE span = ?1 AND start >= ?2 AND start < ?3 LIMIT 1";
            if self.value::<i64>(sql, [span, from, to])?.is_some() {
                return Ok(Duration::from_secs(span.unsigned_abs()));
            }
        }
        Ok(Duration::from_secs(MINUTE.unsigned_abs()))
    }

    /// The time from the first to the last count that is kept; `None` of an empty store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn span(&self) -> Result<Option<Window>, StoreError> {
        let (mut first, mut end): (Option<i64>, Option<i64>) = (None, None);
        for span in [SLICE, MINUTE, HOUR, DAY] {
            let low = self.value::<Option<i64>>("SELECT min(start) FROM rollup WHERE span = ?1", [span])?;
            let high = self.value::<Option<i64>>("SELECT max(start) FROM rollup WHERE span = ?1", [span])?;
            first = first.into_iter().chain(low.flatten()).min();
            end = end.into_iter().chain(high.flatten().map(|start| start + span)).max();
        }
        Ok(first
            .zip(end)
            .map(|(first, end)| Window { from: instant(begins(first)), to: instant(begins(end)) }))
    }

    /// The moment after the last count or read; `None` of an empty store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last(&self) -> Result<Option<SystemTime>, StoreError> {
        let read: Option<Option<i64>> = self.value("SELECT max(last) FROM read", [])?;
        let read = read.flatten().map(|last| instant(last.saturating_add(1)));
        Ok(self.span()?.map(|span| span.to).max(read))
    }

    /// What the size cap has removed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn removed(&self) -> Result<RemovedCounts, StoreError> {
        let of = |name: &str| -> Result<u64, StoreError> {
            let value: Option<i64> = self.value("SELECT value FROM meta WHERE name = ?1", [name])?;
            Ok(unsigned(value.unwrap_or_default()))
        };
        Ok(RemovedCounts { details: of(DETAILS_REMOVED)?, counts: of(COUNTS_REMOVED)? })
    }

    /// Events in full, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn samples(&self, window: &Window, filter: &Filter) -> Result<Vec<SampleEvent>, StoreError> {
        let (subjects, decisions) = (self.subjects(filter)?, self.decisions()?);
        let sql = "SELECT subject, decision, time, event FROM sample WHERE time >= ?1 AND time < ?2
                   ORDER BY time DESC, id DESC";
        let samples = self.rows(sql, [micros(window.from), micros(window.to)], |row| {
            let (subject, decision) = (subjects.get(&row.get(0)?), decisions.get(&row.get(1)?));
            let (time, event) = (instant(row.get(2)?), row.get(3)?);
            let sample = |(subject, decision)| SampleEvent {
                subject: Arc::clone(subject),
                decision: Arc::clone(decision),
                time,
                event,
            };
            Ok(subject.zip(decision).map(sample))
        })?;
        Ok(samples.into_iter().flatten().collect())
    }

    /// Every row of an answer, as `of` reads it.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(values, of)?.collect::<Result<_, _>>()?;
        Ok(rows)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn processes(&self) -> &[Other] {
        &self.processes
    }

    pub(super) fn value<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        values: impl Params,
    ) -> Result<Option<T>, StoreError> {
        self.connection.query_row(sql, values, |row| row.get(0)).optional().map_err(StoreError::from)
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    begin(Connection::open_with_flags(path, flags)?)
}

/// Opens a store that no gateway has open and whose folder may not be written to; a reader of a write-ahead
/// log must write beside it. `None` where that is not the case.
fn alone(path: &Path) -> Option<Result<Connection, StoreError>> {
    if beside(path, "-wal").exists() {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    let path: String = form_urlencoded::byte_serialize(path.as_os_str().as_encoded_bytes()).collect();
    let uri = format!("file:{}?immutable=1", path.replace('+', "%20").replace("%2F", "/"));
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Some(Connection::open_with_flags(uri, flags).map_err(StoreError::from).and_then(begin))
}

/// Begins the one transaction of a reader; its first look fixes the moment it sees.
fn begin(connection: Connection) -> Result<Connection, StoreError> {
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_master;")?;
    Ok(connection)
}

/// A count of the database. None is below zero.
fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Recorder;
    use crate::record::store::tests::{SampleRequest, StoreFolder};

    #[test]
    fn a_reader_gives_up_when_its_time_is_over() {
        let folder = StoreFolder::new();
        let recorder = Recorder::start(&folder.options()).unwrap();
        SampleRequest::of("GPTBot", "/").record(&recorder);
        recorder.flush();
        let reader = StoreReader::open(&folder.store()).unwrap();
        let long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT sum(i) FROM n";
        reader.give_up_after(Duration::from_secs(600)).unwrap();
        assert_eq!(reader.value::<i64>(long, []), Ok(Some(20_000_100_000)));
        reader.give_up_after(Duration::ZERO).unwrap();
        let error = reader.value::<i64>(long, []).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
        recorder.close();
    }

    #[test]
    fn a_store_that_no_gateway_has_open_is_read_without_writing_beside_it() {
        let folder = StoreFolder::new();
        let recorder = Recorder::start(&folder.options()).unwrap();
        SampleRequest::of("GPTBot", "/").record(&recorder);
        recorder.flush();
        assert!(alone(&folder.store()).is_none(), "its log may hold what the file does not");
        recorder.close();
        let odd = folder.path().join("100% of? it#.sqlite");
        std::fs::rename(folder.store(), &odd).unwrap();
        let connection = alone(&odd).expect("no log").unwrap();
        let sum: i64 = connection.query_row("SELECT sum(count) FROM rollup", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
