//! `gatewayctl crawlers refresh`: fetches the address ranges that crawlers' operators publish.
//!
//! Needs no running gateway; one that runs notices the files by itself.

use super::args::{Cli, CrawlersArgs, CrawlersVerb, RefreshArgs};
use super::output::{Output, escape_harmful};
use super::status::format_span;
use super::{VerbFailure, VerbOutcome, VerbResult, setting};
use crate::config::mirror_folder;
use crate::policy::{self, Fetched, Publisher, Refreshed};
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

#[derive(Serialize)]
struct Lists {
    lists: Vec<List>,
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
    let failed = lists.iter().any(|list| list.error.is_some());
    if output.is_json() {
        output.json(&Lists { lists })?;
    }
    Ok(if failed { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

impl List {
    fn of(refreshed: &Refreshed<'_>, now: SystemTime) -> Self {
        let list = refreshed.list.as_ref();
        Self {
            url: refreshed.url.to_owned(),
            path: refreshed.path.display().to_string(),
            crawlers: refreshed.crawlers.iter().map(|&name| name.to_owned()).collect(),
            result: match refreshed.result {
                Ok(Fetched::Replaced) => "replaced",
                Ok(Fetched::Unchanged) => "unchanged",
                Err(_) => "failed",
            },
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
        let error = self.error.as_deref().map(|error| format!("; {error}")).unwrap_or_default();
        let crawlers = self.crawlers.join(", ");
        format!("{:<9}  {}: {kept} ({crawlers}){error}", self.result, self.url)
    }
}
