//! Did an answer reach its client? What was handed to this host's kernel has not arrived yet.

use pingora::protocols::SocketDigest;
use std::time::Duration;

/// How long to wait for the last acknowledgement: a read that takes longer was broken off.
const PATIENCE: Duration = Duration::from_secs(10);

/// States of a connection in which the client has not broken it off (Linux `tcp_states.h`).
const ESTABLISHED: u8 = 1;
/// The client has closed its half, as one does that has what it wanted.
const CLOSE_WAIT: u8 = 8;

/// Waits until everything sent has been acknowledged. `false` when the client reset the connection or went
/// away. What is no TCP connection counts as delivered: both ends are on this host.
pub(super) async fn delivered(socket: Option<&SocketDigest>) -> bool {
    let Some(socket) = socket else { return true };
    let mut pause = Duration::from_millis(1);
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        let Some(state) = socket.tcp_info() else { return true };
        if !matches!(state.tcpi_state, ESTABLISHED | CLOSE_WAIT) {
            return false;
        }
        if state.tcpi_unacked == 0 && state.tcpi_notsent_bytes == 0 {
            return true;
        }
        tokio::time::sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
    false
}
