//! Our own accept loops around pingora's connection handling.
//!
//! Pingora's `Server` binds late (a taken port does not end the process), swallows SIGHUP, sleeps through
//! the whole grace period on SIGTERM, and cannot say which port it was given. An accept loop of our own
//! owns its socket from the first moment, and everything from the accepted connection on is pingora's.

use pingora::apps::ServerApp;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::{GetSocketDigest as _, SocketDigest, Stream};
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Notify, watch};

/// How long to wait after an error that a next `accept` would meet again at once, such as the limit of
/// open files.
const PAUSE: Duration = Duration::from_millis(100);

/// A bound socket.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The connections that are open, and a way to wait until none is.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: AtomicUsize,
    closed: Notify,
}

/// One open connection; closing it is dropping this.
struct Open(Arc<Connections>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Release);
        self.0.closed.notify_waiters();
    }
}

impl Connections {
    fn open(self: &Arc<Self>) -> Open {
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

/// Accepts connections for `app` until `shutdown` says so; the socket is closed then.
pub(super) async fn accept<A>(
    listener: Listener,
    app: Arc<A>,
    mut shutdown: watch::Receiver<bool>,
    connections: Arc<Connections>,
) where
    A: ServerApp + Send + Sync + 'static,
{
    let for_sessions = shutdown.clone();
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            accepted = next(&listener) => accepted,
            _ = shutdown.wait_for(|stop| *stop) => return,
        };
        match accepted {
            Ok(stream) => {
                failing = false;
                let (app, shutdown, open) = (Arc::clone(&app), for_sessions.clone(), connections.open());
                tokio::spawn(async move {
                    app.process_new(stream, &shutdown).await;
                    drop(open);
                });
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

async fn next(listener: &Listener) -> io::Result<Stream> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            // A client that is gone already cannot be told; pingora will notice it too.
            let _ = stream.set_nodelay(true);
            let mut stream = L4Stream::from(stream);
            let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
            let _ = digest.peer_addr.set(Some(peer.into()));
            stream.set_socket_digest(digest);
            Ok(Box::new(stream))
        }
        Listener::Unix(listener) => {
            let (stream, _) = listener.accept().await?;
            let mut stream = L4Stream::from(stream);
            let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
            let _ = digest.peer_addr.set(None);
            stream.set_socket_digest(digest);
            Ok(Box::new(stream))
        }
    }
}
