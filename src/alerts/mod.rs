//! What needs a look, sent to the operator's webhook: one JSON object for each.
//!
//! A thread of its own looks at the status and the store every `alerts.every`, as `gatewayctl status` and `report` do. It
//! sends what it did not find the last time. No request waits for it, and no other thread waits for the receiver.

mod delivery;
mod look;

pub use delivery::send_test;

use crate::control::StatusReport;
use crate::policy::Reloader;
use crate::record::{AlertTotals, Journal, replace_file};
use delivery::Delivery;
use look::Alert;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often the thread has a turn.
const TURN: Duration = Duration::from_secs(1);

/// What is remembered of what was told, in the state folder, so that a start tells nothing twice.
const FILE: &str = "alerts.json";

/// The most conditions that are remembered. Clients can invent names of crawlers without end.
const MOST: usize = 5_000;

/// What is looked at.
pub struct WatchedGateway {
    /// The policy in force.
    pub reloader: Arc<Reloader>,
    /// The journal.
    pub journal: Arc<Journal>,
    /// The file of the store.
    pub store: PathBuf,
    /// What the gateway says of itself.
    pub status: Box<dyn Fn() -> StatusReport + Send>,
}

/// Starts the thread. Without `[alerts]` in the policy in force it does nothing.
///
/// # Errors
/// When the system gives no thread.
pub fn watch(watched: WatchedGateway, totals: Arc<AlertTotals>) -> io::Result<()> {
    let turns = move || {
        // When it looked last, what was lost by then, and what was told.
        let (mut looked, mut lost, mut memory) = (None::<Instant>, 0, None);
        let mut delivery = Delivery::new(totals);
        loop {
            let policy = watched.reloader.current();
            if let Some((options, webhook)) = policy.config.alerts.as_ref().zip(policy.webhook.as_ref()) {
                if looked.is_none_or(|looked| looked.elapsed() >= options.every) {
                    looked = Some(Instant::now());
                    let (now, found) = (SystemTime::now(), look::look(&watched, &policy, &mut lost));
                    let memory = memory.get_or_insert_with(|| AlertMemory::open(&policy.config.state_dir));
                    let gateway = policy.config.fleet.as_ref().map(|fleet| &*fleet.name);
                    let news = memory.news(found, now).into_iter();
                    news.for_each(|alert| delivery.add(alert.told(now, gateway)));
                }
                delivery.send(webhook, options.ca.as_deref());
            }
            std::thread::sleep(TURN);
        }
    };
    std::thread::Builder::new().name("alerts".to_owned()).spawn(turns).map(drop)
}

/// What was found, and told.
#[derive(Debug)]
struct AlertMemory {
    path: PathBuf,
    /// Until when what was told is not told again, in Unix time: it may be gone for a while and still be the same.
    quiet_until: BTreeMap<String, u64>,
    /// What the last look found.
    before: BTreeSet<String>,
}

impl AlertMemory {
    /// What an earlier process knew; a file that cannot be read is as none.
    fn open(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let text = std::fs::read(&path).unwrap_or_default();
        let quiet_until = serde_json::from_slice(&text).unwrap_or_default();
        Self { path, quiet_until, before: BTreeSet::new() }
    }

    /// What is to be told of what a look `found`. What was told before is only remembered for longer.
    fn news(&mut self, mut found: Vec<Alert>, now: SystemTime) -> Vec<Alert> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let before = std::mem::replace(&mut self.before, found.iter().map(Alert::key).collect());
        self.quiet_until.retain(|_, until| *until >= now);
        found.retain(|alert| {
            let (key, until) = (alert.key(), now + alert.kind.quiet().as_secs());
            let is_told = self.quiet_until.contains_key(&key);
            let has_room = is_told || self.quiet_until.len() < MOST;
            let is_certain = is_told || !alert.kind.needs_two_looks() || before.contains(&key);
            if has_room && is_certain {
                self.quiet_until.insert(key, until);
            }
            has_room && is_certain && !is_told
        });
        if !found.is_empty() {
            let text = serde_json::to_vec(&self.quiet_until).map_err(io::Error::other);
            if let Err(error) = text.and_then(|text| replace_file(&self.path, &text)) {
                let file = self.path.display();
                tracing::warn!(%file, "cannot save which alerts were sent, so they may be sent again after a restart: {error}");
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::look::AlertKind;
    use super::*;
    use serde_json::Value;

    fn condition(kind: AlertKind, crawler: &str) -> Alert {
        let mut alert = Alert::new(kind, String::new(), Value::Null);
        alert.crawler = Some(crawler.to_owned());
        alert
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
    fn an_origin_has_to_fail_in_two_looks_in_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let fails = [true, false, true, false, true, true, true];
        let told = (0..).zip(fails).map(|(look, fails)| {
            let found = fails.then(|| condition(AlertKind::OriginFailing, ""));
            memory.news(found.into_iter().collect(), at(look * 30)).len()
        });
        assert_eq!(told.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let many = (0..MOST + 10).map(|name| condition(AlertKind::Impersonation, &name.to_string()));
        assert_eq!(memory.news(many.collect(), at(1)).len(), MOST);
    }
}
