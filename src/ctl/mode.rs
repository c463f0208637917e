//! `gatewayctl mode`: which modes are in force, or a change of one, until the gateway is started again or for good.

use super::args::{Cli, ModeArgs};
use super::output::Output;
use super::{VerbOutcome, VerbResult, control};
use crate::control::ModeReport;
use crate::policy::{ModeInForce, ModeScope, ModeSource, Modes, Override, Scope, SiteModes};
use std::io;

pub(super) fn run(cli: &Cli, arguments: &ModeArgs, output: &mut Output<'_>) -> VerbResult {
    if arguments.fleet {
        return super::fleet::modes(cli, arguments, output);
    }
    let shows = arguments.mode.is_none() && !arguments.clear;
    let method = if shows { "GET" } else { "POST" };
    let answer = control::ask(&cli.control_socket()?, method, "/mode", arguments)?;
    output.show_answer(&answer, if shows { print_in_force } else { print_change })?;
    Ok(VerbOutcome::Fine)
}

fn print_change(report: &ModeReport, output: &mut Output<'_>) -> io::Result<()> {
    output.line(report.result.as_deref().unwrap_or("-"))?;
    for site in &report.sites {
        let notice = if site.mode == "enforce" { format!("; {}", site.notice) } else { String::new() };
        output.line(format!("{}: {}{notice}", site.site, site.mode))?;
    }
    for set in &report.overrides {
        output.line(override_line(set))?;
    }
    report.warnings.iter().try_for_each(|warning| output.line(format!("warning: {warning}")))
}

/// Every mode that is in force, site by site, in the order in which they win.
fn print_in_force(report: &ModeReport, output: &mut Output<'_>) -> io::Result<()> {
    for SiteModes { site, modes } in &report.in_force {
        output.line(format!("{site}: the first that fits a client is its mode"))?;
        for one in &modes.0 {
            output.line(format!("  {}: {}, {}", describe_whom(&one.whom), one.mode, describe_source(one)))?;
        }
    }
    Ok(())
}

/// The same on one line, without the reasons.
pub(super) fn modes_line(modes: &Modes) -> String {
    let one = |one: &ModeInForce| format!("{}: {}", describe_whom(&one.whom), one.mode);
    modes.0.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn describe_whom(whom: &ModeScope) -> String {
    match whom {
        ModeScope::Everybody => "everybody".to_owned(),
        ModeScope::Crawler(name) => format!("crawler {name}"),
        ModeScope::Purpose(purpose) => format!("purpose {purpose}"),
        ModeScope::Client(client) => format!("clients of kind {client}"),
        ModeScope::Others => "all others".to_owned(),
    }
}

/// The mode of somebody, and why.
pub(super) fn mode_line(one: &ModeInForce) -> String {
    format!("{}, that of {}, {}", one.mode, describe_whom(&one.whom), describe_source(one))
}

/// Why a mode is in force.
fn describe_source(one: &ModeInForce) -> String {
    match (one.because, &one.whom) {
        (ModeSource::Fleet, _) => "published for the fleet".to_owned(),
        (ModeSource::ByHand, _) => {
            format!("set by hand, {}", describe_persistence(one.persists == Some(true)))
        }
        (ModeSource::Crawlers, ModeScope::Crawler(name)) => {
            format!("by [crawlers.{name}] of the configuration")
        }
        (ModeSource::Purposes, ModeScope::Purpose(name)) => {
            format!("by [purposes.{name}] of the configuration")
        }
        (ModeSource::Clients, _) => "by [clients] of the configuration".to_owned(),
        (ModeSource::Site, _) => "by `mode` of the site".to_owned(),
        (ModeSource::Global, _) => "by `mode` of all sites".to_owned(),
        _ => "by default".to_owned(),
    }
}

const fn describe_persistence(persists: bool) -> &'static str {
    if persists { "kept over restarts" } else { "until the next start" }
}

/// A mode over those of the configuration, as a sentence.
pub(super) fn override_line(set: &Override) -> String {
    let Override { scope: Scope { crawler, purpose, site, all }, mode, persists, fleet } = set;
    let of_purpose = purpose.map(|purpose| format!("what fetches for {purpose}"));
    let whom = match (crawler.clone().or(of_purpose), site) {
        (Some(who), Some(site)) => format!("{who} at {site}"),
        (Some(who), None) => who,
        (None, Some(site)) => site.clone(),
        (None, None) if *all => "everybody, over every other mode".to_owned(),
        (None, None) => "every site without a mode of its own".to_owned(),
    };
    if *fleet {
        return format!("published for the fleet: {mode} for {whom}");
    }
    format!("set by hand: {mode} for {whom}, {}", describe_persistence(*persists))
}
