//! What an answer of the origin says of its own connection, and not of the page (RFC 9110 §7.6.1).

use http::{HeaderName, HeaderValue, StatusCode, Version, header};
use pingora::http::ResponseHeader;

/// Fields that are for the next recipient only. `Transfer-Encoding` is not among them: pingora frames by it, and
/// `Trailer` is, since trailers are not passed on.
const HOP_BY_HOP: [HeaderName; 5] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::UPGRADE,
    header::TRAILER,
    header::TE,
];

/// Fields that frame the message or that only the gateway writes: naming them in `Connection` takes nothing away.
const KEPT: [HeaderName; 2] = [header::TRANSFER_ENCODING, header::CONTENT_LENGTH];

/// Takes those fields out. A switch of protocols consists of them, and stays as it is.
pub(super) fn settle(response: &mut ResponseHeader) {
    // RFC 9110 §2.5: the version of a message is that of who sends it, which is the gateway.
    response.set_version(Version::HTTP_11);
    if response.status == StatusCode::SWITCHING_PROTOCOLS {
        return;
    }
    let mut options = response.headers.get_all(header::CONNECTION).iter().peekable();
    if options.peek().is_some() {
        // What nearly every origin says names no field.
        let is_plain = options.all(|option| option == "keep-alive" || option == "close");
        for name in if is_plain { Vec::new() } else { named(response) } {
            response.remove_header(&name);
        }
        response.remove_header(&header::CONNECTION);
    }
    // Nearly no answer has one, and a look at each name costs less than a look-up of each of these.
    while let Some(name) = response.headers.keys().find(|name| HOP_BY_HOP.contains(name)).cloned() {
        response.remove_header(&name);
    }
}

/// The fields that `Connection` names.
fn named(response: &ResponseHeader) -> Vec<HeaderName> {
    let lines = response.headers.get_all(header::CONNECTION).iter().map(HeaderValue::as_bytes);
    lines
        .flat_map(|line| line.split(|octet| *octet == b','))
        .filter_map(|option| HeaderName::from_bytes(option.trim_ascii()).ok())
        .filter(|name| !KEPT.contains(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(status: u16, fields: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut response = ResponseHeader::build(status, None).unwrap();
        for (name, value) in fields {
            response.append_header(*name, *value).unwrap();
        }
        settle(&mut response);
        response.headers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn what_was_for_the_gateway_goes_no_further() {
        let fields =
            [("connection", "X-Hop , close"), ("x-hop", "1"), ("keep-alive", "5"), ("etag", "\"a\"")];
        assert_eq!(settled(200, &fields), ["etag"]);
        for lines in [["keep-alive", "x-hop"], ["x-hop", "keep-alive"]] {
            let [first, second] = lines.map(|line| ("connection", line));
            assert_eq!(settled(200, &[first, second, ("x-hop", "1"), ("etag", "\"a\"")]), ["etag"]);
        }
        let framing = [("connection", "transfer-encoding"), ("transfer-encoding", "chunked")];
        assert_eq!(settled(200, &framing), ["transfer-encoding"]);
        let switch = [("connection", "upgrade"), ("upgrade", "websocket")];
        assert_eq!(settled(101, &switch), ["connection", "upgrade"]);
        assert!(settled(426, &switch).is_empty());
    }
}
