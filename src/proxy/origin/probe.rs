//! Asking a server if it is well: does it accept a connection, and does it answer?
//!
//! Over a connection of its own, never one of the pool: a server that takes no new connections is not well.

use crate::config::{HealthCheck, Probe};
use crate::http::head::AnswerHead;
use pingora::connectors::TransportConnector;
use pingora::protocols::Stream;
use pingora::upstreams::peer::HttpPeer;
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// How much is read of an answer.
const MOST_HEAD: usize = 64 * 1024;

/// Whether the server is well, within the time of the check.
pub(super) async fn is_well(
    connector: &TransportConnector,
    peer: &HttpPeer,
    check: &HealthCheck,
    host: &str,
) -> bool {
    let asked = async {
        match connector.new_stream(peer).await {
            Ok(stream) => answers(stream, check, host).await.unwrap_or(false),
            Err(_) => false,
        }
    };
    tokio::time::timeout(check.timeout, asked).await.unwrap_or(false)
}

/// A server that has accepted is asked for a page, where that is wanted.
async fn answers(mut stream: Stream, check: &HealthCheck, host: &str) -> io::Result<bool> {
    if check.probe != Probe::Http {
        return Ok(true);
    }
    let path = &check.path;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: robots-gateway-health\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut read = Vec::new();
    loop {
        let is_over = stream.read_buf(&mut read).await? == 0 || read.len() > MOST_HEAD;
        match AnswerHead::read_final(&read) {
            Ok(Some((head, _))) => return Ok(is_good(head.status)),
            Ok(None) if !is_over => {}
            _ => return Ok(false),
        }
    }
}

/// 200 to 399 (RFC 9110 §15): a page, or the way to one.
const fn is_good(status: u16) -> bool {
    matches!(status, 200..=399)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use tokio::net::TcpListener;

    /// What is made of a server that answers with `first`, and with `more` again and again.
    async fn asked(first: &'static [u8], more: &'static [u8], interval: Duration) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = HttpPeer::new(listener.local_addr().unwrap(), false, String::new());
        let check = HealthCheck {
            probe: Probe::Http,
            path: "/".to_owned(),
            interval: Duration::from_secs(1),
            timeout: Duration::from_millis(500),
            failures: 1,
            successes: 1,
        };
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(first).await;
            while !more.is_empty() && stream.write_all(more).await.is_ok() {
                tokio::time::sleep(interval).await;
            }
            // It stays open.
            std::future::pending::<()>().await;
        };
        let connector = TransportConnector::new(None);
        tokio::select! {
            is_well = is_well(&connector, &peer, &check, "a.example") => is_well,
            () = server => false,
        }
    }

    const HINT: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

    #[tokio::test]
    async fn it_sees_through_interim_answers() {
        let behind = |answer: &[u8]| -> &'static [u8] { [HINT, HINT, answer].concat().leak() };
        for (answer, expected) in [
            (&b"HTTP/1.1 200 OK\r\n\r\n"[..], true),
            (b"HTTP/1.1 302 Found\r\n\r\n", true),
            (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", false),
            (b"HTTP/1.1 2", false),
        ] {
            assert_eq!(
                asked(behind(answer), b"", Duration::ZERO).await,
                expected,
                "{}",
                answer.escape_ascii()
            );
        }
    }

    #[tokio::test]
    async fn interim_answers_without_end_are_bounded_in_bytes_and_time() {
        for interval in [Duration::ZERO, Duration::from_millis(50)] {
            let start = Instant::now();
            assert!(!asked(b"", HINT, interval).await);
            // Far more than the time of the check, for a machine that is busy.
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        }
    }
}
