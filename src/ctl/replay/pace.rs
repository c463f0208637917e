//! The pace of those in a log: what would have been answered 429.

use super::ledger::ReplayTotals;
use super::sites::Sites;
use crate::decide::{NoticeTime, PaceLimit, Verdict, VerdictOutcome, VerdictReason};
use crate::enforce::{Action, Mode, PaceChoice};
use crate::identify::Identity;
use crate::policy::{Site, pace_in_force};
use crate::record::{CountSubject, CountedDecision, DecisionRef, EventKind, PaceBook, ReaderId};
use crate::report::amount;
use crate::request::target::{PathParameters, RequestTarget};
use serde::Serialize;
use std::sync::Arc;

/// What one subject is asked to keep.
#[derive(Clone, Debug)]
pub(super) struct ReplayPace {
    limit: PaceLimit,
    /// What is decided of a request too many.
    pub(super) decision: Arc<CountedDecision>,
    /// Whether it would be answered 429 where pace is enforced: clients that are only audited never are.
    is_refusable: bool,
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
            let decision = &account.pace.as_ref().filter(|pace| pace.is_refusable)?.decision;
            let CountSubject { site, crawler, .. } = &*account.subject;
            Some(Self {
                site: site.to_string(),
                crawler: crawler.as_deref().map(str::to_owned),
                rule: decision.rule.as_deref().map(str::to_owned),
                count: account.decisions.get(decision)?.count,
            })
        };
        let mut all: Vec<Self> = ledger.accounts.iter().filter_map(of).collect();
        all.sort_by(|one, two| (two.count, &one.crawler).cmp(&(one.count, &two.crawler)));
        all
    }

    /// `with Crawl-delay: 10 AhrefsBot would have been slowed 4,120 times`.
    pub(super) fn sentence(&self, several: bool) -> String {
        let who = self.crawler.as_deref().unwrap_or("(no name)");
        let (rule, times) = (self.rule.as_deref().unwrap_or("its rate"), amount(self.count, "time", "times"));
        let site = if several { format!(" at {}", self.site) } else { String::new() };
        format!("with {rule} {who} would have been slowed {times}{site}")
    }
}

impl ReplayPace {
    /// The limit of a client at a site, and what is decided beyond it.
    pub(super) fn of(sites: &Sites, site: &Site, identity: &Identity) -> Option<Self> {
        let declared = pace_in_force(&sites.policy, &site.rules, identity)?;
        let mode = site.modes.of(identity);
        let is_refusable = mode == Mode::Enforce && !identity.is_audited_only();
        let is_enforced = is_refusable && site.config.choices.crawl_delay == PaceChoice::Enforce;
        let action = if is_enforced { Action::Refuse } else { Action::Forward };
        let (outcome, reason, version) = (VerdictOutcome::Allow, VerdictReason::NoRule, site.version());
        let verdict = declared.verdict(&Verdict { outcome, reason, ruling: None, version });
        let decision = (&DecisionRef::new(EventKind::Pace, action, &verdict, None)).into();
        let pace = Self { limit: declared.limit, decision: Arc::new(decision), is_refusable };
        (mode != Mode::Off).then_some(pace)
    }

    /// Whether an allowed request is one too many. What is forwarded for another reason counts, and is told as what it is.
    pub(super) fn is_exceeded(
        &self,
        windows: &PaceBook,
        decided: &CountedDecision,
        (who, target, now): (&ReaderId<'_>, &[u8], NoticeTime),
    ) -> bool {
        let is_forwarded = decided.action == Action::Forward
            && !RequestTarget::new(target, PathParameters::Keep).is_acme_challenge();
        let is_too_many = is_forwarded && windows.admit(who, &self.limit, target, now.0, true).is_err();
        is_too_many && decided.kind == EventKind::Allowed
    }
}
