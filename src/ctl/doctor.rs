//! `gatewayctl doctor`: asks for robots.txt by the site's public name, over http and https, and says what is wrong on the way.
//!
//! What comes back is compared with what the running gateway serves. It asks nothing else, and nothing of an origin.

use super::args::{Cli, DoctorArgs, RobotsArgs};
use super::control::{self, GatewayAnswer};
use super::lint::{FileFinding, report};
use super::output::Output;
use super::{VerbFailure, VerbResult, check, origin_copy, which_config};
use crate::config::{Config, SiteConfig};
use crate::decide::VersionId;
use crate::policy::ServedRobots;
use crate::robots::Severity;
use std::path::Path;

/// As much as crawlers read (RFC 9309 §2.5), and some.
const MOST_BYTES: u64 = 1024 * 1024;

/// Fields by which something in front of the gateway gives itself away: the gateway sends none of them with robots.txt.
const SIGNS: [&str; 7] = ["server", "via", "cf-ray", "x-amz-cf-id", "x-served-by", "x-cache", "age"];

pub(super) fn run(cli: &Cli, arguments: &DoctorArgs, output: &mut Output<'_>) -> VerbResult {
    let path = cli.needed_config_file()?;
    let config = which_config::load(cli, Some(path.clone()))?;
    let hosts = hosts(&config, arguments)?;
    let mut found = Vec::new();
    for host in hosts {
        let examined = Examined { path: &path, config: &config, host: &host };
        let question = RobotsArgs { site: Some(host.clone()), verb: None };
        let served: GatewayAnswer<ServedRobots> =
            control::ask(&cli.control_socket()?, "GET", "/robots", &question)?;
        found.extend(examined.examine(&served.told, arguments.at.as_deref()));
    }
    // After these questions the gateway knows whether they came through.
    found.extend(check::seen(cli, &path));
    report(&found, None, output)
}

/// The names that are asked for.
fn hosts(config: &Config, arguments: &DoctorArgs) -> Result<Vec<String>, VerbFailure> {
    let hosts: Vec<String> = match &arguments.site {
        Some(host) => vec![host.clone()],
        None => config.sites.iter().filter_map(SiteConfig::exact_host).map(str::to_owned).collect(),
    };
    if hosts.is_empty() {
        let hint = "--site HOST names the site as its visitors do";
        return Err(VerbFailure::with_hint("no site names a host to ask for", hint));
    }
    Ok(hosts)
}

/// What was answered to one question.
struct PublicAnswer {
    url: String,
    status: u16,
    location: Option<String>,
    signs: Vec<String>,
    body: Vec<u8>,
}

struct Examined<'a> {
    path: &'a Path,
    config: &'a Config,
    host: &'a str,
}

impl Examined<'_> {
    fn examine(&self, served: &ServedRobots, at: Option<&str>) -> Vec<FileFinding> {
        let servers = match at {
            Some(at) => vec![at.to_owned()],
            None => vec![format!("http://{}", self.host), format!("https://{}", self.host)],
        };
        let (answers, silent): (Vec<_>, Vec<_>) =
            servers.iter().map(|server| ask(server, self.host)).partition(Result::is_ok);
        // A site need not answer over both.
        if answers.is_empty() {
            let why = silent.into_iter().find_map(Result::err).unwrap_or_default();
            let hint = "is the name right, and does it lead here? --at URL asks another server";
            return vec![self.finding(Severity::Error, "no-answer", why, hint)];
        }
        let answers: Vec<PublicAnswer> = answers.into_iter().flatten().collect();
        answers.iter().map(|answer| self.of_answer(served, answer)).chain(self.of_proxies(&answers)).collect()
    }

    /// Whether one answer is the file that is judged by.
    fn of_answer(&self, served: &ServedRobots, answer: &PublicAnswer) -> FileFinding {
        let PublicAnswer { url, status, location, signs, body } = answer;
        let by =
            if signs.is_empty() { String::new() } else { format!(" (answered with {})", signs.join(", ")) };
        let hint = "pass /robots.txt on to the gateway, and let no cache or plugin answer it";
        match (status, &served.robots_version) {
            (200, Some(version)) if VersionId::of(body).to_string() == *version => {
                let message = format!("{url} is version {version}, which the gateway serves");
                self.finding(Severity::Note, "arrives", message, "this is right")
            }
            (404, None) => {
                let message = format!("{url} is answered 404, as the gateway has no robots.txt for it");
                self.finding(Severity::Note, "arrives", message, "this is right")
            }
            (200, _) => {
                let message =
                    format!("{url} differs from the gateway's file{by}: {}", difference(served, body));
                self.finding(Severity::Error, "another-file", message, hint)
            }
            (300..=399, _) => {
                let to = location.as_deref().unwrap_or("nowhere");
                let message = format!("{url} is redirected to {to}");
                let hint = "most crawlers follow; those that do not take everything for allowed";
                self.finding(Severity::Note, "redirected", message, hint)
            }
            _ => {
                let message = format!("{url} is answered {status}{by}");
                self.finding(Severity::Error, "another-answer", message, hint)
            }
        }
    }

    /// A proxy in front whose word about addresses is not believed.
    fn of_proxies(&self, answers: &[PublicAnswer]) -> Option<FileFinding> {
        let sign = answers.iter().flat_map(|answer| &answer.signs).next()?;
        let stands_in_front = self.config.authorize.is_none() && self.config.trusted_proxies.is_empty();
        stands_in_front.then(|| {
            let message = format!(
                "something answers in front of the gateway ({sign}), and `trusted_proxies` is empty: every client has its address"
            );
            let hint = "name its networks in `trusted_proxies`";
            self.finding(Severity::Error, "addresses", message, hint)
        })
    }

    fn finding(
        &self,
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
        hint: &str,
    ) -> FileFinding {
        FileFinding::whole(self.path, severity, code, message, hint)
    }
}

fn ask(server: &str, host: &str) -> Result<PublicAnswer, String> {
    let url = format!("{}/robots.txt", server.trim_end_matches('/'));
    let failed = |error: ureq::Error| format!("{url} has no answer: {}", origin_copy::why(&error));
    let mut answer = origin_copy::ask(server, Some(host), "/robots.txt", &[], false).map_err(failed)?;
    let field = |name: &str| {
        let value = answer.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let signs = SIGNS.iter().filter_map(|name| Some(format!("{name}: {}", field(name)?))).collect();
    let location = field("location");
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec().map_err(failed)?;
    Ok(PublicAnswer { url, status, location, signs, body })
}

/// The first line that is not the same.
fn difference(served: &ServedRobots, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut theirs = text.lines();
    for line in &served.lines {
        let (number, ours) = (line.number, &line.text);
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
