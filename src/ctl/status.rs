//! `gatewayctl status`: what a running gateway is doing, for a tired person or a program.

use super::{Cli, Output, VerbResult, mode, status, style};
use crate::control::{OriginStatus, RobotsTxtSeen, SiteStatus, StatusReport};
use crate::record::{ConnectionEvent, format_span, stand_in_advice};
use crate::report::{self, amount, grouped};
use askama::Template;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

pub(super) fn run(cli: &Cli, output: &mut Output<'_>) -> VerbResult {
    output.answer(&cli.status()?, false, print)
}

/// What is wrong comes first, then what is to be known of every site, then what happened since the start.
#[derive(Template)]
#[template(path = "status.txt", config = "src/ctl/askama.toml")]
struct StatusText<'s> {
    status: &'s StatusReport,
    troubles: Vec<String>,
}

/// How many hosts that are no site's are shown, those that are asked for most: often a name of the site that was forgotten.
const HOSTS: usize = 5;

fn print(status: &StatusReport, output: &mut Output<'_>) -> io::Result<()> {
    output.render(&StatusText { status, troubles: troubles(status) })
}

fn summary(troubles: &[String]) -> String {
    if troubles.is_empty() {
        return style::paint(style::GOOD, "all is well");
    }
    style::paint(style::ERROR, &amount(troubles.len() as u64, "thing is wrong", "things are wrong"))
}

/// Everything that an operator who is called at night should know first.
fn troubles(status: &StatusReport) -> Vec<String> {
    let mut troubles = site_troubles(&status.sites);
    troubles.extend(status.origins.iter().filter_map(describe_failing_origin));
    let stand_ins = status.sites.iter().filter_map(|site| Some((site, site.stand_in.as_deref()?)));
    troubles.extend(stand_ins.map(|(site, name)| stand_in_advice(&site.site, name)));
    troubles.extend(status.resolver_error.as_ref().map(ToString::to_string));
    troubles.extend(status.watch_error.clone());
    troubles.extend(status.fleet.as_ref().and_then(|fleet| fleet.error.clone()));
    let store = &status.store;
    if let Some(error) = &store.error {
        let since = store.failing_since.as_deref().unwrap_or("-");
        troubles.push(format!("the store cannot be written since {since}: {error}"));
    }
    troubles.extend(store.incidents.iter().chain(&store.clock_doubt).cloned());
    troubles.extend(status.certificates.iter().filter_map(|certificate| {
        let trouble = certificate.trouble.as_ref()?;
        Some(format!("the certificate {} {trouble}", certificate.certificate))
    }));
    troubles.extend(status.exceptions.iter().cloned());
    let lines_lost = status.access_log.map_or(0, |log| log.lines_lost);
    let counts = [
        (status.counts_lost, "requests are missing from reports: the store could not be written"),
        (
            status.details_dropped,
            "details were left out: a sender had more than `journal_rate`, or the disk was too slow or refused them",
        ),
        (store.reads_lost, "reads of robots.txt were not recorded: memory had no room for them"),
        (lines_lost, "lines of the access log were lost: its disk was too slow, or refused them"),
        (store.counts_removed, "requests were removed from the store, which is at its size cap"),
        (status.totals.faults, "requests were forwarded unjudged after a fault; please report it"),
    ];
    troubles.extend(met(counts));
    troubles
}

/// Counts that are not zero, each with what it is of.
fn met<'w>(counts: impl IntoIterator<Item = (u64, &'w str)>) -> Vec<String> {
    let met = counts.into_iter().filter(|(count, _)| *count > 0);
    met.map(|(count, what)| format!("{count} {what}")).collect()
}

/// What keeps sites from following their files; what keeps several is told once.
fn site_troubles(sites: &[SiteStatus]) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (site, error) in sites.iter().filter_map(|site| Some((site, site.error.as_ref()?))) {
        let is_origins = site.source == "origin";
        let what = if is_origins { "the origin's robots.txt" } else { "the file on disk is not in force" };
        let error = format!("{what}: {error}");
        match found.iter_mut().find(|(known, _)| *known == error) {
            Some((_, names)) => names.push(&site.site),
            None => found.push((error, vec![&site.site])),
        }
    }
    found.into_iter().map(|(error, names)| format!("{}: {error}", names.join(", "))).collect()
}

/// An origin that answers nothing.
fn describe_failing_origin(origin: &OriginStatus) -> Option<String> {
    let OriginStatus { site, server, error, failing_since, errors, .. } = origin;
    let what = error.as_ref()?;
    let Some(since) = failing_since else {
        return Some(format!("{site}: the origin {server} cannot be asked: {what}"));
    };
    let failed = amount(*errors, "request has failed", "requests have failed");
    Some(format!("{site}: the origin {server} has answered nothing since {since}, {failed}: {what}"))
}

fn totals(status: &StatusReport) -> String {
    let totals = &status.totals;
    let too_fast = match (totals.too_fast, totals.slowed) {
        (0, _) => String::new(),
        (all, slowed) => format!("; {} too fast, {} answered 429", grouped(all), grouped(slowed)),
    };
    format!(
        "{}, {} judged: {}, {} stale, {}, {} refused{too_fast}; robots.txt served {}",
        amount(totals.requests, "request", "requests"),
        grouped(totals.judged),
        amount(totals.violations, "violation", "violations"),
        grouped(totals.stale),
        amount(totals.variants, "variant", "variants"),
        grouped(totals.refused),
        amount(totals.robots_txt, "time", "times"),
    )
}

fn counts(counts: &BTreeMap<Cow<'_, str>, u64>, if_none: &str) -> String {
    let counts = met(counts.iter().map(|(what, count)| (*count, &**what)));
    if counts.is_empty() { if_none.to_owned() } else { counts.join(", ") }
}

/// So many seconds, for people.
fn span(seconds: u64) -> String {
    format_span(Duration::from_secs(seconds))
}

/// When another proxy last passed a request for robots.txt on.
fn when_seen(seen: &RobotsTxtSeen) -> String {
    match seen.seconds_ago {
        Some(ago) => format!("one {} ago", span(ago)),
        None => "none within 24 h, so no violation is counted and nothing is refused there".to_owned(),
    }
}

/// Connections and requests that came to nothing: they leave no other trace.
fn away(status: &StatusReport) -> Vec<String> {
    let totals = [(status.totals.malformed, "malformed"), (status.totals.no_site, "for no site's host")];
    met(totals.into_iter().chain(AWAY.map(|(event, what)| (status.connections.of(event), what))))
}

/// Why connections end before their time, for people.
const AWAY: [(ConnectionEvent, &str); 17] = [
    (ConnectionEvent::OverTotal, "too many at once"),
    (ConnectionEvent::OverAddress, "too many from one address"),
    (ConnectionEvent::OverErrors, "after too many errors of HTTP/2 from one address"),
    (ConnectionEvent::MadeRoom, "idle, to make room"),
    (ConnectionEvent::IdleTunnel, "idle in a tunnel"),
    (ConnectionEvent::Silent, "silent"),
    (ConnectionEvent::NoRequest, "without a request"),
    (ConnectionEvent::HeaderTimeout, "with a late head"),
    (ConnectionEvent::HeaderTooLarge, "with too large a head"),
    (ConnectionEvent::BodyTooSlow, "with too slow a body"),
    (ConnectionEvent::BodyTooLarge, "with too large a body"),
    (ConnectionEvent::TlsFailed, "with a failed TLS handshake"),
    (ConnectionEvent::ProxyHeaderRefused, "with a wrong PROXY header"),
    (ConnectionEvent::H2OverTotal, "requests, too many at once over HTTP/2"),
    (ConnectionEvent::H2OverAddress, "requests, too many from one address over HTTP/2"),
    (ConnectionEvent::H2Flood, "flooding with frames of HTTP/2"),
    (ConnectionEvent::H2Error, "with errors of HTTP/2"),
];

#[cfg(test)]
mod tests {
    use super::super::args::Format;
    use super::*;
    use serde_json::{Value, json};
    use strum::VariantArray as _;

    fn read(status: Value) -> StatusReport {
        serde_json::from_value(status).unwrap()
    }

    fn shown(status: Value) -> String {
        let mut shown = Vec::new();
        let mut output = Output::new(Format::Text, false, &mut shown);
        print(&read(status), &mut output).unwrap();
        output.flush().unwrap();
        drop(output);
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn an_origin_that_fails_is_no_file_on_disk() {
        let status = json!({"sites": [{"site": "a", "source": "origin", "error": "it answers 500"}]});
        assert_eq!(troubles(&read(status)), ["a: the origin's robots.txt: it answers 500"]);
    }

    #[test]
    fn what_is_wrong_comes_first() {
        let site = |name: &str| json!({"site": name, "mode": "audit", "error": "robots.txt: it is empty", "findings": 1});
        let status = json!({
            "generation": 3, "uptime_seconds": 61, "version": "1.0.0", "sites": [site("a"), site("b")],
            "overrides": [{"crawler": "gptbot", "site": null, "mode": "enforce", "persists": false}],
            "counts_lost": 7, "store": {"error": "disk full\u{1b}[2J", "failing_since": "noon", "incidents": ["noon: a broken store was set aside as old"]},
            "totals": {"faults": 2, "requests": 9, "malformed": 4, "too_fast": 1_200, "slowed": 7}, "access_log": {"queue": 0, "lines_lost": 8},
            "certificates": [
                {"certificate": "a.crt", "hosts": [], "expires": "noon", "trouble": "expired at noon"},
                {"certificate": "b.crt", "hosts": [], "expires": "late", "trouble": null},
            ],
            "connections": {"open": 1, "accepted": 7, "over-address": 3, "silent": 0},
        });
        let shown = shown(status);
        let first: Vec<&str> = shown.lines().take(9).collect();
        assert_eq!(
            first,
            [
                "robots-gateway 1.0.0, up 1 min 1 s, policy 3: 7 things are wrong",
                "  ! a, b: the file on disk is not in force: robots.txt: it is empty",
                "  ! the store cannot be written since noon: disk full\\u{1b}[2J",
                "  ! noon: a broken store was set aside as old",
                "  ! the certificate a.crt expired at noon",
                "  ! 7 requests are missing from reports: the store could not be written",
                "  ! 8 lines of the access log were lost: its disk was too slow, or refused them",
                "  ! 2 requests were forwarded unjudged after a fault; please report it",
                "  * set by hand: enforce for gptbot, until the next start",
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
        let plain = [ConnectionEvent::Accepted, ConnectionEvent::Closed];
        for event in ConnectionEvent::VARIANTS.iter().filter(|event| !plain.contains(event)) {
            assert_eq!(AWAY.iter().filter(|(known, _)| known == event).count(), 1, "{event:?}");
        }
    }

    #[test]
    fn a_good_night_is_one_line() {
        let status = json!({"generation": 1, "uptime_seconds": 5, "version": "1.0.0", "sites": []});
        assert!(shown(status).starts_with("robots-gateway 1.0.0, up 5 s, policy 1: all is well\n"));
    }

    #[test]
    fn a_database_of_the_fleet_that_does_not_answer_is_told_at_once() {
        let error = "the database of the fleet has not answered for 10 s";
        let fleet = crate::fleet::FleetStatus { error: Some(error.to_owned()), ..Default::default() };
        let status =
            json!({"generation": 1, "uptime_seconds": 5, "version": "1.0.0", "sites": [], "fleet": fleet});
        let shown = shown(status);
        assert!(shown.contains("1 thing is wrong") && shown.contains(error), "{shown}");
    }
}
