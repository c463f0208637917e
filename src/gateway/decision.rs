//! From a request's head to the next step: forward it, or answer it here.
//!
//! The stages run behind a guard: a panic in one of them is a fault of ours, so the request is forwarded
//! unjudged, and counted. Nothing is counted or recorded before all of them have come to an end, so that a
//! fault leaves no half-told event behind.

use super::facts;
use super::pending_events::PendingEvent;
use super::request::{DecidedFor, RequestContext, VerdictLabels};
use super::request_id::RequestId;
use super::robots_fields;
use super::{Gateway, Incoming, forwarding, pace, partial_reads, robots_txt};
use crate::decide::{PaceExcess, PaceLimit, Read, SiteRules, VerdictReason};
use crate::enforce::{Action, Mode, Refusal};
use crate::http::{Body, Response};
use crate::identify::{Identity, Proof, ProofMethod};
use crate::policy::{Claim, JudgedClient, JudgedRequest, Policy, ReplyKey, SetAction, Site};
use crate::record::{CompleteRead, ConnectionEvent, Event, EventKind, Occurrence, ReaderId, RequestClass};
use crate::request::RequestFacts;
use crate::request::address::is_near;
use crate::request::target::RequestTarget;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// What happens to a request.
#[derive(Debug)]
pub enum Decision {
    /// It goes to the origin.
    Forward,
    /// It is answered here.
    Answer(Arc<Response>),
    /// It is answered with robots.txt; that counts as a read once the answer has arrived.
    RobotsTxt(Response, Option<Box<CompleteRead>>),
}

/// What a client reads whose body is too large, announced or not.
pub const BODY_TOO_LARGE: &str = "the body of the request is larger than this server takes";

/// The largest body of an answer of the gateway's own that is counted with its request, as those of refusals are: it leaves
/// in one piece with its head, if the client is still there.
const SENT_AT_ONCE: usize = 1_024;

/// A request of a site, and under which policy and when it is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgeInput<'a> {
    pub(super) incoming: Incoming<'a>,
    pub(super) facts: &'a RequestFacts<'a>,
    pub(super) policy: &'a Policy,
    pub(super) site: &'a Site,
    rules: &'a SiteRules,
    pub(super) decided_for: DecidedFor,
    pub(super) target: &'a RequestTarget<'a>,
    pub(super) now: SystemTime,
    /// The same, by the clock that nobody sets.
    pub(super) uptime: Duration,
}

impl Gateway {
    /// Says what becomes of a request.
    pub fn decide(&self, incoming: Incoming<'_>, context: &mut RequestContext<'_>) -> Decision {
        context.request_id = RequestId::of(incoming, &context.policy.config);
        let most = context.policy.config.limits.body_size.map_or(u64::MAX, |most| *most);
        if matches!(incoming.head.body, Body::Length(length) if length > most) {
            self.connections.count(ConnectionEvent::BodyTooLarge);
            return Decision::Answer(Response::page(413, BODY_TOO_LARGE).into());
        }
        let is_for_client = context.decided_for == DecidedFor::Client;
        if let Some(answer) = forwarding::last_stop(incoming.head, is_for_client) {
            return Decision::Answer(answer.into());
        }
        self.judged_decision(incoming, context)
    }

    /// Reads the head, finds the site, judges, and says what to do.
    fn judged_decision(&self, incoming: Incoming<'_>, context: &mut RequestContext<'_>) -> Decision {
        let policy = context.policy;
        let facts = match facts::read(incoming, &policy.config) {
            Ok(facts) => facts,
            Err(fault) => {
                self.totals.malformed();
                context.fault = Some(fault);
                // For the access log.
                context.slot = facts::requested_host(incoming.head).and_then(|host| policy.hosts.find(&host));
                return Decision::Answer(forwarding::malformed_answer(fault).into());
            }
        };
        self.look_for_unnamed_proxy(incoming, policy);
        if let Some(answer) = self.routed(&facts, context) {
            return answer;
        }
        if *facts.target == *b"*" {
            return Self::to_origin(Decision::Forward, context);
        }
        let Some((site, rules)) = policy.found(context.slot) else { return Decision::Forward };
        if let Some(answer) =
            forwarding::redirect_to_https(&facts, site).filter(|_| context.decided_for == DecidedFor::Client)
        {
            return Decision::Answer(answer.into());
        }
        let doubted = self.in_doubt(&facts.host, context);
        let rules = doubted.as_ref().unwrap_or(rules);
        let outcome = self.guarded(|| {
            let target = RequestTarget::new(&facts.target, site.config.path_parameters);
            let target =
                if context.decided_for == DecidedFor::Client { target } else { target.answered_elsewhere() };
            let (decided_for, now, uptime) = (context.decided_for, context.began, context.began_uptime);
            let (facts, target) = (&facts, &target);
            let input = JudgeInput { incoming, facts, policy, site, rules, decided_for, target, now, uptime };
            self.stages(input, context)
        });
        self.totals.judging.observe(context.elapsed());
        match outcome {
            Some(decision) => Self::to_origin(decision, context),
            None if context.decided_for != DecidedFor::Client => Decision::Forward,
            None => unjudged(incoming, &facts, policy, (site, rules)),
        }
    }

    /// Whether a request will be answered with robots.txt. What cannot be read will not.
    pub fn wants_robots_txt(&self, incoming: Incoming<'_>, context: &RequestContext<'_>) -> bool {
        let wants = || {
            let Ok(facts) = facts::read(incoming, &context.policy.config) else { return false };
            let site = context.policy.site(&facts.host);
            site.is_some_and(|site| {
                RequestTarget::new(&facts.target, site.config.path_parameters).may_be_robots_txt()
            })
        };
        self.guarded(wants).unwrap_or_default()
    }

    /// Says once that a proxy nobody named stands in front: every client then seems to be that proxy.
    fn look_for_unnamed_proxy(&self, incoming: Incoming<'_>, policy: &Policy) {
        if !policy.config.trusted_proxies.is_empty() || self.has_warned.load(Ordering::Relaxed) {
            return;
        }
        let Some(peer) = incoming.connection.peer.filter(|peer| is_near(*peer)) else { return };
        if facts::is_relayed(incoming.head) && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "a proxy sends X-Forwarded-For and is not in `trusted_proxies`: its own address is taken for \
                 that of every client"
            );
        }
    }

    /// Finds the site of the request; the answer that there is none, where that is so.
    fn routed(&self, facts: &RequestFacts<'_>, context: &mut RequestContext<'_>) -> Option<Decision> {
        context.slot = context.policy.hosts.find(&facts.host);
        if context.decided_for == DecidedFor::RefusalPage {
            return context.slot.is_none().then_some(Decision::Forward);
        }
        if context.slot.is_none() {
            let told = self.totals.no_site(&facts.host, SystemTime::now());
            if context.decided_for == DecidedFor::Proxy {
                Self::tell_of_host(&facts.host, told);
                return Some(Decision::Forward);
            }
            if told {
                let host = Some(&*facts.host).filter(|host| !host.is_empty());
                let which = host.map_or("that name no host", |_| "for a host that is no site's");
                tracing::warn!(host, "requests {which} are answered 421: add the host to `hosts` of a site");
            }
            let answer = Response::page(421, "no site of this name is served here");
            return Some(Decision::Answer(answer.into()));
        }
        self.totals.request();
        None
    }

    /// Judges a request. What there is to tell of it is counted and kept at the end, and nothing of a refusal that is only
    /// shown again.
    fn stages(&self, input: JudgeInput<'_>, context: &mut RequestContext<'_>) -> Decision {
        let JudgeInput { policy, site, facts, target, .. } = input;
        let is_for_client = input.decided_for == DecidedFor::Client;
        let mut judged = self.judged(input);
        // Another proxy can be told what to answer, but not to ask another server.
        if judged.action == Action::Divert && !is_for_client {
            (judged.action, judged.set) = (Action::Refuse, None);
        }
        partial_reads::note(&self.recorder, input, &judged);
        self.note_hidden(input, &judged);
        if judged.verdict.reason == VerdictReason::RobotsTxt && is_for_client {
            let decision = served(input, &judged);
            let class = match &decision {
                Decision::RobotsTxt(answer, _) => RequestClass::RobotsTxt(answer.status),
                _ => RequestClass::NotJudged,
            };
            self.totals.count(&site.config.name, judged.identity.client, judged.proof, class);
            return decision;
        }
        self.tell_of_unpublished(&judged.verdict, &facts.host);
        let is_new = input.decided_for != DecidedFor::RefusalPage;
        let too_fast = judged.keep_pace(&self.pace, site, facts, target, input.uptime, is_new);
        let mut decision = concluded(input, &judged, too_fast);
        // Let pass as another page, and the origin could still answer with its own robots.txt.
        if is_for_client && judged.action == Action::Forward && target.may_be_robots_txt() {
            decision = served(input, &judged);
        }
        let labels =
            (policy.config.verdict_headers || !is_for_client).then(|| VerdictLabels::of(&judged, too_fast));
        if !is_new {
            context.labels = labels;
            return decision;
        }
        let is_forwarded = matches!(decision, Decision::Forward);
        let added =
            is_forwarded.then(|| robots_fields::fields(policy, site, &judged.identity, target.judged()));
        let is_recorded = judged.mode != Mode::Off && judged.verdict.is_judged();
        let kind = is_recorded.then(|| judged.kind(site));
        let has_body = is_for_client && !input.incoming.head.is_head();
        let bytes = match &decision {
            Decision::Answer(answer) if has_body && answer.body.len() <= SENT_AT_ONCE => answer.body.len(),
            _ => 0,
        };
        let event = kind.and_then(|kind| self.count(input, &judged, &context.request_id, (kind, bytes)));
        let class = kind.map_or(RequestClass::NotJudged, |kind| RequestClass::Judged(kind, judged.action));
        self.totals.count(&site.config.name, judged.identity.client, judged.proof, class);
        (context.labels, context.added) = (labels, added.unwrap_or_default());
        context.event = event.map(|event| self.pending.insert(event));
        context.diverted = judged.set.filter(|_| judged.action == Action::Divert).map(Arc::clone);
        context.counted = kind.filter(|_| bytes == 0).map(|_| (judged.identity, judged.proof));
        decision
    }

    /// What the pure stages make of a request.
    fn judged<'a>(&self, input: JudgeInput<'a>) -> JudgedRequest<'a> {
        let JudgeInput { incoming, facts, policy, site, rules, target, now, uptime, .. } = input;
        let reads = |who: &Identity, proof| self.reads.of(&reader(facts, who, proof));
        let proof = |identity: &Identity| {
            // What a client writes to the left of the address that a trusted proxy saw changes nothing.
            let is_vouched_for = incoming.connection.trusted_peer(&policy.config).is_some();
            let is_relayed = !is_vouched_for && facts::is_relayed(incoming.head);
            self.prover.proof(policy, &Claim { identity, address: facts.address, is_relayed }, now)
        };
        let is_new = input.decided_for != DecidedFor::RefusalPage;
        let signature = facts::signer((&self.prover, policy), incoming.head, facts, is_new, now);
        let (signature, now) = (signature.as_ref(), policy.clock.at(uptime));
        let recognised = site.recognise(policy, facts.user_agent.as_deref());
        JudgedClient { policy, site, rules, facts, target, signature, recognised, now }.judge(proof, reads)
    }

    /// Counts what a judgement came to; the event that is to be told when its request is over.
    fn count(
        &self,
        input: JudgeInput<'_>,
        judged: &JudgedRequest<'_>,
        request_id: &RequestId,
        (kind, bytes): (EventKind, usize),
    ) -> Option<Box<PendingEvent>> {
        let JudgeInput { facts, policy, .. } = input;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let occurrence = Occurrence { bytes, ..occurrence(input, judged) };
        let event = || Event::of(kind, &Occurrence { request_id: &request_id.text(), ..occurrence });
        let is_told = kind != EventKind::Allowed || policy.config.log_allowed;
        let has_line =
            is_told && self.journal.admits(&judged.identity, judged.proof, facts.address, input.uptime);
        let line = has_line.then(event);
        let wanted = self.recorder.count(&occurrence, kind);
        let is_kept = is_told && wanted.is_some();
        let event = line.or_else(|| is_kept.then(event))?;
        Some(Box::new(PendingEvent { event, has_line, wanted }))
    }

    /// The decision, where there is an origin to forward to.
    fn to_origin(decision: Decision, context: &RequestContext<'_>) -> Decision {
        let is_nowhere = context.origin().is_some_and(|origin| origin.servers.is_empty());
        match decision {
            Decision::Forward if context.decided_for == DecidedFor::Client && is_nowhere => {
                let sentence = "this site is served by another proxy, which asks here";
                Decision::Answer(Response::page(421, sentence).into())
            }
            decision => decision,
        }
    }
}

/// What follows from a judgement.
fn concluded(
    input: JudgeInput<'_>,
    judged: &JudgedRequest<'_>,
    too_fast: Option<(PaceLimit, PaceExcess)>,
) -> Decision {
    let answer = match (judged.action, too_fast, judged.set.map(|set| &**set)) {
        (Action::Forward | Action::Divert, ..) => return Decision::Forward,
        (_, Some(too_fast), _) => pace::refusal(input, judged, too_fast).into(),
        (_, None, Some(SetAction { answer: Some(answer), .. })) => Arc::clone(answer),
        (_, None, _) => refusal(input, judged),
    };
    Decision::Answer(answer)
}

/// What is left when judging failed: robots.txt is still ours to answer, the rest goes to the origin.
fn unjudged(
    incoming: Incoming<'_>,
    facts: &RequestFacts<'_>,
    policy: &Policy,
    (site, rules): (&Site, &SiteRules),
) -> Decision {
    if !RequestTarget::new(&facts.target, site.config.path_parameters).may_be_robots_txt() {
        return Decision::Forward;
    }
    let serve = || robots_txt::serve(site, rules, *policy.config.robots_max_age, incoming.head);
    robots_txt::aside(incoming.head, site).unwrap_or_else(|| Decision::Answer(serve().0.into()))
}

/// Whom a read of robots.txt counts for.
pub(super) fn reader<'a>(facts: &'a RequestFacts<'_>, identity: &'a Identity, proof: Proof) -> ReaderId<'a> {
    ReaderId::new(&facts.host, identity, proof, facts.address)
}

/// What there is to count and to tell; it has no id yet.
fn occurrence<'a>(input: JudgeInput<'a>, judged: &'a JudgedRequest<'a>) -> Occurrence<'a> {
    Occurrence {
        addresses: input.policy.config.addresses,
        gateway: input.policy.config.fleet.as_ref().map(|fleet| &*fleet.name),
        ..judged.occurrence(input.facts, input.site, input.now)
    }
}

/// The answer to a request for robots.txt.
fn served(input: JudgeInput<'_>, judged: &JudgedRequest<'_>) -> Decision {
    let JudgeInput { incoming, facts, policy, site, rules, now, uptime, .. } = input;
    if let Some(decision) = robots_txt::aside(incoming.head, site) {
        return decision;
    }
    let (answer, is_read) = robots_txt::serve(site, rules, *policy.config.robots_max_age, incoming.head);
    let read = site.version().filter(|_| is_read && judged.identity.client.is_judged());
    let read = read.map(|version| {
        Box::new(CompleteRead {
            site: site.config.name.as_str().into(),
            reader: reader(facts, &judged.identity, judged.proof).into_owned(),
            identity: Arc::clone(&judged.identity),
            version,
            chosen: rules.current().chosen_for(&judged.identity).into(),
            in_force: site.since,
            time: now,
            read: Read {
                rules: rules.current().rules,
                as_of: policy.as_of(rules),
                at: policy.clock.at(uptime),
            },
            addresses: policy.config.addresses,
        })
    });
    Decision::RobotsTxt(answer, read)
}

fn refusal(input: JudgeInput<'_>, judged: &JudgedRequest<'_>) -> Arc<Response> {
    let JudgeInput { incoming, facts, site, .. } = input;
    let policy = &site.config.refusal;
    let crawler = judged.identity.crawler.as_deref();
    let accept = incoming.head.get("accept");
    let occasion = ReplyKey::new(&judged.verdict, crawler, facts.scheme, accept);
    let reply = site.replies.get_or_write(occasion, || {
        let robots = site.robots_url(facts.scheme.as_str());
        Refusal::new(&judged.verdict, crawler, &robots, policy.contact.as_deref()).reply(policy, accept)
    });
    let asks = site.config.accept_signature && judged.proof_by != Some(ProofMethod::Signature);
    if !asks {
        return reply;
    }
    Arc::unwrap_or_clone(reply).with("accept-signature", facts::ACCEPT_SIGNATURE.as_bytes()).into()
}
