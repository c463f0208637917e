//! What one request carries from its head to its record.

use super::request_id::RequestId;
use super::robots_fields::AddedField;
use crate::decide::{PaceExcess, PaceLimit, VersionId};
use crate::enforce::Action;
use crate::http::HttpFault;
use crate::identify::{Identity, Proof};
use crate::policy::{JudgedRequest, Policy, SetAction, Site, Upstreams};
use crate::record::uptime;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One request under way. Everything in it was decided under the one policy it holds.
#[derive(Debug)]
pub struct RequestContext<'p> {
    /// The policy in force when the request began.
    pub policy: &'p Policy,
    /// Where its host stands among those of the policy, once it is known.
    pub(super) slot: Option<usize>,
    /// Where the event waits for the status of the answer.
    pub(super) event: Option<usize>,
    /// Whom it was counted for, with which proof, where what it is sent is counted at its end.
    pub(super) counted: Option<(Arc<Identity>, Proof)>,
    /// For whom it is decided.
    pub(super) decided_for: DecidedFor,
    /// What a proxy makes of it that asked.
    pub(super) advice: Option<Advised>,
    /// What the origin may be told.
    pub(super) labels: Option<VerdictLabels>,
    /// The id it goes by, here and at the origin.
    pub(super) request_id: RequestId,
    /// When it began.
    pub(super) began: SystemTime,
    /// The same, by a clock that nobody sets.
    pub(super) began_uptime: Duration,
    /// What was wrong with it, where it was no request.
    pub(super) fault: Option<HttpFault>,
    /// What it is answered in place of a refusal.
    pub(super) diverted: Option<Arc<SetAction>>,
    /// What its answer is to say to robots.
    pub added: Vec<AddedField>,
}

impl<'p> RequestContext<'p> {
    /// One that begins now.
    pub fn new(policy: &'p Policy) -> Self {
        Self {
            policy,
            slot: None,
            decided_for: DecidedFor::default(),
            advice: None,
            event: None,
            counted: None,
            labels: None,
            request_id: RequestId::unused(),
            began: SystemTime::now(),
            began_uptime: uptime(),
            fault: None,
            diverted: None,
            added: Vec::new(),
        }
    }

    /// How long ago it began.
    pub(super) fn elapsed(&self) -> Duration {
        uptime().saturating_sub(self.began_uptime)
    }

    /// Where it goes, once its host is known.
    pub fn site(&self) -> Option<&Site> {
        self.policy.found(self.slot).map(|(site, _)| site)
    }

    /// The servers that it is for.
    pub fn origin(&self) -> Option<&Upstreams> {
        let diverted = self.diverted.as_deref().and_then(|set| set.servers.as_ref());
        diverted.or_else(|| self.site().map(|site| &site.origin))
    }
}

/// For whom a request is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DecidedFor {
    /// A client, by a gateway that stands before the origin.
    #[default]
    Client,
    /// Another proxy, which asks about a request of its client.
    Proxy,
    /// That proxy once more, so that it can show the refusal: nothing is counted.
    RefusalPage,
}

/// What becomes of a request at the proxy that asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advised {
    /// It passes. What it is answered then is not known here.
    Passes,
    /// It is refused with this status, whatever the question was answered with.
    Refused(u16),
}

/// The verdict in the words of the header fields that tell the origin of it.
#[derive(Debug)]
pub(super) struct VerdictLabels {
    pub(super) crawler: Option<Arc<str>>,
    pub(super) verdict: &'static str,
    pub(super) proof: &'static str,
    /// The line of the rule that decided.
    pub(super) line: Option<u32>,
    pub(super) version: Option<VersionId>,
    /// How long to wait, in seconds, where the client comes too fast.
    pub(super) retry_after: Option<u64>,
}

impl VerdictLabels {
    /// What became of a request.
    pub(super) fn of(judged: &JudgedRequest<'_>, too_fast: Option<(PaceLimit, PaceExcess)>) -> Self {
        let too_fast = too_fast.filter(|_| judged.action == Action::Refuse);
        Self {
            crawler: judged.identity.crawler.clone().filter(|_| judged.identity.client.is_judged()),
            verdict: match (judged.verdict.is_judged(), judged.verdict.allows()) {
                _ if too_fast.is_some() => "pace",
                (false, _) => "not-judged",
                (true, true) => "allow",
                (true, false) => "disallow",
            },
            proof: judged.proof.as_str(),
            line: judged.verdict.ruling.as_ref().and_then(|ruling| ruling.rule).map(|rule| rule.line),
            version: judged.verdict.version,
            retry_after: too_fast.map(|(_, excess)| excess.retry_after.as_secs()),
        }
    }
}
