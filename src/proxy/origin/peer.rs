//! The server of an origin as pingora's peer: addresses that were resolved beforehand, every time limit set,
//! and TLS that always verifies.

use crate::config::{OriginServer, OriginUrl};
use crate::policy::{Upstream, Upstreams};
use pingora::upstreams::peer::HttpPeer;
use pingora::utils::tls::{WrappedX509, parse_x509};
use pingora::{Error, ErrorType, Result};
use std::path::Path;

/// The server as a peer. A further attempt at a server of several addresses takes another one of them.
pub(in crate::proxy) fn reached(server: &Upstream, attempt: usize, origin: &Upstreams) -> Result<HttpPeer> {
    let mut peer = match &server.server.url {
        OriginUrl::Socket(path) => socket(path)?,
        OriginUrl::Tcp { tls, host, .. } => {
            let addresses = server.addresses();
            let Some(address) = addresses.get(attempt % addresses.len().max(1)) else {
                return Error::e_explain(ErrorType::HTTPStatus(503), "the origin has no address");
            };
            // The name that its certificate must be for.
            let name = server.server.server_name.as_deref().unwrap_or(host);
            HttpPeer::new(address, *tls, name.to_owned())
        }
    };
    // Pingora has no time limits of its own.
    let connect = origin.timeouts.origin_connect;
    peer.options.connection_timeout = Some(connect);
    // With the TLS handshake, which takes two more ways there and back.
    peer.options.total_connection_timeout = Some(if peer.is_tls() { connect * 2 } else { connect });
    verify(&mut peer, &server.server, origin);
    Ok(peer)
}

fn socket(path: &Path) -> Result<HttpPeer> {
    let Some(path) = path.to_str() else {
        return Error::e_explain(ErrorType::HTTPStatus(503), "the path of the socket is not UTF-8");
    };
    HttpPeer::new_uds(path, false, "localhost".to_owned())
}

/// A server's certificate must be for its name, and signed by whom the operator trusts. Pingora checks
/// neither where there is no name; the configuration always has one.
fn verify(peer: &mut HttpPeer, server: &OriginServer, origin: &Upstreams) {
    if !server.url.is_tls() {
        return;
    }
    peer.options.verify_cert = true;
    peer.options.verify_hostname = true;
    if let Some(certificates) = &origin.ca {
        // They were read as certificates when the policy was loaded.
        let authorities = certificates.iter().map(|der| WrappedX509::new(der.clone(), parse_x509));
        peer.options.ca = Some(authorities.collect());
    }
}
