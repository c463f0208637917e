//! Names of origins → addresses. Done when a policy is loaded, never for a request.

use crate::config::Origin;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};

/// The addresses of an origin, at least one.
pub(super) fn resolve(origin: &Origin) -> io::Result<Vec<SocketAddr>> {
    let mut addresses: Vec<SocketAddr> = (&*origin.host, origin.port).to_socket_addrs()?.collect();
    // A name server may turn its answers round; that alone is no change.
    addresses.sort_unstable();
    addresses.dedup();
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(addresses)
}
