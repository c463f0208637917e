//! A policy that was replaced, and the workers that hold it still.
//!
//! A request has its worker take the policy in force, and let go of the one before. A worker without requests would hold
//! that for as long as it has none, with its rules and the keys of its certificates.

use super::workers::WorkerPool;
use crate::policy::CurrentPolicy;
use std::sync::Arc;
use std::time::Duration;

/// How soon it is let go.
const SOON: Duration = Duration::from_secs(1);

/// Has all workers take each policy that comes into force.
pub(super) async fn renew(current: Arc<CurrentPolicy>, worker_pool: WorkerPool) {
    let mut known = current.get().generation;
    loop {
        tokio::time::sleep(SOON).await;
        let generation = current.get().generation;
        if std::mem::replace(&mut known, generation) != generation {
            let current = Arc::clone(&current);
            worker_pool.each(move || drop(current.held())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::enforce::Mode;
    use crate::policy::{NoticeHistory, Override, Reloader, Scope, check};
    use crate::record::{ReadBook, Recorder};
    use std::time::SystemTime;

    #[tokio::test(start_paused = true)]
    async fn a_policy_that_was_replaced_is_let_go_without_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let (origin, state_dir) = (Some("http://127.0.0.1:9".into()), Some(folder.path().to_owned()));
        let arguments = Arguments { origin, state_dir, ..Arguments::default() };
        let config = Config::load(&arguments).unwrap();
        let recorder = Arc::new(Recorder::start(&config.store).unwrap());
        let history = Arc::new(NoticeHistory::open(&config));
        let current = Arc::new(CurrentPolicy::new(check(config, SystemTime::now()).unwrap()));
        let reads = Arc::new(ReadBook::default());
        let reloader = {
            let origins = Arc::new(crate::policy::OriginFiles::open(&current.get().config));
            Reloader::new(Arc::clone(&current), arguments, reads, Arc::clone(&recorder), history, origins)
        };
        let _renewing = tokio::spawn(renew(Arc::clone(&current), WorkerPool::here()));
        tokio::task::yield_now().await;

        drop(current.held());
        let former = Arc::downgrade(&current.get());
        let off = Override { scope: Scope::default(), mode: Mode::Off, persists: false, fleet: false };
        assert!(reloader.set_mode(&off).unwrap());
        assert!(former.upgrade().is_some(), "this thread holds it");
        tokio::time::sleep(SOON * 2).await;
        assert!(former.upgrade().is_none());
        recorder.close();
    }
}
