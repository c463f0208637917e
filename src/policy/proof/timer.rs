//! Fetching published ranges and keys from time to time, where the operator turned that on, and telling of lists
//! and certificates that grow old.

use super::refresh::{Fetched, PublicationClient};
use super::{Evidence, KeyDirectory};
use crate::identify::Card;
use crate::policy::expiry::Reminder;
use crate::policy::{Policy, Reloader};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often to look whether it is time.
const LOOK: Duration = Duration::from_secs(30);

/// How long to wait after the first failure; each further one doubles it. Publishers are never asked more
/// often than hourly.
const FIRST_RETRY: Duration = Duration::from_secs(3_600);

/// Keys are fetched once a day at least: agents change them.
const KEY_LIFE: Duration = Duration::from_secs(86_400);

/// How long to wait before keys are fetched again that could not be; each further failure doubles it, up to a day.
const KEY_RETRY: Duration = Duration::from_secs(300);

/// From which age on the operator is told: a day before a list stops accusing.
const OLD: Duration = Duration::from_secs(6 * 86_400);

/// The same of keys, which are never too old to verify by: a fetch that fails takes none away.
const OLD_KEYS: Duration = Duration::from_secs(7 * 86_400);

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
            reminder.remind(&policy, SystemTime::now());
            timer.check(&policy, Instant::now());
            drop(policy);
            std::thread::sleep(LOOK);
        }
    })?;
    Ok(())
}

/// What was done when, and what was told.
#[derive(Debug, Default)]
struct Timer {
    /// When each URL was asked, and how many times in a row what it has could not be fetched.
    asked: HashMap<Box<str>, (Instant, u32)>,
    told: HashSet<Box<str>>,
}

impl Timer {
    /// Does what is due at `at`.
    fn check(&mut self, policy: &Policy, at: Instant) {
        let now = SystemTime::now();
        if let Some(every) = policy.config.verify.refresh {
            self.look_for_keys(policy, every.min(KEY_LIFE), at);
            self.look_for_cards(policy, every, at);
            let is_due = |(url, age): &(&str, Option<Duration>)| {
                let is_old = age.is_none_or(|age| age >= every);
                is_old && self.may_ask(url, FIRST_RETRY, every, at)
            };
            let due = ages(&policy.evidence, now).filter(is_due);
            let due: HashSet<&str> = due.map(|(url, _)| url).collect();
            if !due.is_empty() {
                self.look_for_lists(policy, &due, at);
                // What was fetched a moment ago is young in a later policy.
                return;
            }
        }
        self.tell_of_old_lists(&policy.evidence, now);
        self.tell_of_old_keys(policy.evidence.directories.all(), now);
    }

    fn may_ask(&self, url: &str, first_retry: Duration, every: Duration, at: Instant) -> bool {
        let asked = self.asked.get(url);
        asked.is_none_or(|(last, failures)| at.duration_since(*last) >= pause(first_retry, every, *failures))
    }

    fn note(&mut self, url: &str, has_failed: bool, at: Instant) {
        let (last, failures) = self.asked.entry(url.into()).or_insert((at, 0));
        *last = at;
        *failures = if has_failed { failures.saturating_add(1) } else { 0 };
    }

    /// Fetches these lists.
    fn look_for_lists(&mut self, policy: &Policy, due: &HashSet<&str>, at: Instant) {
        let publisher = match PublicationClient::new(&policy.config, None) {
            Ok(publisher) => publisher,
            Err(error) => {
                tracing::warn!("address ranges cannot be fetched: {error}");
                return due.iter().for_each(|url| self.note(url, true, at));
            }
        };
        let (mut fetched, mut failed) = (0_usize, 0_usize);
        for refreshed in publisher.refresh(policy.identifier.catalogue(), |url| due.contains(url)) {
            self.note(refreshed.url, refreshed.result.is_err(), at);
            match refreshed.result {
                Ok(_) => fetched += 1,
                Err(error) => {
                    failed += 1;
                    tracing::warn!(url = refreshed.url, "address ranges could not be fetched: {error}");
                }
            }
        }
        tracing::info!(fetched, failed, "published address ranges were fetched");
    }

    /// Fetches the cards of agents that are old.
    fn look_for_cards(&mut self, policy: &Policy, every: Duration, at: Instant) {
        let age = |card: &Card| {
            std::fs::metadata(&card.path).and_then(|found| found.modified()).ok()?.elapsed().ok()
        };
        let is_due = |card: &&Card| {
            age(card).is_none_or(|age| age >= every) && self.may_ask(&card.url, FIRST_RETRY, every, at)
        };
        let due: HashSet<&str> = policy.cards().filter(is_due).map(|card| &*card.url).collect();
        let publisher = (!due.is_empty()).then(|| PublicationClient::new(&policy.config, None));
        // What is wrong with it is told of the lists.
        let Some(Ok(publisher)) = publisher else { return };
        for refreshed in
            publisher.refresh_cards(policy.identifier.catalogue(), |card| due.contains(&*card.url))
        {
            self.note(refreshed.url, refreshed.result.is_err(), at);
            if let Err(error) = refreshed.result {
                tracing::warn!(url = refreshed.url, "the card of an agent could not be fetched: {error}");
            }
        }
    }

    /// Fetches the keys that are old, or that could not be fetched a while ago.
    fn look_for_keys(&mut self, policy: &Policy, every: Duration, at: Instant) {
        let now = SystemTime::now();
        let is_due = |directory: &&KeyDirectory| {
            let may_ask = self.may_ask(directory.agent.key_set(), KEY_RETRY, every, at);
            may_ask && directory.age(now).is_none_or(|age| age >= every)
        };
        let due: Vec<KeyDirectory> =
            policy.evidence.directories.all().into_iter().filter(is_due).cloned().collect();
        if due.is_empty() {
            return;
        }
        let publisher = PublicationClient::new(&policy.config, None);
        for directory in &due {
            let result = match &publisher {
                Ok(publisher) => publisher.refresh_keys(directory),
                Err(error) => Err(error.clone()),
            };
            let url = directory.agent.key_set();
            // What a mirror does not have it will not have in five minutes either.
            self.note(url, matches!(result, Ok(Fetched::Absent) | Err(_)), at);
            match result {
                Ok(_) => drop(self.told.remove(url)),
                Err(error) if directory.error.is_some() || self.told.contains(url) => {
                    tracing::debug!(url, "keys of an agent: {error}");
                }
                Err(error) => {
                    tracing::warn!(url, "keys of an agent could not be fetched: {error}");
                    self.told.insert(url.into());
                }
            }
        }
    }

    /// How many days old what came from `source` is, where that is to be told: once, until it is young again.
    fn days_to_tell(&mut self, source: &str, age: Option<Duration>, old: Duration) -> Option<u64> {
        let age = age.unwrap_or_default();
        if age < old {
            self.told.remove(source);
            return None;
        }
        self.told.insert(source.into()).then_some(age.as_secs() / 86_400)
    }

    fn tell_of_old_lists(&mut self, evidence: &Evidence, now: SystemTime) {
        for (url, age) in ages(evidence, now) {
            if let Some(days) = self.days_to_tell(url, age, OLD) {
                tracing::warn!(
                    url,
                    days,
                    "address ranges are old; after seven days they can no longer show that a name is borrowed: run `gatewayctl crawlers refresh`, or set `[verify] refresh`"
                );
            }
        }
    }

    fn tell_of_old_keys(&mut self, directories: Vec<&KeyDirectory>, now: SystemTime) {
        for directory in directories {
            let agent = directory.agent.as_str();
            if let Some(days) = self.days_to_tell(agent, directory.age(now), OLD_KEYS) {
                tracing::warn!(
                    agent,
                    days,
                    "the keys of an agent are old, and it may have withdrawn one of them since: run `gatewayctl crawlers refresh`, or set `[verify] refresh`"
                );
            }
        }
    }
}

/// How long to wait after the last attempt, if `first` is how long after one failure.
fn pause(first: Duration, every: Duration, failures: u32) -> Duration {
    match failures {
        0 => every,
        _ => first.saturating_mul(1 << (failures - 1).min(16)).min(every),
    }
}

/// The published lists, and how old those are that are there.
fn ages(evidence: &Evidence, now: SystemTime) -> impl Iterator<Item = (&str, Option<Duration>)> {
    let sources = evidence.sources.iter();
    sources.filter_map(move |source| {
        Some((source.url.as_deref()?, source.list.as_ref().map(|list| list.age(now))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use clap::Parser as _;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A mirror on loopback: how often it was asked for lists and for the keys of one agent, and whether it answers well.
    #[derive(Default)]
    struct Mirror {
        lists: AtomicUsize,
        keys: AtomicUsize,
        is_well: AtomicBool,
    }

    impl Mirror {
        fn start() -> (Arc<Self>, String) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let mirror = Arc::new(Self::default());
            let serving = Arc::clone(&mirror);
            std::thread::spawn(move || {
                listener.incoming().flatten().for_each(|stream| serving.answer(stream));
            });
            (mirror, url)
        }

        fn answer(&self, mut stream: TcpStream) {
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let holds = |part: &str| lines.iter().any(|line| line.contains(part));
            let is_key = holds("http-message-signatures-directory");
            let asked = if is_key { &self.keys } else { &self.lists };
            asked.fetch_add(usize::from(!is_key || holds("chatgpt.com_")), Ordering::SeqCst);
            let (status, body) = match (self.is_well.load(Ordering::SeqCst), is_key) {
                (false, _) => ("503 Service Unavailable", String::new()),
                (true, false) => ("200 OK", "192.0.2.0/24\n".to_owned()),
                (true, true) => ("200 OK", format!("{{\"keys\":[{KEY}]}}")),
            };
            let length = body.len();
            // Whoever goes away early counts as having asked.
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            );
        }
    }

    /// The key of RFC 8037 §A.2.
    const KEY: &str =
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}";

    /// A policy that fetches from this mirror once a day.
    fn policy_with(mirror: &str) -> (tempfile::TempDir, Policy) {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("gateway.toml");
        let text = format!(
            "state_dir = {:?}\n[verify]\ndns = false\nrefresh = \"24h\"\nmirror = {mirror:?}\n\
             [[sites]]\norigin = \"http://127.0.0.1:9\"\n",
            folder.path().join("state")
        );
        std::fs::write(&config, text).unwrap();
        let arguments = Arguments::parse_from(["timer", "--config", config.to_str().unwrap()]);
        let policy = crate::policy::trial(Config::load(&arguments).unwrap(), SystemTime::now()).unwrap();
        (folder, policy)
    }

    #[test]
    fn a_mirror_that_fails_is_asked_ever_less_often_and_then_as_often_as_told() {
        let (mirror, url) = Mirror::start();
        let (folder, policy) = policy_with(&url);
        let (mut timer, start) = (Timer::default(), Instant::now());
        let mut asked = Vec::new();
        for half_hours in 0..=80 {
            mirror.is_well.store(half_hours >= 30, Ordering::SeqCst);
            let before = mirror.lists.load(Ordering::SeqCst);
            timer.check(&policy, start + half_hours * FIRST_RETRY / 2);
            if mirror.lists.load(Ordering::SeqCst) > before {
                asked.push(half_hours / 2);
            }
        }
        // At once, then after 1, 2, 4 and 8 hours; the last of these succeeds.
        assert_eq!(asked, [0, 1, 3, 7, 15, 39]);
        assert!(timer.asked.values().all(|(_, failures)| *failures == 0), "{timer:?}");
        let list = folder.path().join("state/ranges/openai.com_gptbot.json");
        assert_eq!(std::fs::read_to_string(list).unwrap(), "192.0.2.0/24\n");
    }

    #[test]
    fn keys_that_cannot_be_fetched_are_asked_for_ever_less_often() {
        let (mirror, url) = Mirror::start();
        let (folder, policy) = policy_with(&url);
        let (mut timer, start, day) = (Timer::default(), Instant::now(), KEY_LIFE);
        let mut asked = Vec::new();
        for times in 0..=(4 * 288) {
            mirror.is_well.store(times >= 1_000, Ordering::SeqCst);
            let before = mirror.keys.load(Ordering::SeqCst);
            timer.look_for_keys(&policy, day, start + KEY_RETRY * times);
            if mirror.keys.load(Ordering::SeqCst) > before {
                asked.push(times);
            }
        }
        // After 5, 10, 20 minutes and so on, up to a day. This policy does not see that they were fetched at last.
        let (failed, fetched) = asked.split_at(11);
        assert_eq!(failed, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 799], "{asked:?}");
        assert_eq!(fetched.first(), Some(&1_087));
        assert!(timer.asked.values().all(|(_, failures)| *failures == 0), "{timer:?}");
        assert!(folder.path().join("state/keys").read_dir().unwrap().count() > 0);
    }

    #[test]
    fn keys_that_grow_old_are_told_of_once_until_they_are_young() {
        let (_folder, policy) = policy_with("http://127.0.0.1:9/");
        let mut directory = policy.evidence.directories.all().into_iter().next().unwrap().clone();
        let (mut timer, fetched) = (Timer::default(), SystemTime::UNIX_EPOCH);
        timer.tell_of_old_keys(vec![&directory], fetched + KEY_LIFE * 9);
        assert!(timer.told.is_empty(), "never fetched");
        directory.fetched = Some(fetched);
        let told = |days: u32, timer: &mut Timer| {
            timer.tell_of_old_keys(vec![&directory], fetched + KEY_LIFE * days);
            timer.told.contains(directory.agent.as_str())
        };
        assert_eq!([6, 7, 8, 1].map(|days| told(days, &mut timer)), [false, true, true, false]);
    }

    #[test]
    fn failures_are_retried_hourly_at_first_and_then_ever_less_often() {
        let day = FIRST_RETRY * 24;
        let hours = |failures| pause(FIRST_RETRY, day, failures).as_secs() / 3_600;
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 100].map(hours), [24, 1, 2, 4, 8, 16, 24, 24]);
        assert_eq!(pause(FIRST_RETRY, FIRST_RETRY, 5), FIRST_RETRY);
    }
}
