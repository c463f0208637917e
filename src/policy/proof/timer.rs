//! Fetching published ranges from time to time, where the operator turned that on, and telling of lists
//! and certificates that grow old.

use super::Evidence;
use super::refresh::Publisher;
use crate::policy::expiry::Reminder;
use crate::policy::{Policy, Reloader};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often to look whether it is time.
const LOOK: Duration = Duration::from_secs(30);

/// How long to wait after the first failure; each further one doubles it. Publishers are never asked more
/// often than hourly.
const FIRST_RETRY: Duration = Duration::from_secs(3_600);

/// From which age on the operator is told: a day before a list stops accusing.
const OLD: Duration = Duration::from_secs(6 * 86_400);

/// Fetches the lists of the catalogue that are older than `[verify] refresh` says, and warns of old ones
/// and of certificates that run out, on a thread that ends with the reloader. Whoever watches the files puts them in force.
///
/// # Errors
/// When there is no thread to be had.
pub fn refresh_regularly(reloader: &Arc<Reloader>) -> io::Result<()> {
    let reloader = Arc::downgrade(reloader);
    std::thread::Builder::new().name("ranges".to_owned()).spawn(move || {
        let (mut timer, mut reminder) = (Timer::default(), Reminder::default());
        while let Some(reloader) = reloader.upgrade() {
            let policy = reloader.current();
            drop(reloader);
            reminder.look(&policy, SystemTime::now());
            timer.look(&policy);
            drop(policy);
            std::thread::sleep(LOOK);
        }
    })?;
    Ok(())
}

/// What was done when, and what was told.
#[derive(Debug, Default)]
struct Timer {
    last: Option<Instant>,
    /// How many times in a row some list could not be fetched.
    failures: u32,
    told: HashSet<Box<str>>,
}

impl Timer {
    fn look(&mut self, policy: &Policy) {
        let now = SystemTime::now();
        if let Some(every) = policy.config.verify.refresh {
            let due = due(&policy.evidence, every, now);
            if !due.is_empty() && self.last.is_none_or(|last| last.elapsed() >= pause(every, self.failures)) {
                self.last = Some(Instant::now());
                let failed = refresh(policy, &due);
                self.failures = if failed { self.failures.saturating_add(1) } else { 0 };
                // What was fetched a moment ago is young in a later policy.
                return;
            }
        }
        self.tell_of_old_lists(&policy.evidence, now);
    }

    /// Tells of each list once, until it is young again.
    fn tell_of_old_lists(&mut self, evidence: &Evidence, now: SystemTime) {
        for (url, age) in ages(evidence, now) {
            if age < OLD {
                self.told.remove(url);
            } else if self.told.insert(url.into()) {
                let days = age.as_secs() / 86_400;
                tracing::warn!(
                    url,
                    days,
                    "address ranges are old, and from seven days on accuse nobody: run `gatewayctl crawlers refresh`, or set `[verify] refresh`"
                );
            }
        }
    }
}

/// How long to wait after the last attempt.
fn pause(every: Duration, failures: u32) -> Duration {
    match failures {
        0 => every,
        _ => FIRST_RETRY.saturating_mul(1 << (failures - 1).min(16)).min(every),
    }
}

/// The published lists that are there, and how old they are.
fn ages(evidence: &Evidence, now: SystemTime) -> impl Iterator<Item = (&str, Duration)> {
    evidence
        .sources()
        .iter()
        .filter_map(move |source| Some((source.url.as_deref()?, source.list.as_ref()?.age(now))))
}

/// The URLs of the lists that are not there, or too old.
fn due(evidence: &Evidence, every: Duration, now: SystemTime) -> HashSet<&str> {
    let published =
        evidence.sources().iter().filter_map(|source| Some((source.url.as_deref()?, &source.list)));
    published
        .filter(|(_, list)| list.as_ref().is_none_or(|list| list.age(now) >= every))
        .map(|(url, _)| url)
        .collect()
}

/// Whether any of the lists could not be fetched.
fn refresh(policy: &Policy, due: &HashSet<&str>) -> bool {
    let publisher = match Publisher::new(&policy.config, None) {
        Ok(publisher) => publisher,
        Err(error) => {
            tracing::warn!("address ranges cannot be fetched: {error}");
            return true;
        }
    };
    let (mut fetched, mut failed) = (0_usize, 0_usize);
    for refreshed in publisher.refresh(policy.identifier.catalogue(), |url| due.contains(url)) {
        match refreshed.result {
            Ok(_) => fetched += 1,
            Err(error) => {
                failed += 1;
                tracing::warn!(url = refreshed.url, "address ranges could not be fetched: {error}");
            }
        }
    }
    tracing::info!(fetched, failed, "published address ranges were fetched");
    failed > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_retried_hourly_at_first_and_then_ever_less_often() {
        let day = FIRST_RETRY * 24;
        let hours = |failures| pause(day, failures).as_secs() / 3_600;
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 100].map(hours), [24, 1, 2, 4, 8, 16, 24, 24]);
        assert_eq!(pause(FIRST_RETRY, 5), FIRST_RETRY);
    }
}
