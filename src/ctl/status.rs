//! `gatewayctl status`: what a running gateway is doing, for a tired person or a program.

use super::args::Cli;
use super::output::{Output, harmless};
use super::{Failure, Outcome, control};
use serde_json::Value;
use std::io;

pub(super) fn run(cli: &Cli, output: &mut Output<impl io::Write>) -> Result<Outcome, Failure> {
    let status = control::ask(&cli.control_socket()?, "GET", "/status")?;
    if output.is_json() {
        output.json(&status)?;
    } else {
        text(&status, output)?;
    }
    Ok(Outcome::Fine)
}

fn text(status: &Value, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let number = |name: &str| status.get(name).and_then(Value::as_u64).unwrap_or_default();
    let uptime = span(number("uptime_seconds"));
    output.line(format!(
        "robots-gateway {}, up {uptime}, policy {}",
        string(status, "version"),
        number("generation")
    ))?;
    for site in status.get("sites").and_then(Value::as_array).into_iter().flatten() {
        output.line("")?;
        output.line(format!("{}: {}", string(site, "site"), string(site, "mode")))?;
        match site.get("robots_version").and_then(Value::as_str) {
            Some(version) => output.line(format!(
                "  robots.txt {version} since {}; {}",
                string(site, "since"),
                string(site, "notice")
            ))?,
            None => output.line("  no robots.txt: everything is allowed")?,
        }
        if let Some(error) = site.get("error").and_then(Value::as_str) {
            output.line(format!("  the file on disk is not in force: {}", harmless(error)))?;
        }
        match site.get("findings").and_then(Value::as_u64) {
            Some(0) | None => {}
            Some(findings) => output.line(format!("  {findings} findings; see gatewayctl check"))?,
        }
    }
    output.line("")?;
    totals(status, output)?;
    last_reload(status, output)
}

fn totals(status: &Value, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let count = |name: &str| {
        status.get("totals").and_then(|totals| totals.get(name)).and_then(Value::as_u64).unwrap_or_default()
    };
    output.line(format!(
        "{} requests, {} judged: {} violations, {} stale, {} variants, {} refused; robots.txt served {} times",
        count("requests"), count("judged"), count("violations"), count("stale"), count("variants"),
        count("refused"), count("robots_txt"),
    ))?;
    for (name, what) in [
        ("details_dropped", "details were lost: the disk was too slow, or refused them"),
        ("counts_lost", "requests are missing from reports: the store could not be written"),
    ] {
        match status.get(name).and_then(Value::as_u64) {
            Some(0) | None => {}
            Some(number) => output.line(format!("{number} {what}"))?,
        }
    }
    store(status.get("store").unwrap_or(&Value::Null), output)?;
    match count("faults") {
        0 => Ok(()),
        faults => {
            output.line(format!("{faults} requests were forwarded unjudged after a fault; please report it"))
        }
    }
}

/// What an operator should know of the store: nothing, as long as it is written.
fn store(store: &Value, output: &mut Output<impl io::Write>) -> io::Result<()> {
    if store.get("error").is_some_and(Value::is_string) {
        let (since, error) = (string(store, "failing_since"), string(store, "error"));
        output.line(format!("the store cannot be written since {since}: {error}"))?;
    }
    for aside in store.get("set_aside").and_then(Value::as_array).into_iter().flatten() {
        let aside = harmless(aside.as_str().unwrap_or("-"));
        output.line(format!("a broken store was set aside as {aside}"))?;
    }
    match store.get("counts_removed").and_then(Value::as_u64) {
        Some(0) | None => Ok(()),
        Some(count) => output.line(format!("{count} requests went from the store, which is at its size cap")),
    }
}

fn last_reload(status: &Value, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let Some(reload) = status.get("last_reload").filter(|reload| !reload.is_null()) else {
        return output.line("not reloaded since the start");
    };
    output.line(format!("last reload {}: {}", string(reload, "time"), string(reload, "result")))?;
    for fault in reload.get("errors").and_then(Value::as_array).into_iter().flatten() {
        output.line(format!("  {}", fault_line(fault)))?;
    }
    Ok(())
}

/// `path:line:column: message` of a fault in JSON.
pub(super) fn fault_line(fault: &Value) -> String {
    let place = match (fault.get("line").and_then(Value::as_u64), fault.get("column").and_then(Value::as_u64))
    {
        (Some(line), Some(column)) => format!(":{line}:{column}"),
        _ => String::new(),
    };
    format!("{}{place}: {}", string(fault, "path"), string(fault, "message"))
}

pub(super) fn string(value: &Value, name: &str) -> String {
    harmless(value.get(name).and_then(Value::as_str).unwrap_or("-"))
}

/// Seconds as a person says them.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_said_in_two_units_at_most() {
        assert_eq!(span(59), "59 s");
        assert_eq!(span(3_599), "59 min");
        assert_eq!(span(3_660), "1 h 1 min");
        assert_eq!(span(90_000), "1 d 1 h");
    }
}
