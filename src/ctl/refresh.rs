//! `gatewayctl crawlers refresh`: fetches the address ranges, the keys and the cards that crawlers' operators publish, and
//! the catalogue where one is to be fetched.
//!
//! Needs no running gateway; one that runs notices the files by itself.

use super::args::Cli;
use super::output::Output;
use super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::config::mirror_folder;
use crate::policy::{self, PublicationClient, PublishedFile, PublishedKind, Refreshed};
use crate::record::format_span;
use crate::report::amount;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, SystemTime};

/// What became of one published file; field names are public API.
#[derive(Serialize)]
struct FetchedList {
    url: String,
    path: String,
    crawlers: Vec<String>,
    result: &'static str,
    error: Option<String>,
    /// How much of what it holds lies there now, under the name of that; null where nothing does.
    #[serde(flatten)]
    held: BTreeMap<&'static str, Option<usize>>,
    #[serde(skip)]
    held_words: String,
    age_seconds: Option<u64>,
}

#[derive(Default, Serialize)]
struct RefreshReport {
    lists: Vec<FetchedList>,
    directories: Vec<FetchedList>,
    cards: Vec<FetchedList>,
}

pub(super) fn run(cli: &Cli, from: Option<&str>, output: &mut Output<'_>) -> VerbResult {
    let config = which_config::load_any(cli)?;
    let mirror = from.map(mirror_folder).transpose();
    let mirror =
        mirror.map_err(|error| VerbFailure::with_hint(error, "write https://mirror.example/ranges/"))?;
    let publisher = PublicationClient::new(&config, mirror).map_err(VerbFailure)?;
    // What is fetched first may name what is fetched later.
    let (mut report, mut has_failed, mut asked) = (RefreshReport::default(), false, HashSet::new());
    loop {
        let mut next = PublishedFile::all(&config, policy::recogniser(&config)?.catalogue());
        next.retain(|publication| asked.insert(publication.path.clone()));
        if next.is_empty() {
            break;
        }
        for publication in next {
            let result = publisher.refresh(&publication, SystemTime::now());
            let list = FetchedList::of(&publication, &result);
            // Together they may take a while.
            if !output.is_json() {
                output.line(list.line())?;
                output.flush()?;
            }
            has_failed |= result.is_err();
            match publication.kind {
                PublishedKind::Card => report.cards.push(list),
                PublishedKind::Keys => report.directories.push(list),
                PublishedKind::Ranges | PublishedKind::Catalogue(_) => report.lists.push(list),
            }
        }
    }
    if output.is_json() {
        output.json(&report)?;
    }
    Ok(if has_failed { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

impl FetchedList {
    /// What is published, and what lies there now.
    fn of(publication: &PublishedFile, result: &Result<Refreshed, String>) -> Self {
        let (held, age) = publication.held(SystemTime::now());
        let (name, one, many) = match publication.kind {
            PublishedKind::Ranges => ("ranges", "range", "ranges"),
            PublishedKind::Keys => ("keys", "key", "keys"),
            PublishedKind::Card => ("card", "card", "cards"),
            PublishedKind::Catalogue(_) => ("catalogue", "crawler", "crawlers"),
        };
        Self {
            url: publication.url.to_string(),
            path: publication.path.display().to_string(),
            crawlers: publication.crawlers.iter().map(ToString::to_string).collect(),
            result: result.as_ref().map_or("failed", Into::into),
            error: result.as_ref().err().cloned(),
            held: BTreeMap::from([(name, held)]),
            held_words: held.map_or_else(|| format!("no {many}"), |held| amount(held as u64, one, many)),
            age_seconds: age.map(|age| age.as_secs()),
        }
    }

    fn line(&self) -> String {
        let Self { url, result, held_words, .. } = self;
        let age = self
            .age_seconds
            .map(|age| format!(", {} old", format_span(Duration::from_secs(age))))
            .unwrap_or_default();
        let error = self.error.as_ref().map(|error| format!("; {error}")).unwrap_or_default();
        let whom = self.crawlers.join(", ");
        let whom = if whom.is_empty() { whom } else { format!(" ({whom})") };
        format!("{result:<9}  {url}: {held_words}{age}{whom}{error}")
    }
}
