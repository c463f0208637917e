//! `gatewayctl reload`: waits, and says what changed or why nothing did.

use super::args::{Cli, ReloadArgs};
use super::output::{Output, escape_harmful};
use super::status::{fault_line, list, string};
use super::{VerbOutcome, VerbResult, control};
use serde_json::Value;
use std::io;

pub(super) fn run(cli: &Cli, arguments: &ReloadArgs, output: &mut Output<'_>) -> VerbResult {
    let report = control::ask(&cli.control_socket()?, "POST", &request_path(arguments))?;
    output.show(&report, print)?;
    let refused = report.get("result").and_then(Value::as_str) == Some("refused");
    Ok(if refused { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

fn request_path(arguments: &ReloadArgs) -> String {
    let flags = [("accept-empty", arguments.accept_empty), ("now", arguments.now)];
    let flags = flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| (*name).to_owned());
    let named = [("site", &arguments.site), ("crawler", &arguments.crawler)];
    let named = named.iter().filter_map(|(key, value)| {
        value.as_ref().map(|value| format!("{key}={}", control::percent_encode(value)))
    });
    format!("/reload?{}", flags.chain(named).collect::<Vec<_>>().join("&"))
}

fn print(report: &Value, output: &mut Output<'_>) -> io::Result<()> {
    output.line(string(report, "result"))?;
    for site in report.get("sites").and_then(Value::as_array).into_iter().flatten() {
        let (old, new) = (string(site, "old_version"), string(site, "new_version"));
        let number = |name: &str| site.get(name).and_then(Value::as_u64).unwrap_or_default();
        if old == new {
            let (site, notice) = (string(site, "site"), string(site, "notice"));
            output.line(format!("{site}: {new}, unchanged; {notice}"))?;
        } else {
            output.line(format!(
                "{}: {old} -> {new}, {} added, {} removed; {}",
                string(site, "site"),
                count_rules(number("added")),
                number("removed"),
                string(site, "notice")
            ))?;
        }
        for warning in site.get("warnings").and_then(Value::as_array).into_iter().flatten() {
            output.line(format!("  warning: {}", escape_harmful(warning.as_str().unwrap_or_default())))?;
        }
    }
    for change in list(report, "config") {
        output.line(change_line(change))?;
    }
    let restart: Vec<&str> = list(report, "restart").filter_map(Value::as_str).collect();
    if !restart.is_empty() {
        output.line(format!("in effect when the gateway is started again: {}", restart.join(", ")))?;
    }
    for fault in report.get("errors").and_then(Value::as_array).into_iter().flatten() {
        output.line(format!("error: {}", fault_line(fault)))?;
    }
    Ok(())
}

/// What changed in the configuration: a key, its former value, the new one.
fn change_line(change: &Value) -> String {
    let value = |name: &str| {
        change.get(name).and_then(Value::as_str).map_or_else(|| "not set".to_owned(), escape_harmful)
    };
    let waits = change.get("restart").and_then(Value::as_bool).unwrap_or_default();
    let when = if waits { ", when the gateway is started again" } else { "" };
    format!("{}: {} -> {}{when}", string(change, "key"), value("old"), value("new"))
}

fn count_rules(count: u64) -> String {
    if count == 1 { "1 rule".to_owned() } else { format!("{count} rules") }
}
