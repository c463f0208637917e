//! `gatewayctl mode`: changes a mode of the running gateway, until it is started again or for good.

use super::args::{Cli, ModeArgs};
use super::output::{Output, harmless};
use super::status::{list, string};
use super::{Failure, Outcome, control};
use serde_json::Value;
use std::io;

pub(super) fn run(
    cli: &Cli,
    arguments: &ModeArgs,
    output: &mut Output<impl io::Write>,
) -> Result<Outcome, Failure> {
    let report = control::ask(&cli.control_socket()?, "POST", &question(arguments))?;
    if output.is_json() {
        output.json(&report)?;
    } else {
        text(&report, output)?;
    }
    Ok(Outcome::Fine)
}

fn question(arguments: &ModeArgs) -> String {
    let mut path = match arguments.mode {
        Some(mode) => format!("/mode?mode={}", mode.0),
        None => "/mode?clear".to_owned(),
    };
    for (key, value) in [("crawler", &arguments.crawler), ("site", &arguments.site)] {
        if let Some(value) = value {
            path.extend(["&", key, "=", &control::encoded(value)]);
        }
    }
    if arguments.all {
        path.push_str("&all");
    }
    if arguments.persist {
        path.push_str("&persist");
    }
    path
}

fn text(report: &Value, output: &mut Output<impl io::Write>) -> io::Result<()> {
    output.line(string(report, "result"))?;
    for site in list(report, "sites") {
        output.line(format!("{}: {}", string(site, "site"), string(site, "mode")))?;
    }
    for set in list(report, "overrides") {
        output.line(override_line(set))?;
    }
    for warning in list(report, "warnings") {
        output.line(format!("warning: {}", harmless(warning.as_str().unwrap_or_default())))?;
    }
    Ok(())
}

/// A mode over those of the configuration, as a sentence.
pub(super) fn override_line(set: &Value) -> String {
    let named = |key: &str| set.get(key).and_then(Value::as_str).map(harmless);
    let whom = match (named("crawler"), named("site")) {
        (Some(crawler), Some(site)) => format!("{crawler} at {site}"),
        (Some(crawler), None) => crawler,
        (None, Some(site)) => site,
        (None, None) => "every site without a mode of its own".to_owned(),
    };
    let persists = set.get("persists").and_then(Value::as_bool).unwrap_or_default();
    let until = if persists { "kept when it is started again" } else { "until it is started again" };
    format!("set by hand: {} for {whom}, {until}", string(set, "mode"))
}
