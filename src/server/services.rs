//! What listeners serve with: one set of services for each worker.

use super::admission::{Admission, ConnectionRoom};
use super::connection::{Service, WorkerContext};
use super::handler::ConnectionHandler;
use super::pages::Pages;
use crate::config::ListenerConfig;
use crate::gateway::Gateway;
use crate::policy::CurrentPolicy;
use crate::proxy::{Exchanger, OriginConnections, OriginFaults};
use pingora::listeners::tls::Acceptor;
use pingora::tls::{ClientHello, ResolvesServerCert, ServerConfig, sign::CertifiedKey, version};
use std::sync::Arc;

/// What serves the sites on a listener, one for each worker.
pub(super) fn handlers(
    services: &[Arc<WorkerContext>],
    current: &Arc<CurrentPolicy>,
    admission: &Arc<Admission>,
    room: ConnectionRoom,
    config: ListenerConfig,
) -> Vec<Arc<ConnectionHandler>> {
    let tls = config.tls.then(|| tls_settings(Arc::clone(current)));
    let serve: fn(_) -> _ = if config.is_for_proxies { Service::Doors } else { Service::Site };
    let handler = |site: &Arc<WorkerContext>| ConnectionHandler {
        service: serve(Arc::clone(site)),
        current: Arc::clone(current),
        admission: Arc::clone(admission),
        room,
        proxy_protocol: config.proxy_protocol,
        believe_named_proxies: config.believe_named_proxies,
        tls: tls.clone().map(Acceptor::from_server_config),
    };
    services.iter().map(|site| Arc::new(handler(site))).collect()
}

/// What serves pages to the operator.
pub(super) fn pages(shown: Pages, current: &Arc<CurrentPolicy>, room: ConnectionRoom) -> ConnectionHandler {
    ConnectionHandler {
        service: Service::Pages(shown),
        current: Arc::clone(current),
        admission: Arc::default(),
        room,
        proxy_protocol: false,
        believe_named_proxies: false,
        tls: None,
    }
}

/// Whether this gateway rotates journal and access log: of two gateways of an upgrade only one may.
pub(super) fn set_rotating(gateway: &Gateway, may_rotate: bool) {
    gateway.journal.set_rotating(may_rotate);
    if let Some(log) = &gateway.access_log {
        log.lines.set_rotating(may_rotate);
    }
}

/// What each worker serves with: its connections to origins are its own, and so never wait for another thread.
pub(super) fn services(gateway: &Gateway, room: ConnectionRoom, workers: usize) -> Vec<Arc<WorkerContext>> {
    let faults = Arc::new(OriginFaults::default());
    let service = |_| {
        let connections = OriginConnections::new(room.kept);
        let (faults, totals) = (Arc::clone(&faults), Arc::clone(&gateway.totals));
        let exchanger = Exchanger { connections, faults, totals };
        Arc::new(WorkerContext { gateway: gateway.for_worker(), exchanger })
    };
    (0..workers).map(service).collect()
}

/// Asks the policy in force, so that a renewed certificate is shown from the next handshake on, and no
/// connection that is open notices.
#[derive(Debug)]
struct CertificateChooser(Arc<CurrentPolicy>);

impl ResolvesServerCert for CertificateChooser {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.get().certificates.of(hello.server_name())
    }
}

/// How a listener ends TLS: at least version 1.2, HTTP/2 or HTTP/1.1 by ALPN (RFC 7301), and the certificate of the host that
/// the client asks for (RFC 6066 §3), under the policy in force at that moment. All of its workers share it, and with it the sessions that clients come back to.
fn tls_settings(current: Arc<CurrentPolicy>) -> Arc<ServerConfig> {
    // Fixed here as well as by pingora: whichever comes first, there is one provider.
    pingora::tls::install_default_crypto_provider();
    let versions = [&version::TLS13, &version::TLS12];
    let builder = ServerConfig::builder_with_protocol_versions(&versions).with_no_client_auth();
    let mut config = builder.with_cert_resolver(Arc::new(CertificateChooser(current)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}
