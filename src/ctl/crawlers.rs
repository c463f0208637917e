//! `gatewayctl crawlers`: the crawlers that are known by name, or how one header is recognised.

use super::args::{Cli, CrawlersArgs};
use super::output::{Output, harmless};
use super::{Failure, Outcome, setting};
use crate::identify::{Catalogue, ControlToken, Crawler, Identifier, Purpose, Sign};
use crate::policy;
use serde::Serialize;
use std::io;

/// A crawler of the catalogue; field names are public API.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    operator: Option<&'a str>,
    client: &'static str,
    purpose: &'static str,
    signs: Vec<String>,
    tokens: &'a [Box<str>],
    star: bool,
    obeys: &'static str,
    basis: &'static str,
    docs: Option<&'a str>,
    checked: Option<&'a str>,
    verify: Verification<'a>,
    shares_cache_with: &'a [Box<str>],
}

#[derive(Serialize)]
struct Verification<'a> {
    rdns: &'a [Box<str>],
    forward: bool,
    ranges: &'a [Box<str>],
}

#[derive(Serialize)]
struct Control<'a> {
    token: &'a str,
    operator: &'a str,
    governs: &'a str,
    docs: Option<&'a str>,
}

#[derive(Serialize)]
struct Everything<'a> {
    crawlers: Vec<Entry<'a>>,
    control_tokens: Vec<Control<'a>>,
}

/// What a header is recognised as.
#[derive(Serialize)]
struct Recognised {
    client: &'static str,
    crawler: Option<String>,
    purpose: Option<&'static str>,
    tokens: Vec<String>,
    star: bool,
    basis: &'static str,
    steps: Vec<String>,
}

pub(super) fn run(
    cli: &Cli,
    arguments: &CrawlersArgs,
    output: &mut Output<impl io::Write>,
) -> Result<Outcome, Failure> {
    let config = setting::any(cli)?;
    let identifier = policy::recogniser(&config).map_err(|errors| Failure(errors.to_string()))?;
    match &arguments.user_agent {
        Some(header) => recognised(&identifier, header, output)?,
        None if output.is_json() => output.json(&everything(identifier.catalogue()))?,
        None => table(identifier.catalogue(), output)?,
    }
    Ok(Outcome::Fine)
}

fn everything(catalogue: &Catalogue) -> Everything<'_> {
    Everything {
        crawlers: catalogue.crawlers().iter().map(entry).collect(),
        control_tokens: catalogue.control_tokens().iter().map(control).collect(),
    }
}

fn entry(crawler: &Crawler) -> Entry<'_> {
    let verify = &crawler.verify;
    Entry {
        name: &crawler.name,
        operator: crawler.operator.as_deref(),
        client: crawler.client.as_str(),
        purpose: crawler.purpose.as_str(),
        signs: crawler.signs.iter().map(Sign::to_string).collect(),
        tokens: &crawler.tokens,
        star: crawler.star,
        obeys: crawler.obeys.as_str(),
        basis: crawler.basis.as_str(),
        docs: crawler.docs.as_deref(),
        checked: crawler.checked.as_deref(),
        verify: Verification { rdns: &verify.rdns, forward: verify.forward, ranges: &verify.ranges },
        shares_cache_with: &crawler.shares_cache_with,
    }
}

fn control(control: &ControlToken) -> Control<'_> {
    Control {
        token: &control.token,
        operator: &control.operator,
        governs: &control.governs,
        docs: control.docs.as_deref(),
    }
}

fn table(catalogue: &Catalogue, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let names = catalogue.crawlers().iter().map(|crawler| crawler.name.chars().count());
    let width = names.max().unwrap_or_default().min(32);
    let row = |name: &str, client: &str, purpose: &str, obeys: &str, proof: &str, groups: &str| {
        format!("{name:<width$}  {client:<12}  {purpose:<9}  {obeys:<7}  {proof:<10}  {groups}")
    };
    output.line(row("name", "client", "purpose", "obeys", "proof", "groups, in order"))?;
    for crawler in catalogue.crawlers() {
        let obeys = crawler.obeys.as_str();
        let (client, purpose) = (crawler.client.as_str(), crawler.purpose.as_str());
        let line = row(&crawler.name, client, purpose, obeys, proof(crawler), &groups(crawler));
        output.line(harmless(&line))?;
    }
    output.line("")?;
    output.line("tokens that no crawler sends, and that govern what is done with a page:")?;
    for control in catalogue.control_tokens() {
        output.line(harmless(&format!("  {} ({}): {}", control.token, control.operator, control.governs)))?;
    }
    Ok(())
}

fn proof(crawler: &Crawler) -> &'static str {
    match (crawler.verify.rdns.is_empty(), crawler.verify.ranges.is_empty()) {
        (true, true) => "none",
        (true, false) => "ranges",
        (false, true) => "dns",
        (false, false) => "ranges,dns",
    }
}

fn groups(crawler: &Crawler) -> String {
    let tokens = crawler.tokens.iter().map(|token| &**token);
    let groups: Vec<&str> = tokens.chain(crawler.star.then_some("*")).collect();
    if groups.is_empty() { "none".to_owned() } else { groups.join(", ") }
}

fn recognised(identifier: &Identifier, header: &str, output: &mut Output<impl io::Write>) -> io::Result<()> {
    let (identity, steps) = identifier.explain(Some(header.as_bytes()));
    let steps = steps.iter().map(|step| step.as_str().to_owned());
    if !output.is_json() {
        let mut steps = steps;
        return steps.try_for_each(|step| output.line(harmless(&step)));
    }
    output.json(&Recognised {
        client: identity.client.as_str(),
        crawler: identity.crawler.as_deref().map(str::to_owned),
        purpose: identity.purpose.map(Purpose::as_str),
        tokens: identity.tokens.iter().map(ToString::to_string).collect(),
        star: identity.star,
        basis: identity.basis.as_str(),
        steps: steps.collect(),
    })
}
