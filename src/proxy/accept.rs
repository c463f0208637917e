//! Our own accept loops around pingora's connection handling.
//!
//! Pingora's `Server` binds late (a taken port does not end the process), swallows SIGHUP, sleeps through
//! the whole grace period on SIGTERM, and cannot say which port it was given. An accept loop of our own
//! owns its socket from the first moment. What is accepted goes to a [`Serve`]: the proxy's listeners put a
//! guard around it first, the operator's own pages go to pingora as they are.

use super::workers::Crew;
use pingora::apps::ServerApp;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::{GetSocketDigest as _, SocketDigest};
use std::future::Future;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::AsRawFd as _;
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
pub(super) struct Accepted {
    pub(super) stream: L4Stream,
    /// Who opened it; `None` for a Unix socket.
    pub(super) peer: Option<SocketAddr>,
}

/// What is done with an accepted connection, to its end.
pub(super) trait Serve: Send + Sync + 'static {
    fn serve(
        self: Arc<Self>,
        accepted: Accepted,
        shutdown: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send;
}

/// Serves connections with nothing in between: for those who may be trusted not to abuse them.
pub(super) struct Direct<A>(pub(super) Arc<A>);

impl<A: ServerApp + Send + Sync + 'static> Serve for Direct<A> {
    async fn serve(self: Arc<Self>, accepted: Accepted, shutdown: watch::Receiver<bool>) {
        let mut stream = accepted.stream;
        let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
        let _ = digest.peer_addr.set(accepted.peer.map(Into::into));
        stream.set_socket_digest(digest);
        self.0.process_new(Box::new(stream), &shutdown).await;
    }
}

/// The connections that are open, and a way to wait until none is.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: AtomicUsize,
    closed: Notify,
}

/// One open connection; closing it is dropping this.
pub(super) struct Open(Arc<Connections>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Release);
        self.0.closed.notify_waiters();
    }
}

impl Connections {
    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(self))
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

/// Accepts connections until `shutdown` says so, and gives each to one of `crew`, and to that one's own of `services`;
/// the socket is closed then. The connections go on until the crew is told.
pub(super) async fn accept<S: Serve>(
    listener: Listener,
    crew: Crew,
    services: Vec<Arc<S>>,
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
                give(newcomer, &crew, &services, connections.open());
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
fn give<S: Serve>(newcomer: Newcomer, crew: &Crew, services: &[Arc<S>], open: Open) {
    let Some(share) = crew.share() else { return };
    let Some(service) = services.get(share.index).map(Arc::clone) else { return };
    let newcomer = if share.stays() { Ok(newcomer) } else { newcomer.leave() };
    let (runtime, shutdown) = (share.runtime().clone(), share.stopped());
    runtime.spawn(async move {
        match newcomer.and_then(Newcomer::arrive) {
            Ok(accepted) => service.serve(accepted, shutdown).await,
            Err(error) => tracing::warn!("cannot wait for an accepted connection: {error}"),
        }
        drop((open, share));
    });
}

async fn next(listener: &Listener) -> io::Result<Newcomer> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            // A client that is gone already cannot be told; pingora will notice it too.
            let _ = stream.set_nodelay(true);
            Ok(Newcomer { socket: Socket::Tcp(stream), peer: Some(peer) })
        }
        Listener::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            Ok(Newcomer { socket: Socket::Unix(stream), peer: None })
        }
    }
}

/// A connection on its way to whoever serves it.
struct Newcomer {
    socket: Socket,
    peer: Option<SocketAddr>,
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// For another thread, which will wait for it in its own runtime.
    Leaving(net::TcpStream),
}

impl Newcomer {
    /// Takes the connection out of this thread's runtime. Those of Unix sockets are served where they are accepted.
    fn leave(self) -> io::Result<Self> {
        let socket = match self.socket {
            Socket::Tcp(stream) => Socket::Leaving(stream.into_std()?),
            other => other,
        };
        Ok(Self { socket, ..self })
    }

    /// The connection in the runtime of the thread that this is called on.
    fn arrive(self) -> io::Result<Accepted> {
        let stream = match self.socket {
            Socket::Tcp(stream) => L4Stream::from(stream),
            Socket::Unix(stream) => L4Stream::from(stream),
            Socket::Leaving(stream) => L4Stream::from(TcpStream::from_std(stream)?),
        };
        Ok(Accepted { stream, peer: self.peer })
    }
}
