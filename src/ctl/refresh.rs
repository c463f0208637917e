//! `gatewayctl crawlers refresh`: fetches the address ranges and the keys that crawlers' operators publish.
//!
//! Needs no running gateway; one that runs notices the files by itself.

use super::args::Cli;
use super::output::Output;
use super::status::format_span;
use super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::config::{Config, mirror_folder};
use crate::identify::Catalogue;
use crate::policy::{self, Evidence, Fetched, KeyDirectory, PublicationClient, Refreshed};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What became of one list of address ranges, or of the keys of one agent; field names are public API.
#[derive(Serialize)]
struct FetchedList {
    url: String,
    path: String,
    crawlers: Vec<String>,
    result: &'static str,
    error: Option<String>,
    #[serde(flatten)]
    held: FetchedEntries,
    age_seconds: Option<u64>,
}

/// What lies there now, where anything does.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum FetchedEntries {
    Ranges(Option<usize>),
    Keys(Option<usize>),
    /// Whether there is one.
    Card(bool),
}

#[derive(Serialize)]
struct RefreshReport {
    lists: Vec<FetchedList>,
    directories: Vec<FetchedList>,
    cards: Vec<FetchedList>,
}

pub(super) fn run(cli: &Cli, from: Option<&str>, output: &mut Output<'_>) -> VerbResult {
    let config = which_config::load_any(cli)?;
    let identifier = policy::recogniser(&config)?;
    let mirror = from.map(mirror_folder).transpose();
    let mirror =
        mirror.map_err(|error| VerbFailure::with_hint(error, "write https://mirror.example/ranges/"))?;
    let publisher = PublicationClient::new(&config, mirror).map_err(VerbFailure)?;
    let cards = publisher.refresh_cards(identifier.catalogue(), |_| true);
    let cards = tell_each(cards.map(|refreshed| FetchedList::of_card(&refreshed)), output)?;
    // A card may say where addresses are published.
    let identifier = policy::recogniser(&config)?;
    let ranges = publisher.refresh(identifier.catalogue(), |_| true);
    let lists = tell_each(ranges.map(|refreshed| FetchedList::of_ranges(&refreshed)), output)?;
    let directories = tell_each(keys(&config, identifier.catalogue(), &publisher), output)?;
    let has_failed = lists.iter().chain(&directories).chain(&cards).any(|list| list.error.is_some());
    if output.is_json() {
        output.json(&RefreshReport { lists, directories, cards })?;
    }
    Ok(if has_failed { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

/// Tells of each list when it was fetched: together they may take a while.
fn tell_each(
    lists: impl Iterator<Item = FetchedList>,
    output: &mut Output<'_>,
) -> io::Result<Vec<FetchedList>> {
    let told = lists.map(|list| {
        if !output.is_json() {
            output.line(list.line())?;
            output.flush()?;
        }
        Ok(list)
    });
    told.collect()
}

/// Fetches the keys of all agents that sign.
fn keys<'a>(
    config: &'a Config,
    catalogue: &'a Catalogue,
    publisher: &'a PublicationClient,
) -> impl Iterator<Item = FetchedList> + 'a {
    Evidence::key_directories(config, catalogue).into_iter().map(|directory| {
        let result = publisher.refresh_keys(&directory);
        let now = Evidence::key_directories(config, catalogue);
        let now = now.into_iter().find(|now| now.agent == directory.agent).unwrap_or(directory);
        FetchedList::of_keys(&now, &result)
    })
}

impl FetchedList {
    fn new(
        (url, path): (String, &Path),
        crawlers: &[impl ToString],
        result: &Result<Fetched, String>,
        held: FetchedEntries,
        age: Option<Duration>,
    ) -> Self {
        Self {
            url,
            path: path.display().to_string(),
            crawlers: crawlers.iter().map(ToString::to_string).collect(),
            result: result.as_ref().map_or("failed", Into::into),
            error: result.as_ref().err().cloned(),
            held,
            age_seconds: age.map(|age| age.as_secs()),
        }
    }

    fn of_keys(directory: &KeyDirectory, result: &Result<Fetched, String>) -> Self {
        let place = (directory.agent.key_set().to_owned(), &*directory.path);
        let held = FetchedEntries::Keys(directory.keys.as_ref().map(HashMap::len));
        Self::new(place, &directory.crawlers, result, held, directory.age(SystemTime::now()))
    }

    fn of_card(refreshed: &Refreshed<'_>) -> Self {
        let place = (refreshed.url.to_owned(), &*refreshed.path);
        let held = FetchedEntries::Card(refreshed.path.exists());
        Self::new(place, &refreshed.crawlers, &refreshed.result, held, None)
    }

    fn of_ranges(refreshed: &Refreshed<'_>) -> Self {
        let (place, list) = ((refreshed.url.to_owned(), &*refreshed.path), refreshed.list.as_ref());
        let held = FetchedEntries::Ranges(list.map(|list| list.networks()));
        let age = list.map(|list| list.age(SystemTime::now()));
        Self::new(place, &refreshed.crawlers, &refreshed.result, held, age)
    }

    fn line(&self) -> String {
        let Self { url, result, .. } = self;
        let held = match self.held {
            FetchedEntries::Ranges(None) => "no list".to_owned(),
            FetchedEntries::Ranges(Some(ranges)) => format!("{ranges} ranges"),
            FetchedEntries::Card(is_there) => if is_there { "a card" } else { "no card" }.to_owned(),
            FetchedEntries::Keys(None) => "no keys".to_owned(),
            FetchedEntries::Keys(Some(keys)) => keys_text(keys),
        };
        let age = self.age_seconds.map(|age| format!(", {} old", format_span(age))).unwrap_or_default();
        let error = self.error.as_ref().map(|error| format!("; {error}")).unwrap_or_default();
        format!("{result:<9}  {url}: {held}{age} ({}){error}", self.crawlers.join(", "))
    }
}

/// So many keys, in words.
pub(super) fn keys_text(keys: usize) -> String {
    if keys == 1 { "1 key".to_owned() } else { format!("{keys} keys") }
}
