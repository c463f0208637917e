//! TLS towards clients: at least version 1.2, HTTP/2 or HTTP/1.1 by ALPN (RFC 7301), and the certificate
//! of the host that the client asks for (RFC 6066 §3), under the policy in force at that moment.

use crate::policy::CurrentPolicy;
use pingora::tls::{ClientHello, ResolvesServerCert, ServerConfig, sign::CertifiedKey, version};
use std::fmt;
use std::sync::Arc;

/// Asks the policy in force, so that a renewed certificate is shown from the next handshake on, and no
/// connection that is open notices.
struct CertificateChooser(Arc<CurrentPolicy>);

impl fmt::Debug for CertificateChooser {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Shown")
    }
}

impl ResolvesServerCert for CertificateChooser {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.get().certificates.of(hello.server_name())
    }
}

/// How a listener ends TLS. All of its workers share it, and with it the sessions that clients come back to.
pub(super) fn settings(current: Arc<CurrentPolicy>) -> Arc<ServerConfig> {
    // Fixed here as well as by pingora: whichever comes first, there is one provider.
    pingora::tls::install_default_crypto_provider();
    let versions = [&version::TLS13, &version::TLS12];
    let builder = ServerConfig::builder_with_protocol_versions(&versions).with_no_client_auth();
    let mut config = builder.with_cert_resolver(Arc::new(CertificateChooser(current)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}
