//! Reads the header of the PROXY protocol off a connection, and leaves what follows for the next reader.

use crate::request::proxy_protocol::{LONGEST, Progress, parse};
use pingora::protocols::l4::stream::Stream as L4Stream;
use std::net::SocketAddr;
use tokio::io::AsyncReadExt as _;

/// How much is read at a time: all that proxies send, as a rule.
const PIECE: usize = 256;

/// Whom the proxy names as its client; `None` where it names nobody.
///
/// # Errors
/// When the connection ends, or what comes is no header. Nothing is answered then: whoever speaks is not
/// speaking HTTP.
pub(super) async fn read(stream: &mut L4Stream) -> Result<Option<SocketAddr>, ()> {
    let mut octets = Vec::with_capacity(PIECE);
    loop {
        match parse(&octets) {
            Progress::Complete(header) => {
                stream.rewind(octets.get(header.length..).unwrap_or_default());
                return Ok(header.client);
            }
            Progress::Malformed => return Err(()),
            // `parse` takes nothing for a beginning that is longer; this does not depend on it.
            Progress::Incomplete if octets.len() > LONGEST + PIECE => return Err(()),
            Progress::Incomplete => {}
        }
        octets.reserve(PIECE);
        let mut piece = [0; PIECE];
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => octets.extend(piece.iter().take(count)),
            _ => return Err(()),
        }
    }
}
