//! What robots.txt says about the use of a page, to the client that is explained.

use super::super::trial::TrialPolicy;
use crate::identify::Identity;
use crate::record::printable;
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
