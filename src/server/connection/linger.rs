//! The end of a connection whose client may still be sending: the sending side closed, and a while of listening.
//!
//! Closing a socket with unread bytes makes the kernel reset the connection, and a reset may overtake the answer
//! (RFC 9112 §9.6). So what still comes is read and thrown away, for a bounded time and amount.

use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// How long a client may take to hear its answer, and how much of what it still sends is read.
const PATIENCE: Duration = Duration::from_secs(2);
const ENOUGH: usize = 16 * 1024 * 1024;

/// How much is read at a time.
const PIECE: usize = 16 * 1024;

/// Ends `stream`; done when the client has left, or has had its time.
pub(super) async fn linger<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) {
    let end = async {
        // An error means that nobody listens any more.
        if stream.shutdown().await.is_err() {
            return;
        }
        let (mut waste, mut read) = (vec![0; PIECE], 0);
        while read < ENOUGH {
            match stream.read(&mut waste).await {
                Ok(count) if count > 0 => read += count,
                _ => return,
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, end).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_is_still_sending_is_listened_to() {
        let (mut client, mut server) = tokio::io::duplex(64);
        let ending = tokio::spawn(async move { linger(&mut server).await });
        // More than fits between the two: it is taken all the same.
        client.write_all(&vec![0; 100_000]).await.unwrap();
        assert_eq!(client.read(&mut [0; 1]).await.unwrap(), 0, "the sending side is closed");
        assert!(!ending.is_finished());
        drop(client);
        ending.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stays_has_its_time() {
        let (_client, mut server) = tokio::io::duplex(1);
        let start = tokio::time::Instant::now();
        linger(&mut server).await;
        assert!(start.elapsed() >= PATIENCE && start.elapsed() < PATIENCE * 2);
    }
}
