//! TLS from the client's side: an authority that signs certificates, and connections that verify them.

use super::daemon::Daemon;
use super::folder::rename_over;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Signs certificates for any name.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A verified connection.
pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// What the client offers.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) protocols: &'static [&'static str],
    pub(crate) versions: &'static [&'static SupportedProtocolVersion],
}

pub(crate) const HTTP_1: Offer = Offer { protocols: &["http/1.1"], versions: rustls::ALL_VERSIONS };
pub(crate) const HTTP_2: Offer = Offer { protocols: &["h2", "http/1.1"], versions: rustls::ALL_VERSIONS };

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// Its own certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A chain and its key, in PEM.
    pub(crate) fn pair(&self, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(names).expect("names");
        let certificate = params.signed_by(&key, &self.0).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }

    /// Saves a new pair as `name.crt` and `name.key`, the key first, as a careful tool does.
    pub(crate) fn save(&self, folder: &Path, name: &str, names: &[&str]) {
        let (certificate, key) = self.pair(names);
        rename_over(&folder.join(format!("{name}.key")), key);
        rename_over(&folder.join(format!("{name}.crt")), certificate);
    }

    /// Connects and verifies that the certificate is this authority's, for `host`.
    pub(crate) fn connect(
        &self,
        address: SocketAddr,
        host: &str,
        offer: Offer,
    ) -> std::io::Result<TlsStream> {
        self.over(TcpStream::connect(address)?, host, offer)
    }

    /// The same on a connection that there is already.
    pub(crate) fn over(&self, socket: TcpStream, host: &str, offer: Offer) -> std::io::Result<TlsStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(offer.versions).expect("versions");
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = offer.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from(host.to_owned()).expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        socket.set_read_timeout(Some(Duration::from_secs(20)))?;
        socket.set_write_timeout(Some(Duration::from_secs(20)))?;
        socket.set_nodelay(true)?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(stream)
    }
}

/// Sends one request of HTTP/1.1 and reads its answer, whose length must be given.
pub(crate) fn exchange(stream: &mut TlsStream, request: &str) -> std::io::Result<String> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    let mut bytes = [0; 16_384];
    loop {
        let text = String::from_utf8_lossy(&answer).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Ok(text);
            }
        }
        match stream.read(&mut bytes)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => answer.extend(&bytes[..count]),
        }
    }
}

/// The lines of a configuration file that make it listen for TLS, with one pair `site.crt`, `site.key`.
pub(crate) const LISTENER: &str = "[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true\n\n\
    [[certificates]]\ncertificate = \"site.crt\"\nkey = \"site.key\"";

/// Where a gateway listens, other than at its first address: the line that says so holds `what`.
#[track_caller]
pub(crate) fn address_with(gateway: &Daemon, what: &str) -> SocketAddr {
    let line = gateway.log.line_with(&["\"listening\"", what]);
    let line: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
    line["address"].as_str().and_then(|address| address.parse().ok()).expect("an address")
}

/// Where it listens for TLS.
#[track_caller]
pub(crate) fn tls_address(gateway: &Daemon) -> SocketAddr {
    address_with(gateway, "\"tls\":true")
}
