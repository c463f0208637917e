//! What ends the process or makes it reload: signals, and a successor that serves. And what the service manager is told
//! (`sd_notify(3)`): ready, reloading, stopping, and that we still live.
//!
//! Without `NOTIFY_SOCKET` nobody wants to be told, and nothing is sent.

use crate::policy::{Reloader, Trigger};
use sd_notify::NotifyState;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Once};
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
    /// Another gateway has taken over the sockets; which process that is, where it is known.
    #[strum(serialize = "the new process serves")]
    Successor(Option<u32>),
}

impl Stop {
    /// How long a connection may go on being idle before it is closed. A client that is just sending a
    /// request on it gets an answer that says "close" instead of a closed connection (RFC 9112 §9.6). After
    /// SIGTERM somebody waits; a successor has all the time.
    pub(crate) const fn idle_time_left(self) -> Duration {
        match self {
            Self::Terminate => Duration::from_millis(250),
            Self::Interrupt => Duration::ZERO,
            Self::Successor(_) => Duration::from_secs(5),
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
                process = &mut succeeded => break Stop::Successor(process),
                _ = self.hangup.recv() => {}
            }
            let reloader = Arc::clone(reloader);
            tokio::task::spawn_blocking(move || {
                // A reload begins; `tell_ready` says that it is over.
                let now = NotifyState::monotonic_usec_now();
                told(now.and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])));
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

/// Everything listens, and requests are answered.
pub(crate) fn tell_ready() {
    told(sd_notify::notify(&[NotifyState::Ready, NotifyState::Status("serving")]));
}

/// The process is about to end. Where another one goes on as this service it is named instead: the
/// service is not stopping, and the manager follows that one from now on. It only listens to the process
/// that it follows, so nobody but the former one can say so.
pub(crate) fn tell_leaving(stop: Stop) {
    told(match stop {
        Stop::Successor(Some(process)) => sd_notify::notify(&[NotifyState::MainPid(process)]),
        _ => sd_notify::notify(&[NotifyState::Stopping, NotifyState::Status("finishing requests")]),
    });
}

/// Says for ever that we live, twice as often as is asked for. First it waits for `answer`, which comes from where
/// requests run: where they do not get their turn, nothing is said, and the service manager starts the gateway
/// anew. Whom `WATCHDOG_PID` means does not matter: it may be a predecessor, for whom this process speaks now.
pub(crate) async fn stay_alive<F: Future<Output = ()>>(answer: impl Fn() -> F) {
    let micros = std::env::var("WATCHDOG_USEC").ok().and_then(|micros| micros.parse().ok());
    let Some(period) = micros.filter(|micros| *micros > 0).map(Duration::from_micros) else { return };
    loop {
        answer().await;
        told(sd_notify::notify(&[NotifyState::Watchdog]));
        tokio::time::sleep(period / 2).await;
    }
}

/// Has a copy of a listening socket kept for the process that follows, should we be started anew: until it
/// listens, clients wait in the queue (`sd_pid_notify_with_fds(3)`). It is given up when the service stops.
pub(crate) fn keep(address: SocketAddr, socket: impl AsFd) {
    let state = [NotifyState::FdStore, NotifyState::FdName(&kept_name(address))];
    told(sd_notify::notify_with_fds(&state, &[socket.as_fd()]));
}

/// Has the manager close what it keeps and nobody listens to any more.
pub(super) fn forget(address: SocketAddr) {
    told(sd_notify::notify(&[NotifyState::FdStoreRemove, NotifyState::FdName(&kept_name(address))]));
}

/// What the socket of an address is called while it is kept. A colon would end the name.
pub(super) fn kept_name(address: SocketAddr) -> String {
    format!("kept_{}", address.to_string().replace(':', "_"))
}

/// Tells once that nobody can be told: the watchdog's word is sent all the time.
fn told(sent: io::Result<()>) {
    static WARNED: Once = Once::new();
    if let Err(error) = sent {
        WARNED.call_once(|| tracing::warn!("cannot notify the service manager: {error}"));
    }
}
