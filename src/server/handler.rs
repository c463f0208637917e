//! One connection from accept to end: it takes a place, reads the header of the PROXY protocol, does the TLS handshake, and
//! then serves the requests over HTTP/1 or HTTP/2.

use super::accept::Accepted;
use super::admission::{Admission, ConnectionRoom, Permit};
use super::connection::{Http1Connection, NewConnection, Service, WorkerContext};
use super::http2;
use super::life::ClientLife;
use super::workers::Stage;
use crate::config::{Config, ConnectionLimits};
use crate::gateway::ConnectionInfo;
use crate::policy::CurrentPolicy;
use crate::record::ConnectionEvent;
use crate::request::prefixes::Prefixes;
use crate::request::proxy_protocol::{LONGEST, parse};
use pingora::listeners::tls::Acceptor;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::tls::TlsStream;
use pingora::protocols::{ALPN, Ssl as _};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, Interest};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Serves the connections that one listener accepts for one worker.
pub(super) struct ConnectionHandler {
    pub(super) service: Service,
    pub(super) current: Arc<CurrentPolicy>,
    pub(super) admission: Arc<Admission>,
    pub(super) room: ConnectionRoom,
    /// Whether connections begin with a header of the PROXY protocol.
    pub(super) proxy_protocol: bool,
    /// Whether fields are believed of proxies that such a header names.
    pub(super) believe_named_proxies: bool,
    pub(super) tls: Option<Acceptor>,
}

/// A connection, by what is spoken there.
enum Opened {
    Plain(Box<Http1Connection<TcpStream>>, ConnectionInfo),
    Tls(Box<Http1Connection<TlsStream<L4Stream>>>, ConnectionInfo),
    Http2(Arc<WorkerContext>, Box<NewConnection<TlsStream<L4Stream>>>, ConnectionInfo),
}

impl ConnectionHandler {
    /// A place for one more connection, if there is one. It is taken when the connection is accepted, so that those which
    /// still wait to be served are counted, and counted for its address first: for what one address has too many of nobody
    /// makes room.
    pub(super) fn enter(&self, peer: Option<IpAddr>) -> Option<Permit> {
        let config = &self.current.get().config;
        let limits = self.limits(config);
        let mut permit = self.admission.enter();
        // Whom a proxy names is read later.
        let client = peer.filter(|_| !self.proxy_protocol);
        let is_in = client.is_none_or(|client| permit.claim(client, &limits, &config.trusted_proxies));
        (is_in && permit.has_room(&limits)).then_some(permit)
    }

    /// Serves a connection to its end.
    pub(super) fn serve(
        self: Arc<Self>,
        accepted: Accepted,
        permit: Permit,
        stage: watch::Receiver<Stage>,
    ) -> impl Future<Output = ()> + Send {
        // On the heap, and gone when it is done: a start takes kilobytes that an idle connection would hold to its end.
        let open = Box::pin(Arc::clone(&self).open(accepted, permit));
        async move {
            let opened = open.await;
            match opened {
                None => {}
                Some(Opened::Plain(connection, info)) => {
                    connection.serve(&self.service, info, stage).await;
                }
                Some(Opened::Tls(connection, info)) => connection.serve(&self.service, info, stage).await,
                Some(Opened::Http2(site, opened, info)) => {
                    Box::pin(http2::serve(&site, *opened, info, stage)).await;
                }
            }
        }
    }

    /// Finds out whose connection it is, and what is spoken there.
    async fn open(self: Arc<Self>, Accepted { socket, peer }: Accepted, permit: Permit) -> Option<Opened> {
        let tell = |error: &io::Error| tracing::warn!("cannot wait for an accepted connection: {error}");
        // A Unix socket is read, written and shut down by the same system calls.
        let mut stream = TcpStream::from_std(socket.into()).inspect_err(tell).ok()?;
        let config = Arc::clone(&self.current.get().config);
        let (permit, info) = self.introduced(&mut stream, peer, permit, &config).await?;
        let life = ClientLife::new(permit, self.limits(&config), Arc::clone(&config.timeouts));
        let socket = peer.map(|_| stream.as_raw_fd());
        let Some(tls) = self.tls.as_ref().filter(|_| info.is_tls) else {
            let opened = NewConnection { stream, socket, life };
            return Some(Opened::Plain(Http1Connection::new(opened), info));
        };
        let handshake = timeout(*config.timeouts.tls_handshake, tls.tls_handshake(L4Stream::from(stream)));
        let Ok(Ok(stream)) = handshake.await else {
            // The reason is the client's; the count is all an operator can use.
            self.admission.totals.count(ConnectionEvent::TlsFailed);
            return None;
        };
        let is_http2 = matches!(stream.selected_alpn_proto(), Some(ALPN::H2));
        let opened = NewConnection { stream, socket, life };
        Some(match &self.service {
            Service::Site(site) if is_http2 => Opened::Http2(Arc::clone(site), Box::new(opened), info),
            _ => Opened::Tls(Http1Connection::new(opened), info),
        })
    }

    fn limits(&self, config: &Config) -> ConnectionLimits {
        match self.service {
            Service::Site(_) => self.room.bound(config.limits),
            Service::Doors(_) => self.room.of_asking(config.limits),
            Service::Pages(_) => self.room.of_pages(config.limits),
        }
    }

    /// Finds out whose connection it is. Nobody's address is known of who comes through a socket of the file system.
    async fn introduced(
        &self,
        stream: &mut TcpStream,
        peer: Option<SocketAddr>,
        mut permit: Permit,
        config: &Config,
    ) -> Option<(Permit, ConnectionInfo)> {
        let Some(peer) = peer else { return Some((permit, ConnectionInfo::new(None, false, false))) };
        let is_asking = matches!(self.service, Service::Doors(_));
        if let Service::Doors(site) = &self.service
            && !config.trusted_proxies.contains(peer.ip().to_canonical())
        {
            site.gateway.tell_of_peer(Some(peer.ip().to_canonical()));
            return None;
        }
        let (mut client, mut may_relay) = (peer, true);
        if self.proxy_protocol {
            // Anybody can write such a header. Only of a proxy that the operator named it is believed, and from others
            // there is nothing else to expect on such a listener.
            let is_believed = config.trusted_proxies.contains(peer.ip());
            let header = timeout(*config.timeouts.client_header, read_proxy_header(stream));
            let header = if is_believed { header.await.ok().and_then(Result::ok) } else { None };
            let Some(named) = header else {
                self.admission.totals.count(ConnectionEvent::ProxyHeaderRefused);
                return None;
            };
            client = named.unwrap_or(peer);
            // Whoever passes bytes on writes no fields: all that come are of those behind it.
            may_relay = named.is_some() && self.believe_named_proxies;
            let nobody = Prefixes::default();
            let trusted = if may_relay || client == peer { &config.trusted_proxies } else { &nobody };
            if !permit.claim(client.ip(), &self.limits(config), trusted) {
                return None;
            }
        }
        let info = ConnectionInfo::new(Some(client.ip()), self.tls.is_some(), may_relay);
        Some((permit, ConnectionInfo { is_asking, ..info }))
    }
}

/// How soon it is looked again for the rest of a header that has not come as a whole, as nearly all do.
const LOOK: Duration = Duration::from_millis(10);

/// Reads the header of the PROXY protocol off a connection, and nothing behind it: whom the proxy names as its client, `None`
/// where it names nobody.
///
/// # Errors
/// When the connection ends, or what comes is no header. Nothing is answered then: whoever speaks is not
/// speaking HTTP.
async fn read_proxy_header(stream: &mut TcpStream) -> io::Result<Option<SocketAddr>> {
    let (mut bytes, mut before) = (vec![0; LONGEST], 0);
    loop {
        let count = stream.peek(&mut bytes).await?;
        let come = bytes.get(..count).filter(|come| !come.is_empty()).ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Some(header) = parse(come).map_err(|_| io::ErrorKind::InvalidData)? {
            stream.read_exact(bytes.get_mut(..header.length).unwrap_or_default()).await?;
            return Ok(header.client);
        }
        // Who has closed its half sends no more of it.
        if count == before && stream.ready(Interest::READABLE).await?.is_read_closed() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        before = count;
        sleep(LOOK).await;
    }
}
