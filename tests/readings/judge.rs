//! Judging as the gateway does, for a crawler that has read nothing and takes every rule.

use crate::files::RULES;
use robots_gateway::decide::{
    NoticePeriod, NoticeTime, RobotsVersion, SiteRules, VerdictInput, VerdictOutcome, decide,
};
use robots_gateway::identify::{Basis, ClientKind, Identity};
use robots_gateway::request::target::{PathParameters, RequestTarget};
use robots_gateway::robots::{ParseLimits, Robots};
use std::sync::Arc;
use std::time::Duration;

/// A crawler, and what is needed to judge it.
pub(crate) struct ReadingJudge {
    identity: Arc<Identity>,
}

impl ReadingJudge {
    /// A crawler of the files of [`RULES`].
    pub(crate) fn new() -> Self {
        Self::named("GPTBot")
    }

    pub(crate) fn named(token: &str) -> Self {
        let identity = Identity {
            client: ClientKind::Crawler,
            crawler: None,
            purpose: None,
            tokens: Arc::new([token.into()]),
            star: true,
            basis: Basis::Catalogue,
        };
        Self { identity: Arc::new(identity) }
    }

    pub(crate) fn outcome(&self, rules: &SiteRules, target: &[u8]) -> VerdictOutcome {
        let period = NoticePeriod { notice: Duration::ZERO, settle: Duration::ZERO };
        let target = RequestTarget::new(target, PathParameters::Keep);
        let case = VerdictInput {
            target: &target,
            user_agent: None,
            recognised: &self.identity,
            identity: &self.identity,
            exempt: false,
            reads: &[],
            is_all_known: true,
            now: NoticeTime::default(),
        };
        decide(rules, period, &case).outcome
    }
}

/// Rules, as `decide` takes them.
pub(crate) fn compile(robots: &[u8]) -> SiteRules {
    let robots = Robots::parse(robots, &ParseLimits::default()).robots;
    SiteRules::new(Arc::new(RobotsVersion::new(None, Arc::new(robots))))
}

/// The rules of [`RULES`], one group each.
pub(crate) fn all_rules() -> Vec<SiteRules> {
    RULES.iter().map(|lines| compile(format!("User-agent: *\n{lines}\n").as_bytes())).collect()
}

/// What became of a target that an origin took for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadingVerdict {
    /// No rules disallow the page.
    Open,
    /// Where the page is disallowed, so is the target as sent.
    Violation,
    /// The same but for rules under which the target is a variant.
    Variant,
    /// Some rules disallow the page and allow the target.
    Hole,
}

/// Judges `target` by all rules that disallow `page`.
pub(crate) fn found(judge: &ReadingJudge, rules: &[SiteRules], target: &str, page: &str) -> ReadingVerdict {
    let page = page.replace(' ', "%20");
    let mut found = ReadingVerdict::Open;
    for rules in rules {
        if !matches!(judge.outcome(rules, page.as_bytes()), VerdictOutcome::Violation(_)) {
            continue;
        }
        let now = match judge.outcome(rules, target.as_bytes()) {
            VerdictOutcome::Violation(_) => ReadingVerdict::Violation,
            VerdictOutcome::Variant => ReadingVerdict::Variant,
            VerdictOutcome::Allow | VerdictOutcome::Stale(_) => return ReadingVerdict::Hole,
        };
        if found != ReadingVerdict::Variant {
            found = now;
        }
    }
    found
}
