//! Pingora's minimal example: what a proxy costs that does nothing but forward, and refuse one name.
//!
//! A program of its own, with the gateway's allocator and profile: what pingora can do at best. The end-to-end bench runs it with
//! the name, the addresses for HTTP and for TLS, the origin, and the files of a certificate and its key.

use async_trait::async_trait;
use bytes::Bytes;
use pingora::http::ResponseHeader;
use pingora::listeners::tls::TlsSettings;
use pingora::proxy::{ProxyHttp, Session, http_proxy_service};
use pingora::server::Server;
use pingora::server::configuration::ServerConf;
use pingora::upstreams::peer::HttpPeer;
use std::error::Error;
use std::net::SocketAddr;

/// The gateway's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BODY: &str = "refused by the list of crawlers\n";

struct Minimal {
    origin: SocketAddr,
    refused: Vec<u8>,
    refusal: ResponseHeader,
}

#[async_trait]
impl ProxyHttp for Minimal {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn request_filter(&self, session: &mut Session, (): &mut ()) -> pingora::Result<bool> {
        let header = session.req_header().headers.get(http::header::USER_AGENT);
        let is_refused =
            header.is_some_and(|value| memchr::memmem::find(value.as_bytes(), &self.refused).is_some());
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
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [refused, plain, tls, origin, chain, key] = arguments.as_slice() else {
        return Err("usage: minimal NAME ADDRESS TLS-ADDRESS ORIGIN CERTIFICATE KEY".into());
    };
    let origin: SocketAddr = origin.parse()?;
    let mut refusal = ResponseHeader::build(403, Some(2))?;
    refusal.insert_header("content-type", "text/plain; charset=utf-8")?;
    refusal.insert_header("content-length", BODY.len())?;
    let conf = ServerConf { threads: 1, upstream_keepalive_pool_size: 512, ..ServerConf::default() };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let proxy = Minimal { origin, refused: refused.clone().into_bytes(), refusal };
    let mut service = http_proxy_service(&server.configuration, proxy);
    service.add_tcp(plain);
    let mut settings = TlsSettings::intermediate(chain, key)?;
    settings.enable_h2();
    service.add_tls_with_settings(tls, None, settings);
    server.add_service(service);
    server.run_forever()
}
