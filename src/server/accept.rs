//! Accept loops: each owns its socket from the first moment, and gives what it accepts to a worker.

use super::handler::ConnectionHandler;
use super::workers::WorkerPool;
use rustix::net::{SocketFlags, acceptfrom_with, sockopt};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// How long to wait after an error that a next `accept` would meet again at once, such as the limit of
/// open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound socket, of TCP or a Unix socket.
pub(super) struct Listener(AsyncFd<OwnedFd>);

/// An accepted connection, before it is served. No thread's runtime watches it yet.
pub(super) struct Accepted {
    pub(super) socket: OwnedFd,
    /// Who connected, where that has an address.
    pub(super) peer: Option<SocketAddr>,
}

impl Listener {
    /// A listener that does not block, in the runtime of the thread that this is called on.
    ///
    /// # Errors
    /// When the kernel does not watch it.
    #[expect(deprecated, reason = "unsound where a descriptor changes; one that is owned here does not")]
    pub(super) fn new(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        AsyncFd::new(socket.into()).map(Self)
    }

    async fn next(&self) -> io::Result<Accepted> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        loop {
            let mut ready = self.0.readable().await?;
            let accepted = ready.try_io(|listener| Ok(acceptfrom_with(listener, flags)?));
            let Ok(accepted) = accepted else { continue };
            let (socket, peer) = accepted?;
            let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
            if peer.is_some() {
                // A client that is gone already cannot be told; whoever reads from it will notice, too.
                let _ = sockopt::set_tcp_nodelay(&socket, true);
            }
            return Ok(Accepted { socket, peer });
        }
    }
}

/// Accepts connections until `shutdown` says so, and gives each to a worker of `worker_pool`, which serves it with its own
/// of `handlers`, as one of `connections`. Then the socket is closed. The connections go on until the worker pool is told to
/// stop.
pub(super) async fn accept(
    listener: Listener,
    worker_pool: WorkerPool,
    handlers: Vec<Arc<ConnectionHandler>>,
    mut shutdown: watch::Receiver<bool>,
    connections: TaskTracker,
) {
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            // Who comes now is left to whoever listens next.
            biased;
            _ = shutdown.wait_for(|stop| *stop) => return,
            accepted = listener.next() => accepted,
        };
        match accepted {
            Ok(newcomer) => {
                failing = false;
                give(newcomer, &worker_pool, &handlers, &connections);
            }
            // The client gave up while it waited; the next one is fine.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                if !failing {
                    tracing::error!("cannot accept connections: {error}");
                }
                failing = true;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Has `newcomer` served by whose turn it is.
fn give(
    newcomer: Accepted,
    worker_pool: &WorkerPool,
    handlers: &[Arc<ConnectionHandler>],
    connections: &TaskTracker,
) {
    let Some(slot) = worker_pool.take_slot() else { return };
    let Some(handler) = handlers.get(slot.index).map(Arc::clone) else { return };
    // Without a place it is closed at once: a word would cost what there is too little of.
    let Some(permit) = handler.enter(newcomer.peer.map(|peer| peer.ip())) else { return };
    // On the heap, where its size is its own: the next size of a task would be half as large again.
    let serving = Box::pin(handler.serve(newcomer, permit, slot.stage()));
    let runtime = slot.runtime().clone();
    let served = async move {
        serving.await;
        drop(slot);
    };
    connections.spawn_on(served, &runtime);
}
