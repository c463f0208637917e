//! Upgrades (RFC 9110 §7.8): judged at the handshake as any request, then a tunnel.
//!
//! Only a WebSocket handshake (RFC 6455 §4.1) is one. Any other `Upgrade` is an offer that an origin may
//! ignore, and the gateway does so in its place: a protocol that it cannot read would carry unjudged requests.

use super::listen::Line;
use super::wire;
use http::header;
use pingora::http::ResponseHeader;
use pingora::proxy::Session;
use pingora::{Error, ErrorType, Result};

/// Takes the offer out of a request that is no WebSocket handshake.
pub(super) fn settle(session: &mut Session) {
    let request = session.req_header();
    let Some(upgrade) = request.headers.get(header::UPGRADE) else { return };
    let is_handshake = request.version == http::Version::HTTP_11
        && request.method == http::Method::GET
        && upgrade.as_bytes().eq_ignore_ascii_case(b"websocket")
        && request.headers.get_all(header::UPGRADE).iter().nth(1).is_none()
        && names_upgrade(session)
        && wire::gate(session).is_none_or(wire::Gate::is_without_body);
    if !is_handshake {
        session.req_header_mut().remove_header(&header::UPGRADE);
    }
}

/// `Upgrade` has no meaning unless `Connection` names it (RFC 9110 §7.8).
fn names_upgrade(session: &Session) -> bool {
    let lines = session.req_header().headers.get_all(header::CONNECTION).iter();
    lines
        .flat_map(|line| line.as_bytes().split(|octet| *octet == b','))
        .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
}

/// Opens the tunnel when the origin has switched protocols, and only where that was asked for.
pub(super) fn answered(session: &Session, response: &ResponseHeader) -> Result<()> {
    if response.status != http::StatusCode::SWITCHING_PROTOCOLS {
        return Ok(());
    }
    match wire::gate(session) {
        Some(gate) if session.req_header().headers.contains_key(header::UPGRADE) => {
            gate.upgrade();
            if let Some(line) = Line::of(session) {
                line.open_tunnel();
            }
            Ok(())
        }
        _ => Error::e_explain(ErrorType::InvalidHTTPHeader, "switched protocols without being asked")
            .map_err(|error: Box<Error>| error.into_up()),
    }
}
