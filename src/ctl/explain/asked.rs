//! What the client that is explained is asked beside its rules: what may be done with a page, and how fast it may come.

use super::super::which_config::TrialPolicy;
use crate::decide::DeclaredPace;
use crate::enforce::{Action, Mode, enforce_pace};
use crate::identify::Identity;
use crate::policy::{JudgedRequest, pace_of};
use crate::record::printable;
use crate::report::amount;
use crate::request::target::RequestTarget;
use serde::Serialize;
use serde_json::{Value, json};

/// What is told: as JSON, whose field names and order are public API, and for people.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(in crate::ctl) struct ToldFact {
    pub(in crate::ctl) json: Value,
    #[serde(skip)]
    pub(in crate::ctl) text: String,
}

/// What may be done with what lies at a path, by the rules of each vocabulary.
pub(super) fn preferences(trial: &TrialPolicy, identity: &Identity, path: &[u8]) -> Vec<ToldFact> {
    let (version, catalogue) = (trial.site.rules.current(), trial.policy.identifier.catalogue());
    let told = match version.group_told(identity) {
        Some(group) => group.preferences_for(path),
        None => version.robots.preferences(None),
    };
    let crawler = identity.crawler.as_deref().and_then(|name| catalogue.get(name));
    // What is disallowed under a control token is a wish as well.
    let wishes = catalogue.control_for(crawler).filter_map(|control| {
        let rule = version.robots.judge(&[&control.token], false, path).rule?;
        Some(preference(&control.token, rule.text, &[rule.line], true))
    });
    let stated = told.iter().map(|stated| {
        preference(stated.kind.into(), stated.value.as_bytes(), &stated.lines, stated.is_readable)
    });
    stated.chain(wishes).collect()
}

/// One preference, under the name of its record or the control token under which the rule stands. `is_readable`: its vocabulary
/// can read it.
fn preference(record: &str, value: &[u8], lines: &[u32], is_readable: bool) -> ToldFact {
    let value = printable(value);
    let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
    let plural = if lines.len() == 1 { "line" } else { "lines" };
    let unread = if is_readable { "" } else { " (cannot be read, so it states nothing)" };
    let text = format!("{plural} {}: {record}: {value}{unread}", numbers.join(", "));
    let json = json!({ "record": record, "value": value, "lines": lines, "is_readable": is_readable });
    ToldFact { json, text }
}

/// How many requests may come within which time, in seconds, by which `Crawl-delay` or rate, and whether more are answered 429
/// in enforce mode.
pub(super) fn pace(
    trial: &TrialPolicy,
    judged: &JudgedRequest<'_>,
    target: &RequestTarget<'_>,
) -> Option<ToldFact> {
    if !judged.verdict.is_judged() || target.is_acme_challenge() {
        return None;
    }
    let (site, identity) = (&trial.site, &judged.identity);
    let declared = site.rules.current().pace(identity);
    let DeclaredPace { limit, source } = pace_of(&trial.policy, &site.rules, identity, declared)?;
    let modes = site.modes.clone().with_others(Mode::Enforce);
    let action = enforce_pace(modes.of(identity), site.config.crawl_delay, identity, target);
    let (requests, window, enforced) = (limit.allowed, limit.window.as_secs_f64(), action == Action::Refuse);
    let (line, rule) = source.map(|(_, line)| (line.line, printable(line.text))).unzip();
    let told = line.zip(rule.as_ref()).map(|(line, rule)| format!("line {line}: {rule}"));
    let told = told.unwrap_or_else(|| "its rate".to_owned());
    let more = if enforced { "answered 429 in mode enforce" } else { "only counted" };
    let amount = amount(requests.into(), "request", "requests");
    let json = json!({
        "delay": limit.delay.as_secs_f64(),
        "requests": requests,
        "window": window,
        "line": line,
        "rule": rule,
        "enforced": enforced,
    });
    Some(ToldFact { json, text: format!("{told}; {amount} in {window} s, more are {more}") })
}
