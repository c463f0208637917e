//! `gatewayctl mode`: which modes are in force, or a change of one, until the gateway is started again or for good.

use super::args::{Cli, ModeArgs};
use super::output::Output;
use super::{VerbOutcome, VerbResult, control};
use crate::control::ModeReport;
use crate::policy::{ModeInForce, ModeScope, ModeSource, Override, Scope, SiteModes};
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

/// Which modes are in force: of each site its own, and of those that have another.
fn print_in_force(report: &ModeReport, output: &mut Output<'_>) -> io::Result<()> {
    let line = |who: &str, one: &ModeInForce| format!("{who}: {}, {}", one.mode, describe_source(one));
    let of = |site: &SiteModes, whom: &ModeScope| site.modes.0.iter().find(|one| one.whom == *whom).cloned();
    if let Some(all) = report.in_force.first().and_then(|site| of(site, &ModeScope::Everybody)) {
        output.line(format!("{}; nothing else counts", line("everybody", &all)))?;
    }
    for site in &report.in_force {
        if let Some(others) = of(site, &ModeScope::Others) {
            output.line(line(&site.site, &others))?;
        }
        for one in &site.modes.0 {
            let who = match &one.whom {
                ModeScope::Crawler(name) => format!("  crawler {name}"),
                ModeScope::Purpose(purpose) => format!("  purpose {purpose}"),
                ModeScope::Client(client) => format!("  clients of kind {client}"),
                ModeScope::Everybody | ModeScope::Others => continue,
            };
            output.line(line(&who, one))?;
        }
    }
    Ok(())
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
