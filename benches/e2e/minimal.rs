//! Pingora's minimal example: what a proxy costs that does nothing but forward, and refuse one name.

use crate::certificate::Certificate;
use crate::peers::Addresses;
use crate::scenario::REFUSED_CRAWLER;
use async_trait::async_trait;
use bytes::Bytes;
use pingora::http::ResponseHeader;
use pingora::listeners::tls::TlsSettings;
use pingora::proxy::{ProxyHttp, Session, http_proxy_service};
use pingora::server::Server;
use pingora::server::configuration::ServerConf;
use pingora::upstreams::peer::HttpPeer;
use std::net::SocketAddr;
use std::path::Path;

const BODY: &str = "refused by the list of crawlers\n";

struct Minimal {
    origin: SocketAddr,
    refusal: ResponseHeader,
}

#[async_trait]
impl ProxyHttp for Minimal {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn request_filter(&self, session: &mut Session, (): &mut ()) -> pingora::Result<bool> {
        let header = session.req_header().headers.get(http::header::USER_AGENT);
        let is_refused = header.is_some_and(|value| {
            memchr::memmem::find(value.as_bytes(), REFUSED_CRAWLER.as_bytes()).is_some()
        });
        if is_refused {
            session.write_response_header(Box::new(self.refusal.clone()), false).await?;
            session.write_response_body(Some(Bytes::from_static(BODY.as_bytes())), true).await?;
        }
        Ok(is_refused)
    }

    async fn upstream_peer(&self, _: &mut Session, (): &mut ()) -> pingora::Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.origin, false, String::new())))
    }
}

/// Serves until the process is ended.
pub(crate) fn serve(addresses: Addresses, origin: SocketAddr, folder: &Path) -> pingora::Result<()> {
    let mut refusal = ResponseHeader::build(403, Some(2))?;
    refusal.insert_header("content-type", "text/plain; charset=utf-8")?;
    refusal.insert_header("content-length", BODY.len())?;
    let conf = ServerConf { threads: 1, upstream_keepalive_pool_size: 512, ..ServerConf::default() };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let mut service = http_proxy_service(&server.configuration, Minimal { origin, refusal });
    service.add_tcp(&addresses.plain.to_string());
    let certificate = Certificate::of(folder);
    let show = |path: &Path| path.display().to_string();
    let mut tls = TlsSettings::intermediate(&show(&certificate.chain), &show(&certificate.key))?;
    tls.enable_h2();
    service.add_tls_with_settings(&addresses.tls.to_string(), None, tls);
    server.add_service(service);
    server.run_forever()
}
