//! Requests of the past, judged by both files: from access logs, or from the store, which keeps the targets of each crawler
//! and day up to a number.

use super::SitePair;
use super::flips::{FileVerdict, Flips, said};
use crate::ctl::VerbFailure;
use crate::ctl::args::DiffArgs;
use crate::ctl::explain::facts;
use crate::ctl::logs::{EndOfLog, LogWalk, decoded};
use crate::ctl::replay::{LineCounts, Sites, notice_time};
use crate::decide::NoticeTime;
use crate::identify::{Basis, ClientKind, Identifier, Identity, Proof, Recognised};
use crate::policy::{JudgedClient, Site};
use crate::record::{CountSubject, Filter, OTHER_PATHS, StoreReader};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use serde::Serialize;
use std::sync::Arc;
use std::time::SystemTime;

/// The requests that were judged by both files; field names are public API.
#[derive(Debug, Default, Serialize)]
pub(super) struct JudgedRequests {
    /// `log` or `store`.
    pub(super) source: &'static str,
    /// How many of judged clients.
    pub(super) judged: u64,
    /// Which share of these could be looked at: 1 of logs.
    pub(super) share: f64,
    /// How many would be judged differently.
    pub(super) flipped: u64,
    /// Lines that could not be read.
    pub(super) unread: u64,
    /// Lines that do not tell the User-Agent, and those for hosts that are not the site's.
    pub(super) without_user_agent: u64,
    pub(super) other_hosts: u64,
    /// Logs that could not be read to their end, and why.
    pub(super) broken: Vec<String>,
    /// Those of `flipped` that found no room in the list.
    unlisted: u64,
}

/// Judges the requests of logs.
pub(super) fn of_logs(
    pair: &SitePair<'_>,
    sites: &Sites,
    arguments: &DiffArgs,
) -> Result<(JudgedRequests, Flips), VerbFailure> {
    let (mut lines, mut flips) = (LineCounts::default(), Flips::default());
    let ends = LogWalk::open(&arguments.logs, arguments.log_format.as_deref())?.each(|_, _, line| {
        let Some((entry, _, facts)) = sites.request(&line, i64::MIN, &mut lines) else { return Ok(()) };
        let sender = |site: &Site| site.recognise(pair.policy, facts.user_agent.as_deref());
        let is_judged = flips.judge(pair, &facts, sender, notice_time(entry.at), 1);
        lines.judged += u64::from(is_judged);
        Ok(())
    })?;
    if let Some((what, remedy)) = ends.iter().find_map(EndOfLog::fault) {
        return Err(VerbFailure::with_hint(what, remedy));
    }
    let LineCounts { judged, unread, without_user_agent, other_hosts, .. } = lines;
    let broken = ends.iter().filter_map(|end| Some(end.broken.as_ref()?.to_string())).collect();
    let (flipped, unlisted) = (flips.requests(), flips.unlisted);
    let requests = JudgedRequests {
        source: "log",
        judged,
        share: 1.0,
        flipped,
        unread,
        without_user_agent,
        other_hosts,
        broken,
        unlisted,
    };
    Ok((requests, flips))
}

/// Judges what the store remembers since then.
pub(super) fn of_store(
    pair: &SitePair<'_>,
    store: &StoreReader,
    since: SystemTime,
) -> Result<(JudgedRequests, Flips), VerbFailure> {
    // A clock that was ahead has dated what it counted later than now.
    let last = store.last()?;
    let window = store.window(since, SystemTime::now().max(last.unwrap_or(since)))?;
    let filter = Filter { site: Some(pair.old.config.name.clone()), ..Filter::default() };
    let (mut flips, mut judged, mut named) = (Flips::default(), 0, 0);
    for path in &store.paths(&window, &filter, usize::MAX)? {
        // A visit in disguise is judged by neither.
        if path.subject.client == ClientKind::Browser {
            continue;
        }
        let count = path.counts.requests();
        judged += count;
        if path.target == OTHER_PATHS {
            continue;
        }
        named += count;
        let identity = identity(&pair.policy.identifier, &path.subject);
        // Bytes that are no UTF-8 stand there by their numbers.
        let target = decoded(path.target.as_bytes(), b"\\x");
        if let Some(facts) = facts("", &target, None, None) {
            let sender = |_: &Site| Recognised::new(Arc::clone(&identity), Arc::clone(&identity));
            flips.judge(pair, &facts, sender, NoticeTime::default(), count);
        }
    }
    let (flipped, unlisted) = (flips.requests(), flips.unlisted);
    let share = share(named, judged);
    Ok((
        JudgedRequests { source: "store", judged, share, flipped, unlisted, ..JudgedRequests::default() },
        flips,
    ))
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Who a subject is: as the catalogue knows it, or by its name alone.
fn identity(identifier: &Identifier, subject: &CountSubject) -> Arc<Identity> {
    let &CountSubject { client, purpose, .. } = subject;
    let known = subject.crawler.as_deref().and_then(|name| identifier.catalogue().get(name));
    let by_name = |name: &str| {
        identifier.by_token(known.and_then(|known| known.tokens.first()).map_or(name, |token| token))
    };
    let named = subject.crawler.as_deref().map(by_name);
    let own_tokens = known.map(|known| Arc::clone(&known.tokens));
    Arc::new(Identity {
        client,
        crawler: subject.crawler.as_deref().map(Into::into),
        purpose: purpose.filter(|_| named.is_some()),
        tokens: own_tokens.or_else(|| Some(Arc::clone(&named.as_ref()?.tokens))).unwrap_or_default(),
        star: known.is_none_or(|known| known.star),
        basis: named.map_or(Basis::Structure, |named| named.basis),
    })
}

impl Flips {
    /// Judges requests by both files, and counts them where these say two things; whether one of them judges the client.
    fn judge(
        &mut self,
        pair: &SitePair<'_>,
        facts: &RequestFacts<'_>,
        sender: impl Fn(&Site) -> Recognised,
        now: NoticeTime,
        count: u64,
    ) -> bool {
        let target = RequestTarget::new(&facts.target, pair.old.config.path_parameters);
        let by = |site: &Site| {
            let (policy, rules, recognised) = (pair.policy, &site.rules, sender(site));
            let client = JudgedClient { policy, site, rules, facts, target: &target, recognised, now };
            let judged = client.judge(|_| Proof::Unchecked.into(), |_, _| Vec::new());
            (judged.verdict.is_judged().then(|| said(&judged.verdict)), judged.identity)
        };
        let ((old, was), (new, is)) = (by(pair.old), by(pair.new));
        let identity = if is.client.is_judged() { is } else { was };
        let said = |verdict: Option<FileVerdict>| verdict.unwrap_or(("allowed", None));
        self.add(&identity, &facts.target, said(old), said(new), count);
        old.is_some() || new.is_some()
    }
}
