//! Work that may never end, such as touching a file on a mount whose server is gone.
//!
//! No system call of a file or of a resolver can be told to hurry. So such work is done on a thread of its own, which
//! is given up when it takes too long. A thread that was given up is counted until it comes back, by what it works
//! on: the same work is not begun again at once, and there are never more than [`MOST`] such threads.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

/// How many threads may be given up and not be back, whatever they work on.
const MOST: usize = 64;

/// The same for one thing. Each waits twice as long after the one before, so the last comes after an hour.
const MOST_FOR_ONE: u32 = 12;

/// After the first thread was given up, further work has less time for a while: a folder of a hundred files on a dead
/// mount must not take a hundred times as long as one file.
const WHILE: Duration = Duration::from_secs(60);

/// A place for work that may never end.
#[derive(Debug)]
pub struct BoundedThreads {
    shared: Arc<SharedThreads>,
    patience: Duration,
    brief: Duration,
}

/// Work that was given up, or was not begun since the same work was given up and is not back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reading it takes too long")]
pub struct TimedOut;

type Work = Box<dyn FnOnce(&Idle) -> bool + Send>;

/// Where a thread that has nothing to do gets work.
#[derive(Clone, Debug)]
struct Idle(Sender<Work>);

#[derive(Debug, Default)]
struct SharedThreads {
    threads: Mutex<Threads>,
    given_up: AtomicU64,
}

#[derive(Debug, Default)]
struct Threads {
    /// One thread that has nothing to do. Starting one costs more than most work.
    idle: Option<Idle>,
    away: HashMap<Box<str>, AbandonedThreads>,
}

/// Threads that were given up, and are not back.
#[derive(Debug)]
struct AbandonedThreads {
    count: u32,
    last: Instant,
}

impl Threads {
    /// Whether work on `what` may begin now.
    fn may_start(&self, what: &str, now: Instant) -> bool {
        let total: usize = self.away.values().map(|away| away.count as usize).sum();
        let is_due = self.away.get(what).is_none_or(|away| {
            let pause = Duration::from_secs(1 << away.count.min(MOST_FOR_ONE));
            away.count < MOST_FOR_ONE && now.saturating_duration_since(away.last) >= pause
        });
        total < MOST && is_due
    }

    fn abandon(&mut self, what: &str, now: Instant) {
        let away = self.away.entry(what.into()).or_insert(AbandonedThreads { count: 0, last: now });
        (away.count, away.last) = (away.count + 1, now);
    }

    fn take_back(&mut self, what: &str) {
        if let Some(away) = self.away.get_mut(what) {
            away.count -= 1;
            if away.count == 0 {
                self.away.remove(what);
            }
        }
    }
}

impl BoundedThreads {
    /// A place where work has `patience`, or no more than `brief` while other work there was given up lately.
    pub fn new(patience: Duration, brief: Duration) -> Self {
        Self { shared: Arc::default(), patience, brief }
    }

    /// Does `work` on `what`, and gives it up when it takes too long.
    ///
    /// # Errors
    /// When it was given up, or not begun.
    pub fn run<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TimedOut> {
        let result = self.attempt(what, work);
        if result.is_err() {
            self.shared.given_up.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    /// How often work was given up, or not begun.
    pub fn given_up(&self) -> u64 {
        self.shared.given_up.load(Ordering::Relaxed)
    }

    fn attempt<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TimedOut> {
        let now = Instant::now();
        let mut threads = self.shared.threads.lock();
        if !threads.may_start(what, now) {
            return Err(TimedOut);
        }
        let hurries = threads.away.values().any(|away| now.saturating_duration_since(away.last) < WHILE);
        let patience = if hurries { self.brief } else { self.patience };
        let idle = threads.idle.take();
        drop(threads);
        let (answer, answered) = sync_channel(1);
        let work: Work = Box::new({
            let (shared, what) = (Arc::clone(&self.shared), Box::<str>::from(what));
            move |own| {
                // The hook has reported where it panicked; the thread is back all the same.
                let value = catch_unwind(AssertUnwindSafe(work)).ok();
                let mut threads = shared.threads.lock();
                // Nobody waits for work that was given up.
                let unsent = answer.send(value).err();
                if unsent.is_some() {
                    threads.take_back(&what);
                }
                let stays = threads.idle.is_none();
                if stays {
                    threads.idle = Some(own.clone());
                }
                drop(threads);
                stays
            }
        });
        start(idle, work)?;
        match answered.recv_timeout(patience) {
            Ok(value) => return value.ok_or(TimedOut),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(TimedOut),
        }
        // Whoever has the lock decides whether the work was done in time or is given up.
        let mut threads = self.shared.threads.lock();
        let value = answered.try_recv().ok();
        if value.is_none() {
            threads.abandon(what, Instant::now());
        }
        drop((answered, threads));
        value.flatten().ok_or(TimedOut)
    }
}

/// Hands work to the idle thread or, without one, to a new one.
fn start(idle: Option<Idle>, work: Work) -> Result<(), TimedOut> {
    let work = match idle {
        Some(Idle(idle)) => match idle.send(work) {
            Ok(()) => return Ok(()),
            Err(refused) => refused.0,
        },
        None => work,
    };
    let (sender, works) = channel::<Work>();
    let own = Idle(sender);
    let thread = std::thread::Builder::new().name("bounded".to_owned());
    let spawned = thread.spawn(move || {
        if work(&own) {
            while works.recv().is_ok_and(|work| work(&own)) {}
        }
    });
    spawned.map(drop).map_err(|_| TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    impl BoundedThreads {
        /// What threads work on that were given up, and are not back.
        fn away(&self) -> Vec<String> {
            let mut away: Vec<String> =
                self.shared.threads.lock().away.keys().map(ToString::to_string).collect();
            away.sort();
            away
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
        assert_eq!(bounded.run("/dead", work), Err(TimedOut));
        assert_eq!(bounded.away(), ["/dead"]);
        assert_eq!(bounded.run("/alive", || 1), Ok(1));
        assert_eq!(bounded.run("/dead", || 2), Err(TimedOut), "it is not begun again at once");
        assert_eq!(bounded.given_up(), 2);
        drop(release);
        settle(&bounded);
        assert_eq!(bounded.run("/dead", || 3), Ok(3));
    }

    #[test]
    fn never_more_threads_than_the_bound_are_given_up() {
        let bounded = BoundedThreads::new(Duration::ZERO, Duration::ZERO);
        let releases: Vec<Sender<()>> = (0..MOST)
            .map(|number| {
                let (release, work) = stuck();
                assert_eq!(bounded.run(&format!("/dead/{number}"), work), Err(TimedOut));
                release
            })
            .collect();
        assert_eq!(bounded.away().len(), MOST);
        let (began, begins) = channel();
        assert_eq!(bounded.run("/one/more", move || began.send(())), Err(TimedOut));
        assert!(begins.recv().is_err(), "it was begun beyond the bound");
        drop(releases);
        settle(&bounded);
        let (began, begins) = channel();
        let _ = bounded.run("/one/more", move || began.send(()));
        assert!(begins.recv().is_ok(), "there is room again");
    }

    #[test]
    fn the_same_thing_is_tried_again_more_and_more_rarely() {
        let (mut threads, start) = (Threads::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        threads.abandon("/dead", start);
        assert!(!threads.may_start("/dead", after(1)) && threads.may_start("/dead", after(2)));
        threads.abandon("/dead", start);
        assert!(!threads.may_start("/dead", after(3)) && threads.may_start("/dead", after(4)));
        for _ in 2..MOST_FOR_ONE {
            threads.abandon("/dead", start);
        }
        assert!(
            !threads.may_start("/dead", after(1_000_000)),
            "beyond the bound, never before one comes back"
        );
        threads.take_back("/dead");
        assert!(threads.may_start("/dead", after(1_000_000)));
    }

    #[test]
    fn one_thread_does_what_comes_one_after_the_other() {
        let bounded = BoundedThreads::new(Duration::from_secs(20), Duration::ZERO);
        let threads = || bounded.run("/x", || std::thread::current().id()).unwrap();
        assert_eq!(threads(), threads());
    }

    #[test]
    fn a_panic_is_no_thread_that_is_away() {
        let bounded = BoundedThreads::new(Duration::from_secs(20), Duration::ZERO);
        assert_eq!(bounded.run("/x", || panic!("planted")), Err::<(), _>(TimedOut));
        assert_eq!(bounded.away(), [""; 0]);
        assert_eq!(bounded.run("/x", || 1), Ok(1));
    }
}
