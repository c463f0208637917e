//! Requests of HTTP/2, whose frames the library has read, before anything is made of them.

use crate::request::message::{Fault, Parts, check};
use http::header;
use pingora::http::RequestHeader;

/// The fault of a head that came over HTTP/2; heads of HTTP/1 have been through a [`super::Gate`].
pub(in crate::proxy) fn fault(request: &RequestHeader) -> Option<Fault> {
    if request.version != http::Version::HTTP_2 {
        return None;
    }
    let uri = &request.uri;
    let host = request.headers.get(header::HOST).map(http::HeaderValue::as_bytes);
    let parts = Parts {
        method: request.method.as_str().as_bytes(),
        scheme: uri.scheme_str().map(str::as_bytes),
        target: request.raw_path(),
        // Where there are both, pingora has seen to it that they agree.
        host: uri.authority().map(|authority| authority.as_str().as_bytes()).or(host),
    };
    let fields = request.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
    check(&parts, fields).err()
}
