//! HTTP/2 clients: pingora reads their frames, and this bounds what they may cost.

mod fragment;
mod frames;
mod guarded;
mod places;
mod state;
mod stream;

pub(super) use places::{Requester, Requests};

use super::admission::Permit;
use super::connection::{Lifetime, Site};
use crate::config::{Limits, Timeouts};
use crate::gateway::ConnectionInfo;
use async_trait::async_trait;
use guarded::Guarded;
use pingora::apps::{HttpServerApp, ReusedHttpStream, ServerApp as _};
use pingora::protocols::IO;
use pingora::protocols::http::ServerSession;
use pingora::protocols::http::v2::server::{H2Options, default_h2_options};
use pingora::server::ShutdownWatch;
use places::Places;
use state::ConnectionState;
use std::sync::Arc;
use tokio::sync::watch;

/// How much of an answer the library holds until it can be sent. Its own 400 KiB make nothing faster.
const SEND_BUFFER: usize = 64 * 1024;

/// Serves a connection to its end. Pingora bounds its requests only by saying goodbye when the whole gateway stops; so
/// each connection is told of a stop of its own.
pub(super) async fn serve<S: IO + 'static>(
    site: &Arc<Site>,
    stream: S,
    info: ConnectionInfo,
    permit: Permit,
    (limits, timeouts): (Limits, Timeouts),
    mut lifetime: Lifetime,
) {
    let places = Places::of(permit.requester());
    let state = ConnectionState::new(limits, timeouts, info, places, permit.totals());
    let state = Arc::new(state);
    let guarded = Guarded::new(stream, &state, permit);
    let (goodbye, told) = watch::channel(*lifetime.stopping.borrow());
    let connection = Arc::new(Connection { site: Arc::clone(site), state: Arc::clone(&state) });
    let served = connection.process_new(Box::new(guarded), &told);
    let said = async {
        // Whoever stops the gateway, or nobody any more, ends the wait.
        tokio::select! {
            _ = lifetime.stopping.wait_for(|stop| *stop) => {}
            () = state.used_up() => {}
        }
        goodbye.send_replace(true);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = served => {}
        () = said => {}
    }
    state.close();
}

/// One connection, for whose requests pingora starts a task each.
struct Connection {
    site: Arc<Site>,
    state: Arc<ConnectionState>,
}

#[async_trait]
impl HttpServerApp for Connection {
    async fn process_new_http(
        self: &Arc<Self>,
        session: ServerSession,
        _: &ShutdownWatch,
    ) -> Option<ReusedHttpStream> {
        if let ServerSession::H2(session) = session {
            stream::serve(session, Arc::clone(&self.state), &self.site).await;
        }
        None
    }

    /// What the library bounds itself.
    fn h2_options(&self) -> Option<H2Options> {
        let limits = &self.state.limits;
        // Pingora's own options are the ones with bounds; those of the h2 library are not (RFC 9113 §10.5.1).
        let mut h2 = default_h2_options();
        h2.max_concurrent_streams(limits.h2_streams);
        h2.max_send_buffer_size(SEND_BUFFER);
        h2.max_header_list_size(u32::try_from(limits.header_size).unwrap_or(u32::MAX));
        // Whoever leaves a page cancels all of its streams at once, perhaps before they were looked at; how often that may
        // happen is counted by the guard. The library would end the connection at 20.
        h2.max_pending_accept_reset_streams(limits.h2_streams as usize);
        // A client can have its own streams cancelled by breaking the protocol on them (CVE-2025-8671), or by opening more
        // than it may. A good one does so by chance at most, so these are for its whole life.
        h2.max_local_error_reset_streams(Some(limits.h2_resets as usize));
        Some(h2)
    }
}
