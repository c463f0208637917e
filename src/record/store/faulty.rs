//! A database that fails: at which statement and how is the test's choice.
//!
//! It stands at the writer's seam around the real one, so what a fault leaves behind is what it would really
//! leave behind.

use super::database::{Database, SqlValue};
use super::error::{StoreError, StoreErrorKind};
use super::harm::StoreDamage;
use super::open::{DamagedStore, DatabaseSource, OpenedStore, StoreFile};
use super::sqlite::Sqlite;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What happens at a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::record) enum InjectedFault {
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
pub(in crate::record) struct FaultPlan {
    /// Statements run so far.
    pub(in crate::record) statements: usize,
    /// From which statement on what happens, and how often.
    pub(in crate::record) ill: Option<(usize, InjectedFault, usize)>,
    /// The process has been killed: nothing happens any more.
    pub(in crate::record) is_dead: bool,
}

#[derive(Clone, Debug, Default)]
pub(in crate::record) struct FaultOutcome(pub(in crate::record) Arc<Mutex<FaultPlan>>);

impl FaultOutcome {
    /// From the `nth` statement on, `times` statements meet with `ill`.
    pub(in crate::record) fn at(nth: usize, ill: InjectedFault, times: usize) -> Self {
        let course = FaultPlan { ill: Some((nth, ill, times)), ..FaultPlan::default() };
        Self(Arc::new(Mutex::new(course)))
    }

    pub(in crate::record) fn is_dead(&self) -> bool {
        self.0.lock().unwrap().is_dead
    }

    pub(in crate::record) fn statements(&self) -> usize {
        self.0.lock().unwrap().statements
    }

    fn next(&self) -> Option<InjectedFault> {
        let mut course = self.0.lock().unwrap();
        if course.is_dead {
            return Some(InjectedFault::Killed);
        }
        course.statements += 1;
        let (nth, ill, times) = course.ill?;
        let is_due = (nth..nth.saturating_add(times)).contains(&course.statements);
        course.is_dead |= is_due && matches!(ill, InjectedFault::Killed | InjectedFault::DoneThenKilled);
        is_due.then_some(ill)
    }

    fn meet<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let refuse = |kind| Err(StoreError::new(kind, format!("{kind:?}, as the test wants it")));
        match self.next() {
            None => work(),
            Some(InjectedFault::Fails(kind)) => refuse(kind),
            Some(InjectedFault::Killed) => refuse(StoreErrorKind::Io),
            Some(InjectedFault::DoneButFails(kind)) => work().and_then(|_| refuse(kind)),
            Some(InjectedFault::DoneThenKilled) => work().and_then(|_| refuse(StoreErrorKind::Io)),
        }
    }
}

#[derive(Debug)]
pub(in crate::record) struct FaultInjector {
    inner: Sqlite,
    fate: FaultOutcome,
}

impl Database for FaultInjector {
    fn run(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<usize, StoreError> {
        let Self { inner, fate } = self;
        fate.meet(|| inner.run(sql, values))
    }

    fn number(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<Option<i64>, StoreError> {
        let Self { inner, fate } = self;
        fate.meet(|| inner.number(sql, values))
    }

    fn bodies(&mut self, sql: &'static str, values: &[SqlValue<'_>]) -> Result<Vec<Vec<u8>>, StoreError> {
        let Self { inner, fate } = self;
        fate.meet(|| inner.bodies(sql, values))
    }
}

#[derive(Debug)]
pub(in crate::record) struct FaultInjectingFile {
    file: StoreFile,
    fate: FaultOutcome,
}

impl FaultInjectingFile {
    pub(in crate::record) fn new(path: PathBuf, fate: FaultOutcome) -> Self {
        Self { file: StoreFile::new(path), fate }
    }
}

impl DatabaseSource for FaultInjectingFile {
    type Database = FaultInjector;

    fn open(&mut self, thorough: bool) -> Result<OpenedStore<FaultInjector>, StoreError> {
        if self.fate.is_dead() {
            return Err(StoreError::new(StoreErrorKind::Io, "the process is no more"));
        }
        let OpenedStore { database, set_aside, is_new } = self.file.open(thorough)?;
        Ok(OpenedStore {
            database: FaultInjector { inner: database, fate: self.fate.clone() },
            set_aside,
            is_new,
        })
    }

    fn harm(&mut self, database: &mut FaultInjector) -> Result<Option<StoreDamage>, StoreError> {
        self.file.harm(&mut database.inner)
    }

    fn leave(&mut self, database: FaultInjector, harm: StoreDamage) -> Result<DamagedStore, StoreError> {
        self.file.leave(database.inner, harm)
    }

    fn close(&mut self, database: FaultInjector) {
        // A process that was killed tidies nothing up: its connection ends as it is.
        if !self.fate.is_dead() {
            self.file.close(database.inner);
        }
    }
}
