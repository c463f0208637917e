//! What a reload changed: the answer of `gatewayctl reload`. And the keys that are read when the process starts, since
//! sockets, threads and folders are taken then.

use super::Site;
use crate::config::{Config, ConfigError, KeyChange};
use crate::record::LedgerError;
use crate::robots::{Finding, Robots};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;

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

/// The keys in which two configurations differ, and which wait for the next start. A group of keys is named by each
/// of them.
pub(super) fn keys_needing_restart(started: &Config, next: &Config) -> Vec<String> {
    let (old_log, new_log) = (&started.log, &next.log);
    let keys = [
        ("listen", started.listen != next.listen),
        ("listeners", started.listeners != next.listeners),
        ("authorize.listen", doors(started) != doors(next)),
        ("limits.h2_streams", started.limits.h2_streams != next.limits.h2_streams),
        ("limits.h2_resets", started.limits.h2_resets != next.limits.h2_resets),
        ("admin", started.admin != next.admin),
        ("admin_token", started.admin_token != next.admin_token),
        ("control", started.control != next.control),
        ("fleet", started.fleet != next.fleet),
        ("state_dir", started.state_dir != next.state_dir),
        ("journal", started.journal != next.journal),
        ("journal_max_size", started.journal_max_size != next.journal_max_size),
        ("journal_keep", started.journal_keep != next.journal_keep),
        (
            "access_log",
            (&started.access_log, started.access_log_format) != (&next.access_log, next.access_log_format),
        ),
        ("retention", started.retention != next.retention),
        ("store_max_size", started.store_max_size != next.store_max_size),
        ("threads", started.threads != next.threads),
        ("log.format", old_log.format != new_log.format),
        ("log.level", old_log.level != new_log.level),
    ];
    keys.into_iter().filter(|(_, waits)| *waits).map(|(key, _)| key.to_owned()).collect()
}

/// Where other proxies ask.
fn doors(config: &Config) -> Option<SocketAddr> {
    config.authorize.as_ref().map(|doors| doors.listen)
}

/// Whether `key`, as written, is one of those in `waiting`.
pub(super) fn is_among(key: &str, waiting: &[String]) -> bool {
    // `listeners[0.0.0.0:80].tls`, and `access_log_format` with `access_log`.
    let is_within = |rest: &str| rest.is_empty() || rest.starts_with(['[', '.']) || rest == "_format";
    waiting.iter().any(|group| key.strip_prefix(&**group).is_some_and(is_within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;
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

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, format!("{text}\n[[sites]]\norigin = \"http://127.0.0.1:9\"\n")).unwrap();
        let state_dir = Some("/nowhere".into());
        Config::load(&Arguments { config: Some(path), state_dir, ..Arguments::default() }).unwrap()
    }

    #[test]
    fn keys_that_are_read_at_the_start_wait_and_others_do_not() {
        let started = config("threads = 2\nnotice = \"1h\"");
        assert_eq!(
            keys_needing_restart(&started, &config("threads = 2\nnotice = \"2h\"\nmode = \"enforce\"")),
            [""; 0]
        );
        for (key, text) in [
            ("listen", "listen = [\"127.0.0.1:1\"]"),
            ("authorize.listen", "[authorize]\nlisten = \"127.0.0.1:1\""),
            ("limits.h2_streams", "[limits]\nh2_streams = 50"),
            ("limits.h2_resets", "[limits]\nh2_resets = 50"),
            ("admin", "admin = \"off\""),
            ("admin_token", "admin_token = \"x\""),
            ("control", "control = \"other.sock\""),
            ("journal", "journal = \"other.jsonl\""),
            ("journal_max_size", "journal_max_size = \"2MiB\""),
            ("journal_keep", "journal_keep = 1"),
            ("access_log", "access_log = \"access.log\""),
            ("fleet", "[fleet]\ndatabase = \"postgresql:///x\""),
            ("retention", "retention = \"2d\""),
            ("store_max_size", "store_max_size = \"32MiB\""),
            ("log.format", "[log]\nformat = \"json\""),
            ("log.level", "[log]\nlevel = \"debug\""),
        ] {
            assert_eq!(
                keys_needing_restart(&started, &config(&format!("threads = 2\nnotice = \"1h\"\n{text}"))),
                [key]
            );
        }
        assert_eq!(keys_needing_restart(&started, &config("threads = 3")), ["threads"]);
    }

    #[test]
    fn a_key_as_written_belongs_to_its_group() {
        let waiting = ["listeners", "access_log", "log.level", "journal"].map(str::to_owned);
        for key in ["listeners[127.0.0.1:1].tls", "access_log", "access_log_format", "log.level", "journal"] {
            assert!(is_among(key, &waiting), "{key}");
        }
        for key in ["listen", "log.format", "journal_keep", "mode"] {
            assert!(!is_among(key, &waiting), "{key}");
        }
    }
}
