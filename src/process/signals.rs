//! What ends the process or makes it reload: signals, and a successor that serves.

use super::manager::{tell_ready, tell_reloading};
use crate::policy::{Reloader, Trigger};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why the gateway stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::Display)]
pub(crate) enum Stop {
    /// From a service manager.
    #[strum(serialize = "SIGTERM")]
    Terminate,
    /// From a terminal: nobody waits for requests in flight.
    #[strum(serialize = "SIGINT")]
    Interrupt,
    /// Another gateway has taken over the sockets.
    #[strum(serialize = "the new process serves")]
    Successor {
        /// Which process that is, where it is known.
        process: Option<u32>,
    },
}

impl Stop {
    /// How long a connection may go on being idle before it is closed. A client that is just sending a
    /// request on it gets an answer that says "close" instead of a closed connection (RFC 9112 §9.6). After
    /// SIGTERM somebody waits; a successor has all the time.
    pub(crate) const fn idle_time_left(self) -> Duration {
        match self {
            Self::Terminate => Duration::from_millis(250),
            Self::Interrupt => Duration::ZERO,
            Self::Successor { .. } => Duration::from_secs(5),
        }
    }
}

/// Has this process stop, as SIGTERM would.
///
/// # Errors
/// When the system takes no signal.
pub fn terminate() -> io::Result<()> {
    Ok(rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)?)
}

/// The signals a service manager sends.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a further signal to stop.
    pub(crate) async fn next_signal(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for a reason to stop, reloading on SIGHUP meanwhile. `succeeded` ends when a successor serves, and
    /// says which process that is.
    pub(crate) async fn stop(
        &mut self,
        reloader: &Arc<Reloader>,
        succeeded: impl Future<Output = Option<u32>>,
    ) -> Stop {
        tokio::pin!(succeeded);
        let stop = loop {
            tokio::select! {
                _ = self.terminate.recv() => break Stop::Terminate,
                _ = self.interrupt.recv() => break Stop::Interrupt,
                process = &mut succeeded => break Stop::Successor { process },
                _ = self.hangup.recv() => {}
            }
            let reloader = Arc::clone(reloader);
            tokio::task::spawn_blocking(move || {
                tell_reloading();
                if let Err(busy) = reloader.reload(Trigger::Signal, false) {
                    tracing::error!("SIGHUP: {busy}");
                }
                tell_ready();
            });
        };
        tracing::info!("stopping: {stop}");
        stop
    }
}
