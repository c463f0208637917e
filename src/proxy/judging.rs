//! From a request's head to the next step: forward it, or answer it here.
//!
//! The stages run behind a guard: a panic in one of them is a fault of ours, so the request is forwarded
//! unjudged, and counted. That is the only thing the guard is for.

use super::answer::Answer;
use super::context::{PendingRead, RequestContext, Route, VerdictLabels};
use super::facts::{self, Head};
use super::{Gateway, robots_txt};
use crate::decide::Reason;
use crate::enforce::{Action, Mode, Refusal};
use crate::identify::Identity;
use crate::policy::{Judged, judge};
use crate::record::{Event, EventKind, Occurrence, Reader};
use crate::request::RequestFacts;
use crate::request::target::Target;
use pingora::proxy::Session;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

/// What happens to a request.
pub(super) enum Step {
    /// It goes to the origin.
    Forward,
    /// It is answered here; a read of robots.txt counts once the answer is sent.
    Answer { answer: Answer, read: Option<PendingRead> },
}

impl Step {
    const fn answer(answer: Answer) -> Self {
        Self::Answer { answer, read: None }
    }
}

impl Gateway {
    /// Reads the head, finds the site, judges, and says what to do.
    pub(super) fn judge(&self, session: &Session, context: &mut RequestContext) -> Step {
        let policy = self.current.get();
        let (facts, has_path) = match facts::read(session, &policy.config.trusted_proxies) {
            Head::Request(facts) => (facts, true),
            Head::Server(facts) => (facts, false),
            Head::Malformed(reason) => return Step::answer(Answer::page(400, reason)),
        };
        drop(policy);
        let Some(route) = self.route(&facts.host) else {
            return Step::answer(Answer::page(421, "no site of this name is served here"));
        };
        context.client = facts.address;
        context.route = Some(route.clone());
        self.totals.request();
        if !has_path {
            return Step::Forward;
        }
        let target = Target::new(&facts.target, route.site.config.path_parameters);
        let stages = || self.stages(session, &facts, &target, &route, context);
        match catch_unwind(AssertUnwindSafe(stages)) {
            Ok(step) => step,
            Err(_) => self.unjudged(&route, &target),
        }
    }

    fn stages(
        &self,
        session: &Session,
        facts: &RequestFacts<'_>,
        target: &Target<'_>,
        route: &Route,
        context: &mut RequestContext,
    ) -> Step {
        let now = SystemTime::now();
        let site = &*route.site;
        let reader =
            |who: &Identity, proof| Reader::new(&site.config.name, &facts.host, who, proof, facts.address);
        let reads = |who: &Identity, proof| self.reads.of(&reader(who, proof));
        let judged = judge(&route.policy, site, facts, target, reads, now);
        if judged.verdict.reason == Reason::RobotsTxt {
            self.totals.robots_txt();
            let served = robots_txt::serve(site, route.policy.config.robots_max_age, &question(session));
            let read = site.version().filter(|_| served.is_read && judged.identity.client.is_judged());
            let read = read.map(|version| PendingRead {
                reader: reader(&judged.identity, judged.proof),
                version,
                in_force: site.since,
            });
            return Step::Answer { answer: served.answer, read };
        }
        self.note_event(facts, route, &judged, now, context);
        match judged.action {
            Action::Forward => Step::Forward,
            Action::Refuse => Step::answer(refusal(session, facts, route, &judged)),
        }
    }

    /// Counts a judged request and, where it is worth a line, keeps the event until the answer is known.
    fn note_event(
        &self,
        facts: &RequestFacts<'_>,
        route: &Route,
        judged: &Judged<'_>,
        now: SystemTime,
        context: &mut RequestContext,
    ) {
        let config = &route.policy.config;
        if config.verdict_headers {
            context.labels = Some(labels(judged));
        }
        if judged.mode == Mode::Off || !judged.verdict.is_judged() {
            return;
        }
        let kind = EventKind::of(&judged.verdict, judged.proof);
        self.totals.judged(kind, judged.action);
        if kind == EventKind::Allowed && !config.log_allowed {
            return;
        }
        context.event = Some(Box::new(Event::new(&Occurrence {
            facts,
            identity: &judged.identity,
            proof: judged.proof,
            verdict: &judged.verdict,
            mode: judged.mode,
            action: judged.action,
            site: &route.site.config.name,
            now,
            request_id: &super::labels::request_id(),
            addresses: config.addresses,
        })));
    }

    /// What is left when judging failed: robots.txt is still ours to answer, the rest goes to the origin.
    fn unjudged(&self, route: &Route, target: &Target<'_>) -> Step {
        self.totals.fault();
        if !target.is_robots_txt() {
            return Step::Forward;
        }
        let question = robots_txt::Question { method: "GET", if_none_match: None, if_modified_since: None };
        Step::answer(robots_txt::serve(&route.site, route.policy.config.robots_max_age, &question).answer)
    }
}

fn question(session: &Session) -> robots_txt::Question<'_> {
    let request = session.req_header();
    let field = |name| request.headers.get(name).map(http::HeaderValue::as_bytes);
    robots_txt::Question {
        method: request.method.as_str(),
        if_none_match: field(http::header::IF_NONE_MATCH),
        if_modified_since: field(http::header::IF_MODIFIED_SINCE)
            .and_then(|date| std::str::from_utf8(date).ok()),
    }
}

fn refusal(session: &Session, facts: &RequestFacts<'_>, route: &Route, judged: &Judged<'_>) -> Answer {
    let policy = &route.site.config.refusal;
    let robots = route.site.robots_url(facts.scheme.as_str());
    let refusal =
        Refusal::new(&judged.verdict, judged.identity.crawler.as_deref(), &robots, policy.contact.as_deref());
    let accept = session.req_header().headers.get(http::header::ACCEPT).map(http::HeaderValue::as_bytes);
    refusal.reply(policy, accept).into()
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
