//! Whether somebody in front of the gateway may answer `/robots.txt` itself.
//!
//! A proxy by itself does not: it passes requests on. A cache may, whatever `Cache-Control` says, and then the gateway does
//! not know who read the file. A site can say which it is (`reads`); else the fields that CDNs and caches add to what they
//! pass on are taken for it. `docs/behind-cdn.md` has the list, and it is closed: a field that any proxy sends is no sign.

use super::Incoming;
use super::decision::JudgeInput;
use crate::config::{Config, SiteConfig};
use crate::enforce::Mode;
use crate::http::RequestHead;
use crate::policy::JudgedRequest;
use crate::record::{Reads, Recorder, stand_in};

/// Fields of CDNs and caches, as they are written.
const SIGNS: [&str; 9] = [
    // RFC 8586.
    "CDN-Loop",
    "CF-Ray",
    "Fastly-FF",
    "X-Amz-Cf-Id",
    "Akamai-Origin-Hop",
    "X-Azure-Ref",
    "CDN-RequestId",
    "X-Sucuri-ClientIP",
    "X-Varnish",
];

/// Notes what a judged request shows of that, or a name that stands in for those of all visitors: whose read came under
/// that, nobody knows either.
pub(super) fn note(recorder: &Recorder, input: JudgeInput<'_>, judged: &JudgedRequest<'_>) {
    let is_recorded = judged.mode != Mode::Off && judged.verdict.is_judged();
    let config = &input.site.config;
    let is_believed = |_: &&str| is_believed(input.incoming, &input.policy.config);
    let name = judged.identity.crawler.as_deref().and_then(stand_in).filter(is_believed);
    let of_fields = || reason(input.incoming, &input.policy.config, config).filter(|_| is_recorded);
    if let Some(reason) = name.or_else(of_fields) {
        recorder.reads_go_unseen(&config.name, reason, input.now);
    }
}

/// What shows that reads of the site's robots.txt may go unseen, if anything does.
fn reason(incoming: Incoming<'_>, config: &Config, site: &SiteConfig) -> Option<&'static str> {
    match site.reads {
        Some(Reads::Complete) => None,
        Some(Reads::Partial) => Some("configured"),
        None => sign(incoming.head).filter(|_| is_believed(incoming, config)),
    }
}

fn sign(head: &RequestHead) -> Option<&'static str> {
    head.fields().find_map(|(name, _)| {
        let is_own = |sign: &&&str| name.eq_ignore_ascii_case(sign.as_bytes());
        // Few names of ordinary requests are as long as one in the list.
        let may_be = matches!(name.len(), 6 | 8 | 9 | 11 | 13 | 17);
        SIGNS.iter().filter(|_| may_be).find(is_own).copied()
    })
}

/// Where proxies are named, only they are asked: any client can send such a field. Where none is, a CDN may stand in front
/// that nobody has named.
fn is_believed(incoming: Incoming<'_>, config: &Config) -> bool {
    let named = &config.trusted_proxies;
    named.is_empty() || incoming.connection.peer.is_some_and(|peer| named.contains(peer))
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
        for written in SIGNS {
            let lower: &str = Box::leak(written.to_ascii_lowercase().into());
            assert_eq!((of(lower), of(written)), (Some(written), Some(written)));
        }
        for proxy in ["via", "x-forwarded-for", "forwarded", "x-real-ip", "x-request-id"] {
            assert_eq!(of(proxy), None, "{proxy}");
        }
    }

    #[test]
    fn the_list_is_the_one_that_operators_are_told() {
        let page = include_str!("../../docs/behind-cdn.md");
        for written in SIGNS {
            assert!(page.contains(&format!("`{written}`")), "{written}");
        }
    }
}
