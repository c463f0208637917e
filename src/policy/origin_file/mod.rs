//! robots.txt files that are taken from origins: what is known of each, kept over restarts, and when to ask again.
//!
//! Fetching is `proxy`'s: it asks for what is due, and hands in what it was answered.

mod disk;

use super::fetched::{
    FetchAnswer, FetchRules, FetchTime, FetchedCopy, FetchedFile, Schedule, Teller, Validators,
};
use super::robots_file::fitness;
use super::{Policy, Reloader, Site, Trigger};
use crate::config::{Config, RobotsConfig};
use crate::decide::NoticeTime;
use crate::record::timestamp;
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// What is particular about an origin's robots.txt. The gateway serves what it fetched, so it need not shut everybody out
/// where an origin is down (RFC 9309 §2.3.1.4, which has 30 days for an example) as long as it has a good copy.
const RULES: FetchRules<'static> = FetchRules {
    who: "the origin",
    accept: &|bytes, _| match fitness(bytes) {
        // An answer without a byte is whole, where a file without one may be half saved: it allows everything.
        Err(unfit) if !bytes.is_empty() => Err(format!("what the origin serves is not taken: {unfit}")),
        _ => Ok(()),
    },
    // A deployment may take the file away for minutes.
    gone_after: Some(Duration::from_secs(3_600)),
    kept_for: Some(Duration::from_secs(30 * 86_400)),
};

/// When an origin is asked again that said nothing of use: soon where nothing is known, and in any case soon enough
/// that it is not held against it for long once it is well.
fn schedule(copy: &FetchedCopy, from: &RobotsConfig) -> Schedule {
    let (retry, most) = match copy.file {
        FetchedFile::Unknown => (Duration::from_secs(2), Duration::from_secs(30)),
        FetchedFile::Absent | FetchedFile::File(_) => (Duration::from_secs(60), Duration::from_secs(600)),
    };
    Schedule { every: from.every, retry, most }
}

/// Over how long the first questions of a start are spread, of origins that have a copy.
const SPREAD: Duration = Duration::from_secs(60);

/// How long `refresh` waits for all origins.
const PATIENCE: Duration = Duration::from_secs(20);

/// The field in which the gateway's own question for robots.txt says that it is that, and the answer to it, too.
pub const FETCH_MARKER: &str = "x-robots-gateway-fetch";

/// What is known of all origins.
#[derive(Debug)]
pub struct OriginFiles {
    folder: PathBuf,
    pub(super) marker: Arc<str>,
    state: Mutex<HashMap<String, FetchState>>,
    teller: Mutex<Teller>,
    heard: Condvar,
}

/// What is known of one, and when it is asked again.
#[derive(Debug, Default)]
struct FetchState {
    copy: FetchedCopy,
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
    pub fn remembered(config: &Config) -> Self {
        let folder = config.state_dir.join(disk::FOLDER);
        let marker = disk::marker(&folder).unwrap_or_else(disk::new_marker).into();
        let files =
            Self { folder, marker, state: Mutex::default(), teller: Mutex::default(), heard: Condvar::new() };
        files.add_sites(config);
        files
    }

    /// The same for a gateway, which keeps its marker there: two of an upgrade have one.
    pub fn open(config: &Config) -> Self {
        let files = Self::remembered(config);
        // Where it cannot be kept, a successor does not know this gateway's questions for its own.
        let _ = disk::keep_marker(&files.folder, &files.marker);
        files
    }

    /// Has an entry for each site that takes its file from its origin, and for no other.
    pub(super) fn track_sites(&self, config: &Config) {
        let wanted: HashSet<&str> = from_origins(config).map(|(site, _)| site).collect();
        self.state.lock().retain(|site, _| wanted.contains(site.as_str()));
    }

    /// Has an entry for each site of a configuration that may come into force, beside those that are there.
    pub(super) fn add_sites(&self, config: &Config) {
        let mut state = self.state.lock();
        for (site, from) in from_origins(config) {
            if state.contains_key(site) {
                continue;
            }
            let copy = FetchedCopy::read(&disk::path(&self.folder, site), site);
            let wait = match copy.file {
                FetchedFile::Unknown => Duration::ZERO,
                _ => spread(site, 0, SPREAD.min(from.every)),
            };
            let asked = FetchState { copy, due: Instant::now().checked_add(wait), ..FetchState::default() };
            state.insert(site.to_owned(), asked);
        }
    }

    /// What the origin of a site has.
    pub fn file(&self, site: &str) -> FetchedFile {
        self.state.lock().get(site).map(|asked| asked.copy.file.clone()).unwrap_or_default()
    }

    /// The sites whose origins are to be asked now, with what to ask with. They are taken to be asked from now on.
    pub fn take_due(&self, most: usize) -> Vec<(String, Option<Validators>)> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let is_due = |asked: &FetchState| !asked.is_under_way && asked.due.is_none_or(|due| due <= now);
        let mut due: Vec<(&String, &mut FetchState)> =
            state.iter_mut().filter(|(_, asked)| is_due(asked)).collect();
        // Whoever waits longest comes first, or those that are asked often would leave no turn to others.
        due.sort_unstable_by_key(|(_, asked)| asked.due);
        let take = |(site, asked): (&String, &mut FetchState)| {
            asked.is_under_way = true;
            (site.clone(), asked.copy.validators().cloned())
        };
        due.into_iter().take(most).map(take).collect()
    }

    /// Takes an answer; `true` where what the origin has is another than before.
    fn record_answer(&self, site: &str, from: &RobotsConfig, answer: FetchAnswer, now: NoticeTime) -> bool {
        let mut state = self.state.lock();
        let Some(asked) = state.get_mut(site) else { return false };
        let has_failed = matches!(answer, FetchAnswer::Failed { .. });
        let is_new = asked.copy.apply(answer, &RULES, FetchTime::by_notice(now, SystemTime::now()));
        asked.is_under_way = false;
        asked.answers += 1;
        asked.failures += u64::from(has_failed);
        let every = asked.copy.head.wait(schedule(&asked.copy, from));
        // Origins that were asked together are not asked together for ever.
        asked.due = Instant::now().checked_add(every.saturating_sub(spread(site, asked.answers, every / 8)));
        self.teller.lock().tell("robots.txt of the origin", site, trouble(&asked.copy));
        let copy = asked.copy.clone();
        drop(state);
        // Nobody who asks for the state waits for the disk.
        if let Err(error) = copy.write(&disk::path(&self.folder, site)) {
            tracing::error!(
                site,
                "the copy of the origin's robots.txt cannot be kept for a restart: {error}"
            );
        }
        self.heard.notify_all();
        is_new
    }

    /// What is told of a site's.
    pub fn state_of(&self, site: &str, now: NoticeTime) -> Option<OriginState> {
        let state = self.state.lock();
        let asked = state.get(site)?;
        let heard = asked.copy.head.heard();
        let due = asked.due.map(|due| due.saturating_duration_since(Instant::now()).as_secs());
        Some(OriginState {
            fetched: heard.map(|heard| timestamp(heard.time)),
            age_seconds: heard.map(|heard| now.since(NoticeTime(heard.at)).as_secs()),
            next_fetch_seconds: due,
            error: trouble(&asked.copy),
            fetches: asked.answers,
            failures: asked.failures,
        })
    }

    /// Has the origins of these sites asked now, and waits for their answers; the sites that gave none.
    fn refresh(&self, sites: &[&str]) -> HashSet<String> {
        let end = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        let mut waiting: HashMap<String, u64> = HashMap::new();
        for site in sites {
            if let Some(asked) = state.get_mut(*site) {
                asked.due = None;
                // An answer that is on its way may be older than the question.
                waiting.insert((*site).to_owned(), asked.answers + 1 + u64::from(asked.is_under_way));
            }
        }
        loop {
            waiting.retain(|site, answers| {
                let Some(asked) = state.get_mut(site) else { return false };
                if asked.answers < *answers && !asked.is_under_way {
                    asked.due = None;
                }
                asked.answers < *answers
            });
            let left = end.saturating_duration_since(Instant::now());
            if waiting.is_empty() || left.is_zero() {
                return waiting.into_keys().collect();
            }
            self.heard.wait_for(&mut state, left);
        }
    }
}

/// The sites that take their files from their origins, and how these are asked.
fn from_origins(config: &Config) -> impl Iterator<Item = (&str, &RobotsConfig)> {
    config.sites.iter().filter_map(|site| Some((site.name.as_str(), site.robots.origin()?)))
}

/// What is wrong, in a sentence.
fn trouble(copy: &FetchedCopy) -> Option<String> {
    copy.head.error.as_deref().map(|error| match (&copy.file, copy.head.heard()) {
        (FetchedFile::File(_), Some(heard)) => {
            format!("{error}; the copy of {} is served", timestamp(heard.time))
        }
        (FetchedFile::Unknown, _) => format!("{error}; no robots.txt is known yet, so no request is judged"),
        _ => error.to_owned(),
    })
}

/// A part of `span` that follows from the site's name and a number.
fn spread(site: &str, number: u64, span: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    (site, number).hash(&mut hasher);
    let hash = u32::try_from(hasher.finish() >> 32).unwrap_or(u32::MAX);
    span.mul_f64(f64::from(hash) / f64::from(u32::MAX))
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
    /// Takes what origins answered, and puts what is new in force.
    ///
    /// `is_behind` says that something was not put in force yet; `false` that something still is not.
    pub fn take_origin_answers(
        &self,
        policy: &Policy,
        answers: Vec<(String, FetchAnswer)>,
        is_behind: bool,
    ) -> bool {
        let mut is_new = is_behind;
        for (site, answer) in answers {
            let config = policy.config.sites.iter().find(|config| config.name == site);
            let from = config.and_then(|config| config.robots.origin()).cloned().unwrap_or_default();
            is_new |= self.origin_files.record_answer(&site, &from, answer, policy.clock.now());
        }
        !is_new || self.reload(Trigger::Origin, false).is_ok()
    }

    /// Asks the origins of all sites, or of one, and waits for what comes of it.
    pub fn refresh_origins(&self, site: Option<&Site>) -> Vec<FetchReport> {
        let before = self.current();
        let all = before.sites().iter().filter(|one| one.config.robots.origin().is_some());
        let wanted: Vec<&Arc<Site>> =
            all.filter(|one| site.is_none_or(|site| site.config.name == one.config.name)).collect();
        let names: Vec<&str> = wanted.iter().map(|site| site.config.name.as_str()).collect();
        let silent = self.origin_files.refresh(&names);
        // Whoever took the answers puts what is new in force; to do so twice changes nothing.
        let _ = self.reload(Trigger::Origin, false);
        let (after, now) = (self.current(), before.clock.now());
        let told = |site: &&Arc<Site>| {
            let name = site.config.name.clone();
            let version = after.named(&name).and_then(|site| site.version());
            let error = self.origin_files.state_of(&name, now).and_then(|told| told.error);
            let error = if silent.contains(&name) {
                Some("the origin has not answered yet".to_owned())
            } else {
                error
            };
            let result = match (&error, version == site.version()) {
                (Some(_), _) => "failed".into(),
                (None, true) => "unchanged".into(),
                (None, false) => "changed".into(),
            };
            FetchReport { site: name, result, error, robots_version: version.map(|id| id.to_string()) }
        };
        wanted.iter().map(told).collect()
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
        let state: HashMap<String, FetchState> =
            (0..50).map(|second| (second.to_string(), asked(second))).collect();
        let files = OriginFiles {
            folder: PathBuf::new(),
            marker: "".into(),
            state: Mutex::new(state),
            teller: Mutex::default(),
            heard: Condvar::new(),
        };
        let names = |most: usize| files.take_due(most).into_iter().map(|due| due.0).collect::<Vec<_>>();
        assert_eq!(names(3), ["0", "1", "2"]);
        files.state.lock().insert("never".to_owned(), FetchState::default());
        assert_eq!(names(2), ["never", "3"], "nobody is asked twice at once");
    }
}
