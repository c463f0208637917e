//! Requests that come faster than their crawler was asked to come.

use super::decision::JudgeInput;
use super::{DecidedFor, Gateway};
use crate::decide::{PaceExcess, PaceLimit};
use crate::enforce::{Refusal, RefusalPolicy};
use crate::http::Response;
use crate::policy::JudgedRequest;

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
        let policy =
            RefusalPolicy { status: 429, retry_after: self.excess.retry_after, ..RefusalPolicy::default() };
        Refusal::of_pace(&judged.verdict, crawler, occasion, &robots, contact)
            .reply(&policy, incoming.head.get("accept"))
    }
}

impl Gateway {
    /// Has the client of a request keep its pace, where it has one.
    pub(super) fn keep_pace(&self, input: JudgeInput<'_>, judged: &mut JudgedRequest<'_>) -> Option<TooFast> {
        let JudgeInput { facts, site, target, decided_for, uptime, .. } = input;
        let is_counted = decided_for != DecidedFor::RefusalPage;
        let (limit, excess) = judged.keep_pace(&self.pace, site, facts, target, uptime, is_counted)?;
        Some(TooFast { limit, excess })
    }
}
