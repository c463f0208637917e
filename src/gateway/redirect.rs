//! The redirect of `redirect_https`: plain requests go to the same place under `https`.

use crate::http::Response;
use crate::policy::Site;
use crate::request::target::RequestTarget;
use crate::request::{RequestFacts, Scheme};
use std::fmt::Write as _;

/// Sends a plain request to the same place under `https`, where the site wants that. It is judged there.
/// Never robots.txt, which crawlers need not follow through redirects and are to have from here (RFC 9309
/// §2.3.1.2), nor what a certificate authority asks for while there is no certificate yet (RFC 8555 §8.3).
pub(super) fn redirect_to_https(facts: &RequestFacts<'_>, site: &Site) -> Option<Response> {
    if !site.config.redirect_https || facts.scheme == Scheme::Https || facts.host.is_empty() {
        return None;
    }
    let target = RequestTarget::new(&facts.target, site.config.path_parameters);
    if target.may_be_robots_txt() || target.is_acme_challenge() {
        return None;
    }
    // What is not ASCII stands in a URI percent-encoded (RFC 3986 §2.1).
    let mut location = format!("https://{}", facts.host);
    for byte in &*facts.target {
        // Writing to a `String` cannot fail.
        let _ = match byte {
            0x21..=0x7e => location.write_char(char::from(*byte)),
            _ => write!(location, "%{byte:02X}"),
        };
    }
    // 308 keeps the method and the body (RFC 9110 §15.4.9).
    Some(Response::page(308, "this site is served over https").with("location", location))
}
