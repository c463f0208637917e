//! What the guard says to a client of HTTP/1.1 that it has had enough of.

use crate::proxy::farewell::Farewell;
use crate::record::ConnectionEvent;

const TOO_LATE: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const TOO_LARGE: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// The status that there is to tell about `event`, and the end of the connection that tells it.
pub(super) fn about(event: ConnectionEvent) -> Option<(u16, Farewell)> {
    match event {
        ConnectionEvent::HeaderTimeout | ConnectionEvent::BodyTooSlow => {
            Some((408, Farewell::saying(TOO_LATE)))
        }
        ConnectionEvent::HeaderTooLarge => Some((431, Farewell::saying(TOO_LARGE))),
        _ => None,
    }
}
