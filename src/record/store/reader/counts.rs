//! How often, by whom, and for what: sums over roll-ups and paths.

use super::{Filter, StoreReader, Window};
use crate::enforce::Action;
use crate::record::event::EventKind;
use crate::record::store::error::StoreError;
use crate::record::store::sqlite::unsigned;
use crate::record::store::write::OTHER;
use crate::record::tally::{CountSubject, CountedDecision, DAY, HOUR, MINUTE, PathCounts, begins, instant};
use rusqlite::Row;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How often one thing was decided of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionCount {
    /// Whose requests.
    pub subject: Arc<CountSubject>,
    /// What was decided.
    pub decision: Arc<CountedDecision>,
    /// How many requests.
    pub count: u64,
    /// The start of the first minute, hour or day in which it was.
    pub first: SystemTime,
    /// The start of the last.
    pub last: SystemTime,
}

/// How many requests of one kind in one stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelinePoint {
    /// The start of the stretch.
    pub start: SystemTime,
    /// Whose requests.
    pub subject: Arc<CountSubject>,
    /// What kind of event they were.
    pub kind: EventKind,
    /// What was done.
    pub action: Action,
    /// How many.
    pub count: u64,
}

/// How many requests of one subject in one minute, hour or day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeriodCount {
    /// Whose requests.
    pub subject: Arc<CountSubject>,
    /// Its start.
    pub start: SystemTime,
    /// How long it is.
    pub length: Duration,
    /// How many requests came in it.
    pub count: u64,
}

/// How many bytes one subject was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentBytes {
    /// Who.
    pub subject: Arc<CountSubject>,
    /// Of the bodies of answers.
    pub bytes: u64,
}

/// How often one subject asked for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathTotal {
    /// Who asked.
    pub subject: Arc<CountSubject>,
    /// For what; `(other)` for all that is not kept by name. Bytes that are not UTF-8 are `\xNN`.
    pub target: String,
    /// How often.
    pub counts: PathCounts,
}

/// When a subject was seen, over all that is kept: requests and reads of robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenSpan {
    /// Who.
    pub subject: Arc<CountSubject>,
    /// First.
    pub first: SystemTime,
    /// Last.
    pub last: SystemTime,
}

impl StoreReader {
    /// How often what was decided, in a time.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn totals(&self, window: &Window, filter: &Filter) -> Result<Vec<DecisionCount>, StoreError> {
        let (subjects, decisions) = (self.subjects(filter)?, self.decisions()?);
        let mut sums: HashMap<(i64, i64), (u64, i64, i64)> = HashMap::new();
        self.each_rollup(window, |start, subject, decision, count| {
            let (sum, first, last) = sums.entry((subject, decision)).or_insert((0, start, start));
            (*sum, *first, *last) = (*sum + count, (*first).min(start), (*last).max(start));
        })?;
        let total = |((subject, decision), (count, first, last))| {
            let (subject, decision) = (subjects.get(&subject)?, decisions.get(&decision)?);
            let (first, last) = (instant(begins(first)), instant(begins(last)));
            let (subject, decision) = (Arc::clone(subject), Arc::clone(decision));
            Some(DecisionCount { subject, decision, count, first, last })
        };
        Ok(sums.into_iter().filter_map(total).collect())
    }

    /// The course of a time in stretches of `step`, at least a minute. What is kept by hour or day only
    /// stands at the start of that hour or day; no step that [`Self::grain`] divides shows it shorter than it is.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn series(
        &self,
        window: &Window,
        filter: &Filter,
        step: Duration,
    ) -> Result<Vec<TimelinePoint>, StoreError> {
        let (subjects, decisions) = (self.subjects(filter)?, self.decisions()?);
        let step = i64::try_from(step.as_secs()).unwrap_or(i64::MAX).max(MINUTE);
        let mut sums: BTreeMap<(i64, i64), HashMap<(EventKind, Action), u64>> = BTreeMap::new();
        self.each_rollup(window, |start, subject, decision, count| {
            if let Some(decision) = decisions.get(&decision) {
                let of_subject = sums.entry((start - start.rem_euclid(step), subject)).or_default();
                *of_subject.entry((decision.kind, decision.action)).or_default() += count;
            }
        })?;
        let mut points = Vec::new();
        for ((start, subject), kinds) in sums {
            let Some(subject) = subjects.get(&subject) else { continue };
            points.extend(kinds.into_iter().map(|((kind, action), count)| TimelinePoint {
                start: instant(begins(start)),
                subject: Arc::clone(subject),
                kind,
                action,
                count,
            }));
        }
        Ok(points)
    }

    /// What each subject asked for, `top` targets each, those with the most violations first and then those with
    /// the most requests, and all the rest as `(other)`, over the days that a time touches.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn paths(&self, window: &Window, filter: &Filter, top: usize) -> Result<Vec<PathTotal>, StoreError> {
        let (from, to) = window.days();
        let mut found = Vec::new();
        let sql = "SELECT target, allowed, violations, stale, variants, spoofed, refused FROM path
                   WHERE subject = ?1 AND day >= ?2 AND day < ?3";
        for (id, subject) in self.subjects(filter)? {
            let mut sums: HashMap<String, PathCounts> = HashMap::new();
            self.database.rows(sql, [id, from, to], |row| {
                sums.entry(row.get(0)?).or_default().add(&path_counts(row)?);
                Ok(())
            })?;
            let mut rest = sums.remove(OTHER).unwrap_or_default();
            let mut sums: Vec<_> = sums.into_iter().collect();
            sums.sort_by(|one, two| {
                (Reverse(one.1.weight()), &one.0).cmp(&(Reverse(two.1.weight()), &two.0))
            });
            sums.drain(top.min(sums.len())..).for_each(|(_, counts)| rest.add(&counts));
            let rest = (rest.requests() > 0).then(|| (OTHER.to_owned(), rest));
            let total = |(target, counts)| PathTotal { subject: Arc::clone(&subject), target, counts };
            found.extend(sums.into_iter().chain(rest).map(total));
        }
        Ok(found)
    }

    /// How many bytes each subject was sent, in a time.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sent(&self, window: &Window, filter: &Filter) -> Result<Vec<SentBytes>, StoreError> {
        let (subjects, (from, to)) = (self.subjects(filter)?, window.seconds());
        let sql = "SELECT subject, bytes FROM sent WHERE span = ?1 AND start >= ?2 AND start < ?3";
        let mut sums: HashMap<i64, u64> = HashMap::new();
        for span in [MINUTE, HOUR, DAY] {
            self.database.rows(sql, [span, from, to], |row| {
                let sum = sums.entry(row.get(0)?).or_default();
                *sum = sum.saturating_add(unsigned(row.get(1)?));
                Ok(())
            })?;
        }
        let of = |(subject, bytes)| {
            let subject = Arc::clone(subjects.get(&subject)?);
            Some(SentBytes { subject, bytes })
        };
        Ok(sums.into_iter().filter_map(of).collect())
    }

    /// When each subject was first and last seen.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn presence(&self, filter: &Filter) -> Result<Vec<SeenSpan>, StoreError> {
        let sql = "SELECT subject, min(first), max(last) FROM presence GROUP BY subject";
        self.of_subjects(&self.subjects(filter)?, sql, (), |subject, row| {
            Ok(SeenSpan { subject, first: instant(row.get(1)?), last: instant(row.get(2)?) })
        })
    }

    /// How many requests of each subject came in each roll-up of a time.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn stretches(&self, window: &Window, filter: &Filter) -> Result<Vec<PeriodCount>, StoreError> {
        let (subjects, (from, to)) = (self.subjects(filter)?, window.seconds());
        let mut found = Vec::new();
        // In the order of the primary key, so that nothing has to be sorted.
        let sql = "SELECT subject, start, sum(count) FROM rollup
                   WHERE span = ?1 AND start >= ?2 AND start < ?3 GROUP BY start, subject";
        for span in [MINUTE, HOUR, DAY] {
            let length = Duration::from_secs(span.unsigned_abs());
            found.extend(self.of_subjects(&subjects, sql, [span, from, to], |subject, row| {
                let (start, count) = (instant(begins(row.get(1)?)), unsigned(row.get(2)?));
                Ok(PeriodCount { subject, start, length, count })
            })?);
        }
        Ok(found)
    }

    /// Calls `each` with start, subject, decision and count of every roll-up of a time.
    fn each_rollup(
        &self,
        window: &Window,
        mut each: impl FnMut(i64, i64, i64, u64),
    ) -> Result<(), StoreError> {
        let (from, to) = window.seconds();
        let sql = "SELECT start, subject, decision, count FROM rollup
                   WHERE span = ?1 AND start >= ?2 AND start < ?3";
        for span in [MINUTE, HOUR, DAY] {
            self.database.rows(sql, [span, from, to], |row| {
                each(row.get(0)?, row.get(1)?, row.get(2)?, unsigned(row.get(3)?));
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn path_counts(row: &Row<'_>) -> Result<PathCounts, rusqlite::Error> {
    let count = |column| row.get::<_, i64>(column).map(unsigned);
    Ok(PathCounts {
        allowed: count(1)?,
        violations: count(2)?,
        stale: count(3)?,
        variants: count(4)?,
        spoofed: count(5)?,
        refused: count(6)?,
    })
}
