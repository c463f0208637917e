//! What one more round of decoding makes of a query.

use super::steps::{encoded, escape_of_escape};

/// Whether one more round of decoding changes `query`. `=` and `&` are found in names only: encoded in a value they are
/// what every form sends.
pub(super) fn is_decoded_further(query: &[u8]) -> bool {
    let mut in_name = true;
    query.iter().enumerate().any(|(at, byte)| match byte {
        b'%' => {
            let rest = query.get(at..).unwrap_or_default();
            escape_of_escape(rest).is_some() || in_name && matches!(encoded(rest), Some((b'=' | b'&', _)))
        }
        b'=' | b'&' => {
            in_name = *byte == b'&';
            false
        }
        _ => false,
    })
}

/// `query` decoded once more.
pub(super) fn decoded_query(query: &[u8]) -> Vec<u8> {
    let mut once = Vec::with_capacity(query.len());
    let mut rest = query;
    let mut in_name = true;
    while let Some((first, tail)) = rest.split_first() {
        let (mut byte, mut after) = (*first, tail);
        if byte == b'%' {
            if let Some((escape, after)) = escape_of_escape(rest) {
                once.extend_from_slice(&escape);
                rest = after;
                continue;
            }
            let delimiter = encoded(rest).filter(|(byte, _)| in_name && matches!(byte, b'=' | b'&'));
            (byte, after) = delimiter.unwrap_or((byte, after));
        }
        match byte {
            b'=' => in_name = false,
            b'&' => in_name = true,
            _ => {}
        }
        once.push(byte);
        rest = after;
    }
    once
}
