//! One request through identify, decide and enforce, under one policy.
//!
//! Pure but for what it is handed: the book of reads, and what is known to prove a name. The daemon and the tools judge
//! through [`JudgedClient::judge`].

use super::{Policy, SetAction, Site};
use crate::decide::{
    DeclaredPace, NoticeTime, PaceExcess, PaceLimit, Read, SiteRules, Verdict, VerdictInput, VerdictOutcome,
    decide, declared_pace,
};
use crate::enforce::{Action, Contradicted, Mode, enforce, enforce_pace};
use crate::identify::signature::VerifiedSignature;
use crate::identify::{Identity, KnownProof, Proof, ProofMethod, Recognised};
use crate::record::{AddressDetail, EventKind, Occurrence, PaceBook, ReaderId};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What the stages made of a request.
#[derive(Clone, Debug)]
pub struct JudgedRequest<'p> {
    /// Who it was.
    pub identity: Arc<Identity>,
    /// What supports that.
    pub proof: Proof,
    /// By which method that is known.
    pub proof_by: Option<ProofMethod>,
    /// What the rules say.
    pub verdict: Verdict<'p>,
    /// The mode in force for the client.
    pub mode: Mode,
    /// What is to be done.
    pub action: Action,
    /// What is answered in place of a refusal.
    pub set: Option<&'p Arc<SetAction>>,
    /// The pace that it is to keep, where it is forwarded and there is one.
    pub pace: Option<DeclaredPace<'p>>,
}

impl JudgedRequest<'_> {
    /// What there is to count and to tell of it, with whole addresses and without an id.
    pub fn occurrence<'a>(
        &'a self,
        facts: &'a RequestFacts<'_>,
        site: &'a Site,
        now: SystemTime,
    ) -> Occurrence<'a> {
        Occurrence {
            facts,
            identity: &self.identity,
            proof: self.proof,
            proof_by: self.proof_by,
            verdict: &self.verdict,
            mode: self.mode,
            action: self.action,
            site: &site.config.name,
            now,
            request_id: "",
            addresses: AddressDetail::Full,
            gateway: None,
            bytes: 0,
        }
    }

    /// What it is recorded as. A site that takes no notice of borrowed names has no event for them.
    pub fn kind(&self, site: &Site) -> EventKind {
        match EventKind::of(&self.verdict, self.proof) {
            EventKind::Spoof if site.config.contradicted == Contradicted::Ignore => EventKind::Allowed,
            kind => kind,
        }
    }

    /// Counts a request that would be forwarded, where its client has a pace to keep. One that is too many has another
    /// verdict and, where the site enforces that, another action. What is only forwarded, and is a violation or the like
    /// already, stays that: a request is counted as one thing.
    pub fn keep_pace(
        &mut self,
        book: &PaceBook,
        site: &Site,
        facts: &RequestFacts<'_>,
        target: &RequestTarget<'_>,
        now: Duration,
        is_counted: bool,
    ) -> Option<(PaceLimit, PaceExcess)> {
        let pace = self.pace?;
        let who = ReaderId::new(&facts.host, &self.identity, self.proof, facts.address);
        let excess = book.admit(&who, &pace.limit, target.judged(), now, is_counted).err()?;
        let action = enforce_pace(self.mode, site.config.crawl_delay, &self.identity, target);
        if action == Action::Forward && self.kind(site) != EventKind::Allowed {
            return None;
        }
        (self.action, self.verdict) = (action, pace.verdict(&self.verdict));
        Some((pace.limit, excess))
    }
}

/// The pace of a client: the rate that the operator set, else what is `declared`. A client that no group is meant for keeps its
/// own.
pub fn pace_of<'p>(
    policy: &Policy,
    rules: &SiteRules,
    identity: &Identity,
    declared: Option<DeclaredPace<'p>>,
) -> Option<DeclaredPace<'p>> {
    let Some(rate) = policy.rates.of(identity).copied() else { return declared };
    let is_meant = identity.star || rules.current().robots.group(&identity.tokens, false).is_some();
    rate.filter(|_| is_meant).map(|limit| DeclaredPace { limit, source: None })
}

/// A request whose sender is recognised.
#[derive(Debug)]
pub struct JudgedClient<'p, 'a> {
    /// What is in force.
    pub policy: &'p Policy,
    /// Where it is asked.
    pub site: &'p Site,
    /// What the host served.
    pub rules: &'p SiteRules,
    /// What was asked.
    pub facts: &'a RequestFacts<'a>,
    /// Its target, in the forms it is judged in.
    pub target: &'a RequestTarget<'a>,
    /// Its signature, where it has one that was verified.
    pub signature: Option<&'a VerifiedSignature>,
    /// Who asks, but for what a signature says.
    pub recognised: Recognised,
    /// When.
    pub now: NoticeTime,
}

impl<'p> JudgedClient<'p, '_> {
    /// Judges the request, and names who sent it after its signature. Only where the client is judged, `proof` is asked what
    /// supports the name it gives, and `reads` what it has read.
    pub fn judge(
        self,
        proof: impl FnOnce(&Identity) -> KnownProof,
        reads: impl FnOnce(&Identity, Proof) -> Vec<Read>,
    ) -> JudgedRequest<'p> {
        let Self { policy, site, rules, facts, target, signature, mut recognised, now } = self;
        if let Some(signature) = signature {
            recognised = policy.evidence.signer(signature, recognised);
        }
        let proof = |identity: &Identity| {
            let Some(signature) = signature else { return proof(identity) };
            let by = Some(ProofMethod::Signature);
            // At a host that nobody named here, it could be one for a host of somebody else, who sent it on.
            if signature.covers_target && site.config.names(&facts.host) {
                return KnownProof { proof: Proof::Confirmed, by };
            }
            // It could have been sent by whoever saw it: it gives a name, and neither proves nor contradicts.
            match proof(identity) {
                confirmed @ KnownProof { proof: Proof::Confirmed, .. } => confirmed,
                _ => KnownProof { proof: Proof::Unchecked, by },
            }
        };
        let identity = &recognised.identity;
        let exempt = policy.exceptions.contain(facts.address);
        let is_judged = identity.client.is_judged() && !exempt;
        let KnownProof { proof, by } = if is_judged { proof(identity) } else { Proof::Unchecked.into() };
        let exempt = exempt || policy.exceptions.name(identity, proof, facts.address);
        let reads = if is_judged { reads(identity, proof) } else { Vec::new() };
        let case = VerdictInput {
            target,
            user_agent: facts.user_agent.as_deref(),
            recognised: &recognised.at_first,
            identity,
            exempt,
            reads: &reads,
            is_all_known: policy.knows_others(now),
            now,
        };
        let period = policy.config.period();
        let verdict = decide(rules, period, &case);
        // By what its origin has for robots.txt and nobody knows, nobody is judged.
        let mode = if site.is_unknown && site.robots.is_none() { Mode::Off } else { site.modes.of(identity) };
        let action = enforce(mode, site.config.choices(), &verdict, identity, proof, target);
        let is_answered = action == Action::Refuse
            && proof != Proof::Contradicted
            && matches!(verdict.outcome, VerdictOutcome::Violation(_));
        let set = is_answered.then(|| policy.actions.of(identity)).flatten();
        let action = set.map_or(action, |set| set.action);
        // The check of a certificate has none.
        let is_free = mode == Mode::Off || !verdict.is_judged() || target.is_acme_challenge();
        let is_paced = action == Action::Forward && !is_free;
        let declared = || declared_pace(rules, period, &case);
        let pace = is_paced.then(|| pace_of(policy, rules, identity, declared())).flatten();
        JudgedRequest { identity: recognised.identity, proof, proof_by: by, verdict, mode, action, set, pace }
    }
}
