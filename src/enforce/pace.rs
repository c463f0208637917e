//! What is done about crawlers that come faster than they were asked to, and what they are told.

use super::refusal::{RefusalPolicy, ShownVersion, answer_of, prefers_json};
use super::{Action, Mode};
use crate::decide::{PaceExcess, PaceLimit, Verdict};
use crate::http::Response;
use crate::identify::{Identity, Purpose};
use crate::request::target::RequestTarget;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{Display, Write as _};

/// What a site does about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaceChoice {
    /// Count them.
    #[default]
    Report,
    /// Answer 429 in enforce mode.
    Enforce,
}

/// Rates that the operator set; `None` for no limit, whatever robots.txt says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaceRates {
    /// For what a crawler fetches for.
    pub purposes: BTreeMap<Purpose, Option<PaceLimit>>,
    /// For a crawler by name, in lower case.
    pub crawlers: HashMap<String, Option<PaceLimit>>,
}

impl PaceRates {
    /// The rate set for `identity`, where there is one: the crawler's own before that of its purpose.
    #[must_use]
    pub fn of(&self, identity: &Identity) -> Option<Option<PaceLimit>> {
        let of_crawler = || {
            let name = identity.crawler.as_deref().filter(|_| !self.crawlers.is_empty())?;
            self.crawlers.get(&name.to_ascii_lowercase()).copied()
        };
        let of_purpose = || self.purposes.get(&identity.purpose?).copied();
        of_crawler().or_else(of_purpose)
    }
}

/// What is done with a request that comes too fast.
#[must_use]
pub fn enforce_pace(
    mode: Mode,
    choice: PaceChoice,
    identity: &Identity,
    target: &RequestTarget<'_>,
) -> Action {
    let may_be_refused = mode == Mode::Enforce
        && choice == PaceChoice::Enforce
        && identity.client.is_judged()
        && !identity.is_audited_only()
        && !target.is_acme_challenge();
    if may_be_refused { Action::Refuse } else { Action::Forward }
}

/// The content of a 429, field by field. Delays are in seconds, the time to wait in whole ones.
#[derive(Clone, Debug, Serialize)]
pub struct PaceRefusal<'a> {
    error: &'static str,
    crawler: Option<&'a str>,
    group: &'a [&'a str],
    line: Option<u32>,
    rule: Option<Cow<'a, str>>,
    declared: f64,
    observed: f64,
    retry_after: u64,
    robots: &'a str,
    robots_version: Option<ShownVersion>,
    contact: Option<&'a str>,
}

impl<'a> PaceRefusal<'a> {
    /// What `crawler` is told; the verdict is the one on its pace.
    #[must_use]
    pub fn new(
        verdict: &'a Verdict<'_>,
        crawler: Option<&'a str>,
        (limit, excess): (&PaceLimit, PaceExcess),
        robots: &'a str,
        contact: Option<&'a str>,
    ) -> Self {
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        let observed = limit.window.as_secs_f64() / f64::from(excess.asked.max(1));
        let round = |seconds: f64| (seconds * 1_000.0).round() / 1_000.0;
        Self {
            error: "too many requests: come more slowly",
            crawler,
            group: ruling.map_or(&[], |ruling| &ruling.group),
            line: rule.map(|rule| rule.line),
            rule: rule.map(|rule| String::from_utf8_lossy(rule.text)),
            declared: round(limit.delay.as_secs_f64()),
            observed: round(observed),
            retry_after: excess.retry_after.as_secs(),
            robots,
            robots_version: verdict.version.map(ShownVersion),
            contact,
        }
    }

    /// The answer to a client that sent `accept`.
    #[must_use]
    pub fn reply(&self, accept: Option<&[u8]>) -> Response {
        let policy = RefusalPolicy { status: 429, retry_after_seconds: self.retry_after, contact: None };
        if prefers_json(accept) {
            let mut body = serde_json::to_vec(self).unwrap_or_default();
            body.push(b'\n');
            return answer_of(&policy, "application/json", body.into());
        }
        answer_of(&policy, "text/plain; charset=utf-8", self.text().into())
    }

    fn text(&self) -> String {
        let mut body = String::with_capacity(256);
        let mut field = |name: &str, value: &dyn Display| {
            // Memory does not fail.
            let _ = writeln!(body, "{name}: {value}");
        };
        field("error", &self.error);
        self.crawler.iter().for_each(|crawler| field("crawler", crawler));
        if !self.group.is_empty() {
            field("group", &self.group.join(", "));
        }
        self.line.iter().for_each(|line| field("line", line));
        self.rule.iter().for_each(|rule| field("rule", rule));
        field("declared", &format_args!("one request each {} s", self.declared));
        field("observed", &format_args!("one request each {} s", self.observed));
        field("retry_after", &format_args!("{} s", self.retry_after));
        field("robots", &self.robots);
        self.robots_version.iter().for_each(|version| field("robots_version", &version.0));
        self.contact.iter().for_each(|contact| field("contact", contact));
        body
    }
}
