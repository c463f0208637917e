//! What a reload changed: the answer of `gatewayctl reload`.

use super::Site;
use crate::config::{ConfigError, KeyChange};
use crate::record::LedgerError;
use crate::robots::{Finding, Robots};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// What came of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[derive(strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ReloadResult {
    /// A new policy is in force.
    Changed,
    /// The files say what is in force already.
    Unchanged,
    /// At least one file was refused; what it was to replace is still in force.
    Refused,
}

/// A reload, told in full.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReloadReport {
    /// What came of it.
    pub result: ReloadResult,
    /// Every site, changed or not.
    pub sites: Vec<SiteChange>,
    /// What changed in the configuration file.
    pub config: Vec<KeyChange>,
    /// Its keys that take effect when the gateway is started again, changed now or by an earlier reload.
    pub restart: Vec<String>,
    /// Every fault found. A robots.txt with a fault keeps its own site's last good version; a fault of
    /// the configuration or the catalogue keeps the whole policy.
    pub errors: Vec<ReportedFault>,
}

/// What a reload did to one site.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SiteChange {
    /// The site.
    pub site: String,
    /// The version that was in force.
    pub old_version: Option<String>,
    /// The version that is in force.
    pub new_version: Option<String>,
    /// How many rules came.
    pub added: usize,
    /// How many rules went.
    pub removed: usize,
    /// What is odd in the version in force, as `path:line:column: message`.
    pub warnings: Vec<String>,
    /// From when on the version in force binds everyone, and who has read it already.
    pub notice: String,
}

/// A fault as it stands in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedFault {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

impl fmt::Display for ReportedFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(out, "{}:{line}:{column}: {}", self.path, self.message),
            _ => write!(out, "{}: {}", self.path, self.message),
        }
    }
}

impl From<&ConfigError> for ReportedFault {
    fn from(error: &ConfigError) -> Self {
        let hint = error.hint.as_deref().map_or_else(String::new, |hint| format!("; {hint}"));
        Self {
            path: error.path.display().to_string(),
            line: error.position.map(|(line, _)| line),
            column: error.position.map(|(_, column)| column),
            message: format!("{}{hint}", error.message),
        }
    }
}

impl From<&LedgerError> for ReportedFault {
    fn from(error: &LedgerError) -> Self {
        Self { path: error.path().display().to_string(), line: None, column: None, message: error.reason() }
    }
}

impl SiteChange {
    pub(super) fn new(old: Option<&Site>, new: &Site, notice: String) -> Self {
        let (added, removed) = match old {
            Some(old) if old.version() == new.version() => (0, 0),
            Some(old) => rule_delta(&old.rules.current().robots, &new.rules.current().robots),
            None => (new.rules.current().robots.rules().count(), 0),
        };
        let warning = |finding: &Finding| {
            let (path, line) = new.place_of(finding);
            let place = line.map(|line| format!(":{line}:{}", finding.column)).unwrap_or_default();
            format!("{}{place}: {finding}", path.display())
        };
        let shown = |site: &Site| site.version().map(|id| id.to_string());
        Self {
            site: new.config.name.clone(),
            old_version: old.and_then(shown),
            new_version: shown(new),
            added,
            removed,
            warnings: new.warnings().map(warning).collect(),
            notice,
        }
    }
}

/// How many rules `new` has that `old` had not, and the other way round. A rule is the same when group,
/// kind and pattern are; moving it to another line changes nothing.
fn rule_delta(old: &Robots, new: &Robots) -> (usize, usize) {
    let mut balance: HashMap<(Vec<&str>, &str, &[u8]), i64> = HashMap::new();
    for (group, rule) in new.rules() {
        *balance.entry((group.collect(), rule.kind.as_str(), rule.pattern)).or_default() += 1;
    }
    for (group, rule) in old.rules() {
        *balance.entry((group.collect(), rule.kind.as_str(), rule.pattern)).or_default() -= 1;
    }
    let sum = |counts: &mut dyn Iterator<Item = i64>| usize::try_from(counts.sum::<i64>()).unwrap_or(0);
    let added = sum(&mut balance.values().copied().filter(|count| *count > 0));
    let removed = sum(&mut balance.values().copied().filter(|count| *count < 0).map(i64::abs));
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::ParseLimits;

    fn robots(text: &str) -> Robots {
        Robots::parse(text.as_bytes(), &ParseLimits::default()).robots
    }

    #[test]
    fn the_delta_counts_rules_not_lines() {
        let old = robots("User-agent: *\nDisallow: /a\nDisallow: /b\n");
        let moved = robots("# comment\nUser-agent: *\nDisallow: /b\nDisallow: /a\n");
        assert_eq!(rule_delta(&old, &moved), (0, 0));
        let changed = robots("User-agent: *\nDisallow: /a\nAllow: /b\nDisallow: /c\n");
        assert_eq!(rule_delta(&old, &changed), (2, 1));
        let regrouped = robots("User-agent: x\nDisallow: /a\nDisallow: /b\n");
        assert_eq!(rule_delta(&old, &regrouped), (2, 2));
    }
}
