//! Events that wait for the status of their answer.
//!
//! They are kept here, and not with their requests, so that those which are cut off when the process ends are recorded, too:
//! nothing is recorded when a request is merely dropped.

use crate::record::{Event, FullEvent};
use slab::Slab;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An event that is recorded when its request is over.
#[derive(Debug)]
pub(super) struct PendingEvent {
    pub(super) event: Event,
    /// Whether the journal has a line for it.
    pub(super) has_line: bool,
    /// Where the store wants it in full.
    pub(super) wanted: Option<FullEvent>,
}

/// Where an event waits.
#[derive(Debug)]
pub(super) struct PendingKey(usize);

/// The events of requests that are under way, of one worker.
#[derive(Debug, Default)]
pub(super) struct PendingEvents(Mutex<Slab<Option<Box<PendingEvent>>>>);

impl PendingEvents {
    /// Has an event wait.
    pub(super) fn insert(&self, event: Box<PendingEvent>) -> PendingKey {
        PendingKey(self.slots().insert(Some(event)))
    }

    /// The event of a request that is over; `None` where all were taken before.
    pub(super) fn take(&self, PendingKey(index): PendingKey) -> Option<Box<PendingEvent>> {
        self.slots().try_remove(index).flatten()
    }

    /// All that wait. What was taken is not waited for any more.
    pub(super) fn take_all(&self) -> Vec<PendingEvent> {
        self.slots().iter_mut().filter_map(|(_, slot)| slot.take().map(|event| *event)).collect()
    }

    fn slots(&self) -> MutexGuard<'_, Slab<Option<Box<PendingEvent>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
