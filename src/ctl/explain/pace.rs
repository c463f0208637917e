//! The pace that a client is asked to keep: by its `Crawl-delay`, or by the rate that the operator set.

use crate::ctl::trial::TrialPolicy;
use crate::decide::DeclaredPace;
use crate::enforce::{Action, Mode, enforce_pace};
use crate::policy::{JudgedRequest, pace_in_force};
use crate::record::printable;
use crate::report::amount;
use crate::request::target::RequestTarget;
use serde::Serialize;

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
        let DeclaredPace { limit, source } = pace_in_force(&trial.policy, &site.rules, identity)?;
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
