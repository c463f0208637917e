//! What stands between a client's connection and pingora: only whole, well-formed messages pass.
//!
//! Pingora takes some malformed requests as they are, mends others and answers the rest where nobody can
//! count them. Here every HTTP/1 connection goes through a [`Gate`] that reads the same octets first, by the
//! grammar of [`crate::request::message`]. HTTP/2 has its own framing, and passes; its heads are looked at when
//! they are whole.

mod gate;
mod multiplexed;
mod refusing;
mod stream;

pub(super) use gate::Gate;
pub(super) use multiplexed::fault;

use super::listen::Line;
use crate::policy::CurrentPolicy;
use crate::record::Totals;
use crate::request::message::HeadLimits;
use async_trait::async_trait;
use pingora::apps::ServerApp;
use pingora::protocols::{ALPN, Stream};
use pingora::proxy::Session;
use pingora::server::ShutdownWatch;
use std::sync::Arc;
use tokio::sync::watch;

/// An application that sees only well-formed requests.
#[derive(Debug)]
pub(super) struct Checked<A> {
    app: Arc<A>,
    current: Arc<CurrentPolicy>,
    totals: Arc<Totals>,
}

impl<A> Checked<A> {
    /// Stands in front of `app` and counts what it refuses.
    pub(super) fn new(app: A, current: Arc<CurrentPolicy>, totals: Arc<Totals>) -> Self {
        Self { app: Arc::new(app), current, totals }
    }

    /// How large the heads of a new connection may be.
    fn limits(&self) -> HeadLimits {
        let limits = self.current.get().config.limits;
        HeadLimits { octets: limits.header_size, fields: limits.header_fields }
    }
}

impl<A: ServerApp + Send + Sync + 'static> Checked<A> {
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
impl<A: ServerApp + Send + Sync + 'static> ServerApp for Checked<A> {
    async fn process_new(self: &Arc<Self>, stream: Stream, shutdown: &ShutdownWatch) -> Option<Stream> {
        if matches!(stream.selected_alpn_proto(), Some(ALPN::H2)) {
            return self.multiplexed(stream, shutdown).await;
        }
        let gate = Gate::new(stream, self.limits(), Arc::clone(&self.totals));
        self.app.process_new(Box::new(gate), shutdown).await
    }

    async fn cleanup(&self) {
        self.app.cleanup().await;
    }
}

/// The gate of a session's connection; HTTP/2 has none.
pub(super) fn gate(session: &Session) -> Option<&Gate> {
    (**session.stream()?).as_any().downcast_ref()
}
