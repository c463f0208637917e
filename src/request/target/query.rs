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
    // What is not written yet begins here.
    let mut rest = query;
    let mut in_name = true;
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'=' => in_name = false,
            b'&' => in_name = true,
            b'%' => {
                let (before, escape) = rest.split_at_checked(at).unwrap_or((rest, b""));
                let delimiter = |byte: &u8| in_name && matches!(byte, b'=' | b'&');
                if let Some((decoded, after)) = escape_of_escape(escape) {
                    once.extend_from_slice(before);
                    once.extend_from_slice(&decoded);
                    (rest, at) = (after, 0);
                    continue;
                }
                if let Some((byte, after)) = encoded(escape).filter(|(byte, _)| delimiter(byte)) {
                    once.extend_from_slice(before);
                    once.push(byte);
                    in_name = byte == b'&';
                    (rest, at) = (after, 0);
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    once.extend_from_slice(rest);
    once
}
