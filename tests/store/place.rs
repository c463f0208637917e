//! A place that outlives its gateways: robots.txt, state folder and origin.

use crate::load::SentLedger;
use crate::support::{Builder, Daemon, Folder, Nginx, configured, until};
use robots_gateway::record::{
    Filter, Missing, MissingWhat, STORE_FILE, StoreReader, UNCLEAN_END, Window, instant,
};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) const ROBOTS: &str =
    "User-agent: *\nDisallow: /private/\nDisallow: /secret\nAllow: /private/open\n";

/// What gateways of one test share.
pub(crate) struct StorePlace {
    pub(crate) folder: Folder,
    origin: Nginx,
    state: PathBuf,
    _machine: Machine,
}

/// The machine, shared with other tests or not. A test that measures time has it alone.
static MACHINE: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "what is held is what matters")]
enum Machine {
    Shared(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl StorePlace {
    pub(crate) fn new() -> Self {
        Self::on(Machine::Shared(MACHINE.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A place whose test no other test of this program runs beside.
    pub(crate) fn alone() -> Self {
        Self::on(Machine::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn on(machine: Machine) -> Self {
        let folder = Folder::new();
        folder.write("robots.txt", ROBOTS);
        let state = folder.join("state");
        Self { folder, origin: Nginx::start(), state, _machine: machine }
    }

    /// A place whose state folder is elsewhere.
    pub(crate) fn with_state(self, state: PathBuf) -> Self {
        Self { state, ..self }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.state.join(STORE_FILE)
    }

    /// Starts a gateway here, in enforce mode.
    #[track_caller]
    pub(crate) fn start(&self) -> Daemon {
        self.start_with("")
    }

    /// Starts a gateway with more lines at the top of its configuration.
    #[track_caller]
    pub(crate) fn start_with(&self, lines: &str) -> Daemon {
        self.builder(lines).start()
    }

    /// Starts a gateway whose time of day is wrong; `None` where nothing can make it so.
    #[track_caller]
    pub(crate) fn start_at_time(&self, offset: &str) -> Option<Daemon> {
        let Some(library) = crate::model::library() else {
            println!("skipped: libfaketime is not installed");
            return None;
        };
        let builder = self.builder("").variable("LD_PRELOAD", &library).variable("FAKETIME", offset);
        Some(builder.variable("FAKETIME_DONT_FAKE_MONOTONIC", "1").start())
    }

    fn builder(&self, lines: &str) -> Builder {
        let robots = self.folder.join("robots.txt");
        let config = format!(
            "journal_rate = \"off\"\n{lines}\n[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"{}\"\n",
            robots.display()
        );
        configured(&config)
            .in_mode("enforce")
            .arg("--state-dir")
            .arg(self.state.to_str().expect("UTF-8"))
            .in_front_of(&self.origin)
    }

    pub(crate) fn reader(&self) -> StoreReader {
        StoreReader::open(&self.store()).unwrap_or_else(|error| panic!("the store cannot be read: {error}"))
    }

    /// What the store tells, as a ledger. Its tables must agree with each other.
    #[track_caller]
    pub(crate) fn counted(&self) -> SentLedger {
        let Ok(reader) = StoreReader::open(&self.store()) else { return SentLedger::default() };
        SentLedger::stored(&reader)
    }

    /// Waits until the store tells what the sender knows, and shows the difference when it never does.
    #[track_caller]
    pub(crate) fn settles_at(&self, sent: &SentLedger) {
        let mut last = SentLedger::default();
        let settled = crate::support::wait::within(crate::support::wait::PATIENCE, || {
            last = self.counted();
            (last == *sent).then_some(())
        });
        assert!(settled.is_some(), "counted {}, sent {}: {}", last.sum(), sent.sum(), last.difference(sent));
    }

    /// Times of which the store tells, from a moment on, that counts may be missing.
    pub(crate) fn unclean_ends(&self, from: SystemTime) -> Vec<(SystemTime, SystemTime)> {
        let ends = self.missing_since(from).into_iter().filter(|missing| *missing.reason == *UNCLEAN_END);
        ends.map(|end| (instant(end.from), instant(end.to))).collect()
    }

    /// Why the store, and the files beside it, tell that requests are missing, and how many.
    pub(crate) fn missing(&self) -> Vec<(String, Option<u64>)> {
        let missing = self.missing_since(UNIX_EPOCH).into_iter();
        missing.map(|missing| (missing.reason.into(), missing.count)).collect()
    }

    fn missing_since(&self, from: SystemTime) -> Vec<Missing> {
        let window = Window { from, to: SystemTime::now() + Duration::from_secs(1) };
        let mut missing = self.reader().missing(&window).expect("a readable store");
        missing.retain(|missing| missing.what == MissingWhat::Requests);
        missing
    }

    /// All events in full that the store keeps of a crawler.
    pub(crate) fn events(&self, crawler: &str) -> Vec<Value> {
        let reader = self.reader();
        let Some(window) = reader.span().expect("a readable store") else { return Vec::new() };
        let filter = Filter { crawler: Some(crawler.to_owned()), ..Filter::default() };
        let samples = reader.samples(&window, &filter).expect("a readable store");
        samples.iter().map(|sample| serde_json::from_str(&sample.event).expect("JSON")).collect()
    }
}

/// The part of `gatewayctl status` that tells of the store.
#[track_caller]
pub(crate) fn status(gateway: &Daemon) -> Value {
    gateway.ctl(&["status", "--format", "json"]).exits(0).json()
}

/// Stops a gateway as a service manager does.
#[track_caller]
pub(crate) fn stop(mut gateway: Daemon) {
    gateway.signal("TERM");
    let code = gateway.ends_within(Duration::from_secs(20));
    assert_eq!(code, Some(0), "it said:\n{}", gateway.log.text());
}

/// Waits until the store cannot be written, and for the reason given.
#[track_caller]
pub(crate) fn fails_with(gateway: &Daemon, reason: &str) {
    until(&format!("status tells of `{reason}`"), || {
        let status = status(gateway);
        status["store"]["error"].as_str().is_some_and(|error| error.contains(reason)).then_some(())
    });
}

/// Waits until the store can be written.
#[track_caller]
pub(crate) fn recovers(gateway: &Daemon) {
    until("the store is written again", || status(gateway)["store"]["error"].is_null().then_some(()));
}
