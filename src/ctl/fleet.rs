//! `gatewayctl fleet`: the database of the fleet set up, its members shown, one of them forgotten. `fleet publish` and `mode
//! --fleet`: one place to change what all members serve and enforce.

use super::args::{FleetVerb, ModeArgs, PublishArgs};
use super::mode::override_line;
use super::{Cli, Output, VerbFailure, VerbResult, fit_robots, which_config};
use crate::config::FleetConfig;
use crate::fleet::{
    FleetMember, FleetOverview, PublisherKey, SetUp, forget, overview, publish, published, set_up,
};
use crate::policy::{FleetGeneration, Override, Overrides, Scope};
use crate::report::amount;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

pub(super) fn run(cli: &Cli, verb: Option<&FleetVerb>, output: &mut Output<'_>) -> VerbResult {
    match verb {
        None => show(&of_configuration(cli)?, output),
        Some(FleetVerb::Init { database: url, retention_days }) => {
            output.answer(&set_up(&database(cli, url.as_deref())?, *retention_days)?, false, print_set_up)
        }
        Some(FleetVerb::Publish(arguments)) => publish_robots(cli, arguments, output),
        Some(FleetVerb::Forget { name, database: url }) => {
            let members = forget(&database(cli, url.as_deref())?, name)?;
            output.answer(&json!({ "name": name, "members": members }), members == 0, |_, output| {
                output.line(if members == 0 {
                    format!("no member is called `{name}`; `gatewayctl fleet` shows their names")
                } else {
                    format!("members no longer wait for `{name}`; if it still runs, it joins again by itself")
                })
            })
        }
    }
}

/// The fleet that the configuration names.
pub(super) fn of_configuration(cli: &Cli) -> Result<FleetConfig, VerbFailure> {
    which_config::load_any(cli)?.fleet.ok_or_else(|| {
        let hint = "[fleet] has the key `database`; --config FILE names another configuration";
        VerbFailure::with_hint("the configuration names no fleet", hint)
    })
}

/// The database that is named, or the one of the configuration. For one that is named, certificates and the publisher's key
/// are those of the configuration, where there is one.
fn database(cli: &Cli, url: Option<&str>) -> Result<FleetConfig, VerbFailure> {
    let Some(url) = url else { return of_configuration(cli) };
    let configured = which_config::load_any(cli).ok().and_then(|config| config.fleet).unwrap_or_default();
    let (database, name) = (url.to_owned(), "gatewayctl".to_owned());
    Ok(FleetConfig { database, name, password_file: None, ..configured })
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
    let has_late = overview.members.iter().any(|member| member.late.is_some());
    output.answer(&overview, has_late, print_members)
}

fn print_members(overview: &FleetOverview, output: &mut Output<'_>) -> io::Result<()> {
    let FleetOverview { generation, members } = overview;
    let count = amount(members.len() as u64, "member", "members");
    output.line(format!("{count}, generation {generation}"))?;
    for member in members {
        let FleetMember { name, version, last_seen, outbox, .. } = member;
        output.line(format!("{name}  version {version}, last seen {last_seen}, outbox {outbox}"))?;
        for (what, text) in [("late", &member.late), ("error", &member.error)] {
            text.iter().try_for_each(|text| output.line(format!("  {what}: {text}")))?;
        }
    }
    Ok(())
}

/// How long `--wait` waits for all members.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it looks.
const LOOK: Duration = Duration::from_millis(500);

/// What was published; field names are public API.
#[derive(Debug, Default, Serialize)]
struct Publication {
    generation: i64,
    sites: Vec<PublishedRobots>,
    modes: Vec<Override>,
    /// Modes that were published before, and are no more.
    ended_modes: Vec<Override>,
    /// Who has not applied it, and why; null where nobody waited for that.
    late: Option<Vec<LateMember>>,
}

#[derive(Debug, Serialize)]
struct LateMember {
    name: String,
    why: String,
}

#[derive(Clone, Debug, Serialize)]
struct PublishedRobots {
    site: String,
    /// Null where members serve their own file again.
    robots_version: Option<String>,
}

/// Publishes files of robots.txt.
fn publish_robots(cli: &Cli, arguments: &PublishArgs, output: &mut Output<'_>) -> VerbResult {
    let sites = sites(cli, arguments)?;
    let files = arguments.files.iter().map(|path| fit_robots(path)).collect::<Result<Vec<_>, _>>()?;
    let key = arguments.key.as_deref().map(PublisherKey::read).transpose()?;
    let config = database(cli, arguments.database.as_deref())?;
    if !arguments.clear {
        are_served(&config, &sites)?;
    }
    let last = if arguments.anew { published(&config, false)? } else { None };
    let last = last.and_then(|(_, last)| FleetGeneration::parse(&last).ok()).unwrap_or_default();
    let changes = || sites.iter().enumerate().map(|(place, site)| (site, files.get(place)));
    let generation = publish(&config, key.as_ref(), arguments.anew, |last, number| {
        let mut next = next(last, number)?;
        changes().for_each(|(site, file)| next.set_robots(site, file.map(|file| &*file.bytes)));
        Ok(next.document())
    })?;
    let sites = changes().map(|(site, file)| PublishedRobots {
        site: site.clone(),
        robots_version: file.map(|file| file.id.to_string()),
    });
    let late = arguments.wait.then(|| wait_for_all(&config)).transpose()?;
    let (sites, ended_modes) = (sites.collect(), of_fleet(&last));
    tell(&Publication { generation, sites, ended_modes, late, ..Publication::default() }, output)
}

/// What is published for a site that nobody serves would come into force nowhere.
fn are_served(config: &FleetConfig, sites: &[String]) -> Result<(), VerbFailure> {
    let members = overview(config)?.members;
    let served: BTreeSet<&str> = members
        .iter()
        .filter_map(|member| member.serving.as_array())
        .flatten()
        .filter_map(|site| site.get(0)?.as_str())
        .collect();
    let Some(unknown) = sites.iter().find(|site| !served.contains(site.as_str())) else { return Ok(()) };
    let hint = if served.is_empty() {
        "there are no members: start one first".to_owned()
    } else {
        format!("--site names one of these: {}", Vec::from_iter(served).join(", "))
    };
    Err(VerbFailure::with_hint(format!("no member of the fleet serves a site called `{unknown}`"), hint))
}

/// Waits until every member has applied what is published; who has not in time.
fn wait_for_all(config: &FleetConfig) -> Result<Vec<LateMember>, VerbFailure> {
    let begun = Instant::now();
    loop {
        let members = overview(config)?.members.into_iter();
        let late: Vec<LateMember> =
            members.filter_map(|one| Some(LateMember { why: one.late?, name: one.name })).collect();
        if late.is_empty() || begun.elapsed() > PATIENCE {
            return Ok(late);
        }
        thread::sleep(LOOK);
    }
}

fn of_fleet(generation: &FleetGeneration) -> Vec<Override> {
    Overrides::default().in_force(&generation.modes)
}

/// The sites that the files are for, one each.
fn sites(cli: &Cli, arguments: &PublishArgs) -> Result<Vec<String>, VerbFailure> {
    let PublishArgs { site, files, clear, .. } = arguments;
    let sites = if site.is_empty() {
        let known = which_config::load_any(cli)?.sites;
        let meant = known.iter().find(|site| known.len() == 1 || site.hosts.is_empty());
        let what = "there are several sites, and none is the default";
        let meant = meant.ok_or_else(|| VerbFailure::with_hint(what, "name one with --site"))?;
        vec![meant.name.clone()]
    } else {
        site.clone()
    };
    if *clear || sites.len() == files.len() {
        return Ok(sites);
    }
    let what = format!("{} files for {} sites", files.len(), sites.len());
    Err(VerbFailure::with_hint(what, "--site names the site of each file, in the same order"))
}

/// Sets or shows the modes of the whole fleet.
pub(super) fn modes(cli: &Cli, arguments: &ModeArgs, output: &mut Output<'_>) -> VerbResult {
    let &ModeArgs { mode, ref crawler, purpose, ref site, all, clear, ref key, .. } = arguments;
    let config = of_configuration(cli)?;
    let scope = Scope { crawler: crawler.clone(), purpose: None, site: site.clone(), all };
    let key = key.as_deref().map(PublisherKey::read).transpose()?;
    let change = |last: Option<&str>, number| {
        let mut next = next(last, number)?;
        for scope in scope.of_each(purpose) {
            next.modes = next.modes.changed(&scope, mode, true);
        }
        Ok(next.document())
    };
    let is_change = mode.is_some() || clear;
    let new = is_change.then(|| publish(&config, key.as_ref(), false, change)).transpose()?;
    let last = published(&config, false)?.map(|(_, last)| FleetGeneration::parse(&last)).transpose();
    let last = last.map_err(VerbFailure)?.unwrap_or_default();
    let (generation, modes) = (new.unwrap_or(last.number), of_fleet(&last));
    tell(&Publication { generation, modes, ..Publication::default() }, output)
}

fn next(last: Option<&str>, number: i64) -> Result<FleetGeneration, String> {
    let last = last.map(FleetGeneration::parse).transpose();
    let last = last.map_err(|error| {
        format!(
            "the last generation cannot be read: {error}; `fleet publish --anew` carries nothing over from it"
        )
    })?;
    let mut next = last.unwrap_or_default();
    next.number = number;
    Ok(next)
}

fn tell(done: &Publication, output: &mut Output<'_>) -> VerbResult {
    let has_late = done.late.as_ref().is_some_and(|late| !late.is_empty());
    output.answer(done, has_late, print)
}

fn print(done: &Publication, output: &mut Output<'_>) -> io::Result<()> {
    output.line(format!("generation {}", done.generation))?;
    for PublishedRobots { site, robots_version } in &done.sites {
        let what = robots_version.as_deref().unwrap_or("the members' own files");
        output.line(format!("{site}: {what}"))?;
    }
    done.modes.iter().try_for_each(|set| output.line(override_line(set)))?;
    done.ended_modes.iter().try_for_each(|set| output.line(format!("no longer {}", override_line(set))))?;
    match done.late.as_deref() {
        None => {
            output.line("`gatewayctl fleet` shows which members have applied it, and what keeps the others")
        }
        Some([]) => output.line("every member has applied it"),
        Some(late) => {
            late.iter().try_for_each(|LateMember { name, why }| output.line(format!("{name} is late: {why}")))
        }
    }
}
