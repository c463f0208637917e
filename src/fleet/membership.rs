//! Membership in a fleet, as the rest of the gateway sees it.

use super::exchange::FleetTask;
use crate::config::{Config, FleetConfig};
use crate::policy::{FleetDoubt, Reloader};
use crate::record::Recorder;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::watch;

/// Membership in a fleet, while the gateway runs.
#[derive(Debug)]
pub struct Fleet {
    shared: Arc<FleetShared>,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a member is doing; field names are public API.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FleetStatus {
    /// Its name.
    pub name: String,
    /// The id of its store.
    pub store: String,
    /// `joining`, `member`, or `isolated`: then nobody is accused.
    pub standing: Cow<'static, str>,
    /// Why the database cannot be used.
    pub error: Option<String>,
    /// How many seconds ago the database last answered; null where it never has.
    pub lag_seconds: Option<f64>,
    /// How late the reads that crawlers made at other members arrived here last, in seconds; null until some have.
    pub reads_lag_seconds: Option<f64>,
    /// How many batches of counts wait for it.
    pub outbox: i64,
    /// For how many seconds the oldest has waited.
    pub outbox_seconds: f64,
    /// The last piece of the outbox that it has.
    pub mark: i64,
    /// How far the time of day here is ahead of the database's, in seconds. Nothing rests on it.
    pub clock_offset_seconds: f64,
    /// The last generation that was published.
    pub generation: i64,
    /// Whom the last change here waits for.
    pub waits_for: Vec<String>,
}

#[derive(Debug)]
pub(super) struct FleetShared {
    pub(super) config: FleetConfig,
    pub(super) store: PathBuf,
    pub(super) gateway: Arc<Reloader>,
    pub(super) recorder: Arc<Recorder>,
    /// And when the database last answered.
    pub(super) status: Mutex<(FleetStatus, Option<Instant>)>,
}

impl Fleet {
    /// Becomes a member, on a thread of its own.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        config: &Config,
        fleet: &FleetConfig,
        gateway: &Arc<Reloader>,
        recorder: &Arc<Recorder>,
    ) -> io::Result<Self> {
        gateway.standing.join();
        let status = FleetStatus { name: fleet.name.clone(), ..FleetStatus::default() };
        let shared = Arc::new(FleetShared {
            config: fleet.clone(),
            store: config.store_path(),
            gateway: Arc::clone(gateway),
            recorder: Arc::clone(recorder),
            status: Mutex::new((status, None)),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let task = FleetTask::new(Arc::clone(&shared), stopped);
        let thread = std::thread::Builder::new().name("fleet".to_owned()).spawn(move || {
            runtime.block_on(task.run());
            // A reload is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { shared, stop, thread: Mutex::new(Some(thread)) })
    }

    /// What the member is doing.
    pub fn status(&self) -> FleetStatus {
        let (mut status, last) = self.shared.status.lock().clone();
        let standing = match self.shared.gateway.standing.doubt() {
            None => "member",
            Some(FleetDoubt::Joining) => "joining",
            Some(FleetDoubt::Isolated) => "isolated",
        };
        status.standing = Cow::Borrowed(standing);
        status.lag_seconds = last.map(|last| last.elapsed().as_secs_f64());
        status
    }

    /// Sends the last counts and leaves: others need not wait for this gateway any more. The store is closed before.
    pub fn close(&self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.lock().take() {
            // It has no way to fail but a panic, which its own hook has reported.
            let _ = thread.join();
        }
    }
}
