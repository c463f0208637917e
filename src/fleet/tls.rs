//! TLS towards the database, by rustls: the server's certificate and its name are always verified.

use super::FleetError;
use crate::config::FleetConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};

/// Speaks TLS with the servers of one configuration.
#[derive(Clone)]
pub(super) struct DatabaseTls(Arc<ClientConfig>);

/// Reads the certificates that the system trusts. What connects to origins takes for granted that this can be done.
///
/// # Errors
/// When a variable, or the system, names a file or folder that cannot be read.
pub fn read_system_authorities() -> Result<(), String> {
    let hint = "look at SSL_CERT_FILE and SSL_CERT_DIR";
    let read = rustls_native_certs::load_native_certs();
    read.map(drop)
        .map_err(|error| format!("cannot read the certificates that the system trusts: {error}; {hint}"))
}

/// The same with one server.
pub(super) struct ServerTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// A connection that is encrypted.
pub(super) struct EncryptedStream<S>(tokio_rustls::client::TlsStream<S>);

impl DatabaseTls {
    pub(super) fn new(config: &FleetConfig) -> Result<Self, FleetError> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &config.ca_file {
            let unreadable = |error: &dyn std::fmt::Display| {
                FleetError::Local(format!("{}: cannot read `ca_file`: {error}", path.display()))
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| unreadable(&error))?;
                roots.add(certificate).map_err(|error| unreadable(&error))?;
            }
            if roots.is_empty() {
                return Err(unreadable(&"it contains no certificate; expected PEM"));
            }
        } else {
            // Without any the handshake says that it knows no authority.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().unwrap_or_default());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| FleetError::Local(format!("no TLS: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

impl<S> MakeTlsConnect<S> for DatabaseTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = EncryptedStream<S>;
    type TlsConnect = ServerTls;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<ServerTls, InvalidDnsNameError> {
        let name = ServerName::try_from(domain.to_owned())?;
        Ok(ServerTls { config: Arc::clone(&self.0), name })
    }
}

impl<S> TlsConnect<S> for ServerTls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connector = tokio_rustls::TlsConnector::from(self.config);
            connector.connect(self.name, stream).await.map(EncryptedStream)
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for EncryptedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EncryptedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, to)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
