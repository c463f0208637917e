//! Reading the store: for the report, and for a gateway that starts.
//!
//! A [`StoreReader`] is of one moment, in one read transaction or two of the same moment, while a gateway goes on
//! writing. It changes nothing, and reads a store whose folder it may not write to.

mod counts;
mod notice;

pub use notice::{ReadTotal, VersionRecord};

use super::error::{StoreError, StoreErrorKind};
use super::processes;
use super::schema;
use super::sqlite::Sqlite;
use crate::identify::PurposeSet;
use crate::record::files::inode_at;
use crate::record::tally::{
    CountSubject, CountedDecision, DAY, HOUR, MINUTE, begins, instant, micros, start_of,
};
use hashbrown::HashMap as Map;
use parking_lot::Mutex;
use rusqlite::{Params, Row};
use serde::de::DeserializeOwned;
use std::io;
use std::path::Path;
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
    pub purpose: Option<PurposeSet>,
}

impl Filter {
    /// Whether it is told of.
    pub fn admits(&self, subject: &CountSubject) -> bool {
        let same_name =
            |wanted: &String| subject.crawler.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        self.site.as_ref().is_none_or(|site| site.eq_ignore_ascii_case(&subject.site))
            && self.crawler.as_ref().is_none_or(same_name)
            && self.purpose.is_none_or(|set| subject.purpose.is_some_and(|own| set.contains(own)))
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

/// Things by their ids in the store.
type ById<T> = Map<i64, Arc<T>>;

/// An open store at one moment.
#[derive(Debug)]
pub struct StoreReader {
    pub(super) database: Sqlite,
    /// The same, for a second thread. Two processes that read roll-ups and 1.5 million targets took 225 ms at once, and 320 one
    /// after the other.
    pub(super) second: Option<Mutex<Sqlite>>,
    /// Until when the counts are whole of processes that are gone, of whose end the store may not know, in microseconds.
    pub(super) gone: Vec<i64>,
}

impl StoreReader {
    /// Opens the store in the file `path`.
    ///
    /// # Errors
    /// When there is none, or it cannot be read, or a later program wrote it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(schema::missing(path)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let message =
                    format!("{}: {error}; run this as the user the gateway runs as", path.display());
                return Err(StoreError::new(StoreErrorKind::Other, message));
            }
            _ => {}
        }
        // Where the folder cannot be read, nobody knows.
        let gone = processes::gone(path).unwrap_or_default();
        let (database, second) = at_one_moment(path)?;
        let version = database.number("PRAGMA user_version", ())?;
        schema::refuse_newer(version)?;
        if version == 0 {
            return Err(schema::not_set_up(path));
        }
        let written = |(process, began): (String, i64)| processes::written(&database, &process, began);
        let gone = gone.into_iter().map(written).collect::<Result<_, _>>()?;
        Ok(Self { database, second, gone })
    }

    /// Gives up whatever takes longer than until `limit` from now, with an error. For whoever must not wait.
    ///
    /// # Errors
    /// When the database cannot be told.
    pub fn give_up_after(&self, limit: Duration) -> Result<(), StoreError> {
        let deadline = Instant::now() + limit;
        let is_late = move || Instant::now() >= deadline;
        if let Some(second) = &self.second {
            second.lock().give_up_when(STEPS_BETWEEN_LOOKS, is_late)?;
        }
        self.database.give_up_when(STEPS_BETWEEN_LOOKS, is_late)
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
                Ok(self.database.value::<i64>(sql, [span, start])?.is_some())
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

    /// The time from the first to the last count that is kept; `None` of an empty store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn span(&self) -> Result<Option<Window>, StoreError> {
        let (mut first, mut end): (Option<i64>, Option<i64>) = (None, None);
        for span in [MINUTE, HOUR, DAY] {
            let low = self.database.value("SELECT min(start) FROM rollup WHERE span = ?1", [span])?;
            let high = self.database.value::<i64>("SELECT max(start) FROM rollup WHERE span = ?1", [span])?;
            first = first.into_iter().chain(low).min();
            end = end.max(high.map(|start| start + span));
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
        let read = self.database.value("SELECT max(last) FROM read", ())?;
        let read = read.map(|last: i64| instant(last.saturating_add(1)));
        Ok(self.span()?.map(|span| span.to).max(read))
    }

    /// Events in full, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn samples(&self, window: &Window, filter: &Filter) -> Result<Vec<SampleEvent>, StoreError> {
        let (subjects, decisions) = (self.subjects(filter)?, self.decisions()?);
        let ids = subjects.keys().map(i64::to_string).collect::<Vec<_>>().join(",");
        // By subject: there are many more of others, of the same time.
        let sql = format!(
            "SELECT subject, decision, time, event FROM sample INDEXED BY sample_of
             WHERE subject IN ({ids}) AND time >= ?1 AND time < ?2 ORDER BY time DESC, id DESC"
        );
        let values = [micros(window.from), micros(window.to)];
        let samples = self.of_subjects(&subjects, &sql, values, |subject, row| {
            let Some(decision) = decisions.get(&row.get::<_, i64>(1)?).map(Arc::clone) else {
                return Ok(None);
            };
            Ok(Some(SampleEvent { subject, decision, time: instant(row.get(2)?), event: row.get(3)? }))
        })?;
        Ok(samples.into_iter().flatten().collect())
    }

    /// The subjects that a filter admits, by their ids in the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn subjects(&self, filter: &Filter) -> Result<ById<CountSubject>, StoreError> {
        let all = self.by_id("subject")?;
        Ok(all.into_iter().filter(|(_, subject)| filter.admits(subject)).collect())
    }

    /// The rows of an answer whose first column is one of these subjects.
    fn of_subjects<T>(
        &self,
        subjects: &ById<CountSubject>,
        sql: &str,
        values: impl Params,
        mut of: impl FnMut(Arc<CountSubject>, &Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let found = self.database.rows(sql, values, |row| {
            subjects.get(&row.get::<_, i64>(0)?).map(|subject| of(Arc::clone(subject), row)).transpose()
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    fn decisions(&self) -> Result<ById<CountedDecision>, StoreError> {
        self.by_id("decision")
    }

    fn by_id<T: DeserializeOwned>(&self, table: &str) -> Result<ById<T>, StoreError> {
        let found = self.database.rows(&format!("SELECT id, name FROM {table}"), (), |row| {
            Ok((row.get(0)?, serde_json::from_str(row.get_ref(1)?.as_str()?).map(Arc::new)))
        })?;
        let known = |(id, value): (i64, serde_json::Result<Arc<T>>)| {
            let unknown = |error| {
                let told =
                    format!("the store holds a {table} that this program does not know (row {id}: {error})");
                StoreError::new(StoreErrorKind::Other, told)
            };
            value.map(|value| (id, value)).map_err(unknown)
        };
        found.into_iter().map(known).collect()
    }
}

/// The database at one moment, and once more where nobody wrote to it or put another in its place meanwhile.
fn at_one_moment(path: &Path) -> Result<(Sqlite, Option<Mutex<Sqlite>>), StoreError> {
    let open = || Sqlite::open_to_read(path, PATIENCE);
    let changes = |database: &Sqlite| database.number("PRAGMA data_version", ());
    let file = inode_at(path);
    let second = open()?;
    let before = changes(&second)?;
    let first = open().and_then(begin)?;
    let second = begin(second)?;
    let is_same = changes(&second)? == before && inode_at(path) == file;
    Ok((first, is_same.then(|| Mutex::new(second))))
}

/// Begins the one transaction of a reader; its first look fixes the moment it sees.
fn begin(database: Sqlite) -> Result<Sqlite, StoreError> {
    database.script("BEGIN; SELECT count(*) FROM sqlite_master;").map(|()| database)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::tests::{SampleRequest, StoreFolder, everything};
    use crate::record::{PathCounts, Recorder};
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_reader_gives_up_when_its_time_is_over() {
        let folder = StoreFolder::new();
        let recorder = Recorder::start(&folder.options()).unwrap();
        SampleRequest::of("GPTBot", "/").record(&recorder);
        recorder.flush();
        let reader = StoreReader::open(&folder.store()).unwrap();
        let long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT sum(i) FROM n";
        reader.give_up_after(Duration::from_secs(600)).unwrap();
        assert_eq!(reader.database.value::<i64>(long, ()), Ok(Some(20_000_100_000)));
        reader.give_up_after(Duration::ZERO).unwrap();
        let error = reader.database.value::<i64>(long, ()).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Busy, "{error}");
        recorder.close();
    }

    /// Targets are read by another thread than roll-ups.
    #[test]
    fn all_that_is_read_is_of_one_moment_however_much_is_written() {
        let folder = StoreFolder::new();
        let recorder = Recorder::start(&folder.options()).unwrap();
        SampleRequest::of("GPTBot", "/").record(&recorder);
        recorder.flush();
        let (is_over, mut seen) = (AtomicBool::new(false), Vec::<(bool, u64, u64)>::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    SampleRequest::of("GPTBot", "/").record(&recorder);
                    recorder.flush();
                }
            });
            let begun = Instant::now();
            while seen.iter().filter(|(is_twice, ..)| *is_twice).count() < 50 {
                assert!(begun.elapsed() < Duration::from_secs(120), "somebody always writes: {seen:?}");
                let reader = StoreReader::open(&folder.store()).unwrap();
                let all = reader.activities(&everything(&reader), &Filter::default(), Some(1)).unwrap();
                let decided: u64 = all.values().map(|activity| activity.requests(|_| true)).sum();
                let told = all.values().flat_map(|activity| activity.paths.values());
                seen.push((reader.second.is_some(), decided, told.map(PathCounts::requests).sum()));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(seen.iter().all(|(_, decided, told)| decided == told), "{seen:?}");
        assert!(seen.first().map(|first| first.1) < seen.last().map(|last| last.1), "{seen:?}");
        assert!(StoreReader::open(&folder.store()).unwrap().second.is_some());
        recorder.close();
    }
}
