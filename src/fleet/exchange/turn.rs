//! One reload for the fleet at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The right to reload. It is given back when it is dropped: also where the reload panics or its thread cannot start.
pub(super) struct ReloadTurn(Arc<AtomicBool>);

impl ReloadTurn {
    /// Takes the turn, unless a reload is under way.
    pub(super) fn take(is_reloading: &Arc<AtomicBool>) -> Option<Self> {
        let is_free = !is_reloading.swap(true, Ordering::AcqRel);
        is_free.then(|| Self(Arc::clone(is_reloading)))
    }

    /// Reloads on a thread of its own.
    pub(super) fn spawn(self, reload: impl FnOnce() + Send + 'static) {
        let name = "fleet-reload";
        let work = move || {
            let _turn = self;
            reload();
        };
        if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
            tracing::error!(
                "the thread `{name}` cannot start: {error}; it is tried again with the next beat"
            );
        }
    }
}

impl Drop for ReloadTurn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    #[test]
    fn a_reload_that_panics_does_not_keep_the_turn() {
        let is_reloading = Arc::new(AtomicBool::new(false));
        let (release, wait) = channel::<()>();
        let turn = ReloadTurn::take(&is_reloading).expect("nothing reloads");
        turn.spawn(move || {
            let _ = wait.recv();
            std::panic::resume_unwind(Box::new("a broken reload"));
        });
        assert!(ReloadTurn::take(&is_reloading).is_none(), "two reloads at a time");
        drop(release);
        let patience = Instant::now() + Duration::from_secs(10);
        while is_reloading.load(Ordering::Acquire) && Instant::now() < patience {
            std::thread::yield_now();
        }
        assert!(ReloadTurn::take(&is_reloading).is_some(), "the turn is kept for ever");
    }
}
