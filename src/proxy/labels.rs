//! Header fields on the way to the origin: who the client is, and what the gateway made of it.

use super::context::RequestContext;
use pingora::Result;
use pingora::http::RequestHeader;
use pingora::protocols::l4::socket::SocketAddr;
use pingora::proxy::Session;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

const CRAWLER: &str = "X-Robots-Crawler";
const VERDICT: &str = "X-Robots-Verdict";
const PROOF: &str = "X-Robots-Proof";

/// Tells the origin of the verdict, if the operator wants that. What a client sent under these names is
/// always removed: an origin may rely on them.
pub(super) fn verdict(request: &mut RequestHeader, context: &RequestContext) -> Result<()> {
    for name in [CRAWLER, VERDICT, PROOF] {
        request.remove_header(name);
    }
    if let Some(labels) = &context.labels {
        if let Some(crawler) = &labels.crawler {
            request.insert_header(CRAWLER, &**crawler)?;
        }
        request.insert_header(VERDICT, labels.verdict)?;
        request.insert_header(PROOF, labels.proof)?;
    }
    Ok(())
}

/// Tells the origin who connected. A chain of addresses is continued only for a trusted proxy; from
/// anybody else it is a claim, and is replaced. The same goes for `Forwarded` (RFC 7239), which we do not
/// write ourselves.
pub(super) fn forwarded(
    session: &Session,
    request: &mut RequestHeader,
    context: &RequestContext,
) -> Result<()> {
    let Some(peer) = session.client_addr().and_then(SocketAddr::as_inet).map(std::net::SocketAddr::ip) else {
        return Ok(());
    };
    let route = context.route.as_ref();
    let trusted = route.is_some_and(|route| route.policy.config.trusted_proxies.contain(peer));
    let peer = peer.to_canonical().to_string();
    if trusted {
        let chain = session.req_header().headers.get_all("x-forwarded-for").iter();
        let chain: Vec<&str> = chain.filter_map(|line| line.to_str().ok()).chain([peer.as_str()]).collect();
        request.insert_header("X-Forwarded-For", chain.join(", "))?;
        return Ok(());
    }
    request.remove_header("Forwarded");
    request.insert_header("X-Forwarded-For", peer)?;
    request.insert_header("X-Forwarded-Proto", "http")?;
    request.remove_header("X-Forwarded-Host");
    if let Some(host) = session.req_header().headers.get(http::header::HOST).cloned() {
        request.insert_header("X-Forwarded-Host", host)?;
    }
    Ok(())
}

/// An id that tells this request from every other of this gateway.
pub(super) fn request_id() -> String {
    static START: LazyLock<u64> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or_default() ^ (u64::from(std::process::id()) << 48)
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{:016x}-{:x}", *START, COUNT.fetch_add(1, Ordering::Relaxed))
}
