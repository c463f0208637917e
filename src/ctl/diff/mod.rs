//! `gatewayctl diff`: what a new robots.txt would change, by its rules and by requests of the past.
//!
//! Rules are compared as each crawler would meet them (RFC 9309 §2.2.1): a group that is added takes its crawler
//! away from `*`. Requests come from access logs, all of them, or from the store, which knows the most frequent
//! targets of each crawler and says how much they are of all.

mod flips;
mod lines;
mod rules;
mod stored;
mod text;

use super::args::{Cli, DiffArgs};
use super::logs::{EndOfLog, LogWalk};
use super::output::Output;
use super::replay::{LineKind, Sites};
use super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::identify::Purpose;
use crate::policy::{Policy, RobotsFile, Site, Unfit, fitness};
use crate::record::{STORE_FILE, StoreReader};
use flips::{Flip, Flips};
use lines::DiffMemory;
use rules::{RuleChange, changed};
use serde::Serialize;
use std::time::SystemTime;

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
    losses: Vec<OmittedFlips>,
}

/// The requests that were judged by both files.
#[derive(Debug, Default, Serialize)]
struct JudgedRequests {
    /// `log` or `store`.
    source: &'static str,
    /// How many of judged clients.
    judged: u64,
    /// Which share of these could be looked at: 1 of logs.
    share: f64,
    /// How many would be judged differently.
    flipped: u64,
    /// Lines that could not be read.
    unread: u64,
    /// Lines that do not tell the User-Agent, and those for hosts that are not the site's.
    without_user_agent: u64,
    other_hosts: u64,
    /// Logs that could not be read to their end, and why.
    broken: Vec<String>,
    /// Kinds of flips that found no room in the list; their requests are counted in `flipped`.
    unlisted: u64,
}

#[derive(Debug, Serialize)]
struct OmittedFlips {
    crawler: String,
    pages: u64,
    requests: u64,
}

impl Difference {
    /// Fails where requests were to be looked at, and none could be judged, or not all be read: that nothing is
    /// told then does not mean that nothing would change.
    fn is_an_answer(&self) -> Result<(), VerbFailure> {
        let Some(requests) = &self.requests else { return Ok(()) };
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
        Ok(())
    }
}

/// One site under two files.
struct SitePair<'a> {
    policy: &'a Policy,
    old: &'a Site,
    new: &'a Site,
}

pub(super) fn run(cli: &Cli, arguments: &DiffArgs, output: &mut Output<'_>) -> VerbResult {
    let sites = Sites::of_one(cli, arguments.robots.as_deref(), arguments.site.as_deref(), &[])?;
    let Some(old) = sites.all.first() else { return Err(VerbFailure("there is no site".to_owned())) };
    let new = with_new_file(old, &sites.policy, arguments)?;
    let pair = SitePair { policy: &sites.policy, old, new: &new };
    let (requests, flips) = if let Some(since) = arguments.since {
        let (requests, flips) = stored::flips(&pair, &store(cli)?, since.resolve(SystemTime::now()))?;
        (Some(requests), flips)
    } else if arguments.logs.is_empty() {
        (None, Flips::default())
    } else {
        let (requests, flips) = of_logs(&pair, &sites, arguments)?;
        (Some(requests), flips)
    };
    let version = |site: &Site| site.version().map(|version| version.to_string());
    let difference = Difference {
        site: old.config.name.clone(),
        old_version: version(old),
        new_version: version(&new),
        rules: changed(&old.rules.current().robots, &new.rules.current().robots),
        requests,
        losses: losses(&flips),
        flips: flips.sorted(if output.is_json() { usize::MAX } else { arguments.top }),
    };
    output.show(&difference, text::print)?;
    output.flush()?;
    difference.is_an_answer()?;
    Ok(if difference.losses.is_empty() { VerbOutcome::Fine } else { VerbOutcome::Objection })
}

/// The site with the new file, which has to be fit to come into force.
fn with_new_file(old: &Site, policy: &Policy, arguments: &DiffArgs) -> Result<Site, VerbFailure> {
    let path = &arguments.new;
    let unfit = |unfit: Unfit| VerbFailure::of_file(path, &unfit);
    let file = RobotsFile::named(path).map_err(unfit)?;
    fitness(&file.bytes).map_err(unfit)?;
    old.composed_of(policy, Some(file), &old.config.robots).map_err(unfit)
}

fn store(cli: &Cli) -> Result<StoreReader, VerbFailure> {
    let folder = match cli.state_dir.first() {
        Some(folder) => folder.clone(),
        None => which_config::load_any(cli)?.state_dir,
    };
    let path = folder.join(STORE_FILE);
    StoreReader::open(&path).map_err(|error| VerbFailure::of_stores(&[path], &error))
}

fn of_logs(
    pair: &SitePair<'_>,
    sites: &Sites,
    arguments: &DiffArgs,
) -> Result<(JudgedRequests, Flips), VerbFailure> {
    let mut memory = DiffMemory::new(pair, sites);
    let ends = LogWalk::open(&arguments.logs, arguments.log_format.as_deref())?.each(|_, _, line| {
        memory.line(&line);
        Ok(())
    })?;
    if let Some((what, remedy)) = ends.iter().find_map(EndOfLog::fault) {
        return Err(VerbFailure::with_hint(what, remedy));
    }
    let DiffMemory { lines, flips, .. } = memory;
    let requests = JudgedRequests {
        source: "log",
        judged: lines.of(LineKind::Judged),
        share: 1.0,
        flipped: flips.requests(),
        unread: lines.of(LineKind::Unread),
        without_user_agent: lines.of(LineKind::WithoutUserAgent),
        other_hosts: lines.of(LineKind::OtherHosts),
        broken: ends.iter().filter_map(EndOfLog::loss).collect(),
        unlisted: flips.unlisted,
    };
    Ok((requests, flips))
}

/// What search engines would lose.
fn losses(flips: &Flips) -> Vec<OmittedFlips> {
    let mut losses: Vec<OmittedFlips> = Vec::new();
    let hurts = |flip: &Flip| flip.purpose == Some(Purpose::Search.as_str()) && flip.to == "disallowed";
    for flip in flips.sorted(usize::MAX).into_iter().filter(hurts) {
        let crawler = flip.crawler.unwrap_or_default();
        match losses.iter_mut().find(|known| known.crawler == crawler) {
            Some(known) => {
                known.pages += 1;
                known.requests += flip.count;
            }
            None => losses.push(OmittedFlips { crawler, pages: 1, requests: flip.count }),
        }
    }
    losses.sort_by_key(|loss| std::cmp::Reverse((loss.requests, loss.pages)));
    losses
}
