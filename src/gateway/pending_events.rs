//! Events that wait for the status of their answer.
//!
//! They are kept here, and not with their requests, so that those which are cut off when the process ends are recorded, too:
//! nothing is recorded when a request is merely dropped.

use crate::record::{Event, FullEvent};
use std::sync::{Mutex, PoisonError};

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
pub(super) struct PendingEvents(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    events: Vec<Option<Box<PendingEvent>>>,
    free: Vec<usize>,
}

impl PendingEvents {
    /// Has an event wait.
    pub(super) fn insert(&self, event: Box<PendingEvent>) -> PendingKey {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = slots.free.pop()
            && let Some(slot) = slots.events.get_mut(index)
        {
            *slot = Some(event);
            return PendingKey(index);
        }
        slots.events.push(Some(event));
        PendingKey(slots.events.len() - 1)
    }

    /// The event of a request that is over; `None` where all were taken before.
    pub(super) fn take(&self, PendingKey(index): PendingKey) -> Option<Box<PendingEvent>> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let event = slots.events.get_mut(index)?.take()?;
        slots.free.push(index);
        Some(event)
    }

    /// All that wait. What was taken is not waited for any more.
    pub(super) fn take_all(&self) -> Vec<PendingEvent> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.events.iter_mut().filter_map(|slot| slot.take().map(|event| *event)).collect()
    }
}
