//! The server of an origin as pingora's peer: addresses that were resolved beforehand, every time limit set,
//! and TLS that always verifies.

use crate::config::OriginUrl;
use crate::policy::{Upstream, Upstreams};
use pingora::upstreams::peer::HttpPeer;
use pingora::utils::tls::{WrappedX509, parse_x509};
use pingora::{Error, ErrorType, Result};

/// The server as a peer. A further attempt at a server of several addresses takes another one of them.
pub(in crate::proxy) fn reached(server: &Upstream, attempt: usize, origin: &Upstreams) -> Result<HttpPeer> {
    let fault = |why| Error::explain(ErrorType::HTTPStatus(503), why);
    let mut peer = match &server.server.url {
        OriginUrl::Socket(path) => {
            let path = path.to_str().ok_or_else(|| fault("the path of the socket is not UTF-8"))?;
            HttpPeer::new_uds(path, false, "localhost".to_owned())?
        }
        OriginUrl::Tcp { tls, host, .. } => {
            let addresses = server.addresses.load();
            let address = addresses.get(attempt % addresses.len().max(1));
            let address = address.ok_or_else(|| fault("the origin has no address"))?;
            // The name that its certificate must be for.
            let name = server.server.server_name.as_deref().unwrap_or(host);
            HttpPeer::new(address, *tls, name.to_owned())
        }
    };
    // Pingora has no time limits of its own.
    let connect = *origin.timeouts.origin_connect;
    peer.options.connection_timeout = Some(connect);
    // With the TLS handshake, which takes two more ways there and back.
    peer.options.total_connection_timeout = Some(if peer.is_tls() { connect * 2 } else { connect });
    // A server's certificate must be for its name, and signed by whom the operator trusts. Pingora checks neither where there
    // is no name; the configuration always has one.
    peer.options.verify_cert = true;
    peer.options.verify_hostname = true;
    if let Some(certificates) = origin.ca.as_ref().filter(|_| server.server.url.is_tls()) {
        // They were read as certificates when the policy was loaded.
        let authorities = certificates.iter().map(|der| WrappedX509::new(der.clone(), parse_x509));
        peer.options.ca = Some(authorities.collect());
    }
    Ok(peer)
}
