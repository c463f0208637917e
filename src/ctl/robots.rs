//! `gatewayctl robots`: a site's robots.txt as it is served, each line with where it comes from.
//!
//! A running gateway is asked; without one it is what the configuration makes of its files.

use super::args::{RobotsArgs, RobotsVerb};
use super::{Cli, Output, VerbFailure, VerbResult, which_config};
use crate::policy::{self, FetchReport, ServedLine, ServedRobots};
use crate::request::host;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::SystemTime;

pub(super) fn run(cli: &Cli, arguments: &RobotsArgs, output: &mut Output<'_>) -> VerbResult {
    if let Some(RobotsVerb::Refresh) = arguments.verb {
        return refresh(cli, arguments, output);
    }
    // A socket that a killed gateway left behind answers nothing.
    let runs = cli.control_socket().is_ok_and(|socket| UnixStream::connect(socket).is_ok());
    let served = if runs { cli.ask("GET", "/robots", arguments)? } else { configured(cli, arguments)? };
    output.answer(&served, false, print)
}

fn refresh(cli: &Cli, arguments: &RobotsArgs, output: &mut Output<'_>) -> VerbResult {
    let fetched: Vec<FetchReport> = cli.ask("POST", "/robots/refresh", arguments)?;
    let has_failed = fetched.iter().any(|fetched| fetched.result == "failed");
    output.answer(&fetched, has_failed, |fetched, output| {
        if fetched.is_empty() {
            return output.line("no site takes its robots.txt from its origin");
        }
        fetched.iter().try_for_each(|FetchReport { site, result, error, robots_version }| {
            let version = robots_version.as_deref().unwrap_or("no file");
            let error = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            output.line(format!("{site}: {result}, {version}{error}"))
        })
    })
}

/// What would be served by the configuration.
fn configured(cli: &Cli, arguments: &RobotsArgs) -> Result<ServedRobots, VerbFailure> {
    let config = which_config::load(cli, Some(cli.needed_config_file()?))?;
    let policy = policy::trial(config, SystemTime::now())?;
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
