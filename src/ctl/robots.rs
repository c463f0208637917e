//! `gatewayctl robots`: a site's robots.txt as it is served, each line with where it comes from.
//!
//! A running gateway is asked; without one it is what the configuration makes of its files.

use super::args::{Cli, RobotsArgs, RobotsVerb};
use super::control;
use super::output::Output;
use super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::policy::{self, FetchReport, ServedLine, ServedRobots};
use crate::request::host;
use std::io;
use std::time::SystemTime;

pub(super) fn run(cli: &Cli, arguments: &RobotsArgs, output: &mut Output<'_>) -> VerbResult {
    if let Some(RobotsVerb::Refresh) = arguments.verb {
        return refresh(cli, arguments, output);
    }
    let served = ask_daemon(cli, arguments).unwrap_or_else(|| load_configured(cli, arguments))?;
    output.show(&served, print)?;
    Ok(VerbOutcome::Fine)
}

fn refresh(cli: &Cli, arguments: &RobotsArgs, output: &mut Output<'_>) -> VerbResult {
    let fetched: Vec<FetchReport> =
        control::ask(&cli.control_socket()?, "POST", "/robots/refresh", arguments)?;
    output.show(&fetched, |fetched, output| {
        if fetched.is_empty() {
            return output.line("no site takes its robots.txt from its origin");
        }
        fetched.iter().try_for_each(|FetchReport { site, result, error, robots_version }| {
            let version = robots_version.as_deref().unwrap_or("no file");
            let error = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            output.line(format!("{site}: {result}, {version}{error}"))
        })
    })?;
    let has_failed = fetched.iter().any(|fetched| fetched.result == "failed");
    Ok(if has_failed { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

/// What a running gateway answers; `None` where none is running.
fn ask_daemon(cli: &Cli, arguments: &RobotsArgs) -> Option<Result<ServedRobots, VerbFailure>> {
    let socket = cli.control_socket().ok().filter(|socket| socket.exists())?;
    // A socket that a killed gateway left behind answers nothing.
    std::os::unix::net::UnixStream::connect(&socket).ok()?;
    Some(control::ask(&socket, "GET", "/robots", arguments))
}

fn load_configured(cli: &Cli, arguments: &RobotsArgs) -> Result<ServedRobots, VerbFailure> {
    let path = cli.needed_config_file()?;
    let policy =
        which_config::load(cli, Some(path)).and_then(|config| policy::trial(config, SystemTime::now()))?;
    let host = arguments.site.as_deref().map(host::normalise);
    let site = policy.asked_site(host.as_deref()).map_err(|error| {
        VerbFailure::with_hint(error, "`gatewayctl robots --site HOST` names a site by one of its hosts")
    })?;
    Ok(site.served())
}

fn print(served: &ServedRobots, output: &mut Output<'_>) -> io::Result<()> {
    let lines = &served.lines;
    if lines.is_empty() {
        return output.line("this site has no robots.txt: everything is allowed");
    }
    let digits = lines.len().to_string().len();
    let width = lines.iter().map(|line| line.source.len()).max().unwrap_or_default();
    for ServedLine { number, text, source, void } in lines {
        let void = void.as_ref().map(|why| format!("  [{why}]")).unwrap_or_default();
        output.line(format!("{number:>digits$}  {source:<width$}  {text}{void}").trim_end())?;
    }
    Ok(())
}
