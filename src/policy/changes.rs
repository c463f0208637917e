//! What a reload changed: the answer of `gatewayctl reload`. And the keys that are read when the process starts, since
//! sockets, threads and folders are taken then.

use super::Site;
use super::reload::Trigger;
use crate::config::{Config, ConfigError};
use crate::record::RowsError;
use crate::robots::{Finding, Robots};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};

/// What came of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[derive(strum::Display, strum::EnumCount, strum::VariantArray)]
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
    pub config: BTreeSet<String>,
    /// Its keys that take effect when the gateway is started again, changed now or by an earlier reload.
    pub restart: Vec<String>,
    /// Every fault found. A robots.txt with a fault keeps its own site's last good version; a fault of
    /// the configuration or the catalogue keeps the whole policy.
    pub errors: Vec<ConfigError>,
}

impl ReloadReport {
    /// Writes it into the log; a refusal that is `repeated` is known.
    pub(super) fn log(&self, trigger: Trigger, repeated: bool) {
        for site in self.sites.iter().filter(|site| site.old_version != site.new_version) {
            tracing::info!(
                site = site.site,
                old_version = site.old_version,
                new_version = site.new_version,
                added = site.added,
                removed = site.removed,
                "robots.txt changed: {}",
                site.notice
            );
        }
        if !self.config.is_empty() {
            let (keys, at_the_next_start) = (&self.config, &self.restart);
            tracing::info!(?keys, ?at_the_next_start, "the configuration changed");
        }
        for fault in self.errors.iter().filter(|_| !repeated).map(ConfigError::in_one_line) {
            tracing::error!(?trigger, "reload refused, the last good policy is kept: {fault}");
        }
        match self.result {
            ReloadResult::Refused => {}
            ReloadResult::Changed => tracing::info!(?trigger, "a new policy is in force"),
            ReloadResult::Unchanged => {
                tracing::info!(?trigger, "nothing changed: the files are what is in force");
            }
        }
    }
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

impl From<RowsError> for ConfigError {
    fn from(error: RowsError) -> Self {
        Self::whole(&error.path, error.reason())
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
    for (robots, step) in [(new, 1), (old, -1)] {
        for (group, rule) in robots.rules() {
            *balance.entry((group.collect(), rule.kind.as_str(), rule.pattern)).or_default() += step;
        }
    }
    let sum = |sign: i64| balance.values().map(|count| usize::try_from(sign * count).unwrap_or(0)).sum();
    (sum(1), sum(-1))
}

macro_rules! held_back {
    ($($key:literal: $($field:ident).+),+ $(,)?) => {
        /// The keys that wait for the next start.
        #[cfg(test)]
        const AT_START: &[&str] = &[$($key),+, "authorize.listen"];

        /// Takes back in `next` what waits for the next start, so that nothing moves before it, and says which keys that
        /// is. A group of keys is named by each of them.
        pub(super) fn hold_back(started: &Config, next: &mut Config) -> Vec<String> {
            let mut waiting = Vec::new();
            $(if started.$($field).+ != next.$($field).+ {
                waiting.push($key.to_owned());
                next.$($field).+.clone_from(&started.$($field).+);
            })+
            let doors = |config: &Config| config.authorize.as_ref().map(|doors| doors.listen);
            if doors(started) != doors(next) {
                waiting.push("authorize.listen".to_owned());
            }
            waiting
        }
    };
}

held_back! {
    "listen": listen,
    "listeners": listeners,
    "limits.h2_streams": limits.h2_streams,
    "limits.h2_resets": limits.h2_resets,
    "admin": admin,
    "admin_token": admin_token,
    "control": control,
    "fleet": fleet,
    "state_dir": state_dir,
    "journal": journal,
    "journal_max_size": journal_max_size,
    "journal_keep": journal_keep,
    "journal_rate": journal_rate,
    "access_log": access_log,
    "access_log_format": access_log_format,
    "retention": retention,
    "store_max_size": store_max_size,
    "threads": threads,
    "log.format": log.format,
    "log.level": log.level,
}

#[cfg(test)]
mod tests {
    mod reference;

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

    fn keys_needing_restart(started: &Config, next: &Config) -> Vec<String> {
        let mut held = next.clone();
        let keys = hold_back(started, &mut held);
        assert_eq!(
            hold_back(started, &mut held).is_empty(),
            !keys.contains(&"authorize.listen".to_owned()),
            "what waits is as it was"
        );
        keys
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
            ("journal_rate", "journal_rate = \"5/s\""),
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
        assert_eq!(keys_needing_restart(&started, &config("threads = 3\nnotice = \"1h\"")), ["threads"]);
        let mut next = config("notice = \"2h\"\n[fleet]\ndatabase = \"postgresql:///x\"");
        next.state_dir = "/elsewhere".into();
        hold_back(&started, &mut next);
        assert_eq!((&*next.state_dir, &next.fleet), (std::path::Path::new("/nowhere"), &None));
        assert_eq!(next.notice.as_secs(), 7_200);
    }
}
