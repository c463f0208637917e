//! Did an answer reach its client? What was handed to this host's kernel has not arrived yet.

use pingora::protocols::SocketDigest;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

/// States of a connection in which the client has not broken it off (Linux `tcp_states.h`).
const ESTABLISHED: u8 = 1;
/// The client has closed its half, as one does that has what it wanted.
const CLOSE_WAIT: u8 = 8;

/// Waits until everything sent has been acknowledged. `false` when the client reset the connection, went away, or took
/// longer than `most`. What is no TCP connection counts as delivered: both ends are on this host.
pub(super) async fn is_acknowledged(socket: Option<RawFd>, most: Duration) -> bool {
    let Some(socket) = socket.map(SocketDigest::from_raw_fd) else { return true };
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
