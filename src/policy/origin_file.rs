//! robots.txt files that are taken from origins: what is known of each, kept over restarts, and when to ask again.
//!
//! Fetching is `proxy`'s: it asks for what is due, and hands in what it was answered.

use super::fetched::{FetchAnswer, FetchTime, FetchedCopy, FetchedFrom, Schedule, Teller, Validators};
use super::robots_file::{MOST_BYTES, fitness};
use super::{Policy, Reloader, Site, Trigger};
use crate::config::{Config, SiteConfig};
use crate::decide::NoticeTime;
use crate::record::{digest, timestamp};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, RandomState};
use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

/// Where copies lie, below the state folder.
const FOLDER: &str = "origin-robots";

/// Whether what an origin serves may take the place of a good copy.
fn accept(bytes: &[u8]) -> Result<(), String> {
    match fitness(bytes) {
        // An answer without a byte is whole, where a file without one may be half saved: it allows everything.
        Err(unfit) if !bytes.is_empty() => Err(format!("what the origin serves is not taken: {unfit}")),
        _ => Ok(()),
    }
}

/// When an origin is asked again that said nothing of use: soon where nothing is known, and in any case soon enough
/// that it is not held against it for long once it is well.
fn schedule(copy: &FetchedCopy, every: Duration) -> Schedule {
    let (retry, most) = if copy.is_known() { (60, 600) } else { (2, 30) };
    Schedule { every, retry: Duration::from_secs(retry), most: Duration::from_secs(most) }
}

/// Over how long the first questions of a start are spread, of origins that have a copy.
const SPREAD: Duration = Duration::from_secs(60);

/// How long `refresh` waits for all origins.
const PATIENCE: Duration = Duration::from_secs(20);

/// The field in which the gateway's own question for robots.txt says that it is that, and the answer to it, too.
pub const FETCH_MARKER: &str = "x-robots-gateway-fetch";

/// What stands there in the questions of this process; nobody can guess it.
pub static OWN_FETCH: LazyLock<String> = LazyLock::new(|| {
    let half = || RandomState::new().hash_one(());
    format!("{:016x}{:016x}", half(), half())
});

/// What is known of all origins. What lies on disk of one is read when it is asked for first.
#[derive(Debug, Default)]
pub struct OriginFiles {
    folder: PathBuf,
    state: Mutex<FetchStates>,
    teller: Mutex<Teller>,
    heard: Condvar,
    /// Whether some origin has another file than the one that was last put in force.
    pub has_news: AtomicBool,
}

/// By the names of sites.
type FetchStates = HashMap<String, FetchState>;

/// What is known of one, and when it is asked again.
#[derive(Debug, Default)]
struct FetchState {
    copy: FetchedCopy,
    /// `None` where somebody waits for the answer to a question that is put from now on.
    due: Option<Instant>,
    is_under_way: bool,
    /// How many answers there were.
    answers: u64,
    failures: u64,
}

/// What is told of one origin's robots.txt; field names are public API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OriginState {
    /// When the origin last said what it has.
    pub fetched: Option<String>,
    /// How many seconds ago.
    pub age_seconds: Option<u64>,
    /// In how many seconds it is asked again.
    pub next_fetch_seconds: Option<u64>,
    /// What is wrong.
    pub error: Option<String>,
    /// How many answers there were since the start, and how many of them were of no use.
    pub fetches: u64,
    /// Answers that were of no use.
    pub failures: u64,
}

impl OriginFiles {
    /// The copies that lie in the state folder of this configuration. Nothing is written there.
    pub fn open(config: &Config) -> Self {
        Self { folder: config.state_dir.join(FOLDER), ..Self::default() }
    }

    /// Where the copy of a site lies.
    fn path(&self, site: &str) -> PathBuf {
        self.folder.join(format!("{}.txt", digest(site.as_bytes())))
    }

    fn state_in<'s>(&self, states: &'s mut FetchStates, site: &SiteConfig) -> &'s mut FetchState {
        states.entry(site.name.clone()).or_insert_with(|| {
            let copy = FetchedCopy::read(&self.path(&site.name), MOST_BYTES).unwrap_or_default();
            let most = if copy.is_known() { SPREAD.min(*site.robots.every) } else { Duration::ZERO };
            let due = Instant::now().checked_add(spread(&site.name, 0, most));
            FetchState { copy, due, ..FetchState::default() }
        })
    }

    /// The file that the origin of a site has, or that it has none; nothing where that is not known.
    pub fn file(&self, site: &SiteConfig) -> Option<Option<Vec<u8>>> {
        let mut states = self.state.lock();
        let copy = &self.state_in(&mut states, site).copy;
        copy.is_known().then(|| copy.bytes.clone())
    }

    /// Whether any origin is being asked.
    pub fn are_asked(&self) -> bool {
        self.state.lock().values().any(|asked| asked.is_under_way)
    }

    /// The sites of a configuration whose origins are to be asked now, with what to ask with. They are taken to be asked from
    /// now on: at `most` so many at once. What is known of other sites is forgotten.
    pub fn take_due(&self, config: &Config, most: usize) -> Vec<(String, Option<Validators>)> {
        let mut states = self.state.lock();
        let sites = config.sites.iter().filter(|site| site.robots.origin().is_some());
        let sites: HashMap<&str, &SiteConfig> = sites.map(|site| (&*site.name, site)).collect();
        states.retain(|site, _| sites.contains_key(&**site));
        for site in sites.values() {
            self.state_in(&mut states, site);
        }
        // Behind what is due at once, of which some has just come to be known.
        let now = Instant::now();
        let room = most.saturating_sub(states.values().filter(|asked| asked.is_under_way).count());
        let is_due = |asked: &FetchState| !asked.is_under_way && asked.due.is_none_or(|due| due <= now);
        let mut due: Vec<(&String, &mut FetchState)> =
            states.iter_mut().filter(|(_, asked)| is_due(asked)).collect();
        // Whoever waits longest comes first, or those that are asked often would leave no turn to others.
        due.sort_unstable_by_key(|(_, asked)| asked.due);
        let take = |(site, asked): (&String, &mut FetchState)| {
            (asked.is_under_way, asked.due) = (true, Some(now));
            (site.clone(), asked.copy.validators().cloned())
        };
        due.into_iter().take(room).map(take).collect()
    }

    /// Takes an answer.
    pub fn record_answer(&self, policy: &Policy, site: &str, answer: FetchAnswer) {
        let known = self.state.lock().get(site).map(|asked| asked.copy.clone());
        let Some((config, mut copy)) = policy.named(site).map(|site| &site.config).zip(known) else { return };
        let has_failed = matches!(answer, FetchAnswer::Failed { .. });
        let now = FetchTime { at: policy.clock.now().0, time: SystemTime::now() };
        let is_new = copy.apply(answer.checked(accept), FetchedFrom::Origin, now);
        site.clone_into(&mut copy.head.source);
        // Nobody who asks for the state waits for the disk.
        let unwritten = copy.write(&self.path(site)).err();
        let unwritten = unwritten.map(|error| format!("it cannot be kept for a restart: {error}"));
        let mut teller = self.teller.lock();
        teller.tell("robots.txt of the origin", site, trouble(&copy));
        teller.tell("the copy of the origin's robots.txt", site, unwritten);
        if let Some(asked) = self.state.lock().get_mut(site) {
            asked.answers += 1;
            asked.failures += u64::from(has_failed);
            let wait = copy.head.wait(schedule(&copy, *config.robots.every));
            // Origins that were asked together are not asked together for ever.
            let wait = wait.saturating_sub(spread(site, asked.answers, wait / 8));
            // Somebody may want a younger answer by now.
            asked.due = asked.due.and_then(|_| Instant::now().checked_add(wait));
            (asked.copy, asked.is_under_way) = (copy, false);
            // Under the lock: whoever sees no question under way sees the news.
            self.has_news.fetch_or(is_new, Ordering::Relaxed);
        }
        self.heard.notify_all();
    }

    /// What is told of a site's.
    pub fn state_of(&self, site: &str, now: NoticeTime) -> Option<OriginState> {
        let states = self.state.lock();
        let asked = states.get(site)?;
        let heard = asked.copy.head.heard;
        Some(OriginState {
            fetched: heard.map(|heard| timestamp(heard.time)),
            age_seconds: heard.map(|heard| now.since(NoticeTime(heard.at)).as_secs()),
            next_fetch_seconds: asked.due.map(|due| due.saturating_duration_since(Instant::now()).as_secs()),
            error: trouble(&asked.copy),
            fetches: asked.answers,
            failures: asked.failures,
        })
    }

    /// Has the origins of these sites asked now, and waits for their answers: which have given none. An answer that is on
    /// its way may be older than the question, and is none.
    fn refresh(&self, sites: &[&Arc<Site>]) -> Vec<bool> {
        let mut states = self.state.lock();
        for site in sites {
            self.state_in(&mut states, &site.config).due = None;
        }
        let is_silent = |states: &FetchStates, site: &Site| {
            states.get(&site.config.name).is_some_and(|asked| asked.due.is_none() || asked.is_under_way)
        };
        let are_any = |states: &mut FetchStates| sites.iter().any(|site| is_silent(states, site));
        self.heard.wait_while_for(&mut states, are_any, PATIENCE);
        sites.iter().map(|site| is_silent(&states, site)).collect()
    }
}

/// What is wrong, in a sentence.
fn trouble(copy: &FetchedCopy) -> Option<String> {
    copy.head.error.as_deref().map(|error| match copy.as_of().filter(|_| copy.bytes.is_some()) {
        Some(as_of) => format!("{error}; the copy of {} is served", timestamp(as_of)),
        None if copy.is_known() => error.to_owned(),
        None => format!("{error}; no robots.txt is known yet, so no request is judged"),
    })
}

/// A part of `span` that follows from the site's name and a number.
fn spread(site: &str, number: u64, span: Duration) -> Duration {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((site, number));
    span * u32::try_from(hash % 1_000).unwrap_or_default() / 1_000
}

/// What came of asking one origin; field names are public API.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FetchReport {
    /// The site.
    pub site: String,
    /// `changed`, `unchanged` or `failed`.
    pub result: Cow<'static, str>,
    /// What is wrong.
    pub error: Option<String>,
    /// The version in force now.
    pub robots_version: Option<String>,
}

impl Reloader {
    /// Puts in force what origins have that is new. Where that has to wait it stays new.
    pub fn take_origin_news(&self) {
        let news = &self.origin_files.has_news;
        if news.swap(false, Ordering::Relaxed) && self.reload(Trigger::Origin, false).is_err() {
            news.store(true, Ordering::Relaxed);
        }
    }

    /// Asks the origins of all sites, or of one, and waits for what comes of it.
    pub fn refresh_origins(&self, site: Option<&Site>) -> Vec<FetchReport> {
        let before = self.current();
        let all = before.sites().iter().filter(|one| one.config.robots.origin().is_some());
        let wanted: Vec<&Arc<Site>> =
            all.filter(|one| site.is_none_or(|site| site.config.name == one.config.name)).collect();
        let are_silent = self.origin_files.refresh(&wanted);
        // Whoever took the answers puts what is new in force; to do so twice changes nothing.
        let _ = self.reload(Trigger::Origin, false);
        let (after, now) = (self.current(), before.clock.now());
        let told = |(site, is_silent): (&Arc<Site>, bool)| {
            let name = site.config.name.clone();
            let version = after.named(&name).and_then(|site| site.version());
            let error = if is_silent {
                Some("the origin has not answered yet".to_owned())
            } else {
                self.origin_files.state_of(&name, now).and_then(|told| told.error)
            };
            let result = match error {
                Some(_) => "failed",
                None if version == site.version() => "unchanged",
                None => "changed",
            };
            let robots_version = version.map(|id| id.to_string());
            FetchReport { site: name, result: result.into(), error, robots_version }
        };
        wanted.into_iter().zip(are_silent).map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_longest_is_asked_first() {
        let now = Instant::now();
        let asked = |second: u64| FetchState {
            due: now.checked_sub(Duration::from_secs(60)).map(|before| before + Duration::from_secs(second)),
            ..FetchState::default()
        };
        let site = |name: String| SiteConfig { name, ..SiteConfig::default() };
        let sites = (0..50).map(|second| second.to_string()).chain(["never".to_owned()]).map(site).collect();
        let config = Config { sites, ..Config::default() };
        let state: FetchStates = (0..50).map(|second| (second.to_string(), asked(second))).collect();
        let files = OriginFiles { state: Mutex::new(state), ..OriginFiles::default() };
        let names =
            |most: usize| files.take_due(&config, most).into_iter().map(|due| due.0).collect::<Vec<_>>();
        assert_eq!((names(3).join(" "), names(3).len()), ("0 1 2".to_owned(), 0));
        files.state.lock().insert("never".to_owned(), FetchState::default());
        assert_eq!(names(5), ["never", "3"], "nobody is asked twice at once");
    }
}
