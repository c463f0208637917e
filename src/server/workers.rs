//! The threads that serve. Each has a runtime of its own, and a connection stays on the thread that it was given to.
//!
//! What a request needs is in one place then: nothing wakes it on another thread, and its connections to origins are
//! polled where it is. Connections are shared out evenly; threads take no work from each other.

use super::accept::{Listener, accept};
use super::handler::ConnectionHandler;
use super::serve::ServeError;
use crate::process::Signals;
use std::future::Future;
use std::io;
use std::net;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// How long what is cut off may take to end.
const LAST: Duration = Duration::from_millis(100);

/// The threads that serve, and the signals that steer them.
#[derive(Debug)]
pub struct Workers {
    /// What runs beside requests, on the thread that started the workers: signals, the operator's pages, a look after
    /// the origins.
    control_runtime: Runtime,
    worker_pool: WorkerPool,
    stop: watch::Sender<bool>,
    /// Gives nothing, and ends with the last thread.
    ended: Receiver<()>,
    signals: Signals,
}

impl Workers {
    /// Starts the threads and takes the signals.
    ///
    /// # Errors
    /// When a thread or a signal handler cannot be had.
    pub fn start(threads: usize) -> Result<Self, ServeError> {
        let control_runtime = Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = control_runtime.enter();
            Signals::new()?
        };
        let (stop, stopped) = watch::channel(false);
        let (lives, ended) = channel();
        let threads = (0..threads.max(1)).map(|_| thread(stopped.clone(), lives.clone()));
        let worker_pool = WorkerPool::of(threads.collect::<io::Result<_>>()?);
        Ok(Self { control_runtime, worker_pool, stop, ended, signals })
    }

    /// Runs `whole` to its end, and then ends whatever it left to the threads.
    pub(super) fn run<F: Future>(self, whole: impl FnOnce(WorkerPool, Signals) -> F) -> F::Output {
        let Self { control_runtime, worker_pool, stop, ended, signals } = self;
        let done = control_runtime.block_on(whole(worker_pool, signals));
        stop.send_replace(true);
        // A thread that does not come to its end ends with the process.
        let _ = ended.recv_timeout(LAST);
        control_runtime.shutdown_timeout(LAST);
        done
    }
}

/// Starts a thread that runs what its handle is given until it is told to stop.
fn thread(mut stopped: watch::Receiver<bool>, life: Sender<()>) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let serve = move || {
        let _life = life;
        // Whoever would say so may be gone as well.
        let _ = runtime.block_on(stopped.wait_for(|stop| *stop));
        // What has outlived its grace is cut off here.
        runtime.shutdown_timeout(LAST);
    };
    std::thread::Builder::new().name("worker".to_owned()).spawn(serve)?;
    Ok(handle)
}

/// Threads that connections are shared out to. The first of them accepts.
#[derive(Clone, Debug)]
pub(super) struct WorkerPool {
    workers: Arc<[Arc<WorkerThread>]>,
    /// Who is asked first.
    turn: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct WorkerThread {
    runtime: Handle,
    /// Tells them of a stop. Each request looks there: what all workers look at in common would go to and fro between
    /// their processors.
    stage: watch::Sender<Stage>,
}

/// How far a stop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Running,
    /// Every request is the last one of its connection.
    LastRequest,
    /// Connections between two requests are closed, too.
    CloseIdle,
}

/// A connection's place with a worker, until it is dropped.
#[derive(Debug)]
pub(super) struct WorkerSlot {
    worker: Arc<WorkerThread>,
    /// Which worker of the pool that is.
    pub(super) index: usize,
}

impl WorkerPool {
    fn of(runtimes: Vec<Handle>) -> Self {
        let worker = |runtime| Arc::new(WorkerThread { runtime, stage: watch::Sender::new(Stage::Running) });
        Self { workers: runtimes.into_iter().map(worker).collect(), turn: Arc::default() }
    }

    /// The thread that this is called on, alone.
    pub(super) fn here() -> Self {
        Self::of(vec![Handle::current()])
    }

    pub(super) fn len(&self) -> usize {
        self.workers.len()
    }

    /// Accepts from `listener`, on the first worker, until `stopped` says so; each worker has its own of `handlers`.
    pub(super) fn accept(
        &self,
        listener: net::TcpListener,
        handlers: Vec<Arc<ConnectionHandler>>,
        stopped: watch::Receiver<bool>,
        connections: &TaskTracker,
    ) -> io::Result<()> {
        let Some(first) = self.workers.first() else { return Ok(()) };
        let _inside = first.runtime.enter();
        let listener = Listener::new(listener)?;
        // As one that is open itself, so that nobody is cut off whom it has just accepted.
        let accepting = accept(listener, self.clone(), handlers, stopped, connections.clone());
        connections.spawn_on(accepting, &first.runtime);
        Ok(())
    }

    /// A place with the worker that has the fewest connections, each of which holds it; those that have as many take turns.
    pub(super) fn take_slot(&self) -> Option<WorkerSlot> {
        let count = self.workers.len();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = (0..count).filter_map(|step| {
            let index = first.wrapping_add(step) % count;
            Some((index, self.workers.get(index)?))
        });
        let (index, worker) = in_turn.min_by_key(|(_, worker)| Arc::strong_count(worker))?;
        Some(WorkerSlot { worker: Arc::clone(worker), index })
    }

    /// Tells every connection, of all workers, how far a stop has come.
    pub(super) fn stop(&self, stage: Stage) {
        for worker in &*self.workers {
            worker.stage.send_replace(stage);
        }
    }

    /// Has one worker after the other do the same.
    pub(super) async fn each(&self, job: impl Fn() + Clone + Send + 'static) {
        for worker in &*self.workers {
            let job = job.clone();
            // One that is gone has nothing left to do.
            let _ = worker.runtime.spawn(async move { job() }).await;
        }
    }
}

impl WorkerSlot {
    pub(super) fn runtime(&self) -> &Handle {
        &self.worker.runtime
    }

    /// How far a stop has come: it has changed once there is one. To see that takes no lock, where looking at the value does.
    pub(super) fn stage(&self) -> watch::Receiver<Stage> {
        let mut stage = self.worker.stage.subscribe();
        if *stage.borrow() != Stage::Running {
            stage.mark_changed();
        }
        stage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    fn worker_pool(threads: usize) -> (WorkerPool, Vec<Runtime>) {
        let runtimes: Vec<Runtime> =
            (0..threads).map(|_| Builder::new_current_thread().build().unwrap()).collect();
        (WorkerPool::of(runtimes.iter().map(|runtime| runtime.handle().clone()).collect()), runtimes)
    }

    #[test]
    fn connections_are_shared_out_evenly() {
        let (worker_pool, _runtimes) = worker_pool(3);
        let mut slots: Vec<WorkerSlot> = (0..9).filter_map(|_| worker_pool.take_slot()).collect();
        let mut loads = BTreeMap::new();
        for slot in &slots {
            *loads.entry(slot.index).or_insert(0) += 1;
        }
        assert_eq!(loads, BTreeMap::from([(0, 3), (1, 3), (2, 3)]));
        // Who has lost its connections gets the next ones, whoever's turn it is.
        slots.retain(|slot| slot.index != 1);
        let next: Vec<WorkerSlot> = (0..3).filter_map(|_| worker_pool.take_slot()).collect();
        assert_eq!(next.iter().map(|slot| slot.index).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn every_connection_hears_of_a_stop() {
        let (worker_pool, _runtimes) = worker_pool(3);
        let slots: Vec<WorkerSlot> = (0..3).filter_map(|_| worker_pool.take_slot()).collect();
        let mut told: Vec<_> = slots.iter().map(WorkerSlot::stage).collect();
        assert!(told.iter().all(|told| !told.has_changed().unwrap()));
        worker_pool.stop(Stage::LastRequest);
        // Whoever comes only now, too.
        told.extend(slots.iter().map(WorkerSlot::stage));
        assert!(told.len() == 6 && told.iter().all(|told| told.has_changed().unwrap()));
        worker_pool.stop(Stage::CloseIdle);
        assert!(told.iter().all(|told| *told.borrow() == Stage::CloseIdle));
    }

    #[test]
    fn each_worker_does_its_job_once() {
        let (done, jobs) = channel();
        Workers::start(3).unwrap().run(|worker_pool, _| async move {
            worker_pool.each(move || done.send(std::thread::current().id()).unwrap()).await;
        });
        let threads: Vec<_> = jobs.into_iter().collect();
        assert_eq!((threads.len(), threads.iter().collect::<HashSet<_>>().len()), (3, 3));
    }

    #[test]
    fn what_is_left_to_the_threads_ends_with_them() {
        let workers = Workers::start(2).unwrap();
        let (life, ended) = channel::<()>();
        workers.run(|worker_pool, _| async move {
            for _ in 0..4 {
                let life = life.clone();
                worker_pool.take_slot().unwrap().runtime().spawn(async move {
                    std::future::pending::<()>().await;
                    drop(life);
                });
            }
            worker_pool.each(|| ()).await;
        });
        ended.recv().unwrap_err();
    }
}
