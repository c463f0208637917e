//! Statements that fail: which of them and how is the test's choice.
//!
//! The database is the real one, so what a fault leaves behind is what it would really leave behind.

use super::super::error::{StoreError, StoreErrorKind};
use super::super::open::StoreFile;
use super::super::sqlite::Sqlite;
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

    /// A process that was killed opens nothing, and tidies nothing up.
    pub(in crate::record) fn refuse_the_dead(&self) -> Result<(), StoreError> {
        if self.is_dead() {
            Err(StoreError::new(StoreErrorKind::Io, "the process is no more"))
        } else {
            Ok(())
        }
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

    pub(in crate::record) fn meet<T>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
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

impl StoreFile {
    /// A file whose databases meet with faults.
    pub(in crate::record) fn with_faults(path: PathBuf, faults: &FaultOutcome) -> Self {
        let mut file = Self::new(path);
        file.faults = faults.clone();
        file
    }
}

impl Sqlite {
    pub(in crate::record) fn with_faults(mut self, faults: &FaultOutcome) -> Self {
        self.faults = faults.clone();
        self
    }
}
