//! What was told already. It is kept in the state folder, so that a start tells nothing twice.

use super::condition::Condition;
use crate::record::replace_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Its file in the state folder.
const FILE: &str = "alerts.json";

/// The most conditions that are remembered. Clients can invent names of crawlers without end.
const MOST: usize = 5_000;

#[derive(Debug)]
pub(super) struct AlertMemory {
    path: PathBuf,
    held: BTreeMap<String, Held>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Held {
    /// In how many looks in a row it was seen.
    looks: u32,
    /// When it was seen last, in Unix time.
    last: u64,
    /// For how many seconds it may be gone and still be the same.
    quiet: u64,
}

impl AlertMemory {
    /// What an earlier process knew; a file that cannot be read is as none.
    pub(super) fn open(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let text = std::fs::read(&path).unwrap_or_default();
        Self { held: serde_json::from_slice(&text).unwrap_or_default(), path }
    }

    /// Those of `conditions` that are new.
    pub(super) fn news(&mut self, conditions: Vec<Condition>, now: SystemTime) -> Vec<Condition> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        // A wall clock that was set back forgets nothing early.
        self.held.retain(|_, held| now.saturating_sub(held.last) <= held.quiet);
        let mut news = Vec::new();
        for condition in conditions {
            let (key, needed) = (condition.key(), condition.kind.looks());
            if !self.held.contains_key(&key) && self.held.len() >= MOST {
                continue;
            }
            let quiet = condition.kind.quiet().as_secs();
            let held = self.held.entry(key).or_insert(Held { looks: 0, last: now, quiet });
            held.looks = held.looks.saturating_add(1);
            held.last = now;
            if held.looks == needed {
                news.push(condition);
            }
        }
        if !news.is_empty() {
            self.keep();
        }
        news
    }

    fn keep(&self) {
        let text = serde_json::to_vec(&self.held).map_err(std::io::Error::other);
        if let Err(error) = text.and_then(|text| replace_file(&self.path, &text)) {
            let file = self.path.display();
            tracing::warn!(%file, "what was alerted cannot be kept, and may be told again after a start: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::condition::AlertKind;
    use super::*;
    use serde_json::Value;

    fn condition(kind: AlertKind, crawler: &str) -> Condition {
        Condition {
            kind,
            site: None,
            crawler: Some(crawler.to_owned()),
            subject: String::new(),
            text: String::new(),
            details: Value::Null,
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn what_holds_is_told_once_and_again_after_it_was_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let ignores = || vec![condition(AlertKind::IgnoresRules, "GPTBot")];
        assert_eq!(memory.news(ignores(), at(1_000)).len(), 1);
        assert_eq!(memory.news(ignores(), at(1_030)).len(), 0);
        // Another process, and hours without a request.
        let mut memory = AlertMemory::open(folder.path());
        assert_eq!(memory.news(ignores(), at(80_000)).len(), 0);
        assert_eq!(memory.news(Vec::new(), at(80_030)).len(), 0);
        assert_eq!(memory.news(ignores(), at(80_000 + 86_401)).len(), 1);
        let both = [ignores(), vec![condition(AlertKind::IgnoresRules, "CCBot")]].concat();
        assert_eq!(memory.news(both, at(80_000 + 86_402)).len(), 1);
    }

    #[test]
    fn an_origin_has_to_fail_in_two_looks() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let told: Vec<usize> = (0..4)
            .map(|look| memory.news(vec![condition(AlertKind::OriginFailing, "")], at(look * 30)).len())
            .collect();
        assert_eq!(told, [0, 1, 0, 0]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let many = (0..MOST + 10).map(|name| condition(AlertKind::Impersonation, &name.to_string()));
        assert_eq!(memory.news(many.collect(), at(1)).len(), MOST);
    }
}
