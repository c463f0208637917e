//! Who may do what only one may do at a time. Unlike at a mutex, nobody waits here without an end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A turn that one thread has at a time.
#[derive(Debug, Default)]
pub(super) struct Turn {
    is_taken: Mutex<bool>,
    given_back: Condvar,
}

/// The turn, until this is dropped.
#[derive(Debug)]
pub(super) struct TakenTurn<'a>(&'a Turn);

impl Turn {
    /// Takes the turn; `None` when somebody else has had it for as long as `patience`.
    pub(super) fn take(&self, patience: Duration) -> Option<TakenTurn<'_>> {
        let waited = self.given_back.wait_timeout_while(self.state(), patience, |is_taken| *is_taken);
        let (mut is_taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *is_taken {
            return None;
        }
        *is_taken = true;
        Some(TakenTurn(self))
    }

    fn state(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TakenTurn<'_> {
    fn drop(&mut self) {
        *self.0.state() = false;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_second_one_waits_for_the_first_and_not_for_ever() {
        let turn = Turn::default();
        let first = turn.take(Duration::ZERO).unwrap();
        assert!(turn.take(Duration::from_millis(1)).is_none());
        std::thread::scope(|scope| {
            let (began, begins) = channel();
            let second = scope.spawn({
                let turn = &turn;
                move || {
                    began.send(()).unwrap();
                    turn.take(Duration::from_secs(60)).is_some()
                }
            });
            begins.recv().unwrap();
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(turn.take(Duration::ZERO).is_some(), "a turn that was given back is free");
    }

    #[test]
    fn a_panic_gives_the_turn_back() {
        let turn = Turn::default();
        let panicked = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let _turn = turn.take(Duration::ZERO);
                    panic!("planted");
                })
                .join()
        });
        assert!(panicked.is_err());
        assert!(turn.take(Duration::ZERO).is_some());
    }
}
