//! What the service manager is told (`sd_notify(3)`): ready, reloading, stopping, and that we still live.
//!
//! Without `NOTIFY_SOCKET` nobody wants to be told, and nothing is sent.

use super::Stop;
use sd_notify::NotifyState;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Once;
use std::time::Duration;

/// Everything listens, and requests are answered.
pub(crate) fn tell_ready() {
    told(sd_notify::notify(&[NotifyState::Ready, NotifyState::Status("serving")]));
}

/// A reload begins; [`tell_ready`] says that it is over.
pub(super) fn tell_reloading() {
    told(NotifyState::monotonic_usec_now().and_then(|now| sd_notify::notify(&[NotifyState::Reloading, now])));
}

/// The process is about to end. Where another one goes on as this service it is named instead: the
/// service is not stopping, and the manager follows that one from now on. It only listens to the process
/// that it follows, so nobody but the former one can say so.
pub(crate) fn tell_leaving(stop: Stop) {
    told(match stop {
        Stop::Successor { process: Some(process) } => sd_notify::notify(&[NotifyState::MainPid(process)]),
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
