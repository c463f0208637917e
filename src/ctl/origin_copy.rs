//! Does the origin serve a robots.txt of its own that says something else?
//!
//! The gateway never serves it, so an operator who still edits that file edits it for nobody.

use super::lint::Complaint;
use crate::config::{HostPattern, OriginUrl};
use crate::policy::Site;
use crate::robots::Severity;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(3);

/// As much as crawlers read (RFC 9309 §2.5), and some.
const MOST_BYTES: u64 = 1024 * 1024;

/// Asks the origin, and says what an operator should know of the answer.
pub(super) fn compare(config: &Path, site: &Site) -> Option<Complaint> {
    let complaint = |severity: Severity, code, message: String, hint: &str| Complaint {
        path: config.display().to_string(),
        line: None,
        column: None,
        severity: severity.as_str(),
        code,
        message,
        hint: Some(hint.to_owned()),
    };
    let name = &site.config.name;
    // All servers of an origin serve the same.
    let origin = &site.config.origin.servers.first()?.url;
    if site.config.origin.ca.is_some() || matches!(origin, OriginUrl::Socket(_)) {
        return None;
    }
    match fetch(site, origin) {
        Ok(Some(copy)) => {
            let own = site.robots.as_ref().map_or(&b""[..], |file| file.bytes.as_slice());
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

/// The origin's robots.txt, if it has one.
fn fetch(site: &Site, origin: &OriginUrl) -> Result<Option<Vec<u8>>, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let mut request = agent.get(format!("{origin}/robots.txt"));
    if let Some(HostPattern::Exact(host)) = site.config.hosts.first() {
        request = request.header("Host", &**host);
    }
    let mut answer = request.call()?;
    if answer.status() != 200 {
        return Ok(None);
    }
    answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec().map(Some)
}
