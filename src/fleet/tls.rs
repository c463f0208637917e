//! TLS towards the database, by rustls: the server's certificate and its name are always verified.

use super::FleetError;
use crate::config::FleetConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

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

/// What speaks TLS with the servers of one configuration.
///
/// # Errors
/// When there are no certificates to verify them by.
pub(super) fn tls(config: &FleetConfig) -> Result<MakeRustlsConnect, FleetError> {
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
    Ok(MakeRustlsConnect::new(config))
}
