//! `gatewayctl diff`: what a new robots.txt would change, by its rules and by requests of the past.
//!
//! Rules are compared as each crawler would meet them (RFC 9309 §2.2.1): a group that is added takes its crawler
//! away from `*`. Requests come from access logs, all of them, or from the store, which knows the most frequent
//! targets of each crawler and says how much they are of all.

mod requests;
mod rules;
mod text;

use super::args::{Cli, DiffArgs};
use super::output::Output;
use super::replay::Sites;
use super::report::open_store;
use super::{VerbFailure, VerbOutcome, VerbResult, fit_robots};
use crate::policy::{Policy, Site};
use requests::{Flip, JudgedRequests, LostPages, PastRequests};
use rules::{RuleChange, changed};
use serde::Serialize;

/// The answer; field names are public API.
#[derive(Debug, Serialize)]
struct Difference {
    site: String,
    old_version: Option<String>,
    new_version: Option<String>,
    /// What changes for whom, by the rules alone.
    rules: Vec<RuleChange>,
    /// What the flips were looked for in; null where nothing was asked for.
    requests: Option<JudgedRequests>,
    /// Requests that would be judged differently, the most frequent first.
    flips: Vec<Flip>,
    /// Search engines that would lose pages they fetch today.
    losses: Vec<LostPages>,
}

pub(super) fn run(cli: &Cli, arguments: &DiffArgs, output: &mut Output<'_>) -> VerbResult {
    let sites = Sites::of_one(cli, arguments.robots.as_deref(), arguments.site.as_deref(), &[])?;
    let Some(old) = sites.all.first() else { return Err(VerbFailure("there is no site".to_owned())) };
    let new = with_new_file(old, &sites.policy, arguments)?;
    let mut past = PastRequests::of(&sites.policy, old, &new);
    if let Some(since) = arguments.since {
        past.of_store(&open_store(cli.store()?)?, since)?;
    } else if !arguments.logs.is_empty() {
        past.of_logs(&sites, arguments)?;
    }
    let version = |site: &Site| site.version().map(|version| version.to_string());
    let difference = Difference {
        site: old.config.name.clone(),
        old_version: version(old),
        new_version: version(&new),
        rules: changed(&old.rules.current().robots, &new.rules.current().robots),
        losses: past.losses(),
        flips: past.flips(if output.is_json() { usize::MAX } else { arguments.top }),
        requests: Some(past.told).filter(|told| !told.source.is_empty()),
    };
    output.show(&difference, text::print)?;
    output.flush()?;
    // That nothing is told then does not mean that nothing would change.
    if let Some(requests) = &difference.requests {
        if !requests.broken.is_empty() {
            let hint = "the result covers only the lines before";
            return Err(VerbFailure::with_hint(requests.broken.join("; "), hint));
        }
        if requests.judged == 0 {
            let hint = "take a log with User-Agents, of this site (--site), in which crawlers come";
            let what =
                "no request could be judged, so it is not known whether any would be judged differently";
            return Err(VerbFailure::with_hint(what, hint));
        }
    }
    Ok(if difference.losses.is_empty() { VerbOutcome::Fine } else { VerbOutcome::Objection })
}

/// The site with the new file, which has to be fit to come into force.
fn with_new_file(old: &Site, policy: &Policy, arguments: &DiffArgs) -> Result<Site, VerbFailure> {
    let file = fit_robots(&arguments.new)?;
    let new = old.composed_of(policy, Some(file), &old.config.robots);
    new.map_err(|unfit| VerbFailure::of_file(&arguments.new, &unfit))
}
