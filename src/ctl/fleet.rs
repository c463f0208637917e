//! `gatewayctl fleet`: the database of the fleet set up, its members shown, one of them forgotten, files published.

mod publish;

pub(super) use publish::modes;

use super::args::{Cli, FleetArgs, FleetVerb};
use super::output::Output;
use super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::config::{Config, FleetConfig};
use crate::fleet::{FleetMember, FleetOverview, SetUp, forget, overview, set_up};
use serde_json::json;
use std::io;
use std::time::Duration;

pub(super) fn run(cli: &Cli, arguments: &FleetArgs, output: &mut Output<'_>) -> VerbResult {
    match &arguments.verb {
        None => show(&of_configuration(cli)?, output),
        Some(FleetVerb::Init { database, retention_days }) => {
            init(&self::database(cli, database.as_deref())?, *retention_days, output)
        }
        Some(FleetVerb::Publish(arguments)) => publish::robots(cli, arguments, output),
        Some(FleetVerb::Forget { name, database: url }) => {
            forget_one(&database(cli, url.as_deref())?, name, output)
        }
    }
}

/// The fleet that the configuration names.
pub(super) fn of_configuration(cli: &Cli) -> Result<FleetConfig, VerbFailure> {
    let config: Config = which_config::load_any(cli)?;
    config.fleet.ok_or_else(|| {
        let hint = "[fleet] has the key `database`; --config FILE names another configuration";
        VerbFailure::with_hint("the configuration names no fleet", hint)
    })
}

/// The database that is named, or the one of the configuration.
fn database(cli: &Cli, url: Option<&str>) -> Result<FleetConfig, VerbFailure> {
    url.map_or_else(|| of_configuration(cli), |url| Ok(of_url(cli, url)))
}

/// A database that no configuration needs to name; certificates and the publisher's key are those of the configuration,
/// where there is one.
fn of_url(cli: &Cli, url: &str) -> FleetConfig {
    let configured = which_config::load_any(cli).ok().and_then(|config| config.fleet);
    FleetConfig {
        database: url.to_owned(),
        name: "gatewayctl".to_owned(),
        password_file: None,
        publisher_key: configured.as_ref().and_then(|fleet| fleet.publisher_key),
        ca_file: configured.and_then(|fleet| fleet.ca_file),
        // A member's, which this is not.
        lease: Duration::ZERO,
        settle: Duration::ZERO,
    }
}

fn init(config: &FleetConfig, retention_days: Option<u32>, output: &mut Output<'_>) -> VerbResult {
    output.show(&set_up(config, retention_days)?, print_set_up)?;
    Ok(VerbOutcome::Fine)
}

fn print_set_up(done: &SetUp, output: &mut Output<'_>) -> io::Result<()> {
    let SetUp { found, schema, retention_days } = done;
    output.line(match *found {
        0 => format!("set up schema {schema} in the database"),
        found if found < *schema => format!("brought the database from schema {found} to {schema}"),
        _ => format!("the database has schema {schema} already"),
    })?;
    output.line(format!("counts are kept for {retention_days} days"))?;
    output.line("a gateway needs a user with the role robots_gateway_member, for example:")?;
    output.line("  CREATE ROLE gateway LOGIN PASSWORD '...' IN ROLE robots_gateway_member;")?;
    output
        .line("robots_gateway_publisher may publish and forget members; robots_gateway_reader may only read")
}

fn show(config: &FleetConfig, output: &mut Output<'_>) -> VerbResult {
    let overview = overview(config)?;
    output.show(&overview, print_members)?;
    Ok(if overview.has_late() { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

fn print_members(overview: &FleetOverview, output: &mut Output<'_>) -> io::Result<()> {
    let FleetOverview { generation, members } = overview;
    let plural = if members.len() == 1 { "member" } else { "members" };
    output.line(format!("{} {plural}, generation {generation}", members.len()))?;
    for member in members {
        let FleetMember { name, version, last_seen, outbox, .. } = member;
        output.line(format!("{name}  version {version}, last seen {last_seen}, outbox {outbox}"))?;
        let problems = [("late", &member.late), ("error", &member.error)];
        for (what, text) in problems.iter().filter_map(|(what, text)| Some((what, text.as_ref()?))) {
            output.line(format!("  {what}: {text}"))?;
        }
    }
    Ok(())
}

fn forget_one(config: &FleetConfig, name: &str, output: &mut Output<'_>) -> VerbResult {
    let members = forget(config, name)?;
    output.show(&json!({ "name": name, "members": members }), |_, output| {
        output.line(if members == 0 {
            format!("no member is called `{name}`; `gatewayctl fleet` shows their names")
        } else {
            format!("members no longer wait for `{name}`; if it still runs, it joins again by itself")
        })
    })?;
    Ok(if members == 0 { VerbOutcome::Objection } else { VerbOutcome::Fine })
}
