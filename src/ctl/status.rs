//! `gatewayctl status`: what a running gateway is doing, for a tired person or a program.

use super::args::Cli;
use super::mode::override_line;
use super::output::{Output, escape_harmful};
use super::style::TextStyle;
use super::{VerbOutcome, VerbResult, control};
use crate::report::{amount, grouped};
use serde_json::Value;
use std::io;

pub(super) fn run(cli: &Cli, output: &mut Output<'_>) -> VerbResult {
    let status = control::ask(&cli.control_socket()?, "GET", "/status")?;
    output.show(&status, print)?;
    Ok(VerbOutcome::Fine)
}

/// What is wrong comes first, then what is to be known of every site, then what happened since the start.
fn print(status: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let palette = output.palette();
    let uptime = format_span(number(status, "uptime_seconds"));
    let what = format!(
        "robots-gateway {}, up {uptime}, policy {}",
        string(status, "version"),
        number(status, "generation")
    );
    let troubles = troubles(status);
    match troubles.len() {
        0 => output.line(format!("{what}: {}", palette.paint(TextStyle::Good, "all is well")))?,
        1 => output.line(format!("{what}: {}", palette.paint(TextStyle::Error, "1 thing is wrong")))?,
        count => output.line(format!(
            "{what}: {}",
            palette.paint(TextStyle::Error, &format!("{count} things are wrong"))
        ))?,
    }
    for trouble in &troubles {
        output.line(format!("  {} {trouble}", palette.paint(TextStyle::Error, "!")))?;
    }
    for set in list(status, "overrides") {
        output.line(format!("  {} {}", palette.paint(TextStyle::Warning, "*"), override_line(set)))?;
    }
    for site in list(status, "sites") {
        output.line("")?;
        print_site(site, output)?;
    }
    output.line("")?;
    print_totals(status, output)?;
    print_doors(status, output)?;
    print_connections(status, output)?;
    let restart: Vec<&str> = list(status, "restart").filter_map(Value::as_str).collect();
    if !restart.is_empty() {
        output.line(format!("in effect when the gateway is started again: {}", restart.join(", ")))?;
    }
    print_last_reload(status, output)
}

fn print_site(site: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let name = output.palette().paint(TextStyle::Strong, &string(site, "site"));
    output.line(format!("{name}: {}", string(site, "mode")))?;
    match site.get("robots_version").and_then(Value::as_str) {
        Some(version) => output.line(format!(
            "  robots.txt {} since {}; {}",
            escape_harmful(version),
            string(site, "since"),
            string(site, "notice")
        ))?,
        None => output.line("  no robots.txt: everything is allowed")?,
    }
    match number(site, "findings") {
        0 => Ok(()),
        1 => output.line("  1 finding; see gatewayctl check"),
        findings => output.line(format!("  {findings} findings; see gatewayctl check")),
    }
}

/// Everything that an operator who is called at night should know first.
fn troubles(status: &Value) -> Vec<String> {
    let mut troubles = Vec::new();
    let mut of_sites: Vec<(String, Vec<String>)> = Vec::new();
    for site in list(status, "sites").filter(|site| site.get("error").is_some_and(Value::is_string)) {
        let what = match string(site, "source").as_str() {
            "origin" => "the origin's robots.txt",
            _ => "the file on disk is not in force",
        };
        let (name, error) = (string(site, "site"), format!("{what}: {}", string(site, "error")));
        match of_sites.iter_mut().find(|(known, _)| *known == error) {
            Some((_, names)) => names.push(name),
            None => of_sites.push((error, vec![name])),
        }
    }
    troubles.extend(of_sites.into_iter().map(|(error, names)| format!("{}: {error}", names.join(", "))));
    let fails = |origin: &&Value| origin.get("error").is_some_and(Value::is_string);
    troubles.extend(list(status, "origins").filter(fails).map(describe_failing_origin));
    if status.get("watch_error").is_some_and(Value::is_string) {
        let why = string(status, "watch_error");
        troubles
            .push(format!("not every file can be watched: {why}; changes are found by looking, each second"));
    }
    let store = status.get("store").unwrap_or(&Value::Null);
    troubles.extend(store_troubles(store));
    for certificate in list(status, "certificates") {
        if certificate.get("trouble").is_some_and(Value::is_string) {
            let (file, trouble) = (string(certificate, "certificate"), string(certificate, "trouble"));
            troubles.push(format!("the certificate {file} {trouble}"));
        }
    }
    let access_log = status.get("access_log").unwrap_or(&Value::Null);
    let counts = [
        (number(status, "counts_lost"), "requests are missing from reports: the store could not be written"),
        (
            number(status, "details_dropped"),
            "details were left out: a sender had more than `journal_rate`, or the disk was too slow or refused them",
        ),
        (number(store, "reads_lost"), "reads of robots.txt were not recorded: memory had no room for them"),
        (
            number(access_log, "lines_lost"),
            "lines of the access log were lost: its disk was too slow, or refused them",
        ),
        (number(store, "counts_removed"), "requests went from the store, which is at its size cap"),
        (total(status, "faults"), "requests were forwarded unjudged after a fault; please report it"),
    ];
    let lost = counts.iter().filter(|(count, _)| *count > 0);
    troubles.extend(lost.map(|(count, what)| format!("{count} {what}")));
    troubles
}

/// What is wrong with the store.
fn store_troubles(store: &Value) -> Vec<String> {
    let mut troubles = Vec::new();
    if store.get("error").is_some_and(Value::is_string) {
        let (since, error) = (string(store, "failing_since"), string(store, "error"));
        troubles.push(format!("the store cannot be written since {since}: {error}"));
    }
    for aside in list(store, "set_aside") {
        let aside = escape_harmful(aside.as_str().unwrap_or("-"));
        let what = if aside.contains(".damaged.") {
            "counts that waited were damaged, and"
        } else {
            "a broken store was"
        };
        troubles.push(format!("{what} set aside as {aside}"));
    }
    troubles.extend(list(store, "incidents").filter_map(Value::as_str).map(escape_harmful));
    for end in list(store, "unclean_ends") {
        let (since, until) = (string(end, "since"), string(end, "until"));
        troubles.push(format!(
            "a gateway ended without writing its last counts: requests after {since} and before {until} may be missing"
        ));
    }
    if store.get("clock_doubt").is_some_and(Value::is_string) {
        troubles.push(string(store, "clock_doubt"));
    }
    troubles
}

/// An origin that answers nothing.
fn describe_failing_origin(origin: &Value) -> String {
    let (site, server) = (string(origin, "site"), string(origin, "server"));
    let what = string(origin, "error");
    if !origin.get("failing_since").is_some_and(Value::is_string) {
        return format!("{site}: the origin {server} cannot be asked: {what}");
    }
    let (errors, since) = (number(origin, "errors"), string(origin, "failing_since"));
    let failed = amount(errors, "request has failed", "requests have failed");
    format!("{site}: the origin {server} has answered nothing since {since}, {failed}: {what}")
}

fn print_totals(status: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let count = |name: &str| total(status, name);
    let too_fast = match (count("too_fast"), count("slowed")) {
        (0, _) => String::new(),
        (all, slowed) => format!("; {} too fast, {} answered 429", grouped(all), grouped(slowed)),
    };
    output.line(format!(
        "{}, {} judged: {}, {} stale, {}, {} refused{too_fast}; robots.txt served {}",
        amount(count("requests"), "request", "requests"),
        grouped(count("judged")),
        amount(count("violations"), "violation", "violations"),
        grouped(count("stale")),
        amount(count("variants"), "variant", "variants"),
        grouped(count("refused")),
        amount(count("robots_txt"), "time", "times"),
    ))
}

/// What never became a request leaves no other trace.
fn print_connections(status: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let Some(counts) = status.get("connections") else { return Ok(()) };
    let (open, accepted) = (number(counts, "open"), number(counts, "accepted"));
    let accepted = amount(accepted, "connection", "connections");
    output.line(format!("{accepted}, {} of them open", grouped(open)))?;
    let known = AWAY.iter().map(|(name, what)| (number(counts, name), *what));
    let of_requests =
        [(total(status, "malformed"), "malformed"), (total(status, "no_site"), "for no site's host")];
    let away: Vec<String> = of_requests
        .into_iter()
        .chain(known)
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !away.is_empty() {
        output.line(format!("  turned away: {}", away.join(", ")))?;
    }
    print_unknown_hosts(status, output)
}

fn is_asked(status: &Value) -> bool {
    status.get("authorize").is_some_and(Value::is_object)
}

/// What other proxies ask, where they may.
fn print_doors(status: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let Some(doors) = status.get("authorize").filter(|_| is_asked(status)) else { return Ok(()) };
    let counts = |name: &str| {
        let counts = doors.get(name).and_then(Value::as_object).into_iter().flatten();
        let counts =
            counts.filter_map(|(what, count)| Some((what, count.as_u64().filter(|count| *count > 0)?)));
        counts.map(|(what, count)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    };
    let asked = counts("asked");
    output
        .line(format!("asked by other proxies: {}", if asked.is_empty() { "nothing yet" } else { &asked }))?;
    match counts("faults") {
        faults if faults.is_empty() => {}
        faults => output.line(format!("  faults of questions: {faults}"))?,
    }
    for seen in list(doors, "robots_txt") {
        let hosts = string(seen, "hosts");
        output.line(match seen.get("seconds_ago").and_then(Value::as_u64) {
            Some(ago) => format!("  /robots.txt of {hosts} came through one {} ago", format_span(ago)),
            None => {
                format!("  /robots.txt of {hosts} came through none within 24 h: nobody is accused there")
            }
        })?;
    }
    Ok(())
}

/// Hosts that are no site's, those that are asked for most: often a name of the site that was forgotten.
fn print_unknown_hosts(status: &Value, output: &mut Output<'_>) -> io::Result<()> {
    const SHOWN: usize = 5;
    let hosts: Vec<&Value> = list(status, "unknown_hosts").collect();
    for host in hosts.iter().take(SHOWN) {
        let (name, times) = (string(host, "host"), amount(number(host, "count"), "time", "times"));
        let since = string(host, "first_seen");
        let what = if is_asked(status) { "not judged" } else { "answered 421" };
        output.line(format!("  no site is called {name}: {what}, {times} since {since}"))?;
    }
    match hosts.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => output.line(format!("  and {more} more hosts; see --format json")),
    }
}

fn print_last_reload(status: &Value, output: &mut Output<'_>) -> io::Result<()> {
    let Some(reload) = status.get("last_reload").filter(|reload| !reload.is_null()) else {
        return output.line("not reloaded since the start");
    };
    output.line(format!("last reload {}: {}", string(reload, "time"), string(reload, "result")))?;
    list(reload, "errors").try_for_each(|fault| output.line(format!("  {}", fault_line(fault))))
}

/// Reasons why connections end before their time, as the gateway names them, and for people.
const AWAY: [(&str, &str); 15] = [
    ("over_total", "too many at once"),
    ("over_address", "too many from one address"),
    ("made_room", "idle, to make room"),
    ("silent", "silent"),
    ("no_request", "without a request"),
    ("header_timeouts", "with a late head"),
    ("headers_too_large", "with too large a head"),
    ("bodies_too_slow", "with too slow a body"),
    ("bodies_too_large", "with too large a body"),
    ("tls_failed", "with a failed TLS handshake"),
    ("proxy_headers_refused", "with a wrong PROXY header"),
    ("h2_over_total", "requests, too many at once over HTTP/2"),
    ("h2_over_address", "requests, too many from one address over HTTP/2"),
    ("h2_floods", "flooding with frames of HTTP/2"),
    ("h2_errors", "with errors of HTTP/2"),
];

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn total(status: &Value, name: &str) -> u64 {
    status.get("totals").map_or(0, |totals| number(totals, name))
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
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
    escape_harmful(value.get(name).and_then(Value::as_str).unwrap_or("-"))
}

/// Seconds as a person says them.
pub(super) fn format_span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::Format;
    use super::super::style::Palette;
    use super::*;
    use serde_json::json;

    fn shown(status: &Value) -> String {
        let mut shown = Vec::new();
        let mut output = Output::new(Format::Text, Palette::plain(), &mut shown);
        print(status, &mut output).unwrap();
        output.flush().unwrap();
        drop(output);
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn an_origin_that_fails_is_no_file_on_disk() {
        let status = json!({"sites": [{"site": "a", "source": "origin", "error": "it answers 500"}]});
        assert_eq!(troubles(&status), ["a: the origin's robots.txt: it answers 500"]);
    }

    #[test]
    fn what_is_wrong_comes_first() {
        let site = |name: &str| json!({"site": name, "mode": "audit", "error": "robots.txt: it is empty", "findings": 1});
        let status = json!({
            "generation": 3, "uptime_seconds": 61, "version": "1.0.0", "sites": [site("a"), site("b")],
            "overrides": [{"crawler": "gptbot", "site": null, "mode": "enforce", "persists": false}],
            "counts_lost": 7, "store": {"error": "disk full\u{1b}[2J", "failing_since": "noon", "set_aside": ["old"]},
            "totals": {"faults": 2, "requests": 9, "malformed": 4, "too_fast": 1_200, "slowed": 7}, "access_log": {"queue": 0, "lines_lost": 8},
            "certificates": [
                {"certificate": "a.crt", "hosts": [], "expires": "noon", "trouble": "expired at noon"},
                {"certificate": "b.crt", "hosts": [], "expires": "late", "trouble": null},
            ],
            "connections": {"open": 1, "accepted": 7, "over_address": 3, "silent": 0},
        });
        let shown = shown(&status);
        let first: Vec<&str> = shown.lines().take(9).collect();
        assert_eq!(
            first,
            [
                "robots-gateway 1.0.0, up 1 min, policy 3: 7 things are wrong",
                "  ! a, b: the file on disk is not in force: robots.txt: it is empty",
                "  ! the store cannot be written since noon: disk full\\u{1b}[2J",
                "  ! a broken store was set aside as old",
                "  ! the certificate a.crt expired at noon",
                "  ! 7 requests are missing from reports: the store could not be written",
                "  ! 8 lines of the access log were lost: its disk was too slow, or refused them",
                "  ! 2 requests were forwarded unjudged after a fault; please report it",
                "  * set by hand: enforce for gptbot, until it is started again",
            ]
        );
        assert!(
            shown.contains(
                "7 connections, 1 of them open\n  turned away: 4 malformed, 3 too many from one address\n"
            ),
            "{shown}"
        );
        assert!(shown.contains(", 0 refused; 1,200 too fast, 7 answered 429; robots.txt served"), "{shown}");
        assert!(
            shown.contains("a: audit\n  no robots.txt: everything is allowed\n  1 finding; see"),
            "{shown}"
        );
    }

    #[test]
    fn every_reason_of_the_gateway_has_its_words() {
        let counts = serde_json::to_value(crate::record::ConnectionSnapshot::default()).unwrap();
        let reasons = counts.as_object().unwrap().keys().map(String::as_str);
        let reasons: Vec<&str> = reasons.filter(|name| !["open", "accepted"].contains(name)).collect();
        let known: Vec<&str> = AWAY.iter().map(|(name, _)| *name).collect();
        assert!(reasons.iter().all(|name| known.contains(name)), "{reasons:?}");
        assert_eq!(known.len(), reasons.len());
    }

    #[test]
    fn a_good_night_is_one_line() {
        let status = json!({"generation": 1, "uptime_seconds": 5, "version": "1.0.0", "sites": []});
        assert!(shown(&status).starts_with("robots-gateway 1.0.0, up 5 s, policy 1: all is well\n"));
    }

    #[test]
    fn spans_are_said_in_two_units_at_most() {
        assert_eq!(format_span(59), "59 s");
        assert_eq!(format_span(3_599), "59 min");
        assert_eq!(format_span(3_660), "1 h 1 min");
        assert_eq!(format_span(90_000), "1 d 1 h");
    }
}
