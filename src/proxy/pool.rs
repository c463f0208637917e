//! Connections to origins of HTTP/1: opened by pingora, kept by each worker for itself.
//!
//! Pingora's own pool starts a task for each connection that comes back to it, which waits for the origin to close it.
//! Here a connection is looked at when it is taken. That saves a fifth of what a forwarded request costs.

use super::fault::OriginFault;
use super::origin::reached;
use crate::policy::{Upstream, Upstreams};
use pingora::connectors::TransportConnector;
use pingora::protocols::Stream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead as _, ReadBuf};

/// The connections of one worker to all origins.
pub struct OriginConnections {
    connector: TransportConnector,
    most: usize,
    kept: Mutex<Vec<IdleConnection>>,
}

/// A connection that may be used again.
struct IdleConnection {
    connection: OriginConnection,
    since: Instant,
    /// How long it may be kept.
    idle: Duration,
}

/// A connection to a server of an origin.
pub(super) struct OriginConnection {
    pub(super) stream: Stream,
    server: Arc<Upstream>,
    /// The certificates that the server's was verified by; connections are shared by those who trust the same.
    ca: Option<Arc<[Vec<u8>]>>,
    address: Option<std::net::SocketAddr>,
    /// Bytes that were read and not used yet, and where they begin.
    pub(super) buffer: Vec<u8>,
    pub(super) start: usize,
    /// Whether it has carried a request before.
    pub(super) is_kept: bool,
}

impl OriginConnections {
    /// None are open yet. At most `most` idle ones are kept.
    #[must_use]
    pub(crate) fn new(most: usize) -> Self {
        Self { connector: TransportConnector::new(None), most, kept: Mutex::default() }
    }

    /// A kept connection to `server` that the origin has not closed; the one that was used last, if that was less than
    /// `most` ago.
    pub(super) fn take(
        &self,
        origin: &Upstreams,
        server: &Arc<Upstream>,
        most: Duration,
    ) -> Option<OriginConnection> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(index) = kept.iter().rposition(|kept| kept.connection.is_for(origin, server)) {
            if kept.get(index)?.since.elapsed() > most {
                return None;
            }
            let IdleConnection { mut connection, since, idle } = kept.remove(index);
            if since.elapsed() < idle && connection.is_at_its_place() && connection.is_quiet() {
                connection.is_kept = true;
                return Some(connection);
            }
        }
        None
    }

    /// Opens a connection to `server`; a further attempt takes another one of several addresses.
    pub(super) async fn open(
        &self,
        origin: &Upstreams,
        server: &Arc<Upstream>,
        attempt: usize,
    ) -> Result<OriginConnection, OriginFault> {
        let fault = |error: Box<pingora::Error>| OriginFault::of(&error);
        let peer = reached(server, attempt, origin).map_err(fault)?;
        let stream = self.connector.new_stream(&peer).await.map_err(fault)?;
        let address = peer._address.as_inet().copied();
        let (server, ca) = (Arc::clone(server), origin.ca.clone());
        Ok(OriginConnection { stream, server, ca, address, buffer: Vec::new(), start: 0, is_kept: false })
    }

    /// Keeps a connection whose exchange is over.
    pub(super) fn keep(&self, mut connection: OriginConnection, idle: Duration) {
        // What an idle connection holds is for nobody.
        connection.buffer = Vec::new();
        connection.start = 0;
        let now = Instant::now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= self.most && !kept.is_empty() {
            kept.remove(0);
        }
        kept.push(IdleConnection { connection, since: now, idle });
    }

    /// Closes the connections that were idle for too long, or that their origins have closed.
    pub(crate) fn sweep(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain_mut(|kept| kept.since.elapsed() < kept.idle && kept.connection.is_quiet());
    }
}

impl OriginConnection {
    /// One to a server that nobody configured.
    #[cfg(test)]
    pub(super) fn of_test(stream: Stream, is_kept: bool) -> Self {
        let arguments =
            crate::config::Arguments { origin: Some("http://127.0.0.1:1".into()), ..Default::default() };
        let config = crate::config::Config::load(&arguments).expect("a configuration");
        let policy = crate::policy::check(config, std::time::SystemTime::now()).expect("a policy");
        let server = policy.sites().first().and_then(|site| site.origin.servers.first()).map(Arc::clone);
        let server = server.expect("a server");
        Self { stream, server, ca: None, address: None, buffer: Vec::new(), start: 0, is_kept }
    }

    fn is_for(&self, origin: &Upstreams, server: &Arc<Upstream>) -> bool {
        Arc::ptr_eq(&self.server, server) && self.ca == origin.ca
    }

    /// Whether the server is still where this connection leads.
    fn is_at_its_place(&self) -> bool {
        self.address.is_none_or(|address| self.server.addresses.load().contains(&address))
    }

    /// Whether the origin has sent nothing unasked: neither its end of the connection nor an answer to no request.
    fn is_quiet(&mut self) -> bool {
        let mut byte = [0; 1];
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut self.stream).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
    }
}

impl std::fmt::Debug for OriginConnections {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("OriginConnections").field("most", &self.most).finish_non_exhaustive()
    }
}
