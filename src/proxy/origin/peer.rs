//! The server of an origin as pingora's peer: addresses that were resolved beforehand, every time limit set,
//! and TLS that always verifies.

use super::handshake::Handshakes;
use crate::config::{OriginServer, OriginTimeouts, OriginUrl, Timeouts};
use crate::policy::{Site, Upstream, Upstreams};
use crate::proxy::context::RequestContext;
use pingora::protocols::tls::CaType;
use pingora::proxy::Session;
use pingora::upstreams::peer::HttpPeer;
use pingora::utils::tls::{WrappedX509, parse_x509};
use pingora::{Error, ErrorType, Result};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often an origin is tried when it cannot be connected to: nothing has been sent then, so a second
/// attempt is safe for every method.
pub(in crate::proxy) const ATTEMPTS: usize = 2;

/// How long a connection of a handshake that was not taken is kept. Nobody asks for it.
const UNUSED: Duration = Duration::from_secs(1);

/// Tells the connections of handshakes apart.
static HANDSHAKES: AtomicU64 = AtomicU64::new(1 << 32);

/// Certificates of origins in pingora's form, parsed once, by what they hash to.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Authorities(Mutex<HashMap<u64, Arc<CaType>>>);

/// How many sets of certificates are kept; more is a configuration that changes all the time.
const MOST_AUTHORITIES: usize = 64;

impl Authorities {
    fn of(&self, certificates: &[Vec<u8>]) -> (u64, Arc<CaType>) {
        let mut hasher = DefaultHasher::new();
        certificates.hash(&mut hasher);
        let key = hasher.finish();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_AUTHORITIES && !known.contains_key(&key) {
            known.clear();
        }
        let parsed = known.entry(key).or_insert_with(|| {
            // They were read as certificates when the policy was loaded.
            certificates.iter().map(|der| WrappedX509::new(der.clone(), parse_x509)).collect()
        });
        (key, Arc::clone(parsed))
    }
}

/// The next server to try.
pub(in crate::proxy) fn peer(
    session: &Session,
    context: &mut RequestContext,
    authorities: &Authorities,
) -> Result<Box<HttpPeer>> {
    let policy = Arc::clone(&context.policy);
    let Some((site, _)) = policy.found(context.slot) else {
        return Error::e_explain(ErrorType::InternalError, "the request has no site");
    };
    context.attempts += 1;
    let chosen = site.origin.next(&context.tried);
    let Some((index, server)) = chosen.and_then(|index| Some((index, site.origin.servers.get(index)?)))
    else {
        return Error::e_explain(ErrorType::HTTPStatus(503), "the origin has no server");
    };
    let before = context.tried.iter().filter(|tried| **tried == index).count();
    context.tried.push(index);
    let timeouts = context.policy.config.timeouts;
    let mut peer = reached(server, before, site, &timeouts, authorities)?;
    if session.req_header().headers.contains_key(http::header::UPGRADE) {
        let timeout = peer.options.connection_timeout.unwrap_or(Duration::from_secs(1));
        peer.options.custom_l4 = Some(Arc::new(Handshakes { timeout }));
        // Such a connection is nobody else's.
        peer.group_key = HANDSHAKES.fetch_add(1, Ordering::Relaxed);
        peer.options.idle_timeout = Some(UNUSED);
    }
    Ok(Box::new(peer))
}

/// The server as a peer. A further attempt at a server of several addresses takes another one of them.
pub(super) fn reached(
    server: &Upstream,
    attempt: usize,
    site: &Site,
    timeouts: &Timeouts,
    authorities: &Authorities,
) -> Result<HttpPeer> {
    let mut peer = match &server.server.url {
        OriginUrl::Socket(path) => socket(path)?,
        OriginUrl::Tcp { tls, .. } => {
            let addresses = server.addresses();
            let Some(address) = addresses.get(attempt % addresses.len().max(1)) else {
                return Error::e_explain(ErrorType::HTTPStatus(503), "the origin has no address");
            };
            HttpPeer::new(address, *tls, server.server.server_name.to_string())
        }
    };
    limit(&mut peer, site.config.origin.timeouts, timeouts);
    verify(&mut peer, &server.server, &site.origin, authorities);
    Ok(peer)
}

fn socket(path: &Path) -> Result<HttpPeer> {
    let Some(path) = path.to_str() else {
        return Error::e_explain(ErrorType::HTTPStatus(503), "the path of the socket is no text");
    };
    HttpPeer::new_uds(path, false, "localhost".to_owned())
}

/// Pingora has no time limits of its own.
fn limit(peer: &mut HttpPeer, own: OriginTimeouts, all: &Timeouts) {
    let connect = own.connect.unwrap_or(all.origin_connect);
    peer.options.connection_timeout = Some(connect);
    // With the TLS handshake, which takes two more ways there and back.
    peer.options.total_connection_timeout = Some(if peer.is_tls() { connect * 2 } else { connect });
    peer.options.read_timeout = Some(own.read.unwrap_or(all.origin_read));
    peer.options.write_timeout = Some(own.write.unwrap_or(all.origin_write));
    peer.options.idle_timeout = Some(own.idle.unwrap_or(all.origin_idle));
}

/// A server's certificate must be for its name, and signed by whom the operator trusts. Pingora checks
/// neither where there is no name; the configuration always has one.
fn verify(peer: &mut HttpPeer, server: &OriginServer, origin: &Upstreams, authorities: &Authorities) {
    if !server.url.is_tls() {
        return;
    }
    peer.options.verify_cert = true;
    peer.options.verify_hostname = true;
    if let Some(certificates) = &origin.ca {
        let (key, parsed) = authorities.of(certificates);
        // Connections are shared by those who trust the same.
        peer.group_key = key;
        peer.options.ca = Some(parsed);
    }
}

/// Whether pingora may try once more.
pub(in crate::proxy) const fn may_retry(context: &RequestContext) -> bool {
    context.attempts < ATTEMPTS
}
