//! One connection from accept to end, on a listener of the proxy.

use super::admission::{Admission, Permit};
use super::guarded::Guarded;
use super::line::Line;
use super::places::Places;
use super::preamble;
use crate::config::{Config, ListenerConfig};
use crate::policy::CurrentPolicy;
use crate::proxy::accept::{Accepted, Serve};
use crate::record::ConnectionEvent;
use crate::request::address::Networks;
use pingora::apps::ServerApp;
use pingora::listeners::tls::Acceptor;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::{ALPN, GetSocketDigest as _, IO, SocketDigest, Stream};
use pingora::tls::ServerConfig;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::timeout;

/// What one worker does with what a listener of the proxy accepts.
pub(in crate::proxy) struct Front<A> {
    app: Arc<A>,
    current: Arc<CurrentPolicy>,
    admission: Arc<Admission>,
    config: ListenerConfig,
    tls: Option<Acceptor>,
}

/// Whose connection it is.
struct Introduced {
    stream: L4Stream,
    permit: Permit,
    /// Whether its peer may be a proxy that writes fields.
    may_relay: bool,
}

impl<A> Front<A> {
    pub(in crate::proxy) fn new(
        app: &Arc<A>,
        current: &Arc<CurrentPolicy>,
        admission: &Arc<Admission>,
        config: ListenerConfig,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        Self {
            app: Arc::clone(app),
            current: Arc::clone(current),
            admission: Arc::clone(admission),
            config,
            tls: tls.map(Acceptor::from_server_config),
        }
    }
}

impl<A: ServerApp + Send + Sync + 'static> Serve for Front<A> {
    async fn serve(self: Arc<Self>, accepted: Accepted, shutdown: watch::Receiver<bool>) {
        // On the heap, and gone when it is done: a handshake takes kilobytes, which every idle connection would
        // otherwise hold to its end.
        let Some(stream) = Box::pin(self.admitted(accepted)).await else { return };
        self.app.process_new(stream, &shutdown).await;
    }
}

impl<A> Front<A> {
    /// The connection under guard, ready for requests; `None` where it got no further.
    async fn admitted(&self, accepted: Accepted) -> Option<Stream> {
        let config = Arc::clone(&self.current.get().config);
        // Without a place it is closed at once: a word would cost what there is too little of.
        let permit = self.admission.enter(&config.limits)?;
        let Introduced { stream, permit, may_relay } = self.introduced(accepted, permit, &config).await?;
        let Some(acceptor) = &self.tls else { return self.guarded(stream, permit, may_relay, &config) };
        let handshake = timeout(config.timeouts.tls_handshake, acceptor.tls_handshake(stream));
        if let Ok(Ok(stream)) = handshake.await {
            return self.guarded(stream, permit, may_relay, &config);
        }
        // The reason is the client's; the count is all an operator can use.
        self.admission.totals.count(ConnectionEvent::TlsFailed);
        None
    }

    /// Finds out whose connection it is, and counts it for that address.
    async fn introduced(
        &self,
        accepted: Accepted,
        mut permit: Permit,
        config: &Config,
    ) -> Option<Introduced> {
        let Accepted { mut stream, peer } = accepted;
        let (mut client, mut may_relay) = (peer, true);
        if self.config.proxy_protocol {
            let refused = || self.admission.totals.count(ConnectionEvent::ProxyHeaderRefused);
            // Anybody can write such a header. Only of a proxy that the operator named it is believed, and
            // from others there is nothing else to expect on such a listener.
            if !peer.is_some_and(|peer| config.trusted_proxies.contain(peer.ip())) {
                refused();
                return None;
            }
            let header = timeout(config.timeouts.client_header, preamble::read(&mut stream));
            let Ok(Ok(named)) = header.await else {
                refused();
                return None;
            };
            client = named.or(peer);
            // Whoever passes bytes on writes no fields: all that come are of those behind it.
            may_relay = named.is_some() && self.config.believe_named_proxies;
        }
        let is_itself = client == peer;
        let address = client.map(|client| client.ip());
        let nobody = Networks::default();
        let trusted = if may_relay || is_itself { &config.trusted_proxies } else { &nobody };
        if address.is_some_and(|address| !permit.claim(address, &config.limits, trusted)) {
            return None;
        }
        stream.set_socket_digest(digest(&stream, client));
        Some(Introduced { stream, permit, may_relay })
    }

    fn guarded<S: IO + 'static>(
        &self,
        stream: S,
        permit: Permit,
        may_relay: bool,
        config: &Config,
    ) -> Option<Stream> {
        let is_multiplexed = matches!(stream.selected_alpn_proto(), Some(ALPN::H2));
        let places = is_multiplexed.then(|| Places::of(permit.requester()));
        let totals = Arc::clone(&self.admission.totals);
        let line = Line::new(config.limits, config.timeouts, places, totals).relaying(may_relay);
        Guarded::new(stream, line, permit).ok().map(|stream| Box::new(stream) as Stream)
    }
}

/// What pingora is told of the socket. The client that a proxy named stands there as if it had connected
/// itself.
fn digest(stream: &L4Stream, client: Option<SocketAddr>) -> SocketDigest {
    let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
    let _ = digest.peer_addr.set(client.map(Into::into));
    digest
}
