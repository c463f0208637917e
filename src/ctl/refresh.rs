//! `gatewayctl crawlers refresh`: fetches the address ranges, the keys and the cards that crawlers' operators publish, and
//! the catalogue where one is to be fetched.
//!
//! Needs no running gateway; one that runs notices the files by itself.

use super::{Cli, Output, VerbFailure, VerbOutcome, VerbResult, which_config};
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
    age_seconds: Option<u64>,
    /// The same for people.
    #[serde(skip)]
    line: String,
}

pub(super) fn run(cli: &Cli, from: Option<&str>, output: &mut Output<'_>) -> VerbResult {
    let config = which_config::load_any(cli)?;
    let mirror = from.map(mirror_folder).transpose();
    let mirror =
        mirror.map_err(|error| VerbFailure::with_hint(error, "write https://mirror.example/ranges/"))?;
    let publisher = PublicationClient::new(&config, mirror).map_err(VerbFailure)?;
    let mut report = BTreeMap::from(["lists", "directories", "cards"].map(|kind| (kind, Vec::new())));
    // A catalogue may name cards, and both may name lists and keys.
    let step = |publication: &PublishedFile| match publication.kind {
        PublishedKind::Catalogue(_) => 0,
        PublishedKind::Card => 1,
        PublishedKind::Ranges | PublishedKind::Keys => 2,
    };
    let (mut has_failed, mut asked) = (false, HashSet::new());
    loop {
        let mut next = PublishedFile::all(&config, policy::recogniser(&config)?.catalogue());
        next.retain(|publication| !asked.contains(&publication.path));
        let Some(first) = next.iter().map(step).min() else { break };
        next.retain(|publication| step(publication) == first);
        for publication in next {
            asked.insert(publication.path.clone());
            let result = publisher.refresh(&publication, SystemTime::now());
            let (kind, list) = fetched(&publication, &result);
            // Together they may take a while.
            if !output.is_json() {
                output.line(&list.line)?;
                output.flush()?;
            }
            has_failed |= result.is_err();
            report.entry(kind).or_default().push(list);
        }
    }
    if output.is_json() {
        output.json(&report)?;
    }
    Ok(VerbOutcome::objecting(has_failed))
}

/// What is published, and what lies there now; before it the list that it belongs to.
fn fetched(publication: &PublishedFile, result: &Result<Refreshed, String>) -> (&'static str, FetchedList) {
    let (held, age) = publication.held(SystemTime::now());
    let [kind, name, one, many] = match publication.kind {
        PublishedKind::Ranges => ["lists", "ranges", "range", "ranges"],
        PublishedKind::Keys => ["directories", "keys", "key", "keys"],
        PublishedKind::Card => ["cards", "card", "card", "cards"],
        PublishedKind::Catalogue(_) => ["lists", "catalogue", "crawler", "crawlers"],
    };
    let (url, age_seconds) = (publication.url.to_string(), age.map(|age| age.as_secs()));
    let (whom, error) = (publication.crawlers.join(", "), result.as_ref().err().cloned());
    let result = result.as_ref().map_or("failed", Into::into);
    let told = [
        held.map_or_else(|| format!("no {many}"), |held| amount(held as u64, one, many)),
        age_seconds.map_or(String::new(), |age| format!(", {} old", format_span(Duration::from_secs(age)))),
        if whom.is_empty() { whom } else { format!(" ({whom})") },
        error.as_ref().map_or(String::new(), |error| format!("; {error}")),
    ];
    let list = FetchedList {
        line: format!("{result:<9}  {url}: {}", told.concat()),
        url,
        path: publication.path.display().to_string(),
        crawlers: publication.crawlers.iter().map(ToString::to_string).collect(),
        result,
        error,
        held: BTreeMap::from([(name, held)]),
        age_seconds,
    };
    (kind, list)
}
