//! `gatewayctl mode`: which modes are in force, or a change of one, until the gateway is started again or for good.

use super::args::{Cli, ModeArgs};
use super::output::{Output, escape_harmful};
use super::status::{list, string};
use super::{VerbOutcome, VerbResult, control};
use crate::identify::Purpose;
use serde_json::Value;
use std::io;

pub(super) fn run(cli: &Cli, arguments: &ModeArgs, output: &mut Output<'_>) -> VerbResult {
    if arguments.fleet {
        return super::fleet::modes(cli, arguments, output);
    }
    let shows = arguments.mode.is_none() && !arguments.clear;
    let (method, path) = if shows { ("GET", "/mode".to_owned()) } else { ("POST", request_path(arguments)) };
    let report = control::ask(&cli.control_socket()?, method, &path)?;
    if output.is_json() {
        output.json(&report)?;
    } else if shows {
        print_in_force(&report, output)?;
    } else {
        print_change(&report, output)?;
    }
    Ok(VerbOutcome::Fine)
}

fn request_path(arguments: &ModeArgs) -> String {
    let mut path = match arguments.mode {
        Some(mode) => format!("/mode?mode={}", mode.0),
        None => "/mode?clear".to_owned(),
    };
    let purpose = arguments.purpose.map(Purpose::as_str);
    let values = [
        ("crawler", arguments.crawler.as_deref()),
        ("purpose", purpose),
        ("site", arguments.site.as_deref()),
    ];
    for (key, value) in values {
        if let Some(value) = value {
            path.extend(["&", key, "=", &control::percent_encode(value)]);
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

fn print_change(report: &Value, output: &mut Output<'_>) -> io::Result<()> {
    output.line(string(report, "result"))?;
    for site in list(report, "sites") {
        output.line(format!("{}: {}", string(site, "site"), string(site, "mode")))?;
    }
    for set in list(report, "overrides") {
        output.line(override_line(set))?;
    }
    for warning in list(report, "warnings") {
        output.line(format!("warning: {}", escape_harmful(warning.as_str().unwrap_or_default())))?;
    }
    Ok(())
}

/// Which modes are in force: of each site its own, and of those that have another.
fn print_in_force(report: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let of = |site: &Value, whom: &str| -> Vec<Value> {
        list(site, "modes").filter(|one| string(one, "whom") == whom).cloned().collect()
    };
    let sites: Vec<&Value> = list(report, "in_force").collect();
    for all in sites.first().map(|site| of(site, "everybody")).unwrap_or_default() {
        output.line(format!(
            "everybody: {}, {}; nothing else counts",
            string(&all, "mode"),
            describe_source(&all)
        ))?;
    }
    for site in sites {
        for others in of(site, "others") {
            output.line(format!(
                "{}: {}, {}",
                string(site, "site"),
                string(&others, "mode"),
                describe_source(&others)
            ))?;
        }
        for (whom, what) in [("crawler", "crawler"), ("purpose", "purpose"), ("client", "clients of kind")] {
            for one in of(site, whom) {
                let name = string(&one, "name");
                output.line(format!(
                    "  {what} {name}: {}, {}",
                    string(&one, "mode"),
                    describe_source(&one)
                ))?;
            }
        }
    }
    Ok(())
}

/// Why a mode is in force.
fn describe_source(one: &Value) -> String {
    let name = string(one, "name");
    match one.get("because").and_then(Value::as_str) {
        Some("fleet") => "published for the fleet".to_owned(),
        Some("by-hand") => format!("set by hand, {}", describe_persistence(one)),
        Some("crawlers") => format!("by [crawlers.{name}] of the configuration"),
        Some("purposes") => format!("by [purposes.{name}] of the configuration"),
        Some("clients") => "by [clients] of the configuration".to_owned(),
        Some("site") => "by `mode` of the site".to_owned(),
        Some("global") => "by `mode` of all sites".to_owned(),
        _ => "by default".to_owned(),
    }
}

fn describe_persistence(one: &Value) -> &'static str {
    let persists = one.get("persists").and_then(Value::as_bool).unwrap_or_default();
    if persists { "kept when it is started again" } else { "until it is started again" }
}

/// A mode over those of the configuration, as a sentence.
pub(super) fn override_line(set: &Value) -> String {
    let named = |key: &str| set.get(key).and_then(Value::as_str).map(escape_harmful);
    let of_purpose = named("purpose").map(|purpose| format!("what fetches for {purpose}"));
    let whom = match (named("crawler").or(of_purpose), named("site")) {
        (Some(who), Some(site)) => format!("{who} at {site}"),
        (Some(who), None) => who,
        (None, Some(site)) => site,
        (None, None) if set.get("all") == Some(&Value::Bool(true)) => {
            "everybody, over every other mode".to_owned()
        }
        (None, None) => "every site without a mode of its own".to_owned(),
    };
    if set.get("fleet") == Some(&Value::Bool(true)) {
        return format!("published for the fleet: {} for {whom}", string(set, "mode"));
    }
    format!("set by hand: {} for {whom}, {}", string(set, "mode"), describe_persistence(set))
}
