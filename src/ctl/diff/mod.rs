//! `gatewayctl diff`: what a new robots.txt would change, by its rules and by requests of the past.
//!
//! Rules are compared as each crawler would meet them (RFC 9309 §2.2.1): a group that is added takes its crawler
//! away from `*`. Requests come from access logs, all of them, or from the store, which knows the most frequent
//! targets of each crawler and says how much they are of all.

mod requests;
mod rules;

use super::args::{Cli, DiffArgs};
use super::explain::ToldFact;
use super::output::Output;
use super::replay::Sites;
use super::report::open_store;
use super::style;
use super::{VerbFailure, VerbResult, diff, fit_robots};
use crate::policy::Site;
use crate::report::{self, grouped};
use askama::Template;
use requests::{Flip, JudgedRequests, PastRequests, losses};
use rules::{RuleChange, RuleLine, changed};
use serde::Serialize;

/// The answer; field names are public API.
#[derive(Debug, Serialize, Template)]
#[template(path = "diff/text.txt", config = "src/ctl/askama.toml")]
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
    losses: Vec<ToldFact>,
}

pub(super) fn run(cli: &Cli, arguments: &DiffArgs, output: &mut Output<'_>) -> VerbResult {
    let sites = Sites::load(cli, arguments.robots.as_deref(), arguments.site.as_deref(), &[], true)?;
    let Some(old) = sites.all.first() else { return Err(VerbFailure("there is no site".to_owned())) };
    let new = old.composed_of(&sites.policy, Some(fit_robots(&arguments.new)?), &old.config.robots);
    // It has to be fit to come into force.
    let new = new.map_err(|unfit| VerbFailure::of_file(&arguments.new, &unfit))?;
    let mut past = PastRequests::of(&sites.policy, old, &new);
    if let Some(since) = arguments.since {
        past.of_store(&open_store(cli.store()?)?, since)?;
    } else if !arguments.logs.is_empty() {
        past.of_logs(&sites, arguments)?;
    }
    let (told, mut flips) = past.told();
    let losses = losses(&flips);
    flips.truncate(if output.is_json() { usize::MAX } else { arguments.top });
    let version = |site: &Site| site.version().map(|version| version.to_string());
    let difference = Difference {
        site: old.config.name.clone(),
        old_version: version(old),
        new_version: version(&new),
        rules: changed(&old.rules.current().robots, &new.rules.current().robots),
        requests: Some(told).filter(|told| !told.source.is_empty()),
        flips,
        losses,
    };
    let outcome = output
        .answer(&difference, !difference.losses.is_empty(), |difference, output| output.render(difference))?;
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
    Ok(outcome)
}

/// How many rules of one change are shown.
const RULES: usize = 20;

/// The rules that go and that come.
fn lines(change: &RuleChange) -> Vec<String> {
    let signs = [("-", style::WARNING, &change.removed), ("+", style::GOOD, &change.added)];
    let lines = signs.into_iter().flat_map(|(sign, style, lines)| {
        let line = move |RuleLine { line, rule }: &RuleLine| {
            style::paint(style, &format!("  {sign} line {line}: {rule}"))
        };
        let more = lines.len().checked_sub(RULES).filter(|more| *more > 0);
        let more = more.map(|more| format!("  {sign} and {} more", grouped(more as u64)));
        lines.iter().take(RULES).map(line).chain(more)
    });
    lines.collect()
}

impl Difference {
    /// How many digits the largest count of a flip has.
    fn widest(&self) -> usize {
        self.flips.first().map_or(0, |most| grouped(most.count).len())
    }

    /// Requests that would be judged differently and are not listed.
    fn more(&self) -> u64 {
        let flipped = self.requests.as_ref().map_or(0, |requests| requests.flipped);
        flipped - self.flips.iter().map(|flip| flip.count).sum::<u64>()
    }
}

/// For whom the rules change.
fn heading(changed: &RuleChange) -> String {
    let moved = match [&changed.old_group, &changed.new_group].map(Option::as_deref) {
        [Some(old), Some(new)] if old.eq_ignore_ascii_case(new) => String::new(),
        groups => {
            let [old, new] = groups.map(|group| group.unwrap_or("none"));
            format!(" (its group was {old}, is {new})")
        }
    };
    format!("{}{moved}", changed.tokens.join(", "))
}

fn flip(flip: &Flip, widest: usize) -> String {
    let Flip { target, from, to, old_line, new_line, .. } = flip;
    let [old, new] = [old_line, new_line]
        .map(|line| line.map_or_else(|| "no rule".to_owned(), |line| format!("line {line}")));
    let (count, who) = (grouped(flip.count), flip.crawler.as_deref().unwrap_or("(no name)"));
    format!("{count:>widest$}  {who}  {target}: {from} ({old}) -> {to} ({new})")
}
