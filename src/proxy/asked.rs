//! A request's head and the connection that it came on, as the stages ask for them.

use super::listen::Line;
use crate::config::Config;
use pingora::http::RequestHeader;
use pingora::protocols::SocketDigest;
use pingora::proxy::Session;
use std::net::IpAddr;

/// What a client has asked, before anything was made of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) head: &'a RequestHeader,
    /// The address that connected to us.
    pub(super) peer: Option<IpAddr>,
    /// Whether the client speaks TLS with us.
    pub(super) is_tls: bool,
    /// Whether a proxy may have written its fields, as far as the connection shows.
    pub(super) may_be_relayed: bool,
}

impl<'a> Asked<'a> {
    pub(super) fn of(session: &'a Session) -> Self {
        let digest = session.digest();
        let socket = digest.and_then(|digest| digest.socket_digest.as_deref());
        let is_tls = digest.is_some_and(|digest| digest.ssl_digest.is_some());
        let may_be_relayed = Line::may_relay_in(session);
        Self { head: session.req_header(), peer: socket.and_then(peer), is_tls, may_be_relayed }
    }

    /// The peer, where its fields are believed: it is one of `trusted_proxies`.
    pub(super) fn trusted_peer(&self, config: &Config) -> Option<IpAddr> {
        self.peer.filter(|peer| self.may_be_relayed && config.trusted_proxies.contain(*peer))
    }
}

/// The address at the other end of a connection.
pub(super) fn peer(socket: &SocketDigest) -> Option<IpAddr> {
    Some(socket.peer_addr()?.as_inet()?.ip().to_canonical())
}
