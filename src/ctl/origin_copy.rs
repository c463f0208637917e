//! What an operator should know of the origin itself: does it serve a robots.txt of its own that says something else, and does
//! it compress for clients alone? And the questions by which origins and sites are asked.
//!
//! The gateway never serves the origin's robots.txt, so an operator who still edits that file edits it for nobody.

use super::lint::FileFindings;
use crate::config::OriginUrl;
use crate::policy::Site;
use crate::robots::Severity;
use std::time::Duration;
use ureq::Body;
use ureq::http::Response;

const PATIENCE: Duration = Duration::from_secs(3);

/// As much as crawlers read (RFC 9309 §2.5), and some.
const MOST_BYTES: u64 = 1024 * 1024;

/// What was answered to one question; what was sent is still to be read.
pub(super) type PublicAnswer = Response<Body>;

pub(super) fn field(answer: &PublicAnswer, name: &str) -> Option<String> {
    Some(String::from_utf8_lossy(answer.headers().get(name)?.as_bytes()).into_owned())
}

/// What was sent, or why it cannot be had.
pub(super) fn body(answer: &mut PublicAnswer) -> Result<Vec<u8>, String> {
    answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec().map_err(|error| why(&error))
}

/// Asks the origin, and says what an operator should know of the answer.
pub(super) fn compare(found: &mut FileFindings<'_>, site: &Site) {
    let (name, Some(origin)) = (&site.config.name, askable(site)) else { return };
    let own = site.robots.as_ref().map_or(&b""[..], |file| file.own());
    match fetch(&origin.to_string(), site.config.exact_host(), false) {
        // It is the gateway's, too, once it was fetched.
        Ok(Some(copy)) if copy != own && site.config.robots.origin().is_none() => {
            let message =
                format!("site `{name}`: the origin {origin} has a robots.txt of its own that differs");
            let hint = "the gateway's is the one that counts; copy what you need, and remove the other";
            found.add(Severity::Warning, "origin-robots", message, hint);
        }
        Ok(_) => {}
        Err(error) => {
            let message = format!("site `{name}`: the origin {origin} did not give its robots.txt: {error}");
            found.add(Severity::Note, "origin-silent", message, "--offline does not ask");
        }
    }
}

/// Asks the origin for its first page as a client does, and as the gateway does, which names itself in `Via`. What cannot be
/// asked is told elsewhere.
pub(super) fn compare_compression(found: &mut FileFindings<'_>, site: &Site) {
    let (name, Some(origin)) = (&site.config.name, askable(site)) else { return };
    let is_compressed = |via: &[(&str, &str)]| {
        let fields = [&[("Accept-Encoding", "gzip")], via].concat();
        let answer = ask(&origin.to_string(), site.config.exact_host(), "/", &fields, false).ok()?;
        Some(field(&answer, "content-encoding").is_some_and(|coding| coding != "identity"))
    };
    if is_compressed(&[]) == Some(true) && is_compressed(&[("Via", "1.1 robots-gateway")]) == Some(false) {
        let message = format!(
            "site `{name}`: the origin {origin} compresses pages, but not for requests with the field `Via`"
        );
        let hint = "set `gzip_proxied any;` in the origin's nginx, or `via = false` here";
        found.add(Severity::Warning, "compression", message, hint);
    }
}

/// The origin of a site, where it can be asked from here. All servers of an origin serve the same.
fn askable(site: &Site) -> Option<&OriginUrl> {
    let origin = &site.config.origin.servers.first()?.url;
    let is_plain = site.config.origin.ca.is_none() && !matches!(origin, OriginUrl::Socket(_));
    is_plain.then_some(origin)
}

/// The robots.txt that the origin at this URL has for a host, if it has one; or why that is not known.
pub(super) fn fetch(origin: &str, host: Option<&str>, follows: bool) -> Result<Option<Vec<u8>>, String> {
    let mut answer = ask(origin, host, "/robots.txt", &[], follows)?;
    match answer.status().as_u16() {
        200 => body(&mut answer).map(Some),
        // What crawlers take for no file (RFC 9309 §2.3.1.3).
        status @ 400..500 if status != 429 => Ok(None),
        status => Err(format!("the answer is {status}")),
    }
}

/// Why there is no answer, without the words of the library.
fn why(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) if error.to_string().starts_with("failed to lookup") => {
            "its name has no address".to_owned()
        }
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => format!("nothing within {PATIENCE:?}"),
        other => other.to_string(),
    }
}

/// The answer of the origin at this URL to a GET with these fields. Whoever asks as a crawler would follows redirects
/// (RFC 9309 §2.3.1.2).
pub(super) fn ask(
    origin: &str,
    host: Option<&str>,
    target: &str,
    fields: &[(&str, &str)],
    follows: bool,
) -> Result<PublicAnswer, String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(if follows { 5 } else { 0 })
        .build()
        .into();
    let mut request = agent.get(format!("{}{target}", origin.trim_end_matches('/')));
    for (name, value) in host.map(|host| ("Host", host)).iter().chain(fields) {
        request = request.header(*name, *value);
    }
    request.call().map_err(|error| why(&error))
}
