//! What everybody did in a time: roll-ups, targets, bytes and presence.

use super::{ById, Filter, StoreReader, Window};
use crate::record::activity::{Activities, Activity, Stretch, top_paths};
use crate::record::event::EventKind;
use crate::record::store::error::StoreError;
use crate::record::store::sqlite::unsigned;
use crate::record::tally::{CountSubject, DAY, HOUR, MINUTE, PathCounts, SeenInstants, begins};
use rusqlite::Row;
use std::collections::HashMap;
use std::sync::Arc;

impl StoreReader {
    /// What everybody did in a time, but for reads of robots.txt. `top` targets of each are told by name, of the days that
    /// the time touches.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn activities(&self, window: &Window, filter: &Filter, top: usize) -> Result<Activities, StoreError> {
        let subjects = self.subjects(filter)?;
        let mut found = self.decided(window, &subjects)?;
        self.add_sent(window, &mut found)?;
        let (from, to) = window.days();
        for (id, activity) in &mut found {
            let sql = "SELECT target, allowed, violations, stale, variants, spoofed, refused FROM path
                       WHERE subject = ?1 AND day >= ?2 AND day < ?3";
            let mut sums: HashMap<String, PathCounts> = HashMap::new();
            self.database.rows(sql, [*id, from, to], |row| {
                sums.entry(row.get(0)?).or_default().add(&path_counts(row)?);
                Ok(())
            })?;
            activity.paths = top_paths(sums, top).into_iter().collect();
        }
        let sql = "SELECT subject, min(first), max(last) FROM presence GROUP BY subject";
        self.database.rows(sql, (), |row| {
            if let Some(activity) = found.get_mut(&row.get(0)?) {
                activity.seen = Some(SeenInstants { first: row.get(1)?, last: row.get(2)?, count: 0 });
            }
            Ok(())
        })?;
        Ok(by_subject(subjects, found))
    }

    /// How often what was decided of whom, in a time: of those of whom anything was, and nothing else of it.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn counts(&self, window: &Window, filter: &Filter) -> Result<Activities, StoreError> {
        let subjects = self.subjects(filter)?;
        let mut found = by_subject(subjects.clone(), self.decided(window, &subjects)?);
        found.retain(|_, activity| !activity.decisions.is_empty());
        Ok(found)
    }

    /// Roll-ups of subjects, by their ids.
    fn decided(
        &self,
        window: &Window,
        subjects: &ById<CountSubject>,
    ) -> Result<HashMap<i64, Activity>, StoreError> {
        let (decisions, (from, to)) = (self.decisions()?, window.seconds());
        let mut found: HashMap<i64, Activity> =
            subjects.keys().map(|id| (*id, Activity::default())).collect();
        let mut sums: HashMap<(i64, i64), SeenInstants> = HashMap::new();
        let sql = "SELECT start, subject, decision, count FROM rollup
                   WHERE span = ?1 AND start >= ?2 AND start < ?3";
        for length in [MINUTE, HOUR, DAY] {
            self.database.rows(sql, [length, from, to], |row| {
                let (start, subject, decision): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let known = found.get_mut(&subject).zip(decisions.get(&decision));
                let Some((activity, decided)) = known else { return Ok(()) };
                let requests = unsigned(row.get(3)?);
                let violations = if decided.kind == EventKind::Violation { requests } else { 0 };
                let stretch = Stretch { start, length, requests, violations };
                match activity.stretches.last_mut() {
                    Some(last) if (last.start, last.length) == (start, length) => last.add(&stretch),
                    _ => activity.stretches.push(stretch),
                }
                let seen = SeenInstants { count: requests, ..SeenInstants::once(begins(start)) };
                sums.entry((subject, decision)).and_modify(|known| known.add(seen)).or_insert(seen);
                Ok(())
            })?;
        }
        for ((subject, decision), seen) in sums {
            if let Some((activity, decided)) = found.get_mut(&subject).zip(decisions.get(&decision)) {
                activity.decide(Arc::clone(decided), seen);
            }
        }
        Ok(found)
    }

    fn add_sent(&self, window: &Window, found: &mut HashMap<i64, Activity>) -> Result<(), StoreError> {
        let (from, to) = window.seconds();
        let sql = "SELECT subject, bytes FROM sent WHERE span = ?1 AND start >= ?2 AND start < ?3";
        for span in [MINUTE, HOUR, DAY] {
            self.database.rows(sql, [span, from, to], |row| {
                if let Some(activity) = found.get_mut(&row.get(0)?) {
                    let bytes = activity.bytes.unwrap_or_default().saturating_add(unsigned(row.get(1)?));
                    activity.bytes = Some(bytes);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn by_subject(subjects: ById<CountSubject>, mut found: HashMap<i64, Activity>) -> Activities {
    let named = subjects.into_iter().map(|(id, subject)| (subject, found.remove(&id).unwrap_or_default()));
    named.collect()
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
