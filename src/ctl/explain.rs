//! `gatewayctl explain`: one request through the gateway's own stages, with every step.

mod asked;
mod sent;

use super::args::{Cli, ExplainArgs};
use super::crawlers::groups;
use super::output::Output;
use super::which_config::TrialPolicy;
use super::{VerbFailure, VerbResult, mode};
use crate::control::{SiteStatus, UnknownPast};
use crate::decide::{NoticeTime, Ruling, SiteRules, Verdict};
use crate::enforce::Mode;
use crate::identify::signature::VerifiedSignature;
use crate::identify::{Identity, Proof, Recognised};
use crate::policy::{JudgedClient, JudgedRequest, ModeInForce, Modes, Policy, Site, explain_proof, judge};
use crate::record::printable;
use crate::request::target::{RequestTarget, origin_form};
use crate::request::{RequestFacts, Scheme};
use askama::Template;
use serde::Serialize;
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// The answer; field names and order are public API.
#[derive(Debug, Serialize, Template)]
#[template(path = "explain.txt", config = "src/ctl/askama.toml")]
pub(super) struct Explanation {
    #[serde(flatten)]
    ruling: ExplainAnswer,
    site: String,
    robots_version: Option<String>,
    proof: &'static str,
    action: Actions,
    steps: Vec<String>,
    /// From when on the version in force binds everyone, where a gateway is running and it does not yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    binds_from: Option<String>,
    /// What is not known of the time before, where a gateway is running: while it lasts nobody is accused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<UnknownPast>,
    /// What robots.txt says to the client about the use of the page.
    preferences: Vec<asked::ToldPreference>,
    /// How fast the client may come; null without a `Crawl-delay` or a rate.
    pace: Option<asked::ExplainedPace>,
    /// The mode that decides about the client; null for a person.
    mode: Option<ModeInForce>,
    /// Every mode of the site, in the order in which they win; those of a running gateway where there is one.
    modes: Modes,
}

/// The part of an explanation that `--batch` answers too.
#[derive(Debug, Serialize)]
pub(super) struct ExplainAnswer {
    pub(super) verdict: &'static str,
    pub(super) client: Option<&'static str>,
    pub(super) crawler: Option<String>,
    pub(super) tokens: Vec<String>,
    pub(super) token: Option<String>,
    pub(super) group: Vec<String>,
    pub(super) line: Option<u32>,
    /// What the line was generated for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) reason: &'static str,
}

/// What the gateway would do in either mode of the site; rows and crawlers with a mode of their own keep it.
#[derive(Debug, Serialize)]
struct Actions {
    audit: &'static str,
    enforce: &'static str,
}

impl ExplainAnswer {
    /// What the rules say to a client of whom nothing is told.
    pub(super) fn of_rules(allows: bool, reason: &'static str, ruling: Option<&Ruling<'_>>) -> Self {
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        let group = ruling.map(|ruling| ruling.group.iter().map(ToString::to_string).collect());
        Self {
            verdict: if allows { "allow" } else { "disallow" },
            client: None,
            crawler: None,
            tokens: Vec::new(),
            token: ruling.map(|ruling| ruling.token.to_owned()),
            group: group.unwrap_or_default(),
            line: rule.map(|rule| rule.line),
            source: rule.and_then(|rule| rule.source().map(str::to_owned)),
            rule: rule.map(|rule| printable(rule.text)),
            reason,
        }
    }

    pub(super) fn of(judged: &JudgedRequest<'_>) -> Self {
        let JudgedRequest { identity, verdict, .. } = judged;
        Self {
            client: Some(identity.client.as_str()),
            crawler: identity.crawler.as_deref().map(str::to_owned),
            tokens: identity.tokens.iter().map(ToString::to_string).collect(),
            ..Self::of_rules(verdict.allows(), verdict.reason.as_str(), verdict.ruling.as_ref())
        }
    }
}

pub(super) fn run(cli: &Cli, arguments: &ExplainArgs, output: &mut Output<'_>) -> VerbResult {
    let head = sent::head(arguments, arguments.site.as_deref())?;
    let asked = head.as_ref().filter(|_| arguments.site.is_none()).and_then(|head| head.text("host"));
    let trial = TrialPolicy::load(cli, arguments, asked)?;
    let sent = match (&arguments.target, &head) {
        (Some(target), _) => target.as_encoded_bytes(),
        (None, Some(head)) => head.target(),
        (None, None) => b"/",
    };
    let header = head.as_ref().and_then(|head| head.joined("user-agent", b" "));
    let user_agent = arguments.user_agent.as_deref().map(str::as_bytes).or(header.as_deref());
    let facts = facts(&trial.host, sent, user_agent, arguments.address)
        .ok_or_else(|| VerbFailure(invalid_target(&printable(sent))))?;
    let named = arguments.token.as_deref().map(|token| trial.policy.identifier.by_token(token));
    let signed = head.as_ref().map(|head| sent::signer(&trial.policy, head, &trial.host));
    let explanation = explain(&trial, &facts, named.as_ref(), signed, running(cli, &trial.site));
    let objects = explanation.ruling.verdict != "allow";
    output.answer(&explanation, objects, |explanation, output| output.render(explanation))
}

/// The facts of a request that nobody sent; `None` when the target names no path.
pub(super) fn facts<'a>(
    host: &'a str,
    sent: &'a [u8],
    user_agent: Option<&'a [u8]>,
    address: Option<IpAddr>,
) -> Option<RequestFacts<'a>> {
    let target = origin_form(sent)?;
    Some(RequestFacts {
        scheme: Scheme::Http,
        method: "GET",
        host: Cow::Borrowed(host),
        target,
        user_agent: user_agent.map(Cow::Borrowed),
        address,
    })
}

/// What is said of a target without a path.
pub(super) fn invalid_target(sent: &str) -> String {
    format!("invalid request target `{sent}`: expected a path such as /private?x=1")
}

/// Judges without fair notice: a trial has neither former versions nor reads.
pub(super) fn judge_trial<'p>(
    policy: &'p Policy,
    site: &'p Site,
    facts: &RequestFacts<'_>,
    target: &RequestTarget<'_>,
    named: Option<&Arc<Identity>>,
    signature: Option<&VerifiedSignature>,
    proof: Proof,
) -> JudgedRequest<'p> {
    let (rules, now) = (&site.rules, NoticeTime::default());
    let Some(identity) = named else {
        let (proof, reads) = (|_: &Identity| proof.into(), |_: &Identity, _| Vec::new());
        return judge(policy, site, rules, facts, target, signature, proof, reads, now);
    };
    let recognised = Recognised::from(identity);
    let client = JudgedClient { policy, site, rules, facts, target, recognised, now };
    client.judge(|_| proof.into(), |_, _| Vec::new())
}

/// What a running gateway says of the same version of the same site; nothing where none is running.
fn running(cli: &Cli, site: &Site) -> Option<SiteStatus> {
    let status = cli.status().ok()?;
    let version = site.version().map(|id| id.to_string());
    let is_same = |status: &SiteStatus| status.site == site.config.name && status.robots_version == version;
    status.sites.into_iter().find(is_same)
}

/// Who signed a request, and the steps of finding out.
pub(super) type SignerSteps = (Option<VerifiedSignature>, Vec<String>);

/// Judges a request without fair notice, and tells every step.
pub(super) fn explain(
    trial: &TrialPolicy,
    facts: &RequestFacts<'_>,
    named: Option<&Arc<Identity>>,
    signed: Option<SignerSteps>,
    running: Option<SiteStatus>,
) -> Explanation {
    let (signature, signature_steps) = signed.unwrap_or_default();
    let signature = signature.as_ref();
    let target = RequestTarget::new(&facts.target, trial.site.config.path_parameters);
    let judge = |proof| judge_trial(&trial.policy, &trial.site, facts, &target, named, signature, proof);
    let claimed = judge(Proof::Unchecked).identity;
    let proved = facts.address.filter(|_| claimed.client.is_judged());
    let proved = proved.map(|address| explain_proof(&trial.policy, &claimed, address, SystemTime::now()));
    let proof = proved.as_ref().map_or(Proof::Unchecked, |examination| examination.proof);
    let judged_here = judge(proof);
    let action = |mode| {
        let mut site = trial.site.clone();
        site.modes = site.modes.with_others(mode);
        judge_trial(&trial.policy, &site, facts, &target, named, signature, proof).action.as_str()
    };
    let action = Actions { audit: action(Mode::Audit), enforce: action(Mode::Enforce) };
    let mut steps = identity_steps(trial, facts, named);
    steps.extend(signature_steps);
    if signature.is_some() {
        let name = claimed.crawler.as_deref().unwrap_or_default();
        let (client, tokens) = (claimed.client, tokens(&claimed));
        steps.push(format!(
            "by its signature it is `{name}` ({client}); its product tokens, in order: {tokens}"
        ));
        if !trial.site.config.names(&facts.host) {
            let host = &facts.host;
            steps.push(format!(
                "no site names the host `{host}` in `hosts`: somebody else could have sent on a signature that was \
                 made for that host, so it proves nothing of this request"
            ));
        }
    }
    steps.extend(proved.into_iter().flat_map(|examination| examination.steps));
    steps.extend(target_steps(facts, &target));
    steps.extend(verdict_steps(&trial.site.rules, &judged_here.verdict));
    steps.push(format!("in mode audit: {}; in mode enforce: {}", action.audit, action.enforce));
    let (binds_from, unknown, modes) = match running {
        Some(site) => (site.binds_from, site.unknown, site.modes),
        None => (None, Vec::new(), trial.site.modes.spelt(&trial.policy)),
    };
    steps.push(format!("modes, the first that fits: {}", mode::modes_line(&modes)));
    Explanation {
        ruling: ExplainAnswer::of(&judged_here),
        site: trial.site.config.name.clone(),
        robots_version: judged_here.verdict.version.map(|id| id.to_string()),
        proof: judged_here.proof.as_str(),
        action,
        steps,
        binds_from,
        unknown,
        preferences: asked::preferences(trial, &judged_here.identity, target.judged()),
        pace: asked::ExplainedPace::of(trial, &judged_here, &target),
        mode: modes.deciding(&judged_here.identity).cloned(),
        modes,
    }
}

fn identity_steps(
    trial: &TrialPolicy,
    facts: &RequestFacts<'_>,
    named: Option<&Arc<Identity>>,
) -> Vec<String> {
    if let Some(identity) = named {
        return vec![format!("asked for by token: {}", tokens(identity))];
    }
    let identifier = &trial.policy.identifier;
    let (identity, steps) = identifier.explain(facts.user_agent.as_deref());
    let mut steps: Vec<String> = steps.iter().map(|step| step.as_str().to_owned()).collect();
    let tokens_of_file = &trial.site.rules.current().tokens;
    let (identity, step) = tokens_of_file.explain(&identity, facts.user_agent.as_deref());
    steps.extend(step.map(|step| step.as_str().to_owned()));
    if identity.client.is_judged() {
        steps.push(format!("its product tokens, in order: {}", tokens(&identity)));
    }
    steps
}

fn tokens(identity: &Identity) -> String {
    groups(&identity.tokens, identity.star)
}

fn target_steps(facts: &RequestFacts<'_>, target: &RequestTarget<'_>) -> Vec<String> {
    let mut steps = Vec::new();
    if target.judged() != &*facts.target {
        steps.push(format!("dot segments resolved: the path judged is {}", printable(target.judged())));
    }
    for reading in target.readings() {
        steps.push(format!("an origin may read the path as {}", printable(reading)));
    }
    if target.has_more_readings() {
        steps.push("an origin may read the path in more ways than are followed".to_owned());
    }
    steps
}

fn verdict_steps(rules: &SiteRules, verdict: &Verdict<'_>) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(Ruling { group, token, rule }) = &verdict.ruling {
        steps.push(format!("the group of {} applies, chosen by {token}", group.join(", ")));
        steps.push(match rule {
            Some(rule) => {
                format!("line {} is the most specific match: {}", rule.line, printable(rule.marked))
            }
            None => "no rule of the group matches".to_owned(),
        });
    } else if verdict.is_judged() {
        let file = if rules.current().id.is_some() { "robots.txt has" } else { "there is no robots.txt, so" };
        steps.push(format!("{file} no group for this client"));
    }
    let word = if verdict.allows() { "allow" } else { "disallow" };
    steps.push(format!("verdict: {word} ({})", verdict.reason.as_str()));
    steps
}
