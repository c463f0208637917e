//! `gatewayctl fleet publish` and `gatewayctl mode --fleet`: one place to change what all members serve and enforce.

use super::super::args::{Cli, ModeArgs, PublishArgs};
use super::super::mode::override_line;
use super::super::output::Output;
use super::super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use super::{database, of_configuration};
use crate::config::FleetConfig;
use crate::fleet::{PublisherKey, overview, publish, published};
use crate::policy::{FleetGeneration, Override, Overrides, RobotsFile, Scope, fitness};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long `--wait` waits for all members.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it looks.
const LOOK: Duration = Duration::from_millis(500);

/// What was published; field names are public API.
#[derive(Debug, Serialize)]
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
pub(super) fn robots(cli: &Cli, arguments: &PublishArgs, output: &mut Output<'_>) -> VerbResult {
    let sites = sites(cli, arguments)?;
    let mut files = Vec::new();
    for path in &arguments.files {
        let file = RobotsFile::named(path).map_err(|unfit| VerbFailure::of_file(path, &unfit))?;
        fitness(&file.bytes).map_err(|unfit| VerbFailure::of_file(path, &unfit))?;
        files.push(file);
    }
    let key = key(arguments.key.as_deref())?;
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
    let (sites, modes) = (sites.collect(), Vec::new());
    tell(&Publication { generation, sites, modes, ended_modes: of_fleet(&last), late }, output)
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
    let served: Vec<&str> = served.into_iter().collect();
    let hint = if served.is_empty() {
        "there are no members: start one first".to_owned()
    } else {
        format!("--site names one of these: {}", served.join(", "))
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
    generation.modes.0.iter().map(|set| Override { fleet: true, ..set.clone() }).collect()
}

/// The sites that the files are for, one each.
fn sites(cli: &Cli, arguments: &PublishArgs) -> Result<Vec<String>, VerbFailure> {
    let PublishArgs { site, files, clear, .. } = arguments;
    let sites = if site.is_empty() {
        let config = which_config::load_any(cli)?;
        match &config.sites[..] {
            [only] => vec![only.name.clone()],
            sites if sites.iter().any(|site| site.hosts.is_empty()) => vec!["default".to_owned()],
            _ => {
                return Err(VerbFailure::with_hint(
                    "there are several sites, and none is the default",
                    "name one with --site",
                ));
            }
        }
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
pub(in crate::ctl) fn modes(cli: &Cli, arguments: &ModeArgs, output: &mut Output<'_>) -> VerbResult {
    let ModeArgs { mode, crawler, purpose, site, all, clear, .. } = arguments;
    let config = of_configuration(cli)?;
    let scope = Scope { crawler: crawler.clone(), purpose: None, site: site.clone(), all: *all };
    let scopes = scope.of_each(*purpose);
    let key = key(arguments.key.as_deref())?;
    let change = |last: Option<&str>, number| {
        let mut next = next(last, number)?;
        for scope in &scopes {
            next.modes = match mode {
                Some(mode) => next.modes.with(Override {
                    scope: scope.clone(),
                    mode: *mode,
                    persists: true,
                    fleet: true,
                }),
                None if *all => Overrides::default(),
                None => next.modes.without(scope),
            }
        }
        Ok(next.document())
    };
    let is_change = mode.is_some() || *clear;
    let new = is_change.then(|| publish(&config, key.as_ref(), false, change)).transpose()?;
    let last = published(&config, false)?.map(|(_, last)| FleetGeneration::parse(&last)).transpose();
    let last = last.map_err(VerbFailure)?.unwrap_or_default();
    let (generation, modes) = (new.unwrap_or(last.number), of_fleet(&last));
    tell(&Publication { generation, sites: Vec::new(), modes, ended_modes: Vec::new(), late: None }, output)
}

fn key(path: Option<&Path>) -> Result<Option<PublisherKey>, VerbFailure> {
    Ok(path.map(PublisherKey::read).transpose()?)
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
    output.show(done, print)?;
    let has_late = done.late.as_ref().is_some_and(|late| !late.is_empty());
    Ok(if has_late { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

fn print(done: &Publication, output: &mut Output<'_>) -> io::Result<()> {
    output.line(format!("generation {}", done.generation))?;
    for PublishedRobots { site, robots_version } in &done.sites {
        let what = robots_version.as_deref().unwrap_or("the members' own files");
        output.line(format!("{site}: {what}"))?;
    }
    done.modes.iter().try_for_each(|set| output.line(override_line(set)))?;
    for set in &done.ended_modes {
        output.line(format!("no longer {}", override_line(set)))?;
    }
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
