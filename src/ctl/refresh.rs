//! `gatewayctl crawlers refresh`: fetches the address ranges and the keys that crawlers' operators publish.
//!
//! Needs no running gateway; one that runs notices the files by itself.

use super::args::{Cli, CrawlersArgs, CrawlersVerb, RefreshArgs};
use super::output::{Output, escape_harmful};
use super::status::format_span;
use super::{VerbFailure, VerbOutcome, VerbResult, setting};
use crate::config::{Config, mirror_folder};
use crate::identify::Catalogue;
use crate::policy::{self, Evidence, Fetched, KeyDirectory, Publisher, Refreshed};
use serde::Serialize;
use std::time::SystemTime;

/// What became of one list; field names are public API.
#[derive(Serialize)]
struct List {
    url: String,
    path: String,
    crawlers: Vec<String>,
    result: &'static str,
    error: Option<String>,
    ranges: Option<usize>,
    age_seconds: Option<u64>,
}

/// What became of the keys of one agent; field names are public API.
#[derive(Serialize)]
struct DirectoryReport {
    url: String,
    path: String,
    crawlers: Vec<String>,
    result: &'static str,
    error: Option<String>,
    keys: Option<usize>,
    age_seconds: Option<u64>,
}

#[derive(Serialize)]
struct Lists {
    lists: Vec<List>,
    directories: Vec<DirectoryReport>,
}

pub(super) fn run(cli: &Cli, arguments: &CrawlersArgs, output: &mut Output<'_>) -> VerbResult {
    let Some(CrawlersVerb::Refresh(RefreshArgs { from })) = &arguments.verb else {
        return Err(VerbFailure("nothing to do".to_owned()));
    };
    let config = setting::load_any(cli)?;
    let identifier = policy::recogniser(&config)?;
    let mirror = from.as_deref().map(mirror_folder).transpose();
    let mirror = mirror
        .map_err(|error| VerbFailure(format!("{error}\n  hint: write https://mirror.example/ranges/")))?;
    let publisher = Publisher::new(&config, mirror).map_err(VerbFailure)?;
    let mut lists = Vec::new();
    for refreshed in publisher.refresh(identifier.catalogue(), |_| true) {
        let list = List::of(&refreshed, SystemTime::now());
        if !output.is_json() {
            output.line(escape_harmful(&list.line()))?;
            output.flush()?;
        }
        lists.push(list);
    }
    let mut directories = Vec::new();
    for directory in keys(&config, identifier.catalogue(), &publisher) {
        if !output.is_json() {
            output.line(escape_harmful(&directory.line()))?;
            output.flush()?;
        }
        directories.push(directory);
    }
    let failed = lists.iter().any(|list| list.error.is_some())
        || directories.iter().any(|directory| directory.error.is_some());
    if output.is_json() {
        output.json(&Lists { lists, directories })?;
    }
    Ok(if failed { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

/// Fetches the keys of all agents that sign.
fn keys<'a>(
    config: &'a Config,
    catalogue: &'a Catalogue,
    publisher: &'a Publisher,
) -> impl Iterator<Item = DirectoryReport> + 'a {
    Evidence::key_directories(config, catalogue).into_iter().map(|directory| {
        let result = publisher.refresh_keys(&directory);
        let now = Evidence::key_directories(config, catalogue);
        let now = now.into_iter().find(|now| now.agent == directory.agent).unwrap_or(directory);
        DirectoryReport::of(&now, &result, SystemTime::now())
    })
}

/// The word for what was done with a list.
const fn word(result: &Result<Fetched, String>) -> &'static str {
    match result {
        Ok(Fetched::Replaced) => "replaced",
        Ok(Fetched::Unchanged) => "unchanged",
        Ok(Fetched::Absent) => "absent",
        Err(_) => "failed",
    }
}

impl DirectoryReport {
    fn of(directory: &KeyDirectory, result: &Result<Fetched, String>, now: SystemTime) -> Self {
        Self {
            url: directory.agent.directory(),
            path: directory.path.display().to_string(),
            crawlers: directory.crawlers.iter().map(ToString::to_string).collect(),
            result: word(result),
            error: result.as_ref().err().cloned(),
            keys: directory.keys.as_ref().map(std::collections::HashMap::len),
            age_seconds: directory.age(now).map(|age| age.as_secs()),
        }
    }

    fn line(&self) -> String {
        let kept = match (self.keys, self.age_seconds) {
            (Some(keys), Some(age)) => format!("{}, {} old", keys_text(keys), format_span(age)),
            _ => "no keys".to_owned(),
        };
        line((self.result, &self.url, &self.crawlers), &kept, self.error.as_deref())
    }
}

impl List {
    fn of(refreshed: &Refreshed<'_>, now: SystemTime) -> Self {
        let list = refreshed.list.as_ref();
        Self {
            url: refreshed.url.to_owned(),
            path: refreshed.path.display().to_string(),
            crawlers: refreshed.crawlers.iter().map(|&name| name.to_owned()).collect(),
            result: word(&refreshed.result),
            error: refreshed.result.as_ref().err().cloned(),
            ranges: list.map(|list| list.len()),
            age_seconds: list.map(|list| list.age(now).as_secs()),
        }
    }

    fn line(&self) -> String {
        let kept = match (self.ranges, self.age_seconds) {
            (Some(ranges), Some(age)) => format!("{ranges} ranges, {} old", format_span(age)),
            _ => "no list".to_owned(),
        };
        line((self.result, &self.url, &self.crawlers), &kept, self.error.as_deref())
    }
}

fn line((result, url, crawlers): (&str, &str, &[String]), kept: &str, error: Option<&str>) -> String {
    let error = error.map(|error| format!("; {error}")).unwrap_or_default();
    format!("{result:<9}  {url}: {kept} ({}){error}", crawlers.join(", "))
}

/// So many keys, in words.
pub(super) fn keys_text(keys: usize) -> String {
    if keys == 1 { "1 key".to_owned() } else { format!("{keys} keys") }
}
