//! Accept loops: each owns its socket from the first moment, and gives what it accepts to a worker.

use super::front::Front;
use super::workers::WorkerPool;
use std::io;
use std::net::{self, IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{Notify, watch};

/// How long to wait after an error that a next `accept` would meet again at once, such as the limit of
/// open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound socket.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// An accepted connection, where it will be served.
pub(super) enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

/// The connections that are open, and a way to wait until none is.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: AtomicUsize,
    closed: Notify,
}

/// One open connection; closing it is dropping this.
pub(super) struct OpenConnection(Arc<Connections>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Release);
        self.0.closed.notify_waiters();
    }
}

impl Connections {
    pub(super) fn open(self: &Arc<Self>) -> OpenConnection {
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    /// Waits until no connection is open.
    pub(super) async fn none(&self) {
        loop {
            let closed = self.closed.notified();
            if self.open.load(Ordering::Acquire) == 0 {
                return;
            }
            closed.await;
        }
    }
}

/// Accepts connections until `shutdown` says so, and gives each to one of `worker_pool`, and to that one's own of `fronts`;
/// the socket is closed then. The connections go on until the crew is told.
pub(super) async fn accept(
    listener: Listener,
    worker_pool: WorkerPool,
    fronts: Vec<Arc<Front>>,
    mut shutdown: watch::Receiver<bool>,
    connections: Arc<Connections>,
) {
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            // Who comes now is left to whoever listens next.
            biased;
            _ = shutdown.wait_for(|stop| *stop) => return,
            accepted = next(&listener) => accepted,
        };
        match accepted {
            Ok(newcomer) => {
                failing = false;
                give(newcomer, &worker_pool, &fronts, connections.open());
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
fn give(newcomer: IncomingConnection, worker_pool: &WorkerPool, fronts: &[Arc<Front>], open: OpenConnection) {
    let Some(slot) = worker_pool.take_slot() else { return };
    let Some(front) = fronts.get(slot.index).map(Arc::clone) else { return };
    // Without a place it is closed at once: a word would cost what there is too little of.
    let Some(permit) = front.enter(newcomer.peer()) else { return };
    let newcomer = if slot.stays() { Ok(newcomer) } else { newcomer.leave() };
    let (runtime, shutdown) = (slot.runtime().clone(), slot.stopped());
    runtime.spawn(async move {
        match newcomer.and_then(IncomingConnection::arrive) {
            // On the heap, where its size is its own: the next size of a task would be half as large again.
            Ok(accepted) => Box::pin(front.serve(accepted, permit, shutdown)).await,
            Err(error) => tracing::warn!("cannot wait for an accepted connection: {error}"),
        }
        drop((open, slot));
    });
}

async fn next(listener: &Listener) -> io::Result<IncomingConnection> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            // A client that is gone already cannot be told; whoever reads from it will notice, too.
            let _ = stream.set_nodelay(true);
            Ok(IncomingConnection::Here(Accepted::Tcp(stream, peer)))
        }
        Listener::Unix(listener) => Ok(IncomingConnection::Here(Accepted::Unix(listener.accept().await?.0))),
    }
}

/// A connection on its way to whoever serves it.
enum IncomingConnection {
    Here(Accepted),
    /// For another thread, which will wait for it in its own runtime.
    Leaving(net::TcpStream, SocketAddr),
}

impl IncomingConnection {
    /// Who connected, where that has an address.
    const fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Here(Accepted::Tcp(_, peer)) | Self::Leaving(_, peer) => Some(peer.ip()),
            Self::Here(Accepted::Unix(_)) => None,
        }
    }

    /// Takes the connection out of this thread's runtime. Those of Unix sockets are served where they are accepted.
    fn leave(self) -> io::Result<Self> {
        match self {
            Self::Here(Accepted::Tcp(stream, peer)) => Ok(Self::Leaving(stream.into_std()?, peer)),
            other => Ok(other),
        }
    }

    /// The connection in the runtime of the thread that this is called on.
    fn arrive(self) -> io::Result<Accepted> {
        match self {
            Self::Here(accepted) => Ok(accepted),
            Self::Leaving(stream, peer) => Ok(Accepted::Tcp(TcpStream::from_std(stream)?, peer)),
        }
    }
}
