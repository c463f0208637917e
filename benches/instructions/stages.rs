//! The stages that are counted, one after the other in the order of [`STAGES`].

use crate::callgrind::counted;
use crate::scene::{ALLOWED, BROWSER, BenchScene, CRAWLER, DISALLOWED, NOW, facts};
use robots_gateway::decide::{Verdict, VerdictInput, decide};
use robots_gateway::enforce::{Action, Refusal, enforce};
use robots_gateway::http::Response;
use robots_gateway::identify::{Identity, Proof};
use robots_gateway::policy::{JudgedClient, JudgedRequest};
use robots_gateway::record::{Event, EventKind, Occurrence, ReaderId};
use robots_gateway::request::RequestFacts;
use robots_gateway::request::target::RequestTarget;
use std::hint::black_box;
use std::sync::Arc;

/// Names of the stages. The `request` lines are all stages of one request together.
pub(crate) const STAGES: [&str; 15] = [
    "facts",
    "identify browser, cached",
    "identify crawler, cached",
    "identify browser, cold",
    "identify crawler, cold",
    "decide allowed",
    "decide disallowed",
    "enforce",
    "refusal as text",
    "refusal as JSON",
    "count allowed",
    "count violation",
    "request of a browser",
    "request of a crawler, allowed",
    "request of a crawler, refused",
];

/// Runs and counts every stage.
pub(crate) fn run(scene: &BenchScene) {
    counted(&mut || {
        let facts = facts(black_box(BROWSER), black_box(ALLOWED));
        black_box((scene.policy.site(&facts.host), target(scene, &facts)));
    });
    identify(scene);
    let identity = scene.policy.identifier.recognise(Some(CRAWLER));
    let [_, disallowed] = [ALLOWED, DISALLOWED].map(|sent| decided(scene, &identity, sent));
    act(scene, &identity, &disallowed);
    record(scene);
    whole(scene);
}

fn target<'a>(scene: &BenchScene, facts: &'a RequestFacts<'_>) -> RequestTarget<'a> {
    RequestTarget::new(&facts.target, scene.site.config.path_parameters)
}

fn identify(scene: &BenchScene) {
    let identifier = &scene.policy.identifier;
    let tokens = &scene.site.rules.current().tokens;
    for header in [BROWSER, CRAWLER] {
        // The first round fills the caches.
        let mut recognise = || {
            let header = Some(black_box(header));
            drop(black_box(tokens.applied(&identifier.recognise(header), header)));
        };
        recognise();
        counted(&mut recognise);
    }
    for header in [BROWSER, CRAWLER] {
        counted(&mut || drop(black_box(identifier.recognise_uncached(Some(black_box(header))))));
    }
}

/// Counts the decision on `sent`, and returns it.
fn decided<'s>(scene: &'s BenchScene, identity: &Arc<Identity>, sent: &[u8]) -> Verdict<'s> {
    let facts = facts(CRAWLER, sent);
    let target = target(scene, &facts);
    let case = VerdictInput {
        target: &target,
        user_agent: Some(CRAWLER),
        recognised: identity,
        identity,
        exempt: false,
        reads: &[],
        is_all_known: true,
        now: NOW,
    };
    let decided = || decide(&scene.site.rules, scene.policy.config.period(), black_box(&case));
    counted(&mut || {
        black_box(decided());
    });
    decided()
}

fn act(scene: &BenchScene, identity: &Identity, verdict: &Verdict<'_>) {
    let facts = facts(CRAWLER, DISALLOWED);
    let target = target(scene, &facts);
    let choices = scene.site.config.choices();
    counted(&mut || {
        let mode = scene.site.modes.of(black_box(identity));
        black_box(enforce(mode, choices, black_box(verdict), identity, Proof::Unchecked, &target));
    });
    for accept in [&b"*/*"[..], b"application/json"] {
        counted(&mut || drop(black_box(refusal(scene, identity, black_box(verdict), accept))));
    }
}

fn refusal(scene: &BenchScene, identity: &Identity, verdict: &Verdict<'_>, accept: &[u8]) -> Response {
    let policy = &scene.site.config.refusal;
    let robots = scene.site.robots_url("http");
    Refusal::new(verdict, identity.crawler.as_deref(), &robots, policy.contact.as_deref())
        .reply(policy, Some(accept))
}

fn record(scene: &BenchScene) {
    for sent in [ALLOWED, DISALLOWED] {
        let facts = facts(CRAWLER, sent);
        let judged = judged(scene, &facts, &target(scene, &facts));
        let occurrence = judged.occurrence(&facts, &scene.site, scene.now);
        let kind = judged.kind(&scene.site);
        let mut count = || drop(black_box(scene.recorder.count(black_box(&occurrence), kind)));
        // The first round makes the account.
        count();
        counted(&mut count);
    }
}

/// All stages of one request, as the proxy calls them.
fn whole(scene: &BenchScene) {
    for (user_agent, sent) in [(BROWSER, DISALLOWED), (CRAWLER, ALLOWED), (CRAWLER, DISALLOWED)] {
        let mut request = || {
            let facts = facts(black_box(user_agent), black_box(sent));
            let target = target(scene, &facts);
            let judged = judged(scene, &facts, &target);
            if judged.action == Action::Refuse {
                drop(black_box(refusal(scene, &judged.identity, &judged.verdict, b"*/*")));
            }
            recorded(scene, &facts, &judged);
        };
        request();
        counted(&mut request);
    }
}

fn judged<'s>(
    scene: &'s BenchScene,
    facts: &RequestFacts<'_>,
    target: &RequestTarget<'_>,
) -> JudgedRequest<'s> {
    let reads =
        |who: &Identity, proof| scene.reads.of(&ReaderId::new(&facts.host, who, proof, facts.address));
    let (policy, site, proof) = (&scene.policy, &scene.site, |_: &_| Proof::Unchecked.into());
    let (rules, signature, now) = (&site.rules, None, NOW);
    let recognised = site.recognise(policy, facts.user_agent.as_deref());
    JudgedClient { policy, site, rules, facts, target, signature, recognised, now }.judge(proof, reads)
}

fn recorded(scene: &BenchScene, facts: &RequestFacts<'_>, judged: &JudgedRequest<'_>) {
    if !judged.verdict.is_judged() {
        return;
    }
    let told = judged.occurrence(facts, &scene.site, scene.now);
    let occurrence = Occurrence { request_id: "0000018bcfe56800-1", ..told };
    let kind = judged.kind(&scene.site);
    drop(black_box(scene.recorder.count(&occurrence, kind)));
    if kind != EventKind::Allowed {
        drop(black_box(Event::new(&occurrence)));
    }
}
