//! HTTP/2 clients. The crate `h2` reads and writes frames; this module limits what a client may cost.

mod frames;
mod guarded;
mod hpack;
mod paths;
mod state;
mod stream;

use super::connection::{NewConnection, WorkerContext};
use super::workers::Stage;
use crate::config::ConnectionLimits;
use crate::gateway::ConnectionInfo;
use bytes::Bytes;
use guarded::Guarded;
use h2::Reason;
use h2::server::{Builder, Connection};
use state::ConnectionState;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How much of an answer the library holds until it can be sent. Its own 400 KiB make nothing faster.
const SEND_BUFFER: usize = 64 * 1024;

/// How much of a body a client may send before it is read: what RFC 9113 §6.9.2 has at the start.
const WINDOW: u32 = 65_535;

/// How long to wait for the last acknowledgement on a connection that carries other answers as well.
const AMONG_OTHERS: Duration = Duration::from_secs(10);

/// How often a connection that takes no more requests is looked at.
const CLOSING: Duration = Duration::from_millis(100);

/// Serves a connection to its end.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    site: &Arc<WorkerContext>,
    opened: NewConnection<S>,
    info: ConnectionInfo,
    mut stop: watch::Receiver<Stage>,
) {
    let NewConnection { stream, socket, life } = opened;
    let state = Arc::new(ConnectionState::new(life, info, socket));
    let handshake = options(&state.limits).handshake(Guarded::new(stream, &state));
    let mut connection = tokio::select! {
        connection = handshake => connection.ok(),
        () = is_at(&mut stop, Stage::CloseIdle) => None,
    };
    if let Some(connection) = &mut connection {
        requests(connection, site, &state, stop).await;
    }
    state.close();
    // The socket is asked about until then. Whoever waits has no longer.
    let _ = timeout(AMONG_OTHERS, state.all_forgotten()).await;
}

/// Takes one request after the other, each a task of its own, until the connection is over.
async fn requests<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<Guarded<S>, Bytes>,
    site: &Arc<WorkerContext>,
    state: &Arc<ConnectionState>,
    mut stop: watch::Receiver<Stage>,
) {
    let mut is_leaving = false;
    loop {
        tokio::select! {
            // What has come is taken before it is looked whether anything is under way.
            biased;
            accepted = connection.accept() => match accepted {
                Some(Ok((request, answer))) => {
                    if state.begin() && !is_leaving {
                        is_leaving = true;
                        connection.graceful_shutdown();
                    }
                    tokio::spawn(stream::serve(request, answer, Arc::clone(state), Arc::clone(site)));
                }
                Some(Err(_)) | None => return,
            },
            () = is_at(&mut stop, Stage::LastRequest), if !is_leaving => {
                is_leaving = true;
                connection.graceful_shutdown();
            }
            // Whoever has said goodbye waits for its client to hear of it, which that may never.
            () = sleep(CLOSING), if is_leaving => {
                if *stop.borrow() == Stage::CloseIdle && state.ledger.lock().open == 0 {
                    connection.abrupt_shutdown(Reason::NO_ERROR);
                }
            }
        }
    }
}

/// Ready once a stop has come so far, or nobody is left to tell.
async fn is_at(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    let _ = stage.wait_for(|stage| *stage >= wanted).await;
}

/// What the library bounds itself.
fn options(limits: &ConnectionLimits) -> Builder {
    let mut h2 = Builder::new();
    h2.max_concurrent_streams(limits.h2_streams);
    h2.max_send_buffer_size(SEND_BUFFER);
    h2.max_header_list_size(u32::try_from(*limits.header_size).unwrap_or(u32::MAX));
    h2.header_table_size(hpack::TABLE);
    // A body that nobody reads holds up no other one. What it holds is bounded by its own window, and so by its place.
    h2.initial_window_size(WINDOW);
    h2.initial_connection_window_size(WINDOW.saturating_mul(limits.h2_streams).clamp(WINDOW, u32::MAX >> 1));
    // Whoever leaves a page cancels all of its streams at once, perhaps before they were looked at; how often that may
    // happen is counted by the guard. The library would end the connection at 20.
    h2.max_pending_accept_reset_streams(limits.h2_streams as usize);
    // A client can have its own streams cancelled by breaking the protocol on them (CVE-2025-8671), or by opening more
    // than it may. A good one does so by chance at most, so these are for its whole life.
    h2.max_local_error_reset_streams(Some(limits.h2_resets as usize));
    h2
}
