//! The pace of those in a log: what would have been answered 429.

use super::ledger::ReplayTotals;
use super::part::NewDecision;
use super::sites::Sites;
use crate::ctl::output::escape_harmful;
use crate::decide::{DeclaredPace, NoticeTime, PaceLimit};
use crate::enforce::{Action, Mode, PaceChoice};
use crate::identify::Identity;
use crate::policy::{Site, pace_in_force};
use crate::record::{CountedDecision, EventKind, PaceBook, ReaderId, printable};
use crate::report::amount;
use crate::request::target::{PathParameters, RequestTarget};
use serde::Serialize;

/// What one subject is asked to keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayPace {
    pub(super) limit: PaceLimit,
    /// The number of what is decided of a request too many.
    pub(super) decision: u32,
    /// Whether it would be answered 429 where pace is enforced: clients that are only audited never are.
    pub(super) is_refusable: bool,
}

/// Whose requests would be answered 429 where pace is enforced; field names are public API.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SlowedCrawler {
    site: String,
    crawler: Option<String>,
    /// Its `Crawl-delay` as written; null of a `rate`.
    rule: Option<String>,
    count: u64,
}

impl SlowedCrawler {
    /// All of a replay, the most requests first.
    pub(super) fn all(ledger: &ReplayTotals<'_>) -> Vec<Self> {
        let of = |account: &super::ledger::SubjectTotals| {
            let decision = account.pace.filter(|pace| pace.is_refusable)?.decision;
            let seen = account.decisions.get(&(2 * decision))?;
            let (site, crawler) = (account.subject.site.to_string(), account.subject.crawler.as_deref());
            let rule = ledger.decision(2 * decision, false)?.rule.map(Into::into);
            Some(Self { site, crawler: crawler.map(str::to_owned), rule, count: seen.count })
        };
        let mut all: Vec<Self> = ledger.accounts.iter().filter_map(of).collect();
        all.sort_by(|one, two| (two.count, &one.crawler).cmp(&(one.count, &two.crawler)));
        all
    }

    /// `with Crawl-delay: 10 AhrefsBot would have been slowed 4,120 times`.
    pub(super) fn sentence(&self, several: bool) -> String {
        let who = escape_harmful(self.crawler.as_deref().unwrap_or("(no name)"));
        let (rule, times) = (self.rule.as_deref().unwrap_or("its rate"), amount(self.count, "time", "times"));
        let site = if several { format!(" at {}", escape_harmful(&self.site)) } else { String::new() };
        format!("with {} {who} would have been slowed {times}{site}", escape_harmful(rule))
    }
}

impl ReplayPace {
    /// The limit of a client at a site, and what is decided beyond it.
    pub(super) fn of(sites: &Sites, site: &Site, identity: &Identity) -> Option<(Self, NewDecision)> {
        let DeclaredPace { limit, source } = pace_in_force(&sites.policy, &site.rules, identity)?;
        let mode = site.modes.of(identity);
        let is_refusable = mode == Mode::Enforce && !identity.is_audited_only();
        let is_enforced = is_refusable && site.config.choices.crawl_delay == PaceChoice::Enforce;
        let decision = CountedDecision {
            kind: EventKind::Pace,
            action: if is_enforced { Action::Refuse } else { Action::Forward },
            notice: None,
            version: site.version(),
            group: source
                .map_or_else(Vec::new, |(group, _)| group.tokens().into_iter().map(Into::into).collect()),
            line: source.map(|(_, line)| line.line),
            rule: source.map(|(_, line)| printable(line.text).into()),
            proof_by: None,
        };
        let pace = Self { limit, decision: 0, is_refusable };
        (mode != Mode::Off).then_some((pace, NewDecision { decision, spared: None }))
    }

    /// The number of what is decided of a request: another one than `decided` where it is one too many.
    pub(super) fn of_request(
        &self,
        windows: &PaceBook,
        decisions: &[NewDecision],
        decided: u32,
        (who, target, now): (&ReaderId<'_>, &[u8], NoticeTime),
    ) -> u32 {
        let Some(NewDecision { decision, .. }) = decisions.get(decided as usize) else { return decided };
        let is_forwarded = decision.action == Action::Forward
            && !RequestTarget::new(target, PathParameters::Keep).is_acme_challenge();
        let is_too_many = is_forwarded && windows.admit(who, &self.limit, target, now.0, true).is_err();
        if is_too_many && decision.kind == EventKind::Allowed { self.decision } else { decided }
    }
}
