//! `gatewayctl crawlers`: the crawlers that are known by name, or how one header is recognised.

use super::args::CrawlersArgs;
use super::{Cli, Output, VerbResult, crawlers, which_config};
use crate::identify::signature::{PublicKey, SignatureAgent};
use crate::identify::{Basis, Card, ControlToken, Crawler, Identifier, Purpose, Sign, Verify};
use crate::policy::{self, KeyDirectory};
use crate::record::format_span;
use crate::report::amount;
use askama::Template;
use serde_json::{Value, json};
use std::time::SystemTime;

pub(super) fn run(cli: &Cli, arguments: &CrawlersArgs, output: &mut Output<'_>) -> VerbResult {
    let config = which_config::load_any(cli)?;
    let identifier = policy::recogniser(&config)?;
    if let Some(header) = &arguments.user_agent {
        return recognised(&identifier, header, output);
    }
    // All of the catalogue, or what of it is for one purpose.
    let all = identifier.catalogue();
    let is_wanted = |purpose| arguments.purpose.is_none_or(|wanted| wanted.contains(purpose));
    let crawlers: Vec<_> = all.crawlers().iter().filter(|one| is_wanted(one.purpose)).collect();
    let control: Vec<_> = all.control_tokens().iter().filter(|one| is_wanted(one.purpose)).collect();
    let directories = KeyDirectory::all(&config, all, &[]);
    let answer = json!({
        "crawlers": crawlers.iter().map(|crawler| entry(crawler, &directories)).collect::<Vec<_>>(),
        "control_tokens": control.iter().map(|token| self::control(token)).collect::<Vec<_>>(),
    });
    let text = CrawlersText::of(&crawlers, &control, &directories);
    output.answer(&answer, false, |_, output| output.render(&text))
}

fn entry(crawler: &Crawler, directories: &[KeyDirectory]) -> Value {
    let verify = &crawler.verify;
    let agent = verify.agent.as_ref();
    let directory = directories.iter().find(|directory| Some(&directory.agent) == agent);
    json!({
        "name": &*crawler.name,
        "operator": crawler.operator,
        "client": crawler.client.as_str(),
        "purpose": crawler.purpose.as_str(),
        "signs": crawler.signs.iter().map(Sign::to_string).collect::<Vec<_>>(),
        "tokens": &*crawler.tokens,
        "star": crawler.star,
        "obeys": crawler.obeys.to_string(),
        "basis": crawler.basis.to_string(),
        "docs": crawler.docs,
        "checked": crawler.checked,
        "verify": { "rdns": verify.rdns, "forward": verify.forward, "ranges": verify.ranges, "shared": verify.shared },
        "signature_agent": agent.map(SignatureAgent::as_str),
        "keys": directory.map(keys),
        "card": crawler.card.as_ref().map(card),
        "shares_cache_with": crawler.shares_cache_with,
    })
}

/// What an agent says of itself, and which fields that fills.
fn card(card: &Card) -> Value {
    json!({
        "url": card.url,
        "fields": card.fields,
        "rate_expectation": card.rate_expectation,
        "fetched": card.digest.is_some(),
        "error": card.error,
    })
}

/// The same in words.
fn card_text(card: &Card) -> String {
    let said = match (&card.error, &card.digest) {
        (Some(error), _) => format!("it cannot be read: {error}"),
        (None, None) => "it was never fetched".to_owned(),
        (None, Some(_)) if card.fields.is_empty() => "nothing is taken from it".to_owned(),
        (None, Some(_)) => format!("says {}", card.fields.join(", ")),
    };
    let rate = card.rate_expectation.as_ref().map(|rate| format!("; expects to come at {rate}"));
    format!("{}: {said}{}", card.url, rate.unwrap_or_default())
}

/// The keys of an agent as they are kept.
fn keys(directory: &KeyDirectory) -> Value {
    let keys: Vec<Value> = sorted_keys(directory)
        .map(|key| json!({ "keyid": key.thumbprint, "algorithm": key.algorithm_name() }))
        .collect();
    json!({
        "keys": keys,
        "age_seconds": directory.file.age(SystemTime::now()).map(|age| age.as_secs()),
        "error": directory.error(),
    })
}

fn sorted_keys(directory: &KeyDirectory) -> impl Iterator<Item = &PublicKey> {
    let mut keys: Vec<&PublicKey> = directory.file.held.iter().flat_map(|keys| keys.values()).collect();
    keys.sort_by(|one, other| one.thumbprint.cmp(&other.thumbprint));
    keys.into_iter()
}

fn control(control: &ControlToken) -> Value {
    let ControlToken { token, operator, purpose, governs, docs } = control;
    json!({ "token": token, "operator": operator, "purpose": purpose.as_str(), "governs": governs, "docs": docs })
}

/// A control token in a line.
pub(super) fn control_text(control: &ControlToken) -> String {
    let ControlToken { token, operator, governs, .. } = control;
    format!("{token} ({}): {governs}", operator.as_deref().unwrap_or("for everybody"))
}

/// The catalogue as a table, those that sign, each with the keys that are kept, and the tokens that nobody sends.
#[derive(Template)]
#[template(path = "crawlers/table.txt", config = "src/ctl/askama.toml")]
struct CrawlersText<'c> {
    head: String,
    rows: Vec<String>,
    signers: Vec<&'c KeyDirectory>,
    control: &'c [&'c ControlToken],
}

impl<'c> CrawlersText<'c> {
    fn of(crawlers: &[&Crawler], control: &'c [&'c ControlToken], directories: &'c [KeyDirectory]) -> Self {
        let names = crawlers.iter().map(|crawler| crawler.name.chars().count());
        let width = names.max().unwrap_or_default().min(32);
        let row = |name: &str, client: &str, purpose: &str, obeys: &str, proof: &str, groups: &str| {
            format!("{name:<width$}  {client:<12}  {purpose:<9}  {obeys:<7}  {proof:<20}  {groups}")
        };
        let rows = crawlers.iter().map(|crawler| {
            let Crawler { name, client, purpose, obeys, tokens, star, .. } = crawler;
            let (proof, groups) = (proof(crawler), groups(tokens, *star));
            row(name, client.as_str(), purpose.as_str(), obeys.into(), &proof, &groups)
        });
        let is_shown = |directory: &&KeyDirectory| {
            directory.crawlers.iter().any(|name| crawlers.iter().any(|crawler| crawler.name == *name))
        };
        Self {
            head: row("name", "client", "purpose", "obeys", "proof", "groups, in order"),
            rows: rows.collect(),
            signers: directories.iter().filter(is_shown).collect(),
            control,
        }
    }
}

/// How many keys are kept, and since when.
fn kept(directory: &KeyDirectory) -> String {
    match (&directory.file.held, directory.file.age(SystemTime::now())) {
        (Some(keys), Some(age)) => {
            format!("{}, {} old", amount(keys.len() as u64, "key", "keys"), format_span(age))
        }
        _ => "never fetched".to_owned(),
    }
}

/// By what its name can be proved.
fn methods(crawler: &Crawler) -> impl Iterator<Item = &'static str> {
    let Verify { ranges, rdns, agent, .. } = &crawler.verify;
    let methods = [("ranges", !ranges.is_empty()), ("dns", !rdns.is_empty()), ("signature", agent.is_some())];
    methods.into_iter().filter_map(|(method, is_known)| is_known.then_some(method))
}

fn proof(crawler: &Crawler) -> String {
    joined(methods(crawler), ",")
}

/// The groups that a client's product tokens choose, in order.
pub(super) fn groups(tokens: &[Box<str>], star: bool) -> String {
    joined(tokens.iter().map(|token| &**token).chain(star.then_some("*")), ", ")
}

fn joined<'a>(words: impl Iterator<Item = &'a str>, separator: &str) -> String {
    let words: Vec<&str> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(separator) }
}

fn recognised(identifier: &Identifier, header: &str, output: &mut Output<'_>) -> VerbResult {
    let (identity, steps) = identifier.explain(Some(header.as_bytes()));
    let entry = identity.crawler.as_deref().filter(|_| identity.basis == Basis::Catalogue);
    let entry = entry.and_then(|name| identifier.catalogue().get(name));
    // The steps end in what decided, and in what follows.
    let (conclusion, why) = steps.split_last().map_or(("", &[][..]), |(last, why)| (last.as_str(), why));
    let answer = json!({
        "client": identity.client.as_str(),
        "crawler": identity.crawler.as_deref(),
        "purpose": identity.purpose.map(Purpose::as_str),
        "tokens": &*identity.tokens,
        "star": identity.star,
        "basis": identity.basis.to_string(),
        "operator": entry.and_then(|entry| entry.operator.as_deref()),
        "obeys": entry.map(|entry| entry.obeys.to_string()),
        "proof": entry.map(|entry| methods(entry).collect::<Vec<_>>()),
        "docs": entry.and_then(|entry| entry.docs.as_deref()),
        "card": entry.and_then(|entry| entry.card.as_ref()).map(card),
        "decided_by": why.last(),
        "steps": steps,
    });
    output.answer(&answer, false, |_, output| output.render(&RecognisedText { conclusion, why, entry }))
}

/// How a header is recognised, and who that is.
#[derive(Template)]
#[template(path = "crawlers/recognised.txt", config = "src/ctl/askama.toml")]
struct RecognisedText<'a> {
    conclusion: &'a str,
    why: &'a [String],
    entry: Option<&'a Crawler>,
}
