//! `gatewayctl mode`: which modes are in force, or a change of one, until the gateway is started again or for good.

use super::args::ModeArgs;
use super::{Cli, Output, VerbResult};
use crate::control::ModeReport;
use crate::policy::{ModeInForce, ModeScope, ModeSource, Modes, Override, Scope, SiteModes};
use std::io;

pub(super) fn run(cli: &Cli, arguments: &ModeArgs, output: &mut Output<'_>) -> VerbResult {
    if arguments.fleet {
        return super::fleet::modes(cli, arguments, output);
    }
    let shows = arguments.mode.is_none() && !arguments.clear;
    let method = if shows { "GET" } else { "POST" };
    let report: ModeReport = cli.ask(method, "/mode", arguments)?;
    output.answer(&report, false, if shows { print_in_force } else { print_change })
}

fn print_change(report: &ModeReport, output: &mut Output<'_>) -> io::Result<()> {
    output.line(report.result.as_deref().unwrap_or("-"))?;
    for site in &report.sites {
        let notice = if site.mode == "enforce" { format!("; {}", site.notice) } else { String::new() };
        output.line(format!("{}: {}{notice}", site.site, site.mode))?;
    }
    report.overrides.iter().try_for_each(|set| output.line(override_line(set)))?;
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

/// The same on one line, without the reasons. Those of one kind that follow each other and have one mode are told together.
pub(super) fn modes_line(modes: &Modes) -> String {
    let kind = |one: &ModeInForce| kind_and_name(&one.whom).0;
    let alike = modes.0.chunk_by(|one, next| one.mode == next.mode && kind(one) == kind(next));
    let told = alike.filter_map(|alike| {
        let first = alike.first()?;
        let names: Vec<String> = alike.iter().map(|one| kind_and_name(&one.whom).1).collect();
        Some(format!("{}{}: {}", kind(first), names.join(", "), first.mode))
    });
    told.collect::<Vec<_>>().join("; ")
}

fn describe_whom(whom: &ModeScope) -> String {
    let (kind, name) = kind_and_name(whom);
    format!("{kind}{name}")
}

fn kind_and_name(whom: &ModeScope) -> (&'static str, String) {
    match whom {
        ModeScope::Everybody => ("everybody", String::new()),
        ModeScope::Crawler(name) => ("crawler ", name.clone()),
        ModeScope::Purpose(purpose) => ("purpose ", purpose.to_string()),
        ModeScope::Client(client) => ("clients of kind ", client.to_string()),
        ModeScope::Others => ("all others", String::new()),
    }
}

/// The mode of somebody, and why.
pub(super) fn mode_line(one: &ModeInForce) -> String {
    format!("{}, that of {}, {}", one.mode, describe_whom(&one.whom), describe_source(one))
}

/// Why a mode is in force.
fn describe_source(one: &ModeInForce) -> String {
    let (_, name) = kind_and_name(&one.whom);
    match one.because {
        ModeSource::Fleet => "published for the fleet".to_owned(),
        ModeSource::ByHand => format!("set by hand, {}", describe_persistence(one.persists == Some(true))),
        ModeSource::Crawlers => format!("by [crawlers.{name}] of the configuration"),
        ModeSource::Purposes => format!("by [purposes.{name}] of the configuration"),
        ModeSource::Clients => "by [clients] of the configuration".to_owned(),
        ModeSource::Site => "by `mode` of the site".to_owned(),
        ModeSource::Global => "by `mode` of all sites".to_owned(),
        ModeSource::Default => "by default".to_owned(),
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
