//! Does the origin serve a robots.txt of its own that says something else?
//!
//! The gateway never serves it, so an operator who still edits that file edits it for nobody.

use super::lint::FileFinding;
use crate::config::OriginUrl;
use crate::policy::Site;
use crate::robots::Severity;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(3);

/// As much as crawlers read (RFC 9309 §2.5), and some.
const MOST_BYTES: u64 = 1024 * 1024;

/// Asks the origin, and says what an operator should know of the answer.
pub(super) fn compare(config: &Path, site: &Site) -> Option<FileFinding> {
    let complaint = |severity, code, message, hint| FileFinding::whole(config, severity, code, message, hint);
    let name = &site.config.name;
    // All servers of an origin serve the same.
    let origin = &site.config.origin.servers.first()?.url;
    if site.config.origin.ca.is_some() || matches!(origin, OriginUrl::Socket(_)) {
        return None;
    }
    match fetch(&origin.to_string(), site.config.exact_host()) {
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
            format!("site `{name}`: the origin {origin} could not be asked for its robots.txt: {error}"),
            "--offline does not ask",
        )),
    }
}

/// The robots.txt that the origin at this URL has for a host, if it has one.
pub(super) fn fetch(origin: &str, host: Option<&str>) -> Result<Option<Vec<u8>>, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let mut request = agent.get(format!("{}/robots.txt", origin.trim_end_matches('/')));
    if let Some(host) = host {
        request = request.header("Host", host);
    }
    let mut answer = request.call()?;
    if answer.status() != 200 {
        return Ok(None);
    }
    answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec().map(Some)
}
