//! The origin as pingora's peer: an address that was resolved beforehand, and every time limit set.

mod handshake;

use super::context::RequestContext;
use handshake::Handshakes;
use pingora::proxy::Session;
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often an origin is tried when it cannot be connected to: nothing has been sent then, so a second
/// attempt is safe for every method.
pub(super) const ATTEMPTS: usize = 2;

/// Tells the connections of handshakes apart.
static HANDSHAKES: AtomicU64 = AtomicU64::new(1);

/// The next address of the origin.
pub(super) fn peer(session: &Session, context: &mut RequestContext) -> Result<Box<HttpPeer>> {
    let Some(site) = &context.site else {
        return Error::e_explain(ErrorType::InternalError, "the request has no site");
    };
    let addresses = &site.origin;
    let address = addresses.get(context.attempts % addresses.len().max(1)).copied();
    context.attempts += 1;
    let Some(address) = address else {
        return Error::e_explain(ErrorType::HTTPStatus(503), "the origin has no address");
    };
    let mut peer = HttpPeer::new(address, false, String::new());
    let timeouts = context.policy.config.timeouts;
    peer.options.connection_timeout = Some(timeouts.origin_connect);
    peer.options.total_connection_timeout = Some(timeouts.origin_connect);
    peer.options.read_timeout = Some(timeouts.origin_read);
    peer.options.write_timeout = Some(timeouts.origin_write);
    peer.options.idle_timeout = Some(timeouts.origin_idle);
    if session.req_header().headers.contains_key(http::header::UPGRADE) {
        peer.options.custom_l4 = Some(Arc::new(Handshakes { timeout: timeouts.origin_connect }));
        // Such a connection is nobody else's, and is not kept.
        peer.group_key = HANDSHAKES.fetch_add(1, Ordering::Relaxed);
        peer.options.idle_timeout = Some(Duration::ZERO);
    }
    Ok(Box::new(peer))
}

/// Whether pingora may try once more.
pub(super) const fn may_retry(context: &RequestContext) -> bool {
    context.attempts < ATTEMPTS
}
