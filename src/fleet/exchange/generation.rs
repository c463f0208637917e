//! Following what is published.

use super::{BeatAnswer, FleetTask, ReloadTurn};
use crate::fleet::beat::PublishedDocument;
use crate::fleet::signature::has_signed;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// After how long a generation that was refused is tried again: a disk that was full may have room.
const AGAIN: Duration = Duration::from_secs(10);

/// A generation that was refused: which one, why, and when.
pub(super) type RefusedGeneration = (i64, String, Instant);

impl FleetTask {
    /// Documents of generations after this one are to come with the next answer.
    pub(super) fn taken_generation(&self) -> i64 {
        if self.is_reloading.load(Ordering::Acquire) {
            return i64::MAX;
        }
        let refused = self.refused_generation().filter(|refused| refused.2.elapsed() < AGAIN);
        refused.map_or(0, |(number, ..)| number).max(self.shared.gateway.taken_generation())
    }

    /// Takes a generation that is new. Reading and serving it may take its time, and the next beat does not wait for it.
    pub(super) fn follow(&self, answer: &mut BeatAnswer) {
        let number = answer.generation;
        let Some(PublishedDocument { document, signature }) = answer.published.take() else { return };
        let key = self.shared.config.publisher_key;
        if key.is_some_and(|key| !has_signed(&key, &document, &signature)) {
            let why =
                format!("generation {number} is not signed by the key of `publisher_key`: it is not taken");
            tracing::error!("{why}");
            self.refuse_generation(Some((number, why, Instant::now())));
            return;
        }
        let Some(turn) = ReloadTurn::take(&self.is_reloading) else { return };
        let (gateway, refused) = (Arc::clone(&self.shared.gateway), Arc::clone(&self.refused_generation));
        turn.spawn(move || {
            let take = AssertUnwindSafe(|| gateway.take_generation(number, &document));
            let taken = catch_unwind(take).unwrap_or_else(|_| Err("a thread panicked".to_owned()));
            let told = taken.err().map(|error| format!("generation {number} is not taken: {error}"));
            if let Some(told) = &told {
                tracing::error!("{told}");
            }
            *refused.lock().unwrap_or_else(PoisonError::into_inner) =
                told.map(|told| (number, told, Instant::now()));
        });
    }

    /// Why the last generation was refused.
    pub(super) fn refused_generation(&self) -> Option<RefusedGeneration> {
        self.refused_generation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse_generation(&self, refused: Option<RefusedGeneration>) {
        *self.refused_generation.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }
}
