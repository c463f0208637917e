//! `gatewayctl robots`: a site's robots.txt as it is served, each line with where it comes from.
//!
//! A running gateway is asked; without one it is what the configuration makes of its files.

use super::args::{Cli, RobotsArgs, RobotsVerb};
use super::output::{Output, escape_harmful};
use super::{VerbFailure, VerbOutcome, VerbResult, control, setting};
use crate::policy;
use crate::request::host;
use serde_json::Value;
use std::io;
use std::time::SystemTime;

pub(super) fn run(cli: &Cli, arguments: &RobotsArgs, output: &mut Output<'_>) -> VerbResult {
    let site = arguments.site.as_deref().map(|site| host::normalise(site).into_owned());
    if let Some(RobotsVerb::Refresh) = arguments.verb {
        return refresh(cli, site.as_deref(), output);
    }
    let served = match ask_daemon(cli, site.as_deref()) {
        Some(answer) => answer?,
        None => load_configured(cli, site.as_deref())?,
    };
    output.show(&served, print)?;
    Ok(VerbOutcome::Fine)
}

fn refresh(cli: &Cli, site: Option<&str>, output: &mut Output<'_>) -> VerbResult {
    let query = site.map_or_else(String::new, |site| format!("?site={}", control::percent_encode(site)));
    let answer = control::ask(&cli.control_socket()?, "POST", &format!("/robots/refresh{query}"))?;
    let sites = answer.as_array().map_or(&[][..], Vec::as_slice);
    let word = |site: &Value, key: &str| site.get(key).and_then(Value::as_str).map(escape_harmful);
    if output.is_json() {
        output.json(&answer)?;
    } else if sites.is_empty() {
        output.line("no site takes its robots.txt from its origin")?;
    } else {
        for site in sites {
            let (name, result) =
                (word(site, "site").unwrap_or_default(), word(site, "result").unwrap_or_default());
            let version = word(site, "robots_version").unwrap_or_else(|| "no file".to_owned());
            let error = word(site, "error").map(|error| format!(": {error}")).unwrap_or_default();
            output.line(format!("{name}: {result}, {version}{error}"))?;
        }
    }
    let has_failed = sites.iter().any(|site| word(site, "result").as_deref() == Some("failed"));
    Ok(if has_failed { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

/// What a running gateway answers; `None` where none is running.
fn ask_daemon(cli: &Cli, site: Option<&str>) -> Option<Result<Value, VerbFailure>> {
    let socket = cli.control_socket().ok().filter(|socket| socket.exists())?;
    // A socket that a killed gateway left behind answers nothing.
    std::os::unix::net::UnixStream::connect(&socket).ok()?;
    let query = site.map_or_else(String::new, |site| format!("?site={}", control::percent_encode(site)));
    Some(control::ask(&socket, "GET", &format!("/robots{query}")))
}

fn load_configured(cli: &Cli, site: Option<&str>) -> Result<Value, VerbFailure> {
    let path = cli.needed_config_file()?;
    let loaded = setting::load(cli, Some(path)).and_then(|config| policy::trial(config, SystemTime::now()));
    let policy = loaded?;
    let site = policy.asked_site(site).map_err(|error| {
        VerbFailure(format!(
            "{error}\n  hint: `gatewayctl robots --site HOST` names a site by one of its hosts"
        ))
    })?;
    serde_json::to_value(site.served()).map_err(|error| VerbFailure(error.to_string()))
}

fn print(served: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(escape_harmful);
    let lines = served.get("lines").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if lines.is_empty() {
        return output.line("this site has no robots.txt: everything is allowed");
    }
    let width = lines.iter().filter_map(|line| word(line, "source")).map(|source| source.len()).max();
    let (digits, width) = (lines.len().to_string().len(), width.unwrap_or_default());
    for line in lines {
        let number = line.get("number").and_then(Value::as_u64).unwrap_or_default();
        let (source, text) =
            (word(line, "source").unwrap_or_default(), word(line, "text").unwrap_or_default());
        let void = word(line, "void").map(|why| format!("  [{why}]")).unwrap_or_default();
        output.line(format!("{number:>digits$}  {source:<width$}  {text}{void}").trim_end())?;
    }
    Ok(())
}
