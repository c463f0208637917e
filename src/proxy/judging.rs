//! From a request's head to the next step: forward it, or answer it here.
//!
//! The stages run behind a guard: a panic in one of them is a fault of ours, so the request is forwarded
//! unjudged, and counted. Nothing is counted or recorded before all of them have come to an end, so that a
//! fault leaves no half-told event behind.

use super::Gateway;
use super::answer::Answer;
use super::asked::Asked;
use super::context::{PendingEvent, PendingRead, RequestContext, VerdictLabels};
use super::facts::{self, Head};
use super::robots_txt::{self, Question};
use super::{unseen, usage};
use crate::decide::{Read, Reason, SiteRules};
use crate::enforce::{Action, Contradicted, Mode, Refusal};
use crate::identify::{Client, Identity, Proof};
use crate::policy::{Claim, Judged, Occasion, Policy, Site, judge};
use crate::record::{Event, EventKind, Occurrence, Reader, Standing, Wanted};
use crate::request::target::Target;
use crate::request::{RequestFacts, Scheme};
use http::HeaderValue;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

/// What happens to a request.
pub(super) enum Step {
    /// It goes to the origin.
    Forward,
    /// It is answered here; a read of robots.txt counts once the answer is sent.
    Answer { answer: Answer, read: Option<Box<PendingRead>> },
}

impl Step {
    pub(super) const fn answer(answer: Answer) -> Self {
        Self::Answer { answer, read: None }
    }
}

/// A request of a site, and under which policy and when it is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hearing<'a> {
    pub(super) asked: Asked<'a>,
    pub(super) facts: &'a RequestFacts<'a>,
    pub(super) policy: &'a Policy,
    pub(super) site: &'a Site,
    pub(super) rules: &'a SiteRules,
    pub(super) target: &'a Target<'a>,
    pub(super) now: SystemTime,
}

/// What the stages came to: the step, and what is to be told of it.
pub(super) struct Outcome {
    pub(super) step: Step,
    client: Client,
    proof: Proof,
    standing: Standing,
    event: Option<Event>,
    wanted: Option<Wanted>,
    labels: Option<VerdictLabels>,
    usage: Option<HeaderValue>,
}

impl Gateway {
    /// Reads the head, finds the site, judges, and says what to do.
    pub(super) fn judge(&self, asked: Asked<'_>, context: &mut RequestContext) -> Step {
        let policy = Arc::clone(&context.policy);
        let facts = match facts::read(asked, &policy.config) {
            Head::Request(facts) => facts,
            Head::Server(facts) => return self.routed(&facts, context, Step::Forward),
            Head::Malformed(fault) => {
                self.totals.malformed();
                context.fault = Some(fault);
                return Step::answer(Answer::page(fault.status(), fault.sentence()));
            }
        };
        self.look_for_unnamed_proxy(asked, &policy);
        let step = self.routed(&facts, context, Step::Forward);
        let Some((site, rules)) = policy.found(context.slot) else { return step };
        if let Some(answer) = redirect(&facts, site) {
            return Step::answer(answer);
        }
        let begun = Instant::now();
        let outcome = self.guarded(|| {
            let target = Target::new(&facts.target, site.config.path_parameters);
            let now = SystemTime::now();
            let hearing =
                Hearing { asked, facts: &facts, policy: &policy, site, rules, target: &target, now };
            self.stages(hearing, &context.request_id)
        });
        self.totals.judging.observe(begun.elapsed());
        match outcome {
            Some(outcome) => self.told(outcome, site, context),
            None => unjudged(asked, &facts, &policy, site),
        }
    }

    /// Whether a request will be answered with robots.txt. What cannot be read will not.
    pub(super) fn wants_robots_txt(&self, asked: Asked<'_>, context: &RequestContext) -> bool {
        let wants = || {
            let Head::Request(facts) = facts::read(asked, &context.policy.config) else { return false };
            let site = context.policy.site(&facts.host);
            site.is_some_and(|site| Target::new(&facts.target, site.config.path_parameters).is_robots_txt())
        };
        self.guarded(wants).unwrap_or_default()
    }

    /// Says once that a proxy nobody named stands in front: every client then seems to be that proxy.
    pub(super) fn look_for_unnamed_proxy(&self, asked: Asked<'_>, policy: &Policy) {
        if !policy.config.trusted_proxies.is_empty() || self.has_warned.load(Ordering::Relaxed) {
            return;
        }
        let Some(peer) = asked.peer.filter(|peer| facts::is_near(*peer)) else { return };
        if facts::is_relayed(&asked.head.headers) && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "a proxy sends X-Forwarded-For and is not in `trusted_proxies`: its own address is taken for \
                 that of every client"
            );
        }
    }

    /// Finds the site of the request; `step` where there is one, else the answer that there is none.
    pub(super) fn routed(&self, facts: &RequestFacts<'_>, context: &mut RequestContext, step: Step) -> Step {
        context.slot = context.policy.hosts().find(&facts.host);
        if context.slot.is_none() {
            if let Some(count) = self.totals.no_site(&facts.host, SystemTime::now()) {
                let host = &*facts.host;
                tracing::warn!(
                    host,
                    count,
                    "requests for a host that is no site's are answered 421; `hosts` names them"
                );
            }
            return Step::answer(Answer::page(421, "no site of this name is served here"));
        }
        self.totals.request();
        step
    }

    fn stages(&self, hearing: Hearing<'_>, request_id: &str) -> Outcome {
        let judged = self.judged(hearing);
        if judged.verdict.reason == Reason::RobotsTxt {
            return served(hearing, &judged);
        }
        let mut outcome = concluded(hearing, &judged, request_id);
        self.count(hearing, &judged, request_id, &mut outcome);
        outcome
    }

    /// What the pure stages make of a request.
    pub(super) fn judged<'a>(&self, hearing: Hearing<'a>) -> Judged<'a> {
        let Hearing { asked, facts, policy, site, rules, target, now } = hearing;
        let reads = |who: &Identity, proof| self.reads.of(&reader(facts, who, proof));
        let proof = |identity: &Identity| {
            let headers = &asked.head.headers;
            let is_relayed = if policy.config.trusted_proxies.is_empty() {
                facts::is_relayed(headers)
            } else {
                facts::comes_from_further(headers, policy.config.forwarding.field, facts.address)
            };
            self.prover.proof(policy, &Claim { identity, address: facts.address, is_relayed }, now)
        };
        judge(policy, site, rules, facts, target, proof, reads, policy.clock.now())
    }

    /// Counts what a judgement came to, where it is recorded.
    pub(super) fn count(
        &self,
        hearing: Hearing<'_>,
        judged: &Judged<'_>,
        request_id: &str,
        outcome: &mut Outcome,
    ) {
        if let Standing::Judged(kind, _) = outcome.standing {
            let Hearing { asked, policy, site, now, .. } = hearing;
            if let Some(reason) = unseen::reason(asked, &policy.config, &site.config) {
                self.recorder.reads_go_unseen(&site.config.name, reason, now);
            }
            outcome.wanted = self.recorder.count(&occurrence(hearing, judged, request_id), kind);
        }
    }

    /// Counts what was judged and keeps what is to be recorded.
    pub(super) fn told(&self, outcome: Outcome, site: &Site, context: &mut RequestContext) -> Step {
        self.totals.count(&site.config.name, outcome.client, outcome.proof, outcome.standing);
        if let (Standing::Judged(_, Action::Refuse), Some(line)) = (outcome.standing, &context.line) {
            line.refuses();
        }
        let wanted = outcome.wanted;
        context.event =
            outcome.event.map(|event| PendingEvent::new(event, wanted, &self.journal, &self.recorder));
        context.labels = outcome.labels;
        context.usage = outcome.usage;
        outcome.step
    }
}

/// What follows from a judgement. Nothing of it is counted yet.
pub(super) fn concluded(hearing: Hearing<'_>, judged: &Judged<'_>, request_id: &str) -> Outcome {
    let Hearing { policy, site, target, .. } = hearing;
    let step = match judged.action {
        Action::Forward => Step::Forward,
        Action::Refuse => Step::answer(refusal(hearing, judged)),
    };
    let recorded = judged.mode != Mode::Off && judged.verdict.is_judged();
    let kind = recorded.then(|| kind(judged, site));
    let labels = policy.config.verdict_headers.then(|| labels(judged));
    let (client, proof) = (judged.identity.client, judged.proof);
    let usage =
        policy.config.content_usage.then(|| usage::preference(site, &judged.identity, target.judged()));
    let occurrence = occurrence(hearing, judged, request_id);
    let event = kind
        .filter(|kind| *kind != EventKind::Allowed || policy.config.log_allowed)
        .map(|kind| Event::of(kind, &occurrence));
    let standing = kind.map_or(Standing::NotJudged, |kind| Standing::Judged(kind, judged.action));
    Outcome { step, client, proof, standing, event, wanted: None, labels, usage: usage.flatten() }
}

/// Sends a plain request to the same place under `https`, where the site wants that. It is judged there.
/// Never robots.txt, which crawlers need not follow through redirects and are to have from here (RFC 9309
/// §2.3.1.2), nor what a certificate authority asks for while there is no certificate yet (RFC 8555 §8.3).
pub(super) fn redirect(facts: &RequestFacts<'_>, site: &Site) -> Option<Answer> {
    if !site.config.redirect_https || facts.scheme == Scheme::Https || facts.host.is_empty() {
        return None;
    }
    let target = Target::new(&facts.target, site.config.path_parameters);
    if target.is_robots_txt() || target.is_acme_challenge() {
        return None;
    }
    // What is not ASCII stands in a URI percent-encoded (RFC 3986 §2.1).
    let mut location = format!("https://{}", facts.host);
    for octet in &*facts.target {
        // Writing to a `String` cannot fail.
        let _ = match octet {
            0x21..=0x7e => location.write_char(char::from(*octet)),
            _ => write!(location, "%{octet:02X}"),
        };
    }
    // 308 keeps the method and the body (RFC 9110 §15.4.9).
    Some(Answer::page(308, "this site is served over https").with("location", location))
}

/// What is left when judging failed: robots.txt is still ours to answer, the rest goes to the origin.
fn unjudged(asked: Asked<'_>, facts: &RequestFacts<'_>, policy: &Policy, site: &Site) -> Step {
    if !Target::new(&facts.target, site.config.path_parameters).is_robots_txt() {
        return Step::Forward;
    }
    let question = Question::of(asked.head);
    Step::answer(robots_txt::serve(site, policy.config.robots_max_age, &question).answer)
}

/// Whom a read of robots.txt counts for.
fn reader<'a>(facts: &'a RequestFacts<'_>, identity: &'a Identity, proof: Proof) -> Reader<'a> {
    Reader::new(&facts.host, identity, proof, facts.address)
}

/// What a request is recorded as. A site that takes no notice of borrowed names has no event for them.
fn kind(judged: &Judged<'_>, site: &Site) -> EventKind {
    match EventKind::of(&judged.verdict, judged.proof) {
        EventKind::Spoof if site.config.choices.contradicted == Contradicted::Ignore => EventKind::Allowed,
        kind => kind,
    }
}

/// What there is to count and to tell.
fn occurrence<'a>(hearing: Hearing<'a>, judged: &'a Judged<'a>, request_id: &'a str) -> Occurrence<'a> {
    Occurrence {
        facts: hearing.facts,
        identity: &judged.identity,
        proof: judged.proof,
        verdict: &judged.verdict,
        mode: judged.mode,
        action: judged.action,
        site: &hearing.site.config.name,
        now: hearing.now,
        request_id,
        addresses: hearing.policy.config.addresses,
    }
}

/// The answer to a request for robots.txt.
fn served(hearing: Hearing<'_>, judged: &Judged<'_>) -> Outcome {
    let Hearing { asked, facts, policy, site, rules, now, .. } = hearing;
    let served = robots_txt::serve(site, policy.config.robots_max_age, &Question::of(asked.head));
    let read = site.version().filter(|_| served.is_read && judged.identity.client.is_judged());
    let read = read.map(|version| {
        Box::new(PendingRead {
            site: site.config.name.as_str().into(),
            reader: reader(facts, &judged.identity, judged.proof).into_owned(),
            identity: Arc::clone(&judged.identity),
            version,
            in_force: site.since,
            time: now,
            read: Read { rules: rules.current().rules, sequence: rules.sequence, at: policy.clock.now() },
        })
    });
    Outcome {
        standing: Standing::RobotsTxt(served.answer.status),
        step: Step::Answer { answer: served.answer, read },
        client: judged.identity.client,
        proof: judged.proof,
        event: None,
        wanted: None,
        labels: None,
        usage: None,
    }
}

fn refusal(hearing: Hearing<'_>, judged: &Judged<'_>) -> Answer {
    let Hearing { asked, facts, site, .. } = hearing;
    let (policy, scheme) = (&site.config.refusal, facts.scheme.as_str());
    let crawler = judged.identity.crawler.as_deref();
    let accept = asked.head.headers.get(http::header::ACCEPT).map(HeaderValue::as_bytes);
    let occasion = Occasion::new(&judged.verdict, crawler, scheme, accept);
    let reply = site.replies.get_or_write(occasion, || {
        let robots = site.robots_url(scheme);
        Refusal::new(&judged.verdict, crawler, &robots, policy.contact.as_deref()).reply(policy, accept)
    });
    reply.into()
}

fn labels(judged: &Judged<'_>) -> VerdictLabels {
    VerdictLabels {
        crawler: judged.identity.crawler.clone().filter(|_| judged.identity.client.is_judged()),
        verdict: match (judged.verdict.is_judged(), judged.verdict.allows()) {
            (false, _) => "not-judged",
            (true, true) => "allow",
            (true, false) => "disallow",
        },
        proof: judged.proof.as_str(),
    }
}
