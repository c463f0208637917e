//! `gatewayctl fleet`: the database of the fleet set up, its members shown, one of them forgotten, files published.

mod publish;

pub(super) use publish::modes;

use super::args::{Cli, FleetArgs, FleetVerb};
use super::output::{Output, escape_harmful};
use super::{VerbFailure, VerbOutcome, setting};
use crate::config::{Config, FleetConfig, defaults};
use crate::fleet::{FleetError, FleetMember, FleetOverview, SetUp, forget, overview, set_up};
use serde::Serialize;

pub(super) fn run(
    cli: &Cli,
    arguments: &FleetArgs,
    output: &mut Output<'_>,
) -> Result<VerbOutcome, VerbFailure> {
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
    let config: Config = setting::load_any(cli)?;
    config.fleet.ok_or_else(|| {
        VerbFailure(
            "the configuration names no fleet\n  hint: [fleet] has the key `database`; --config FILE names another \
             configuration"
                .to_owned(),
        )
    })
}

/// The database that is named, or the one of the configuration.
fn database(cli: &Cli, url: Option<&str>) -> Result<FleetConfig, VerbFailure> {
    url.map_or_else(|| of_configuration(cli), |url| Ok(of_url(cli, url)))
}

/// A database that no configuration needs to name; certificates and the publisher's key are those of the configuration,
/// where there is one.
fn of_url(cli: &Cli, url: &str) -> FleetConfig {
    let configured = setting::load_any(cli).ok().and_then(|config| config.fleet);
    FleetConfig {
        database: url.to_owned(),
        name: "gatewayctl".to_owned(),
        password_file: None,
        publisher_key: configured.as_ref().and_then(|fleet| fleet.publisher_key),
        ca_file: configured.and_then(|fleet| fleet.ca_file),
        lease: defaults::FLEET_LEASE,
        settle: defaults::FLEET_SETTLE,
    }
}

impl From<FleetError> for VerbFailure {
    fn from(error: FleetError) -> Self {
        Self(error.to_string())
    }
}

fn init(
    config: &FleetConfig,
    retention_days: Option<u32>,
    output: &mut Output<'_>,
) -> Result<VerbOutcome, VerbFailure> {
    let done = set_up(config, retention_days)?;
    if output.is_json() {
        output.json(&done)?;
        return Ok(VerbOutcome::Fine);
    }
    let SetUp { found, schema, retention_days } = done;
    output.line(match found {
        0 => format!("set up schema {schema} in the database"),
        found if found < schema => format!("brought the database from schema {found} to {schema}"),
        _ => format!("the database has schema {schema} already"),
    })?;
    output.line(format!("counts are kept for {retention_days} days"))?;
    output.line("a gateway needs a user with the role robots_gateway_member, for example:")?;
    output.line("  CREATE ROLE gateway LOGIN PASSWORD '...' IN ROLE robots_gateway_member;")?;
    output.line(
        "robots_gateway_publisher may publish and forget members; robots_gateway_reader may only read",
    )?;
    Ok(VerbOutcome::Fine)
}

fn show(config: &FleetConfig, output: &mut Output<'_>) -> Result<VerbOutcome, VerbFailure> {
    let overview = overview(config)?;
    if output.is_json() {
        output.json(&overview)?;
    } else {
        write(&overview, output)?;
    }
    Ok(if overview.has_late() { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

fn write(overview: &FleetOverview, output: &mut Output<'_>) -> Result<(), VerbFailure> {
    let FleetOverview { generation, members } = overview;
    let plural = if members.len() == 1 { "member" } else { "members" };
    output.line(format!("{} {plural}, generation {generation}", members.len()))?;
    for member in members {
        let FleetMember { name, version, last_seen, outbox, .. } = member;
        output.line(format!(
            "{}  version {version}, last seen {last_seen}, outbox {outbox}",
            escape_harmful(name)
        ))?;
        let problems = [("late", &member.late), ("error", &member.error)];
        for (what, text) in problems.iter().filter_map(|(what, text)| Some((what, text.as_ref()?))) {
            output.line(format!("  {what}: {}", escape_harmful(text)))?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Forgotten<'a> {
    name: &'a str,
    members: i64,
}

fn forget_one(config: &FleetConfig, name: &str, output: &mut Output<'_>) -> Result<VerbOutcome, VerbFailure> {
    let members = forget(config, name)?;
    if output.is_json() {
        output.json(&Forgotten { name, members })?;
    } else if members == 0 {
        output.line(format!(
            "no member is called `{}`; `gatewayctl fleet` shows their names",
            escape_harmful(name)
        ))?;
    } else {
        output.line(format!(
            "nobody waits for `{}` any longer; one that lives joins again by itself",
            escape_harmful(name)
        ))?;
    }
    Ok(if members == 0 { VerbOutcome::Objection } else { VerbOutcome::Fine })
}
