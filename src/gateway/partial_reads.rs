//! Whether somebody in front of the gateway may answer `/robots.txt` itself.
//!
//! A proxy by itself does not: it passes requests on. A cache may, whatever `Cache-Control` says, and then the gateway does
//! not know who read the file. A site can say which it is (`reads`); else the fields that CDNs and caches add to what they
//! pass on are taken for it. `docs/behind-cdn.md` has the list, and it is closed: a field that any proxy sends is no sign.

use super::Incoming;
use crate::config::{Config, SiteConfig};
use crate::http::RequestHead;
use crate::record::Reads;

/// Fields of CDNs and caches, in lower case and as they are written.
const SIGNS: [(&str, &str); 9] = [
    // RFC 8586.
    ("cdn-loop", "CDN-Loop"),
    ("cf-ray", "CF-Ray"),
    ("fastly-ff", "Fastly-FF"),
    ("x-amz-cf-id", "X-Amz-Cf-Id"),
    ("akamai-origin-hop", "Akamai-Origin-Hop"),
    ("x-azure-ref", "X-Azure-Ref"),
    ("cdn-requestid", "CDN-RequestId"),
    ("x-sucuri-clientip", "X-Sucuri-ClientIP"),
    ("x-varnish", "X-Varnish"),
];

/// What shows that reads of the site's robots.txt may go unseen, if anything does.
pub(super) fn reason(incoming: Incoming<'_>, config: &Config, site: &SiteConfig) -> Option<&'static str> {
    match site.reads {
        Some(Reads::Complete) => None,
        Some(Reads::Partial) => Some("configured"),
        None => sign(incoming.head).filter(|_| is_believed(incoming, config)),
    }
}

fn written(name: &[u8]) -> Option<&'static str> {
    let is_own = |sign: &&(&str, &str)| name.eq_ignore_ascii_case(sign.0.as_bytes());
    SIGNS.iter().find(is_own).map(|(_, written)| *written)
}

fn sign(head: &RequestHead) -> Option<&'static str> {
    // A look at each name costs less than nine look-ups.
    head.fields().find_map(|(name, _)| written(name))
}

/// Where proxies are named, only they are asked: any client can send such a field. Where none is, a CDN may stand in front
/// that nobody has named.
fn is_believed(incoming: Incoming<'_>, config: &Config) -> bool {
    let named = &config.trusted_proxies;
    named.is_empty() || incoming.connection.peer.is_some_and(|peer| named.contain(peer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Body, HttpVersion};

    #[test]
    fn caches_are_told_by_their_fields_and_proxies_are_not() {
        let of = |name: &'static str| {
            let fields = [(&b"User-Agent"[..], &b"GPTBot/1.2"[..]), (name.as_bytes(), b"x")];
            let fields = fields.into_iter();
            sign(&RequestHead::from_parts([b"GET", b"/"], None, HttpVersion::Http11, Body::None, fields))
        };
        for (name, written) in SIGNS {
            assert_eq!(of(name), Some(written));
            assert_eq!(written.to_ascii_lowercase(), name);
        }
        for proxy in ["via", "x-forwarded-for", "forwarded", "x-real-ip", "x-request-id"] {
            assert_eq!(of(proxy), None, "{proxy}");
        }
    }

    #[test]
    fn the_list_is_the_one_that_operators_are_told() {
        let page = include_str!("../../docs/behind-cdn.md");
        for (_, written) in SIGNS {
            assert!(page.contains(&format!("`{written}`")), "{written}");
        }
    }
}
