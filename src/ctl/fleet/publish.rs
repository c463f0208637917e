//! `gatewayctl fleet publish` and `gatewayctl mode --fleet`: one place to change what all members serve and enforce.

use super::super::args::{Cli, ModeArgs, PublishArgs};
use super::super::mode::override_line;
use super::super::output::Output;
use super::super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use super::{database, of_configuration};
use crate::fleet::{PublisherKey, publish, published};
use crate::policy::{FleetGeneration, Override, RobotsFile, Scope, fitness};
use serde::Serialize;
use std::io;
use std::path::Path;

/// What was published; field names are public API.
#[derive(Debug, Serialize)]
struct Publication {
    generation: i64,
    sites: Vec<PublishedRobots>,
    modes: Vec<Override>,
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
    tell(&Publication { generation, sites: sites.collect(), modes: Vec::new() }, output)
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
            match mode {
                Some(mode) => {
                    next.set_mode(Override {
                        scope: scope.clone(),
                        mode: *mode,
                        persists: true,
                        fleet: true,
                    });
                }
                None if *all => next.modes.clear(),
                None => next.clear_mode(scope),
            }
        }
        Ok(next.document())
    };
    let is_change = mode.is_some() || *clear;
    let new = is_change.then(|| publish(&config, key.as_ref(), false, change)).transpose()?;
    let last = published(&config)?.map(|last| FleetGeneration::parse(&last)).transpose();
    let last = last.map_err(VerbFailure)?.unwrap_or_default();
    let modes = last.modes.iter().map(|set| Override { fleet: true, ..set.clone() }).collect();
    tell(&Publication { generation: new.unwrap_or(last.number), sites: Vec::new(), modes }, output)
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
    Ok(VerbOutcome::Fine)
}

fn print(done: &Publication, output: &mut Output<'_>) -> io::Result<()> {
    output.line(format!("generation {}", done.generation))?;
    for PublishedRobots { site, robots_version } in &done.sites {
        let what = robots_version.as_deref().unwrap_or("the members' own files");
        output.line(format!("{site}: {what}"))?;
    }
    done.modes.iter().try_for_each(|set| output.line(override_line(set)))?;
    output.line("`gatewayctl fleet` shows which members have applied it, and what keeps the others")
}
