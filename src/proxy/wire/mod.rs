//! What stands between a client's connection and pingora: only whole, well-formed messages pass.
//!
//! Pingora takes some malformed requests as they are, mends others and answers the rest where nobody can
//! count them. Here every HTTP/1 connection goes through a [`Gate`] that reads the same octets first, by the
//! grammar of [`crate::request::message`]. HTTP/2 has its own framing, and passes; its heads are looked at when
//! they are whole.

mod gate;
mod malformed;
mod multiplexed;
mod stream;

pub(super) use gate::Gate;
pub(super) use multiplexed::fault;

use super::Gateway;
use super::asked::{Asked, peer};
use super::listen::Line;
use crate::request::message::HeadLimits;
use async_trait::async_trait;
use malformed::Malformed;
use pingora::apps::{HttpPersistentSettings, HttpServerApp, ServerApp};
use pingora::http::RequestHeader;
use pingora::protocols::http::ServerSession;
use pingora::protocols::{ALPN, Shutdown, Stream};
use pingora::proxy::Session;
use pingora::server::ShutdownWatch;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::watch;

/// An application that sees only well-formed requests, and of HTTP/1 only whole heads.
///
/// Pingora's own loop over the requests of a connection keeps some 23 KiB for a request that has yet to come. Here a
/// request is begun once its head is there, so that idle, silent and slow connections stay small.
#[derive(Debug)]
pub(super) struct Checked<A> {
    app: Arc<A>,
    /// Refuses what it can before `app` begins a request.
    gateway: Gateway,
    malformed: Arc<Malformed>,
    /// Whether connections between two requests are to be closed.
    closing: watch::Sender<bool>,
}

impl<A> Checked<A> {
    /// Stands in front of `app`, counts what it refuses, and tells of it in the access log.
    pub(super) fn new(app: Arc<A>, gateway: Gateway) -> Self {
        let (current, totals) = (Arc::clone(&gateway.current), Arc::clone(&gateway.totals));
        let malformed = Arc::new(Malformed::new(current, totals, gateway.access_log.clone()));
        Self { app, gateway, malformed, closing: watch::Sender::new(false) }
    }

    /// How large the heads of a new connection may be.
    fn limits(&self) -> HeadLimits {
        let limits = self.gateway.current.get().config.limits;
        HeadLimits { octets: limits.header_size, fields: limits.header_fields }
    }
}

/// What is known of a connection before its requests.
#[derive(Debug)]
pub(super) struct Caller {
    /// The address that connected to us.
    pub(super) peer: Option<IpAddr>,
    /// Whether TLS is spoken.
    pub(super) is_tls: bool,
    pub(super) line: Arc<Line>,
}

impl Caller {
    fn of(stream: &Stream) -> Option<Self> {
        let socket = stream.get_socket_digest();
        let is_tls = stream.get_ssl_digest().is_some();
        Some(Self { peer: socket.as_deref().and_then(peer), is_tls, line: Line::behind(&**stream)? })
    }

    /// A request of this caller.
    pub(super) fn asks<'a>(&self, head: &'a RequestHeader) -> Asked<'a> {
        Asked { head, peer: self.peer, is_tls: self.is_tls, may_be_relayed: self.line.may_relay() }
    }
}

/// What has become of a request whose head is whole.
enum Turn {
    /// It is answered.
    Answered,
    /// The same, and the connection is over.
    Over,
    /// It is left to others.
    Others,
}

/// Waits until a whole head is there; `false` when none will come, or the connection is to be closed, which `closing`
/// says. A head that has begun by then is in flight, and answered still: its own time limit and the grace of the stop
/// bound it.
async fn has_head(gate: &mut Gate, closing: &mut Option<Pin<&mut impl Future<Output = ()>>>) -> bool {
    let head = poll_fn(|cx| {
        // What has come already is looked at first.
        if let Poll::Ready(head) = gate.poll_head(cx) {
            return Poll::Ready(Some(head));
        }
        match closing.as_mut().map(|closing| closing.as_mut().poll(cx)) {
            Some(Poll::Ready(())) => {
                *closing = None;
                Poll::Ready(None)
            }
            _ if closing.is_none() && !gate.has_begun() => Poll::Ready(None),
            _ => Poll::Pending,
        }
    });
    match head.await {
        Some(head) => matches!(head, Ok(true)),
        None => gate.has_begun() && matches!(poll_fn(|cx| gate.poll_head(cx)).await, Ok(true)),
    }
}

/// A request on `stream`, with what pingora keeps of the one before it.
fn session(stream: Stream, kept: Option<HttpPersistentSettings>, shutdown: &ShutdownWatch) -> ServerSession {
    let mut session = ServerSession::new_http1(stream);
    match kept {
        Some(kept) => kept.apply_to_session(&mut session),
        // How long is no matter here: the guard of the connection sees to that.
        None => session.set_keepalive((!*shutdown.borrow()).then_some(60)),
    }
    session
}

impl<A: HttpServerApp + Send + Sync + 'static> Checked<A> {
    /// Refuses the request whose head is next, where that can be done without `app`.
    async fn refuses(&self, gate: &mut Gate, caller: &Caller, shutdown: &ShutdownWatch) -> Turn {
        let refused =
            gate.whole_head().and_then(|head| self.gateway.refuse_early(head, caller, *shutdown.borrow()));
        let Some(refusal) = refused else { return Turn::Others };
        let sent = gate.answer(refusal.octets()).await;
        let is_over = refusal.is_last || sent.is_err();
        self.gateway.refused(refusal, caller, sent.is_ok());
        gate.release();
        if is_over {
            Shutdown::shutdown(gate).await;
            return Turn::Over;
        }
        Turn::Answered
    }

    /// Serves a connection of HTTP/2. Pingora bounds its requests only by saying goodbye when the whole gateway
    /// stops; so each connection is told of a stop of its own.
    async fn multiplexed(&self, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        let Some(line) = Line::behind(&*stream) else { return self.app.process_new(stream, shutdown).await };
        let mut stop = shutdown.clone();
        let (goodbye, told) = watch::channel(*shutdown.borrow());
        let served = self.app.process_new(stream, &told);
        let said = async {
            // Whoever stops the gateway, or nobody any more, ends the wait.
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => {}
                () = line.farewell() => {}
            }
            goodbye.send_replace(true);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            served = served => served,
            () = said => None,
        }
    }
}

#[async_trait]
impl<A: HttpServerApp + Send + Sync + 'static> ServerApp for Checked<A> {
    async fn process_new(self: &Arc<Self>, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        if matches!(stream.selected_alpn_proto(), Some(ALPN::H2)) {
            return self.multiplexed(stream, shutdown).await;
        }
        let caller = Caller::of(&stream);
        let mut gate = Box::new(Gate::new(stream, self.limits(), Arc::clone(&self.malformed)));
        // One wait for all requests: to begin and end it each time would cost more than to look at it.
        let mut stop = self.closing.subscribe();
        let closing = pin!(async { drop(stop.wait_for(|closing| *closing).await) });
        let (mut closing, mut kept) = (Some(closing), None);
        // A client's next request is mostly like its last one: after one that was not refused, nobody looks.
        let mut is_suspect = true;
        while has_head(&mut gate, &mut closing).await {
            if let Some(caller) = caller.as_ref().filter(|_| is_suspect) {
                match self.refuses(&mut gate, caller, shutdown).await {
                    Turn::Answered => continue,
                    Turn::Over => return None,
                    Turn::Others => {}
                }
            }
            let answered = self.app.process_new_http(session(gate, kept, shutdown), shutdown);
            let (stream, settings) = answered.await?.consume();
            gate = stream.into_any().downcast().ok()?;
            kept = settings;
            is_suspect = caller.as_ref().is_some_and(|caller| caller.line.has_refused());
        }
        None
    }

    async fn cleanup(&self) {
        self.closing.send_replace(true);
        self.app.http_cleanup().await;
    }
}

/// The gate of a session's connection; HTTP/2 has none.
pub(super) fn gate(session: &Session) -> Option<&Gate> {
    (**session.stream()?).as_any().downcast_ref()
}
