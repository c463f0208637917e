//! Which answers of a connection have left this host whole.
//!
//! What a request hands to the HTTP/2 library is written when the client's windows and its socket let it, and thrown away
//! where the client cancels the stream meanwhile. Neither is told by the library; both are seen in the frames as they
//! pass by.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What has become of the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Awaited,
    /// Written, perhaps not flushed.
    Written,
    /// The kernel has all of it.
    Sent,
    /// The stream was reset, or the connection is over.
    Lost,
}

/// The answers of a connection that somebody asks about, by their streams.
#[derive(Debug, Default)]
pub(super) struct Endings {
    watched: Mutex<HashMap<u32, Ending>>,
    changed: Notify,
}

impl Endings {
    /// Watches a stream from before its answer ends until [`Self::forget`].
    pub(super) fn watch(&self, stream: u32) {
        self.watched().entry(stream).or_insert(Ending::Awaited);
    }

    pub(super) fn forget(&self, stream: u32) {
        if self.watched().remove(&stream).is_some() {
            self.changed.notify_waiters();
        }
    }

    /// The frame was written that ends `stream`, or resets it.
    pub(super) fn wrote(&self, stream: u32, is_reset: bool) {
        if let Some(ending @ Ending::Awaited) = self.watched().get_mut(&stream) {
            *ending = if is_reset { Ending::Lost } else { Ending::Written };
            self.changed.notify_waiters();
        }
    }

    /// All that was written has gone to the kernel.
    pub(super) fn flushed(&self) {
        self.turn(|ending| (ending == Ending::Written).then_some(Ending::Sent));
    }

    /// The client has cancelled `stream`.
    pub(super) fn cancelled(&self, stream: u32) {
        if let Some(ending) = self.watched().get_mut(&stream) {
            *ending = Ending::Lost;
            self.changed.notify_waiters();
        }
    }

    /// The connection is over.
    pub(super) fn close(&self) {
        self.turn(|ending| (ending != Ending::Sent).then_some(Ending::Lost));
    }

    fn turn(&self, next: impl Fn(Ending) -> Option<Ending>) {
        let mut watched = self.watched();
        for ending in watched.values_mut() {
            if let Some(next) = next(*ending) {
                *ending = next;
                self.changed.notify_waiters();
            }
        }
    }

    /// Waits until the answer on `stream` has left, or is lost; whether it has left.
    pub(super) async fn has_left(&self, stream: u32) -> bool {
        self.wait(|watched| match watched.get(&stream) {
            Some(Ending::Sent) => Some(true),
            Some(Ending::Awaited | Ending::Written) => None,
            Some(Ending::Lost) | None => Some(false),
        })
        .await
    }

    /// Waits until nobody asks any more.
    pub(super) async fn all_forgotten(&self) {
        self.wait(|watched| watched.is_empty().then_some(())).await;
    }

    async fn wait<T>(&self, done: impl Fn(&HashMap<u32, Ending>) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            if let Some(done) = done(&self.watched()) {
                return done;
            }
            changed.await;
        }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<u32, Ending>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_has_left_once_its_end_is_with_the_kernel() {
        let endings = Endings::default();
        for stream in [1, 3, 5, 7] {
            endings.watch(stream);
        }
        endings.wrote(1, false);
        endings.wrote(1, true);
        endings.wrote(3, false);
        endings.wrote(9, false);
        endings.cancelled(3);
        let first = async {
            tokio::task::yield_now().await;
            endings.flushed();
        };
        assert!(tokio::join!(endings.has_left(1), first).0);
        endings.watch(11);
        endings.wrote(11, true);
        assert!(!endings.has_left(11).await, "it was reset");
        endings.wrote(5, false);
        endings.close();
        for lost in [3, 5, 7, 9] {
            assert!(!endings.has_left(lost).await, "{lost}");
        }
        assert!(endings.has_left(1).await, "the connection ended behind it");
        endings.cancelled(1);
        assert!(!endings.has_left(1).await);
        let rest = async {
            for stream in [1, 3, 5, 7, 11] {
                endings.forget(stream);
            }
        };
        tokio::join!(endings.all_forgotten(), rest);
    }
}
