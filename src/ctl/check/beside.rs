//! What there is to know where other proxies ask: what is then not there, and whether robots.txt comes through them.

use crate::control::RobotsTxtSeen;
use crate::ctl::lint::FileFinding;
use crate::policy::{COPIES, Policy};
use crate::robots::Severity;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Everything about the listener that other proxies ask at; nothing where there is none.
pub(super) fn findings(path: &Path, policy: &Policy) -> Vec<FileFinding> {
    let Some(doors) = &policy.config.authorize else { return Vec::new() };
    let warning = |code, message, hint| FileFinding::whole(path, Severity::Warning, code, message, hint);
    let note = |code, message, hint| FileFinding::whole(path, Severity::Note, code, message, hint);
    let mut found = Vec::new();
    if policy.config.trusted_proxies.is_empty() {
        found.push(warning(
            "authorize-nobody",
            "[authorize] answers only peers in `trusted_proxies`, which is empty".to_owned(),
            "name the proxy's address there; on this machine that is \"127.0.0.1\" and \"::1\"",
        ));
    }
    if doors.secret_file.is_none() && !doors.listen.ip().is_loopback() {
        found.push(warning(
            "authorize-open",
            format!("[authorize] can be reached from elsewhere at {}, and asks for no secret", doors.listen),
            "set `secret_file`: whoever sends from a trusted address could make up reads and clients",
        ));
    }
    let alone = policy.sites().iter().filter(|site| site.config.origin.servers.is_empty());
    for site in alone {
        let name = &site.config.name;
        found.push(note(
            "no-origin",
            format!(
                "site `{name}` has no origin: response status, origin metrics and comparison of robots.txt are unavailable"
            ),
            "that is right for a site that another proxy serves",
        ));
        if site.config.redirect_https {
            found.push(note(
                "no-redirect",
                format!(
                    "site `{name}`: `redirect_https` does nothing for requests that another proxy asks about"
                ),
                "have that proxy redirect",
            ));
        }
    }
    found.extend(shut_copies(path, policy));
    found
}

/// A folder that keeps a proxy of another user from the copies of robots.txt.
fn shut_copies(path: &Path, policy: &Policy) -> Option<FileFinding> {
    let copies = policy.config.state_dir.join(COPIES).canonicalize().ok()?;
    let is_shut =
        |folder: &&Path| folder.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 == 0);
    let shut = copies.ancestors().find(is_shut)?;
    let message = format!(
        "only its owner and its group may enter {}: a proxy that runs as another user cannot give crawlers the copies of \
         robots.txt in {} while the gateway is down",
        shut.display(),
        copies.display()
    );
    let hint = "let others pass through it: `chmod o+x FOLDER`";
    Some(FileFinding::whole(path, Severity::Note, "copies-shut", message, hint))
}

/// Whether /robots.txt of these hosts came through the other proxy lately.
pub(super) fn robots_txt(path: &Path, seen: &RobotsTxtSeen) -> FileFinding {
    let hosts = &seen.hosts;
    match seen.seconds_ago {
        None => {
            let message = format!(
                "/robots.txt of `{hosts}` has not arrived through the other proxy within 24 h, so no violations are \
                 counted and nothing is refused"
            );
            let hint = "have the proxy pass /robots.txt on to the listener of [authorize], and ask the proxy for that file once";
            FileFinding::whole(path, Severity::Warning, "robots-elsewhere", message, hint)
        }
        Some(ago) => {
            let message =
                format!("/robots.txt of `{hosts}` arrives through the other proxy: last {ago} s ago");
            FileFinding::whole(path, Severity::Note, "robots-arrives", message, "this is right")
        }
    }
}
