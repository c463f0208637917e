//! Reads the header of the PROXY protocol off a connection, and leaves what follows for the next reader.

use crate::request::proxy_protocol::{LONGEST, ProxyHeaderProgress, parse};
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much is read at a time: all that proxies send, as a rule.
const PIECE: usize = 256;

/// Whom the proxy names as its client, `None` where it names nobody; and what was read of that which follows.
///
/// # Errors
/// When the connection ends, or what comes is no header. Nothing is answered then: whoever speaks is not
/// speaking HTTP.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Option<SocketAddr>, Vec<u8>), ()> {
    let mut bytes = Vec::with_capacity(PIECE);
    loop {
        match parse(&bytes) {
            ProxyHeaderProgress::Complete(header) => {
                return Ok((header.client, bytes.split_off(header.length.min(bytes.len()))));
            }
            ProxyHeaderProgress::Malformed => return Err(()),
            // `parse` takes nothing for a beginning that is longer; this does not depend on it.
            ProxyHeaderProgress::Incomplete if bytes.len() > LONGEST + PIECE => return Err(()),
            ProxyHeaderProgress::Incomplete => {}
        }
        bytes.reserve(PIECE);
        let mut piece = [0; PIECE];
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => bytes.extend(piece.iter().take(count)),
            _ => return Err(()),
        }
    }
}
