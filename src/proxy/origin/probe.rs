//! Asking a server if it is well: does it accept a connection, and does it answer?
//!
//! Over a connection of its own, never one of the pool: a server that takes no new connections is not well.

use crate::config::{HealthCheck, Probe};
use pingora::connectors::TransportConnector;
use pingora::protocols::Stream;
use pingora::upstreams::peer::HttpPeer;
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The longest status line that is waited for.
const STATUS_LINE: usize = 256;

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
    let mut line = Vec::new();
    while line.len() < STATUS_LINE && !line.contains(&b'\n') {
        if stream.read_buf(&mut line).await? == 0 {
            break;
        }
    }
    Ok(is_good(&line))
}

/// 200 to 399 (RFC 9110 §15): a page, or the way to one.
fn is_good(line: &[u8]) -> bool {
    let status = line.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(1..5));
    matches!(status, Some([b' ', b'2' | b'3', second, third]) if second.is_ascii_digit() && third.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_redirections_are_good_answers() {
        assert!(
            is_good(b"HTTP/1.1 200 OK\r\n")
                && is_good(b"HTTP/1.0 302 Found\r\n")
                && is_good(b"HTTP/1.1 204 ")
        );
        for bad in
            [&b"HTTP/1.1 500 No\r\n"[..], b"HTTP/1.1 404 ", b"HTTP/2 200", b"", b"HTTP/1.1 2", b"garbage"]
        {
            assert!(!is_good(bad), "{bad:?}");
        }
    }
}
