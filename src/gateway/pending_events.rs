//! Events that wait for the status of their answer.
//!
//! They are kept here, and not with their requests, so that those which are cut off when the process ends are recorded, too:
//! nothing is recorded when a request is merely dropped.

use crate::record::{Event, FullEvent};
use parking_lot::Mutex;
use slab::Slab;

/// An event that is recorded when its request is over.
#[derive(Debug)]
pub(super) struct PendingEvent {
    pub(super) event: Event,
    /// Whether the journal has a line for it.
    pub(super) has_line: bool,
    /// Where the store wants it in full.
    pub(super) wanted: Option<FullEvent>,
}

/// The events of requests that are under way, of one worker.
#[derive(Debug, Default)]
pub(super) struct PendingEvents(Mutex<Slab<Option<Box<PendingEvent>>>>);

impl PendingEvents {
    /// Has an event wait, and says where.
    pub(super) fn insert(&self, event: Box<PendingEvent>) -> usize {
        self.0.lock().insert(Some(event))
    }

    /// The event of a request that is over; `None` where all were taken before.
    pub(super) fn take(&self, place: usize) -> Option<Box<PendingEvent>> {
        self.0.lock().try_remove(place).flatten()
    }

    /// All that wait. What was taken is not waited for any more.
    pub(super) fn take_all(&self) -> Vec<PendingEvent> {
        self.0.lock().iter_mut().filter_map(|(_, slot)| slot.take().map(|event| *event)).collect()
    }
}
