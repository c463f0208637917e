//! Blows against TLS: bytes that are none, and handshakes that are left when the gateway has done its part.

use super::attacker::Siege;
use super::flood::{read_out, source};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

/// Bytes of the garbage.
const GARBAGE: usize = 2_048;

/// Bytes that look random and are the same in every run; every second time behind the head of a handshake record
/// (RFC 8446 §5.1).
pub(super) fn garbage(siege: &Siege, number: u32) -> io::Result<bool> {
    let mut stream = siege.connect(siege.tls, source(number))?;
    let mut state = number.wrapping_add(1).wrapping_mul(2_654_435_761);
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_be_bytes()[0]
    })
    .take(GARBAGE)
    .collect();
    if (number / 8).is_multiple_of(2) {
        bytes.splice(..6, [22, 3, 1, 2, 0, 1]);
    }
    stream.write_all(&bytes)?;
    read_out(&mut stream)
}

/// What clients of this attack trust and offer.
pub(super) fn client(siege: &Siege) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(&siege.certificate).map_err(io::Error::other)?;
    roots.add(certificate).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(rustls::ALL_VERSIONS).map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    // A resumed session would cost the gateway less.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// A handshake that ends when the gateway has answered the first flight.
pub(super) fn abandoned(siege: &Siege, client: &Arc<ClientConfig>, number: u32) -> io::Result<bool> {
    let mut stream = siege.connect(siege.tls, source(number))?;
    let mut connection = connection(client)?;
    connection.write_tls(&mut stream)?;
    let mut bytes = [0; 4_096];
    Ok(stream.read(&mut bytes)? == 0)
}

/// A whole handshake.
pub(super) fn connect(
    siege: &Siege,
    client: &Arc<ClientConfig>,
    number: u32,
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let stream = siege.connect(siege.tls, source(number))?;
    let mut stream = StreamOwned::new(connection(client)?, stream);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

fn connection(client: &Arc<ClientConfig>) -> io::Result<ClientConnection> {
    let name = ServerName::try_from("e2e.example").map_err(io::Error::other)?;
    ClientConnection::new(Arc::clone(client), name).map_err(io::Error::other)
}
