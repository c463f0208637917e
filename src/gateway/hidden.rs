//! Visits in disguise: requests with a browser's header from addresses that a crawler's operator publishes as the crawler's.
//!
//! They are told, per crawler, and nothing else follows: a browser is never judged. The look-up costs nothing where no list
//! of addresses is there, and a request from elsewhere one search in a tree.

use super::decision::JudgeInput;
use super::request::DecidedFor;
use super::{Gateway, facts};
use crate::decide::{Ruling, RulingGroup, Verdict, VerdictOutcome, VerdictReason};
use crate::enforce::{Action, Mode};
use crate::identify::{Basis, ClientKind, Identity, Proof, ProofMethod, browser_family};
use crate::policy::JudgedRequest;
use crate::record::{EventKind, Occurrence};
use std::sync::Arc;

impl Gateway {
    /// Counts a request with a browser's header from a crawler's own address. Where something relays requests that nobody
    /// named, the address is not the client's.
    pub(super) fn note_hidden(&self, input: JudgeInput<'_>, judged: &JudgedRequest<'_>) {
        let JudgeInput { incoming, facts, policy, site, now, .. } = input;
        let is_asked =
            judged.identity.client == ClientKind::Browser && input.decided_for != DecidedFor::RefusalPage;
        let Some(address) = facts.address.filter(|_| is_asked) else { return };
        let Some(name) = policy.evidence.own_addresses.crawler_at(address, now) else { return };
        let is_vouched_for = incoming.connection.trusted_peer(&policy.config).is_some();
        if !is_vouched_for && facts::is_relayed(incoming.head) || policy.exceptions.contain(facts.address) {
            return;
        }
        let identity = Identity {
            client: ClientKind::Browser,
            crawler: Some(Arc::clone(name)),
            purpose: None,
            tokens: Arc::new([]),
            star: false,
            basis: Basis::Catalogue,
        };
        // The report tells as what it came.
        let family = browser_family(facts.user_agent.as_deref().unwrap_or_default());
        let ruling = Some(Ruling { group: RulingGroup::Name(family), rule: None });
        let (outcome, reason) = (VerdictOutcome::Allow, VerdictReason::NotJudged);
        let occurrence = Occurrence {
            identity: &identity,
            proof: Proof::Confirmed,
            proof_by: Some(ProofMethod::Ranges),
            verdict: &Verdict { outcome, reason, ruling, version: None },
            mode: Mode::Off,
            action: Action::Forward,
            addresses: policy.config.addresses,
            ..judged.occurrence(facts, site, now)
        };
        // The journal gets no line: nobody is accused.
        let _ = self.recorder.count(&occurrence, EventKind::Allowed);
        *self.totals.hidden.lock().entry(Arc::clone(name)).or_default() += 1;
    }
}
