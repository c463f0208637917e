//! Following what is published, and reloads: reading and serving may take its time, and no beat waits for it.

use super::{BeatAnswer, FleetReload, FleetTask};
use crate::fleet::beat::PublishedDocument;
use crate::fleet::signature::has_signed;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;

/// After how long a generation that was refused is tried again: a disk that was full may have room.
const AGAIN: Duration = Duration::from_secs(10);

impl FleetTask {
    /// Documents of generations after this one are to come with the next answer.
    pub(super) fn taken_generation(&self) -> i64 {
        if self.reloading.is_some() {
            return i64::MAX;
        }
        let refused = self.refused_generation.as_ref().filter(|refused| refused.2.elapsed() < AGAIN);
        refused.map_or(0, |(number, ..)| *number).max(self.shared.gateway.current().published.number)
    }

    /// Takes a generation that is new.
    pub(super) fn follow(&mut self, answer: &mut BeatAnswer) {
        let number = answer.generation;
        let Some(PublishedDocument { document, signature }) = answer.published.take() else { return };
        let key = self.shared.config.publisher_key.as_deref();
        if key.is_some_and(|key| !has_signed(key, &document, &signature)) {
            self.refuse(number, "it is not signed by the key of `publisher_key`");
        } else if self.reloading.is_none() {
            let gateway = Arc::clone(&self.shared.gateway);
            self.reload(number, move || gateway.take_generation(number, &document));
        }
    }

    /// Reloads on a thread of its own: one at a time.
    pub(super) fn reload(
        &mut self,
        generation: i64,
        reload: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) {
        self.reloading = Some((generation, spawn_blocking(reload)));
    }

    /// Notes what came of a reload, where one has ended. One that panicked has told so by itself.
    pub(super) async fn end_reload(&mut self) {
        let has_ended = |(_, reload): &mut (i64, FleetReload)| reload.is_finished();
        let Some((generation, reload)) = self.reloading.take_if(has_ended) else { return };
        match reload.await.unwrap_or_else(|_| Err("a thread panicked".to_owned())) {
            Err(why) if generation > 0 => self.refuse(generation, &why),
            _ => self.refused_generation = None,
        }
    }

    fn refuse(&mut self, number: i64, why: &str) {
        let why = format!("generation {number} is not taken: {why}");
        tracing::error!("{why}");
        self.refused_generation = Some((number, why, Instant::now()));
    }
}
