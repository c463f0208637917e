//! Connections to origins of HTTP/1: opened by pingora, kept by each worker for itself.
//!
//! Pingora's own pool starts a task for each connection that comes back to it, which waits for the origin to close it.
//! Here a connection is looked at when it is taken. That saves a fifth of what a forwarded request costs.

use super::fault::OriginFault;
use crate::config::OriginUrl;
use crate::policy::{Upstream, Upstreams};
use pingora::connectors::TransportConnector;
use pingora::protocols::Stream;
use pingora::upstreams::peer::HttpPeer;
use pingora::utils::tls::{WrappedX509, parse_x509};
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
        let peer = reached(server, attempt, origin)?;
        let stream = self.connector.new_stream(&peer).await.map_err(|error| OriginFault::of(&error))?;
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

/// The server as pingora's peer: addresses that were resolved beforehand, every time limit set, and TLS that always verifies.
/// A further attempt at a server of several addresses takes another one of them.
fn reached(server: &Upstream, attempt: usize, origin: &Upstreams) -> Result<HttpPeer, OriginFault> {
    let mut peer = match &server.server.url {
        OriginUrl::Socket(path) => {
            let peer = path.to_str().map(|path| HttpPeer::new_uds(path, false, "localhost".to_owned()));
            peer.and_then(Result::ok).ok_or(OriginFault::NoAddress)?
        }
        OriginUrl::Tcp { tls, host, .. } => {
            let addresses = server.addresses.load();
            let address = addresses.get(attempt % addresses.len().max(1)).ok_or(OriginFault::NoAddress)?;
            // The name that its certificate must be for.
            let name = server.server.server_name.as_deref().unwrap_or(host);
            HttpPeer::new(address, *tls, name.to_owned())
        }
    };
    // Pingora has no time limits of its own.
    let connect = *origin.timeouts.origin_connect;
    peer.options.connection_timeout = Some(connect);
    // With the TLS handshake, which takes two more ways there and back.
    peer.options.total_connection_timeout = Some(if peer.is_tls() { connect * 2 } else { connect });
    // A server's certificate must be for its name, and signed by whom the operator trusts. Pingora checks neither where there
    // is no name; the configuration always has one.
    peer.options.verify_cert = true;
    peer.options.verify_hostname = true;
    if let Some(certificates) = origin.ca.as_ref().filter(|_| server.server.url.is_tls()) {
        // They were read as certificates when the policy was loaded.
        let authorities = certificates.iter().map(|der| WrappedX509::new(der.clone(), parse_x509));
        peer.options.ca = Some(authorities.collect());
    }
    Ok(peer)
}
