//! A database that fails: at which statement and how is the test's choice.
//!
//! It stands at the writer's seam around the real one, so what a fault leaves behind is what it would really
//! leave behind.

use super::database::{Database, Value};
use super::error::{StoreError, StoreErrorKind};
use super::harm::Harm;
use super::open::{Left, Opened, Source, StoreFile};
use super::sqlite::Sqlite;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What happens at a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::record) enum Ill {
    /// It fails, and is not done.
    Fails(StoreErrorKind),
    /// It is done, and reported as failed.
    DoneButFails(StoreErrorKind),
    /// It is not done, and the process is no more.
    Killed,
    /// It is done, and the process is no more.
    DoneThenKilled,
}

/// The course of faults, shared with the test.
#[derive(Debug, Default)]
pub(in crate::record) struct Course {
    /// Statements run so far.
    pub(in crate::record) statements: usize,
    /// From which statement on what happens, and how often.
    pub(in crate::record) ill: Option<(usize, Ill, usize)>,
    /// The process has been killed: nothing happens any more.
    pub(in crate::record) is_dead: bool,
}

#[derive(Clone, Debug, Default)]
pub(in crate::record) struct Fate(pub(in crate::record) Arc<Mutex<Course>>);

impl Fate {
    /// From the `nth` statement on, `times` statements meet with `ill`.
    pub(in crate::record) fn at(nth: usize, ill: Ill, times: usize) -> Self {
        let course = Course { ill: Some((nth, ill, times)), ..Course::default() };
        Self(Arc::new(Mutex::new(course)))
    }

    pub(in crate::record) fn is_dead(&self) -> bool {
        self.0.lock().unwrap().is_dead
    }

    pub(in crate::record) fn statements(&self) -> usize {
        self.0.lock().unwrap().statements
    }

    fn next(&self) -> Option<Ill> {
        let mut course = self.0.lock().unwrap();
        if course.is_dead {
            return Some(Ill::Killed);
        }
        course.statements += 1;
        let (nth, ill, times) = course.ill?;
        let is_due = (nth..nth.saturating_add(times)).contains(&course.statements);
        course.is_dead |= is_due && matches!(ill, Ill::Killed | Ill::DoneThenKilled);
        is_due.then_some(ill)
    }

    fn meet<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let refuse = |kind| Err(StoreError::new(kind, format!("{kind:?}, as the test wants it")));
        match self.next() {
            None => work(),
            Some(Ill::Fails(kind)) => refuse(kind),
            Some(Ill::Killed) => refuse(StoreErrorKind::Io),
            Some(Ill::DoneButFails(kind)) => work().and_then(|_| refuse(kind)),
            Some(Ill::DoneThenKilled) => work().and_then(|_| refuse(StoreErrorKind::Io)),
        }
    }
}

#[derive(Debug)]
pub(in crate::record) struct Faulty {
    inner: Sqlite,
    fate: Fate,
}

impl Database for Faulty {
    fn run(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        let Self { inner, fate } = self;
        fate.meet(|| inner.run(sql, values))
    }

    fn number(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Option<i64>, StoreError> {
        let Self { inner, fate } = self;
        fate.meet(|| inner.number(sql, values))
    }
}

#[derive(Debug)]
pub(in crate::record) struct FaultyFile {
    file: StoreFile,
    fate: Fate,
}

impl FaultyFile {
    pub(in crate::record) fn new(path: PathBuf, fate: Fate) -> Self {
        Self { file: StoreFile::new(path), fate }
    }
}

impl Source for FaultyFile {
    type Database = Faulty;

    fn open(&mut self, thorough: bool) -> Result<Opened<Faulty>, StoreError> {
        if self.fate.is_dead() {
            return Err(StoreError::new(StoreErrorKind::Io, "the process is no more"));
        }
        let Opened { database, set_aside, is_new } = self.file.open(thorough)?;
        Ok(Opened { database: Faulty { inner: database, fate: self.fate.clone() }, set_aside, is_new })
    }

    fn harm(&mut self, database: &mut Faulty) -> Result<Option<Harm>, StoreError> {
        self.file.harm(&mut database.inner)
    }

    fn leave(&mut self, database: Faulty, harm: Harm) -> Result<Left, StoreError> {
        self.file.leave(database.inner, harm)
    }

    fn close(&mut self, database: Faulty) {
        // A process that was killed tidies nothing up: its connection ends as it is.
        if !self.fate.is_dead() {
            self.file.close(database.inner);
        }
    }
}
