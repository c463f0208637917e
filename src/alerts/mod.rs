//! What needs a look, sent to the operator's webhook: one JSON object for each.
//!
//! A thread of its own looks at the status and the store every `alerts.every`, as `gatewayctl status` and `report` do. It
//! sends what it did not find the last time. No request waits for it, and no other thread waits for the receiver.

mod look;

use crate::control::StatusReport;
use crate::policy::{Reloader, Webhook, root_certs};
use crate::record::{Journal, hexadecimal, replace_file};
use look::{Alert, AlertKind};
use ring::hmac;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};
use ureq::tls::TlsConfig;

/// How many alerts wait, and how many a receiver gets in an hour, at most: names of crawlers are made by clients.
const MOST: usize = 60;
const HOUR: Duration = Duration::from_secs(3_600);

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The field that an alert is signed in.
const SIGNATURE: &str = "X-Robots-Gateway-Signature";

/// How often the thread has a turn.
const TURN: Duration = Duration::from_secs(1);

/// What is remembered of what was told, in the state folder, so that a start tells nothing twice.
const FILE: &str = "alerts.json";

/// How long what was told has to be gone before it is told again, in seconds. Crawlers come and go.
const QUIET: u64 = 600;
const QUIET_OF_CRAWLER: u64 = 86_400;

/// What became of alerts since the start of the process.
#[derive(Debug, Default)]
pub struct AlertTotals {
    /// Those that the receiver has taken.
    pub sent: AtomicU64,
    /// Attempts that it did not take.
    pub failed: AtomicU64,
    /// Those that wait now.
    pub waiting: AtomicU64,
}

/// Starts the thread. Without `[alerts]` in the policy in force it does nothing.
///
/// # Errors
/// When the system gives no thread.
pub fn watch(
    reloader: Arc<Reloader>,
    journal: Arc<Journal>,
    status: impl Fn() -> StatusReport + Send + 'static,
    totals: Arc<AlertTotals>,
) -> io::Result<()> {
    let turns = move || {
        // When it looked last, what was lost by then, and what was told.
        let (mut looked, mut lost, mut memory) = (None::<Instant>, 0, None);
        let mut delivery = Delivery { waiting: VecDeque::new(), taken: Vec::new(), fails: false, totals };
        loop {
            let policy = reloader.current();
            let is_due = |every| looked.is_none_or(|looked| looked.elapsed() >= every);
            let options = policy.config.alerts.as_ref().filter(|options| is_due(*options.every));
            if let Some((options, webhook)) = options.zip(policy.webhook.as_ref()) {
                looked = Some(Instant::now());
                // Lines beyond `journal_rate` were left out as they should be.
                let found = look::look(&status(), journal.status().beyond_rate, &policy, &mut lost);
                let memory = memory.get_or_insert_with(|| AlertMemory::open(&policy.config.state_dir));
                let gateway = policy.config.fleet.as_ref().map(|fleet| &*fleet.name);
                let (now, room) = (SystemTime::now(), MOST - delivery.waiting.len());
                let news = memory.news(found, room, now).into_iter();
                delivery.waiting.extend(news.map(|alert| alert.told(now, gateway)));
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
    /// Until when what was told is not told again, in Unix time: it may be gone for a while and still be the same. As many
    /// as a receiver gets in the time that they are remembered for.
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

    /// What is to be told of what a look `found`, `room` of it at most: the next look finds the rest again. What was told
    /// before is only remembered for longer.
    fn news(&mut self, mut found: Vec<Alert>, mut room: usize, now: SystemTime) -> Vec<Alert> {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let before =
            std::mem::replace(&mut self.before, found.iter().map(|alert| alert.key.clone()).collect());
        self.quiet_until.retain(|_, until| *until >= now);
        found.retain(|alert| {
            // One request, or one look at a busy disk, may fail by chance.
            let needs_two = matches!(alert.kind, AlertKind::OriginFailing | AlertKind::ReportFailing);
            let is_told = self.quiet_until.contains_key(&alert.key);
            let is_news = !is_told && room > 0 && (!needs_two || before.contains(&alert.key));
            if is_told || is_news {
                let quiet = if alert.crawler.is_some() { QUIET_OF_CRAWLER } else { QUIET };
                self.quiet_until.insert(alert.key.clone(), now + quiet);
            }
            room -= usize::from(is_news);
            is_news
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

/// What is on its way to the receiver.
struct Delivery {
    /// What the receiver has not taken yet.
    waiting: VecDeque<Alert>,
    /// When it took those of the last hour.
    taken: Vec<Instant>,
    /// Whether it did not take the last one.
    fails: bool,
    totals: Arc<AlertTotals>,
}

impl Delivery {
    /// Sends what waits, until the receiver does not take one or has had enough for the hour.
    fn send(&mut self, webhook: &Webhook, ca: Option<&Path>) {
        self.taken.retain(|taken| taken.elapsed() < HOUR);
        while let Some(alert) = self.waiting.front().filter(|_| self.taken.len() < MOST) {
            let result = take(webhook, ca, alert);
            let was_failing = std::mem::replace(&mut self.fails, result.is_err());
            if let Err(why) = result {
                self.totals.failed.fetch_add(1, Ordering::Relaxed);
                if !was_failing {
                    tracing::warn!("alerts cannot be sent, and wait until they can: {why}");
                }
                break;
            }
            if was_failing {
                tracing::info!("alerts are sent again");
            }
            self.totals.sent.fetch_add(1, Ordering::Relaxed);
            self.taken.push(Instant::now());
            self.waiting.pop_front();
        }
        self.totals.waiting.store(self.waiting.len() as u64, Ordering::Relaxed);
    }
}

/// Sends one alert, at once and once, that says that alerts arrive.
///
/// # Errors
/// Why the receiver did not take it.
pub fn send_test(webhook: &Webhook, ca: Option<&Path>, gateway: Option<&str>) -> Result<(), String> {
    let text = "This is a test: alerts of this gateway arrive here.".to_owned();
    take(webhook, ca, &Alert::new(AlertKind::Test, "", text, Value::Null).told(SystemTime::now(), gateway))
}

/// Has the receiver take an alert.
fn take(webhook: &Webhook, ca: Option<&Path>, alert: &Alert) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .tls_config(TlsConfig::builder().root_certs(root_certs(ca)?).build())
        .http_status_as_error(false)
        .user_agent(concat!("robots-gateway/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let body = serde_json::to_vec(alert).map_err(|error| error.to_string())?;
    let mut request = agent.post(&*webhook.url).header("Content-Type", "application/json");
    if let Some(secret) = &webhook.secret {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), &body);
        request = request.header(SIGNATURE, format!("sha256={}", hexadecimal(tag.as_ref())));
    }
    let status = request.send(&body[..]).map_err(|error| why(&error))?.status().as_u16();
    match status {
        200..300 => Ok(()),
        300..400 => Err(format!("the receiver redirects (status {status}), which is not followed")),
        _ => Err(format!("the receiver answered with status {status}")),
    }
}

/// Why it did not arrive, without a word of the URL.
fn why(error: &ureq::Error) -> String {
    match error {
        // What rustls says may name the host.
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            "its certificate is refused, or it speaks no TLS".to_owned()
        }
        ureq::Error::Io(error) => error.kind().to_string(),
        ureq::Error::Timeout(_) => format!("no answer within {PATIENCE:?}"),
        _ => "the receiver could not be asked".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(kind: AlertKind, crawler: Option<&str>) -> Alert {
        let mut alert = Alert::new(kind, crawler.unwrap_or_default(), String::new(), Value::Null);
        alert.crawler = crawler.map(str::to_owned);
        alert
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn what_holds_is_told_once_and_again_after_it_was_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let ignores = || vec![condition(AlertKind::IgnoresRules, Some("GPTBot"))];
        assert_eq!(memory.news(ignores(), MOST, at(1_000)).len(), 1);
        assert_eq!(memory.news(ignores(), MOST, at(1_030)).len(), 0);
        // Another process, and hours without a request.
        let mut memory = AlertMemory::open(folder.path());
        assert_eq!(memory.news(ignores(), MOST, at(80_000)).len(), 0);
        assert_eq!(memory.news(Vec::new(), MOST, at(80_030)).len(), 0);
        assert_eq!(memory.news(ignores(), MOST, at(80_000 + 86_401)).len(), 1);
        let both = [ignores(), vec![condition(AlertKind::IgnoresRules, Some("CCBot"))]].concat();
        assert_eq!(memory.news(both, MOST, at(80_000 + 86_402)).len(), 1);
    }

    #[test]
    fn an_origin_has_to_fail_in_two_looks_in_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let fails = [true, false, true, false, true, true, true];
        let told = (0..).zip(fails).map(|(look, fails)| {
            let found = fails.then(|| condition(AlertKind::OriginFailing, None));
            memory.news(found.into_iter().collect(), MOST, at(look * 30)).len()
        });
        assert_eq!(told.collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn what_finds_no_room_is_told_by_the_next_look() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = AlertMemory::open(folder.path());
        let many = || {
            let names = (0..MOST + 10).map(|name| name.to_string());
            names.map(|name| condition(AlertKind::Impersonation, Some(&name))).collect::<Vec<_>>()
        };
        assert_eq!(memory.news(many(), MOST, at(1)).len(), MOST);
        assert_eq!(memory.news(many(), 0, at(31)).len(), 0);
        assert_eq!(memory.news(many(), MOST, at(61)).len(), 10);
        assert_eq!(memory.quiet_until.len(), MOST + 10);
    }
}
