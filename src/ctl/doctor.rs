//! `gatewayctl doctor`: asks for robots.txt by the site's public name, over http and https, and says what is wrong on the way.
//!
//! What comes back is compared with what the running gateway serves. It asks nothing else, and nothing of an origin.

use super::args::{DoctorArgs, RobotsArgs};
use super::lint::{FileFindings, report};
use super::origin_copy::{PublicAnswer, ask, body, field};
use super::{Cli, Output, VerbFailure, VerbResult, check, which_config};
use crate::config::{Config, SiteConfig};
use crate::decide::VersionId;
use crate::policy::{ServedLine, ServedRobots};
use crate::robots::Severity;

/// Fields by which something in front of the gateway gives itself away: the gateway sends none of them with robots.txt.
const SIGNS: [&str; 7] = ["server", "via", "cf-ray", "x-amz-cf-id", "x-served-by", "x-cache", "age"];

pub(super) fn run(cli: &Cli, arguments: &DoctorArgs, output: &mut Output<'_>) -> VerbResult {
    let path = cli.needed_config_file()?;
    let config = which_config::load(cli, Some(path.clone()))?;
    let hosts: Vec<String> = match &arguments.site {
        Some(host) => vec![host.clone()],
        None => config.sites.iter().filter_map(SiteConfig::exact_host).map(str::to_owned).collect(),
    };
    if hosts.is_empty() {
        let hint = "--site HOST names the site as its visitors do";
        return Err(VerbFailure::with_hint("no site names a host to ask for", hint));
    }
    let mut found = FileFindings::of(&path);
    for host in hosts {
        let question = RobotsArgs { site: Some(host.clone()), verb: None };
        let served: ServedRobots = cli.ask("GET", "/robots", &question)?;
        examine(&mut found, &config, &served, &host, arguments.at.as_deref());
    }
    // After these questions the gateway knows whether they came through.
    check::seen(cli, &mut found);
    report(&found.all, false, output)
}

/// Asks for the file of one host, which the gateway serves as `served`.
fn examine(
    found: &mut FileFindings<'_>,
    config: &Config,
    served: &ServedRobots,
    host: &str,
    at: Option<&str>,
) {
    let (mut has_answered, mut silent, mut in_front) = (false, None, None);
    let servers = match at {
        Some(at) => vec![at.to_owned()],
        None => vec![format!("http://{host}"), format!("https://{host}")],
    };
    for server in servers {
        let url = format!("{}/robots.txt", server.trim_end_matches('/'));
        let asked = ask(&server, Some(host), "/robots.txt", &[], false);
        match asked.and_then(|mut answer| Ok((body(&mut answer)?, answer))) {
            Ok((body, answer)) => {
                let sign = |name: &&str| Some(format!("{name}: {}", field(&answer, name)?));
                let signs: Vec<String> = SIGNS.iter().filter_map(sign).collect();
                compare(found, served, &url, (&answer, &body), &signs);
                has_answered = true;
                in_front = in_front.or_else(|| signs.into_iter().next());
            }
            Err(why) => {
                silent.get_or_insert_with(|| format!("{url} has no answer: {why}"));
            }
        }
    }
    // A site need not answer over both.
    if let Some(why) = silent.filter(|_| !has_answered) {
        let hint = "is the name right, and does it lead here? --at URL asks another server";
        found.add(Severity::Error, "no-answer", why, hint);
    }
    // A proxy in front whose word about addresses is not believed.
    if let Some(sign) = in_front.filter(|_| config.authorize.is_none() && config.trusted_proxies.is_empty()) {
        let message = format!(
            "something answers in front of the gateway ({sign}), and `trusted_proxies` is empty: every client has its address"
        );
        found.add(Severity::Error, "addresses", message, "name its networks in `trusted_proxies`");
    }
}

/// Whether one answer is the file that is judged by.
fn compare(
    found: &mut FileFindings<'_>,
    served: &ServedRobots,
    url: &str,
    (answer, body): (&PublicAnswer, &[u8]),
    signs: &[String],
) {
    let by = if signs.is_empty() { String::new() } else { format!(" (answered with {})", signs.join(", ")) };
    let mend = "pass /robots.txt on to the gateway, and let no cache or plugin answer it";
    match (answer.status().as_u16(), &served.robots_version) {
        (200, Some(version)) if VersionId::of(body).to_string() == *version => {
            let message = format!("{url} is version {version}, which the gateway serves");
            found.add(Severity::Note, "arrives", message, "this is right");
        }
        (404, None) => {
            let message = format!("{url} is answered 404, as the gateway has no robots.txt for it");
            found.add(Severity::Note, "arrives", message, "this is right");
        }
        (200, _) => {
            let message = format!("{url} differs from the gateway's file{by}: {}", difference(served, body));
            found.add(Severity::Error, "another-file", message, mend);
        }
        (300..=399, _) => {
            let to = field(answer, "location").unwrap_or_else(|| "nowhere".to_owned());
            let hint = "most crawlers follow; those that do not take everything for allowed";
            found.add(Severity::Note, "redirected", format!("{url} is redirected to {to}"), hint);
        }
        (status, _) => {
            found.add(Severity::Error, "another-answer", format!("{url} is answered {status}{by}"), mend);
        }
    }
}

/// The first line that is not the same.
fn difference(served: &ServedRobots, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut theirs = text.lines();
    for ServedLine { number, text: ours, .. } in &served.lines {
        match theirs.next() {
            Some(other) if other.trim_end() == ours.trim_end() => {}
            Some(other) => return format!("line {number} is `{other}`, and the gateway's is `{ours}`"),
            None => return format!("it ends before line {number}, `{ours}`"),
        }
    }
    match theirs.next() {
        Some(more) => format!("it goes on with `{more}`"),
        None => "the lines are the same, but not their ends".to_owned(),
    }
}
