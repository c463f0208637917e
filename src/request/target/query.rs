//! What one more round of decoding makes of a query.

use super::steps::{encoded, escape_of_escape};

/// `query` decoded once more, where that changes it. `=` and `&` are found in names only: encoded in a value they are what
/// every form sends.
pub(super) fn decoded_query(query: &[u8]) -> Option<Vec<u8>> {
    let (mut once, mut written, mut in_name) = (Vec::new(), 0, true);
    for (at, byte) in query.iter().enumerate().filter(|(_, byte)| matches!(byte, b'=' | b'&' | b'%')) {
        let rest = query.get(at..).filter(|_| at >= written).unwrap_or_default();
        let delimiter = || encoded(rest).filter(|(byte, _)| in_name && matches!(byte, b'=' | b'&'));
        if *byte != b'%' {
            in_name = *byte == b'&';
        } else if let Some((escape, after)) = escape_of_escape(rest) {
            once.extend_from_slice(query.get(written..at).unwrap_or_default());
            once.extend_from_slice(&escape);
            written = query.len() - after.len();
        } else if let Some((byte, after)) = delimiter() {
            once.extend_from_slice(query.get(written..at).unwrap_or_default());
            once.push(byte);
            in_name = byte == b'&';
            written = query.len() - after.len();
        }
    }
    once.extend_from_slice(query.get(written..).unwrap_or_default());
    (written > 0).then_some(once)
}
