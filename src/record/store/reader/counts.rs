//! What everybody did in a time: roll-ups, targets, bytes and presence.

use super::{ById, Filter, StoreReader, Window};
use crate::record::activity::{Activities, Activity, Stretch, top_paths};
use crate::record::event::EventKind;
use crate::record::store::error::StoreError;
use crate::record::store::sqlite::{Sqlite, unsigned};
use crate::record::tally::{
    CountSubject, CountedDecision, DAY, HOUR, MINUTE, PathCounts, SeenInstants, begins,
};
use hashbrown::HashMap as Map;
use parking_lot::Mutex;
use rusqlite::functions::Context;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

impl StoreReader {
    /// What everybody did in a time, but for reads of robots.txt. `top` targets of each are told by name, of the days that
    /// the time touches. Reading them takes longer than all the rest, so that `None` are read where nobody tells them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn activities(
        &self,
        window: &Window,
        filter: &Filter,
        top: Option<usize>,
    ) -> Result<Activities, StoreError> {
        let subjects = self.subjects(filter)?;
        let ids: Vec<i64> = subjects.keys().copied().filter(|_| top.is_some()).collect();
        let (next, top) = (Mutex::new(ids.into_iter()), top.unwrap_or_default());
        let (mut found, paths) = thread::scope(|scope| -> Result<_, StoreError> {
            let paths = |database: &Sqlite| paths(database, &next, window, top);
            let other = self.second.as_ref().map(|second| scope.spawn(move || paths(&second.lock())));
            let found = self.decided(window, &subjects)?;
            let mut told = paths(&self.database)?;
            if let Some(other) = other {
                told.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            Ok((found, told))
        })?;
        for (id, told) in paths {
            found.entry(id).or_default().paths = told;
        }
        self.add_sent(window, &mut found)?;
        self.database.rows("SELECT subject, first, last FROM presence", (), |row| {
            if let Some(activity) = found.get_mut(&row.get::<_, i64>(0)?) {
                let seen = SeenInstants { first: row.get(1)?, last: row.get(2)?, count: 0 };
                seen.add_to(&mut activity.seen);
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
    ) -> Result<Map<i64, Activity>, StoreError> {
        let found = subjects.keys().map(|id| (*id, Activity::default())).collect();
        let mut all = RollupSums { decisions: self.decisions()?, found, ..RollupSums::default() };
        let (from, to) = window.seconds();
        for length in [MINUTE, HOUR, DAY] {
            all.length = length;
            let sql = "SELECT count(taken(start, subject, decision, count)) FROM rollup
                       WHERE span = ?1 AND start >= ?2 AND start < ?3";
            all = self.database.fold(all, sql, [length, from, to], RollupSums::add)?;
        }
        for ((subject, decision), seen) in all.sums {
            if let Some((activity, decided)) = all.found.get_mut(&subject).zip(all.decisions.get(&decision)) {
                activity.decide(Arc::clone(decided), seen);
            }
        }
        Ok(all.found)
    }

    fn add_sent(&self, window: &Window, found: &mut Map<i64, Activity>) -> Result<(), StoreError> {
        let (from, to) = window.seconds();
        let sql = "SELECT subject, bytes FROM sent WHERE span = ?1 AND start >= ?2 AND start < ?3";
        for span in [MINUTE, HOUR, DAY] {
            self.database.rows(sql, [span, from, to], |row| {
                if let Some(activity) = found.get_mut(&row.get::<_, i64>(0)?) {
                    let bytes = activity.bytes.unwrap_or_default().saturating_add(unsigned(row.get(1)?));
                    activity.bytes = Some(bytes);
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// What roll-ups come to, while they are read.
#[derive(Default)]
struct RollupSums {
    decisions: ById<CountedDecision>,
    /// How long the periods are that are read.
    length: i64,
    /// By subject, those that are asked for.
    found: Map<i64, Activity>,
    /// By subject and decision.
    sums: Map<(i64, i64), SeenInstants>,
}

impl RollupSums {
    fn add(&mut self, row: &Context<'_>) -> Result<(), rusqlite::Error> {
        let value = |column| row.get_raw(column).as_i64();
        let (start, subject, decision, length) = (value(0)?, value(1)?, value(2)?, self.length);
        let known = self.found.get_mut(&subject).zip(self.decisions.get(&decision));
        let Some((activity, decided)) = known else { return Ok(()) };
        let requests = unsigned(value(3)?);
        let violations = if decided.kind == EventKind::Violation { requests } else { 0 };
        let stretch = Stretch { start, length, requests, violations };
        match activity.stretches.last_mut() {
            Some(last) if (last.start, last.length) == (start, length) => last.add(&stretch),
            _ => activity.stretches.push(stretch),
        }
        let seen = SeenInstants { count: requests, ..SeenInstants::once(begins(start)) };
        self.sums.entry((subject, decision)).and_modify(|known| known.add(seen)).or_insert(seen);
        Ok(())
    }
}

fn by_subject(subjects: ById<CountSubject>, mut found: Map<i64, Activity>) -> Activities {
    let named = subjects.into_iter().map(|(id, subject)| (subject, found.remove(&id).unwrap_or_default()));
    named.collect()
}

/// The targets of those who are `next`, which another thread may take from, too.
fn paths(
    database: &Sqlite,
    next: &Mutex<impl Iterator<Item = i64>>,
    window: &Window,
    top: usize,
) -> Result<Vec<TargetsOf>, StoreError> {
    let sql = "SELECT count(taken(target, allowed, violations, stale, variants, spoofed, refused)) FROM path
               WHERE subject = ?1 AND day >= ?2 AND day < ?3";
    let ((from, to), mut found) = (window.days(), Vec::new());
    loop {
        let Some(id) = next.lock().next() else { return Ok(found) };
        let sums = database.fold(Map::default(), sql, [id, from, to], add_path)?;
        found.push((id, top_paths(sums, top).into_iter().collect()));
    }
}

fn add_path(sums: &mut Map<String, PathCounts>, row: &Context<'_>) -> Result<(), rusqlite::Error> {
    let count = |column| row.get_raw(column).as_i64().map(unsigned);
    sums.entry_ref(row.get_raw(0).as_str()?).or_default().add(&PathCounts {
        allowed: count(1)?,
        violations: count(2)?,
        stale: count(3)?,
        variants: count(4)?,
        spoofed: count(5)?,
        refused: count(6)?,
    });
    Ok(())
}
/// A subject, and how often it asked for each target.
type TargetsOf = (i64, HashMap<String, PathCounts>);
