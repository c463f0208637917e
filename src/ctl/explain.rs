//! `gatewayctl explain`: one request through the gateway's own stages, with every step.

mod asked;
mod sent;

pub(super) use asked::ToldFact;

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
use crate::policy::{JudgedClient, JudgedRequest, ModeInForce, Modes, Policy, Site, explain_proof};
use crate::record::printable;
use crate::request::target::{RequestTarget, origin_form};
use crate::request::{RequestFacts, Scheme};
use crate::robots::Rule;
use askama::Template;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::sync::Arc;

/// The answer; field names and order are public API.
#[derive(Debug, Serialize, Template)]
#[template(path = "explain.txt", config = "src/ctl/askama.toml")]
pub(super) struct Explanation<'p> {
    #[serde(skip)]
    judged: JudgedRequest<'p>,
    #[serde(flatten)]
    ruling: Map<String, Value>,
    site: &'p str,
    robots_version: Option<String>,
    proof: &'static str,
    /// What the gateway would do in either mode of the site; rows and crawlers with a mode of their own keep it.
    action: BTreeMap<&'static str, &'static str>,
    steps: Vec<String>,
    /// From when on the version in force binds everyone, where a gateway is running and it does not yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    binds_from: Option<String>,
    /// What is not known of the time before, where a gateway is running: while it lasts nobody is accused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<UnknownPast>,
    /// What robots.txt says to the client about the use of the page.
    preferences: Vec<ToldFact>,
    /// How fast the client may come; null without a `Crawl-delay` or a rate.
    pace: Option<ToldFact>,
    /// The mode that decides about the client; null for a person.
    mode: Option<ModeInForce>,
    /// Every mode of the site, in the order in which they win; those of a running gateway where there is one.
    modes: Modes,
}

/// What the rules say to a client, or to one of whom nothing is told: the part of an explanation that `--batch` answers too.
pub(super) fn ruling(
    allows: bool,
    reason: &str,
    ruling: Option<&Ruling<'_>>,
    who: Option<&Identity>,
) -> Map<String, Value> {
    let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
    let told = json!({
        "verdict": if allows { "allow" } else { "disallow" },
        "client": who.map(|who| who.client.as_str()),
        "crawler": who.and_then(|who| who.crawler.as_deref()),
        "tokens": who.map(|who| &*who.tokens).unwrap_or_default(),
        "token": ruling.map(|ruling| ruling.group.token()),
        "group": ruling.map(|ruling| ruling.group.tokens()).unwrap_or_default(),
        "line": rule.map(|rule| rule.line),
        "source": rule.and_then(Rule::source),
        "rule": rule.map(|rule| printable(rule.text)),
        "reason": reason,
    });
    let Value::Object(mut told) = told else { return Map::new() };
    // What the line was generated for, where it was.
    told.retain(|name, value| name != "source" || !value.is_null());
    told
}

pub(super) fn run(cli: &Cli, arguments: &ExplainArgs, output: &mut Output<'_>) -> VerbResult {
    let head = sent::head(arguments, arguments.site.as_deref())?;
    let asked = head.as_ref().filter(|_| arguments.site.is_none()).and_then(|head| head.text("host"));
    let trial = TrialPolicy::load(cli, arguments, asked)?;
    let target = arguments.target.as_deref().map(OsStr::as_encoded_bytes);
    let sent = target.or_else(|| Some(head.as_ref()?.target())).unwrap_or(b"/");
    let header = head.as_ref().and_then(|head| head.joined("user-agent", b" "));
    let user_agent = arguments.user_agent.as_deref().map(str::as_bytes).or(header.as_deref());
    let facts = facts(&trial.host, sent, user_agent, arguments.address).map_err(VerbFailure)?;
    let named = arguments.token.as_deref().map(|token| trial.policy.identifier.by_token(token));
    let signed = head.as_ref().map(|head| sent::signer(&trial.policy, head, &trial.host));
    let explanation = explain(&trial, &facts, named.as_ref(), signed, running(cli, &trial.site));
    let objects = !explanation.judged.verdict.allows();
    output.answer(&explanation, objects, |explanation, output| output.render(explanation))
}

/// The facts of a request that nobody sent.
///
/// # Errors
/// When the target names no path.
pub(super) fn facts<'a>(
    host: &'a str,
    sent: &'a [u8],
    user_agent: Option<&'a [u8]>,
    address: Option<IpAddr>,
) -> Result<RequestFacts<'a>, String> {
    let what =
        || format!("invalid request target `{}`: expected a path such as /private?x=1", printable(sent));
    let target = origin_form(sent).ok_or_else(what)?;
    let (host, user_agent) = (Cow::Borrowed(host), user_agent.map(Cow::Borrowed));
    Ok(RequestFacts { scheme: Scheme::Http, method: "GET", host, target, user_agent, address })
}

/// Judges without fair notice: a trial has neither former versions nor reads.
pub(super) fn judge_trial<'p>(
    policy: &'p Policy,
    site: &'p Site,
    facts: &RequestFacts<'_>,
    named: Option<&Arc<Identity>>,
    signature: Option<&VerifiedSignature>,
    proof: Proof,
) -> JudgedRequest<'p> {
    let (rules, now, signature) = (&site.rules, NoticeTime::default(), signature.filter(|_| named.is_none()));
    let target = &RequestTarget::new(&facts.target, site.config.path_parameters);
    let by_header = || site.recognise(policy, facts.user_agent.as_deref());
    let recognised = named.map_or_else(by_header, Recognised::from);
    let client = JudgedClient { policy, site, rules, facts, target, signature, recognised, now };
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
pub(super) fn explain<'p>(
    trial: &'p TrialPolicy,
    facts: &RequestFacts<'_>,
    named: Option<&Arc<Identity>>,
    signed: Option<SignerSteps>,
    running: Option<SiteStatus>,
) -> Explanation<'p> {
    let TrialPolicy { policy, site, .. } = trial;
    let (signature, signature_steps) = signed.unwrap_or_default();
    let signature = signature.as_ref();
    let target = RequestTarget::new(&facts.target, site.config.path_parameters);
    let judge = |proof| judge_trial(policy, site, facts, named, signature, proof);
    let claimed = judge(Proof::Unchecked).identity;
    let address = facts.address.filter(|_| claimed.client.is_judged());
    let proved = address.map(|address| explain_proof(policy, &claimed, address));
    let (proof, proof_steps) = proved.unwrap_or((Proof::Unchecked, Vec::new()));
    let judged = judge(proof);
    let action = [Mode::Audit, Mode::Enforce].map(|mode| {
        let mut site = site.clone();
        site.modes = site.modes.with_others(mode);
        let judged = judge_trial(policy, &site, facts, named, signature, proof);
        (mode.as_str(), judged.action.as_str())
    });
    let (binds_from, unknown, modes) = match running {
        Some(site) => (site.binds_from, site.unknown, site.modes),
        None => (None, Vec::new(), site.modes.clone()),
    };
    let mut steps = identity_steps(trial, facts, named);
    steps.extend(signature_steps);
    steps.extend(signature.map(|_| signer_steps(site, facts, &claimed)).into_iter().flatten());
    steps.extend(proof_steps);
    steps.extend(target_steps(facts, &target));
    steps.extend(verdict_steps(&site.rules, &judged.verdict));
    steps.push(action.map(|(mode, action)| format!("in mode {mode}: {action}")).join("; "));
    steps.push(format!("modes, the first that fits: {}", mode::modes_line(&modes)));
    let JudgedRequest { identity, verdict, .. } = &judged;
    let reason = verdict.reason.as_str();
    Explanation {
        ruling: ruling(verdict.allows(), reason, verdict.ruling.as_ref(), Some(identity)),
        site: &site.config.name,
        robots_version: verdict.version.map(|id| id.to_string()),
        proof: judged.proof.as_str(),
        action: action.into(),
        steps,
        binds_from,
        unknown,
        preferences: asked::preferences(trial, identity, target.judged()),
        pace: asked::pace(trial, &judged, &target),
        mode: modes.deciding(identity).cloned(),
        modes,
        judged,
    }
}

/// Whom a signature names, and what it proves of the request.
fn signer_steps(site: &Site, facts: &RequestFacts<'_>, claimed: &Identity) -> Vec<String> {
    let (name, host) = (claimed.crawler.as_deref().unwrap_or_default(), &facts.host);
    let (client, tokens) = (claimed.client, tokens(claimed));
    let named = format!("by its signature it is `{name}` ({client}); its product tokens, in order: {tokens}");
    let strange = (!site.config.names(host)).then(|| {
        format!(
            "no site names the host `{host}` in `hosts`: somebody else could have sent on a signature that was \
             made for that host, so it proves nothing of this request"
        )
    });
    [named].into_iter().chain(strange).collect()
}

fn identity_steps(
    trial: &TrialPolicy,
    facts: &RequestFacts<'_>,
    named: Option<&Arc<Identity>>,
) -> Vec<String> {
    if let Some(identity) = named {
        return vec![format!("asked for by token: {}", tokens(identity))];
    }
    let agent = facts.user_agent.as_deref();
    let (identity, mut steps) = trial.policy.identifier.explain(agent);
    let (identity, step) = trial.site.rules.current().tokens.explain(&identity, agent);
    steps.extend(step);
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
    if let Some(Ruling { group, rule }) = &verdict.ruling {
        steps.push(format!(
            "the group of {} applies, chosen by {}",
            group.tokens().join(", "),
            group.token()
        ));
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
