//! Does the origin serve a robots.txt of its own that says something else?
//!
//! The gateway never serves it, so an operator who still edits that file edits it for nobody.

use super::lint::FileFinding;
use crate::config::OriginUrl;
use crate::policy::Site;
use crate::robots::Severity;
use std::path::Path;
use std::time::Duration;
use ureq::Body;
use ureq::http::Response;

const PATIENCE: Duration = Duration::from_secs(3);

/// As much as crawlers read (RFC 9309 §2.5), and some.
const MOST_BYTES: u64 = 1024 * 1024;

/// Asks the origin, and says what an operator should know of the answer.
pub(super) fn compare(config: &Path, site: &Site) -> Option<FileFinding> {
    let complaint = |severity, code, message, hint| FileFinding::whole(config, severity, code, message, hint);
    let name = &site.config.name;
    let origin = askable(site)?;
    match fetch(&origin.to_string(), site.config.exact_host(), false) {
        // It is the gateway's, too, once it was fetched.
        Ok(_) if site.config.robots.origin().is_some() => None,
        Ok(Some(copy)) => {
            let own = site.robots.as_ref().map_or(&b""[..], |file| file.own());
            (copy != own).then(|| {
                complaint(
                    Severity::Warning,
                    "origin-robots",
                    format!("site `{name}`: the origin {origin} has a robots.txt of its own that differs"),
                    "the gateway's is the one that counts; copy what you need, and remove the other",
                )
            })
        }
        Ok(None) => None,
        Err(error) => Some(complaint(
            Severity::Note,
            "origin-silent",
            format!("site `{name}`: the origin {origin} did not give its robots.txt: {error}"),
            "--offline does not ask",
        )),
    }
}

/// The origin of a site, where it can be asked from here. All servers of an origin serve the same.
pub(super) fn askable(site: &Site) -> Option<&OriginUrl> {
    let origin = &site.config.origin.servers.first()?.url;
    let is_plain = site.config.origin.ca.is_none() && !matches!(origin, OriginUrl::Socket(_));
    is_plain.then_some(origin)
}

/// The robots.txt that the origin at this URL has for a host, if it has one; or why that is not known.
pub(super) fn fetch(origin: &str, host: Option<&str>, follows: bool) -> Result<Option<Vec<u8>>, String> {
    let mut answer = ask(origin, host, "/robots.txt", &[], follows).map_err(|error| why(&error))?;
    match answer.status().as_u16() {
        200 => {
            let body = answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
            body.map(Some).map_err(|error| why(&error))
        }
        // What crawlers take for no file (RFC 9309 §2.3.1.3).
        status @ 400..500 if status != 429 => Ok(None),
        status => Err(format!("the answer is {status}")),
    }
}

/// Why there is no answer, without the words of the library.
pub(super) fn why(error: &ureq::Error) -> String {
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
) -> Result<Response<Body>, ureq::Error> {
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
    request.call()
}
