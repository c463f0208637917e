//! What the client that is explained is asked beside its rules: what may be done with a page, and how fast it may come.

use super::super::which_config::TrialPolicy;
use crate::decide::DeclaredPace;
use crate::enforce::{Action, Mode, enforce_pace};
use crate::identify::Identity;
use crate::policy::{JudgedRequest, pace_of};
use crate::record::printable;
use crate::report::amount;
use crate::request::target::RequestTarget;
use crate::robots::Preference;
use serde::Serialize;
use std::borrow::Cow;

/// One preference; field names and order are public API.
#[derive(Debug, Serialize)]
pub(super) struct ToldPreference {
    /// The record's name, or the control token under which the rule stands.
    record: Cow<'static, str>,
    value: String,
    lines: Vec<u32>,
    /// Whether its vocabulary can read it.
    is_readable: bool,
}

impl ToldPreference {
    fn of(preference: &Preference<'_>) -> Self {
        let value = printable(preference.value.as_bytes());
        let (lines, is_readable) = (preference.lines.clone(), preference.is_readable);
        Self { record: Cow::Borrowed(preference.kind.into()), value, lines, is_readable }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(u32::to_string).collect();
        let plural = if lines.len() == 1 { "line" } else { "lines" };
        let unread = if self.is_readable { "" } else { " (cannot be read, so it states nothing)" };
        format!("{plural} {}: {}: {}{unread}", lines.join(", "), self.record, self.value)
    }
}

/// What applies to a path for a client, by the rules of each vocabulary.
pub(super) fn preferences(trial: &TrialPolicy, identity: &Identity, path: &[u8]) -> Vec<ToldPreference> {
    let (version, catalogue) = (trial.site.rules.current(), trial.policy.identifier.catalogue());
    let told = match version.group_told(identity) {
        Some(group) => group.preferences_for(path),
        None => version.robots.preferences(None),
    };
    let crawler = identity.crawler.as_deref().and_then(|name| catalogue.get(name));
    // What is disallowed under a control token is a wish as well.
    let wishes = catalogue.control_for(crawler).filter_map(|control| {
        let rule = version.robots.judge(&[&control.token], false, path).rule?;
        Some(ToldPreference {
            record: control.token.to_string().into(),
            value: printable(rule.text),
            lines: vec![rule.line],
            is_readable: true,
        })
    });
    told.iter().map(ToldPreference::of).chain(wishes).collect()
}

/// How many requests may come within which time, in seconds; field names are public API.
#[derive(Debug, Serialize)]
pub(super) struct ExplainedPace {
    delay: f64,
    requests: u32,
    window: f64,
    /// The `Crawl-delay`; null of a rate.
    line: Option<u32>,
    rule: Option<String>,
    /// Whether more are answered 429 in enforce mode.
    enforced: bool,
}

impl ExplainedPace {
    pub(super) fn of(
        trial: &TrialPolicy,
        judged: &JudgedRequest<'_>,
        target: &RequestTarget<'_>,
    ) -> Option<Self> {
        if !judged.verdict.is_judged() || target.is_acme_challenge() {
            return None;
        }
        let (site, identity) = (&trial.site, &judged.identity);
        let declared = site.rules.current().pace(identity);
        let DeclaredPace { limit, source } = pace_of(&trial.policy, &site.rules, identity, declared)?;
        let modes = site.modes.clone().with_others(Mode::Enforce);
        let action = enforce_pace(modes.of(identity), site.config.crawl_delay, identity, target);
        Some(Self {
            delay: limit.delay.as_secs_f64(),
            requests: limit.allowed,
            window: limit.window.as_secs_f64(),
            line: source.map(|(_, line)| line.line),
            rule: source.map(|(_, line)| printable(line.text)),
            enforced: action == Action::Refuse,
        })
    }

    /// The same in words.
    pub(super) fn text(&self) -> String {
        let source = match (self.line, &self.rule) {
            (Some(line), Some(rule)) => format!("line {line}: {rule}"),
            _ => "its rate".to_owned(),
        };
        let more = if self.enforced { "answered 429 in mode enforce" } else { "only counted" };
        let requests = amount(self.requests.into(), "request", "requests");
        format!("{source}; {requests} in {} s, more are {more}", self.window)
    }
}
