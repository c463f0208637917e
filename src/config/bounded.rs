//! Work that may never end, such as touching a file on a mount whose server is gone.
//!
//! No system call of a file or of a resolver can be told to hurry. So such work is done on a thread of its own, which is
//! given up when it takes too long. What such a thread works on is not begun again before it comes back, and there are
//! never more than [`MOST`] of them.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How many threads may be given up and not be back, whatever they work on.
const MOST: usize = 64;

/// A place for work that may never end.
#[derive(Debug)]
pub struct BoundedThreads {
    /// The threads that were given up, by what they work on. Those that are back are taken out when the next work comes.
    away: Mutex<HashMap<Box<str>, JoinHandle<()>>>,
    patience: Duration,
    brief: Duration,
}

impl BoundedThreads {
    /// A place where work has `patience`, or no more than `brief` while other work there is given up and not back: a folder
    /// of a hundred files on a dead mount must not take a hundred times as long as one file.
    pub fn new(patience: Duration, brief: Duration) -> Self {
        Self { away: Mutex::default(), patience, brief }
    }

    /// Does `work` on `what`; `None` where it took too long and was given up, or was not begun since the same work was given
    /// up and is not back.
    pub fn run<T: Send + 'static>(&self, what: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let mut away = self.away.lock();
        away.retain(|_, thread| !thread.is_finished());
        if away.contains_key(what) || away.len() >= MOST {
            return None;
        }
        let patience = if away.is_empty() { self.patience } else { self.brief };
        drop(away);
        let (answer, answered) = sync_channel(1);
        // Nobody waits for work that was given up.
        let thread =
            Builder::new().name("bounded".to_owned()).spawn(move || drop(answer.send(work()))).ok()?;
        let value = answered.recv_timeout(patience).ok();
        if value.is_none() {
            self.away.lock().entry(what.into()).or_insert(thread);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    impl BoundedThreads {
        /// What threads work on that were given up, and are not back.
        fn away(&self) -> Vec<String> {
            let away = self.away.lock();
            away.iter()
                .filter(|(_, thread)| !thread.is_finished())
                .map(|(what, _)| what.to_string())
                .collect()
        }
    }

    /// Work that ends when the sender is dropped.
    fn stuck() -> (Sender<()>, impl FnOnce() + Send + 'static) {
        let (release, released): (Sender<()>, Receiver<()>) = channel();
        let wait = move || {
            let _ = released.recv();
        };
        (release, wait)
    }

    fn bounded() -> BoundedThreads {
        // What is not stuck has time on any machine.
        BoundedThreads::new(Duration::from_millis(20), Duration::from_secs(20))
    }

    /// Waits until nothing that was given up is still away.
    fn settle(bounded: &BoundedThreads) {
        while !bounded.away().is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_takes_too_long_is_given_up_and_nothing_else_waits_for_it() {
        let bounded = bounded();
        let (release, work) = stuck();
        assert_eq!(bounded.run("/dead", work), None);
        assert_eq!(bounded.away(), ["/dead"]);
        assert_eq!(bounded.run("/alive", || 1), Some(1));
        assert_eq!(bounded.run("/dead", || 2), None, "it is not begun again at once");
        drop(release);
        settle(&bounded);
        assert_eq!(bounded.run("/dead", || 3), Some(3));
    }

    #[test]
    fn never_more_threads_than_the_bound_are_given_up() {
        let bounded = BoundedThreads::new(Duration::ZERO, Duration::ZERO);
        let releases: Vec<Sender<()>> = (0..MOST)
            .map(|number| {
                let (release, work) = stuck();
                assert_eq!(bounded.run(&format!("/dead/{number}"), work), None);
                release
            })
            .collect();
        assert_eq!(bounded.away().len(), MOST);
        let (began, begins) = channel();
        assert_eq!(bounded.run("/one/more", move || began.send(())), None);
        assert!(begins.recv().is_err(), "it was begun beyond the bound");
        drop(releases);
        settle(&bounded);
        let (began, begins) = channel();
        let _ = bounded.run("/one/more", move || began.send(()));
        assert!(begins.recv().is_ok(), "there is room again");
    }

    #[test]
    fn a_panic_is_no_thread_that_is_away() {
        let bounded = BoundedThreads::new(Duration::from_secs(20), Duration::ZERO);
        assert_eq!(bounded.run("/x", || panic!("planted")), None::<()>);
        settle(&bounded);
        assert_eq!(bounded.run("/x", || 1), Some(1));
    }
}
