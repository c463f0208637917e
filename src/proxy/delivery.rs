//! Did an answer reach its client? What was handed to this host's kernel has not arrived yet.

use crate::config::Timeouts;
use pingora::protocols::SocketDigest;
use pingora::proxy::Session;
use std::time::{Duration, Instant};

/// How long to wait for the last acknowledgement on a connection that carries other answers as well.
const AMONG_OTHERS: Duration = Duration::from_secs(10);

/// States of a connection in which the client has not broken it off (Linux `tcp_states.h`).
const ESTABLISHED: u8 = 1;
/// The client has closed its half, as one does that has what it wanted.
const CLOSE_WAIT: u8 = 8;

/// Waits until the answer has arrived, for as long as a client may take for a piece of one. Otherwise the connection
/// ends with it: a client that takes nothing could ask again and again, and each answer would be waited for. Over
/// HTTP/2 other answers are under way on the connection, which goes on, and its guard sees to the end of it.
pub(super) async fn is_delivered(session: &mut Session, timeouts: &Timeouts) -> bool {
    let socket = session.digest().and_then(|digest| digest.socket_digest.clone());
    let is_shared = session.req_header().version == http::Version::HTTP_2;
    let most = if is_shared { timeouts.client_write.min(AMONG_OTHERS) } else { timeouts.client_write };
    let is_delivered = is_acknowledged(socket.as_deref(), most).await;
    if !is_delivered {
        session.set_keepalive(None);
    }
    is_delivered
}

/// Waits until everything sent has been acknowledged. `false` when the client reset the connection, went away, or took
/// longer than `most`. What is no TCP connection counts as delivered: both ends are on this host.
async fn is_acknowledged(socket: Option<&SocketDigest>, most: Duration) -> bool {
    let Some(socket) = socket else { return true };
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let Some(state) = socket.tcp_info() else { return true };
        if !matches!(state.tcpi_state, ESTABLISHED | CLOSE_WAIT) {
            return false;
        }
        if state.tcpi_unacked == 0 && state.tcpi_notsent_bytes == 0 {
            return true;
        }
        let left = most.saturating_sub(start.elapsed());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}
