//! `gatewayctl crawlers`: the crawlers that are known by name, or how one header is recognised.

use super::args::{Cli, CrawlersArgs};
use super::output::{Output, escape_harmful};
use super::{VerbOutcome, VerbResult, setting};
use crate::identify::{Catalogue, ControlToken, Crawler, Identifier, Purpose, Sign};
use crate::policy;
use serde_json::{Value, json};
use std::io;

pub(super) fn run(cli: &Cli, arguments: &CrawlersArgs, output: &mut Output<'_>) -> VerbResult {
    let config = setting::load_any(cli)?;
    let identifier = policy::recogniser(&config)?;
    match &arguments.user_agent {
        Some(header) => recognised(&identifier, header, output)?,
        None if output.is_json() => {
            let catalogue = wanted(&identifier, arguments);
            let crawlers: Vec<Value> = catalogue.crawlers().iter().map(entry).collect();
            let control_tokens: Vec<Value> = catalogue.control_tokens().iter().map(control).collect();
            output.json(&json!({ "crawlers": crawlers, "control_tokens": control_tokens }))?;
        }
        None => table(&wanted(&identifier, arguments), output)?,
    }
    Ok(VerbOutcome::Fine)
}

/// The catalogue, or what of it is for one purpose.
fn wanted(identifier: &Identifier, arguments: &CrawlersArgs) -> Catalogue {
    let all = identifier.catalogue();
    let is_wanted = |purpose| arguments.purpose.is_none_or(|wanted| wanted == purpose);
    let crawlers = all.crawlers().iter().filter(|crawler| is_wanted(crawler.purpose)).cloned().collect();
    let control = all.control_tokens().iter().filter(|control| is_wanted(control.purpose)).cloned().collect();
    Catalogue::new(crawlers, control)
}

fn entry(crawler: &Crawler) -> Value {
    let verify = &crawler.verify;
    json!({
        "name": &*crawler.name,
        "operator": crawler.operator,
        "client": crawler.client.as_str(),
        "purpose": crawler.purpose.as_str(),
        "signs": crawler.signs.iter().map(Sign::to_string).collect::<Vec<_>>(),
        "tokens": &*crawler.tokens,
        "star": crawler.star,
        "obeys": crawler.obeys.as_str(),
        "basis": crawler.basis.as_str(),
        "docs": crawler.docs,
        "checked": crawler.checked,
        "verify": { "rdns": verify.rdns, "forward": verify.forward, "ranges": verify.ranges },
        "shares_cache_with": crawler.shares_cache_with,
    })
}

fn control(control: &ControlToken) -> Value {
    let ControlToken { token, operator, purpose, governs, docs } = control;
    json!({ "token": token, "operator": operator, "purpose": purpose.as_str(), "governs": governs, "docs": docs })
}

fn table(catalogue: &Catalogue, output: &mut Output<'_>) -> io::Result<()> {
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
        output.line(escape_harmful(&line))?;
    }
    if catalogue.control_tokens().is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line("tokens that no crawler sends, and that govern what is done with a page:")?;
    for control in catalogue.control_tokens() {
        output.line(escape_harmful(&format!(
            "  {} ({}): {}",
            control.token, control.operator, control.governs
        )))?;
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

fn recognised(identifier: &Identifier, header: &str, output: &mut Output<'_>) -> io::Result<()> {
    let (identity, steps) = identifier.explain(Some(header.as_bytes()));
    let steps = steps.iter().map(|step| step.as_str().to_owned());
    if !output.is_json() {
        let mut steps = steps;
        return steps.try_for_each(|step| output.line(escape_harmful(&step)));
    }
    output.json(&json!({
        "client": identity.client.as_str(),
        "crawler": identity.crawler.as_deref(),
        "purpose": identity.purpose.map(Purpose::as_str),
        "tokens": &*identity.tokens,
        "star": identity.star,
        "basis": identity.basis.as_str(),
        "steps": steps.collect::<Vec<_>>(),
    }))
}
