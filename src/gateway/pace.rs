//! Requests that come faster than their crawler was asked to come.

use super::decision::{JudgeInput, kind, reader};
use super::{DecidedFor, Gateway};
use crate::decide::{PaceExcess, PaceLimit};
use crate::enforce::{Action, Refusal, RefusalPolicy, enforce_pace};
use crate::http::Response;
use crate::policy::JudgedRequest;
use crate::record::EventKind;

/// A request that is one too many.
#[derive(Clone, Copy, Debug)]
pub(super) struct TooFast {
    limit: PaceLimit,
    excess: PaceExcess,
}

impl TooFast {
    /// How long to wait, in seconds.
    pub(super) const fn retry_after(&self) -> u64 {
        self.excess.retry_after.as_secs()
    }

    pub(super) fn refusal(&self, input: JudgeInput<'_>, judged: &JudgedRequest<'_>) -> Response {
        let JudgeInput { incoming, facts, site, .. } = input;
        let robots = site.robots_url(facts.scheme.as_str());
        let (crawler, contact) = (judged.identity.crawler.as_deref(), site.config.refusal.contact.as_deref());
        let occasion = (&self.limit, self.excess);
        let policy = RefusalPolicy {
            status: 429,
            retry_after_seconds: self.retry_after(),
            ..RefusalPolicy::default()
        };
        Refusal::of_pace(&judged.verdict, crawler, occasion, &robots, contact)
            .reply(&policy, incoming.head.get("accept"))
    }
}

impl Gateway {
    /// Counts a request that would be forwarded, where its client has a pace to keep. One that is too many has another
    /// verdict and, where the site enforces that, another action. What is only forwarded, and is a violation or the like
    /// already, stays that: a request is counted as one thing.
    pub(super) fn keep_pace(&self, input: JudgeInput<'_>, judged: &mut JudgedRequest<'_>) -> Option<TooFast> {
        let JudgeInput { facts, site, target, decided_for, uptime, .. } = input;
        let pace = judged.pace?;
        let who = reader(facts, &judged.identity, judged.proof);
        let is_counted = decided_for != DecidedFor::RefusalPage;
        let excess = self.pace.admit(&who, &pace.limit, target.judged(), uptime, is_counted).err()?;
        let action = enforce_pace(judged.mode, site.config.crawl_delay, &judged.identity, target);
        if action == Action::Forward && kind(judged, site) != EventKind::Allowed {
            return None;
        }
        (judged.action, judged.verdict) = (action, pace.verdict(&judged.verdict));
        Some(TooFast { limit: pace.limit, excess })
    }
}
