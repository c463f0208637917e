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
