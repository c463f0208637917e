//! What is answered to requests that come faster than their crawler was asked to come.

use super::decision::JudgeInput;
use crate::decide::{PaceExcess, PaceLimit};
use crate::enforce::{Refusal, RefusalPolicy};
use crate::http::Response;
use crate::policy::JudgedRequest;

/// Refuses a request that is one too many.
pub(super) fn refusal(
    input: JudgeInput<'_>,
    judged: &JudgedRequest<'_>,
    (limit, excess): (PaceLimit, PaceExcess),
) -> Response {
    let JudgeInput { incoming, facts, site, .. } = input;
    let robots = site.robots_url(facts.scheme.as_str());
    let (crawler, contact) = (judged.identity.crawler.as_deref(), site.config.refusal.contact.as_deref());
    let policy = RefusalPolicy { status: 429, retry_after: excess.retry_after, ..RefusalPolicy::default() };
    Refusal::of_pace(&judged.verdict, crawler, (&limit, excess), &robots, contact)
        .reply(&policy, incoming.head.get("accept"))
}
