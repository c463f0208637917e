//! Fair notice as a whole, driven at random against a model of its own (RFC 9309 §2.4).
//!
//! The model writes down what each host was given, and when, by its own clock. A crawler may still hold every version
//! that was served within `notice`, unless it has read the file since. Whoever is accused although a version that it
//! certainly could hold allows the page was accused unfairly, whatever was lost. Whoever is refused although the gateway
//! knows such a version was refused unfairly. Whoever is let pass although every version that it possibly could hold
//! disallows the page was treated leniently: that must have a reason. An older gateway may go on beside a newer one for a
//! while, and rows may be lost while they run.
//!
//! `make soak` takes 100,000 steps; the suite takes a few thousand.

mod truth;

use crate::dice::Dice;
use crate::place::stop;
use crate::support::folder::rename_over;
use crate::support::{Client, ClientResponse, Daemon, Folder, Nginx, Request, get, head};
use robots_gateway::record::{ROWS_FOLDER, STORE_FILE};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
pub(crate) use truth::library;
use truth::*;

const NOTICE: Duration = Duration::from_millis(1_500);
const SETTLE: Duration = Duration::from_millis(50);

/// As many steps as a run of the suite takes.
const STEPS: u64 = 3_000;

/// A gateway, and the folder of the files that it reads.
struct RunningGateway {
    daemon: Daemon,
    client: Client,
    folder: PathBuf,
    given: Given,
}

/// The gateways, the files they read, and what happened.
struct Course {
    dice: Dice,
    folder: Folder,
    origin: Nginx,
    gateway: Option<RunningGateway>,
    /// One that is to be replaced, and goes on with what it had.
    older: Option<RunningGateway>,
    started: u64,
    layout: Layout,
    rules: [PageSet; FILES],
    comments: [u64; FILES],
    truth: Truth,
    kept: BTreeMap<(&'static str, usize), KeptVersion>,
    counts: BTreeMap<&'static str, u64>,
    /// The requests that were answered, by target, and whether a version that the crawler certainly could hold allowed it.
    asked: BTreeMap<String, bool>,
}

impl Course {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let (folder, origin) = (Folder::new(), Nginx::start());
        let layout = Layout::roll(&mut dice);
        let rules = [(); FILES].map(|()| dice.below(1 << PAGES));
        std::fs::write(folder.join("clock"), "+0").expect("a clock");
        Self {
            dice,
            folder,
            origin,
            gateway: None,
            older: None,
            started: 0,
            layout,
            rules,
            comments: [0; FILES],
            truth: Truth::default(),
            kept: BTreeMap::new(),
            counts: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn given(&self) -> Given {
        let rules = |host| self.rules.get(self.layout.file(host)).copied().unwrap_or_default();
        HOSTS.into_iter().map(|host| (host, rules(host))).collect()
    }

    fn newest(&mut self) -> &mut RunningGateway {
        self.gateway.as_mut().expect("it runs")
    }

    /// Starts a gateway with files of its own.
    fn start(&mut self) {
        self.started += 1;
        let folder = self.folder.join(&format!("gateway-{}", self.started));
        std::fs::create_dir(&folder).expect("a folder");
        for (file, rules) in self.rules.iter().enumerate() {
            let text = robots(*rules, self.comments[file]);
            std::fs::write(folder.join(format!("robots-{file}.txt")), text).expect("a robots.txt");
        }
        std::fs::write(folder.join("gateway.toml"), self.layout.config(&self.origin.url()))
            .expect("a configuration");
        let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
        let mut builder = Daemon::without_robots()
            .with_notice(&format!("{}ms", NOTICE.as_millis()))
            .arg("--config")
            .arg(&text(folder.join("gateway.toml")))
            .arg("--state-dir")
            .arg(&text(self.state()))
            .arg("--control")
            .arg(&text(folder.join("control.sock")))
            .arg("--listen")
            .arg("127.0.0.1:0");
        if let Some(library) = library() {
            builder = builder
                .variable("LD_PRELOAD", &library)
                .variable("FAKETIME_TIMESTAMP_FILE", &text(self.folder.join("clock")))
                .variable("FAKETIME_NO_CACHE", "1")
                .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let daemon = builder.start();
        self.gateway = Some(RunningGateway { client: daemon.client(), daemon, folder, given: self.given() });
    }

    /// Ends a gateway.
    fn end(&mut self, gateway: RunningGateway) -> Given {
        let by_force = self.dice.below(2) == 0;
        self.count(if by_force { "kill -9" } else { "clean ends" });
        let RunningGateway { daemon, client, folder, given } = gateway;
        drop(client);
        if by_force {
            drop(daemon);
        } else {
            stop(daemon);
        }
        let _ = std::fs::remove_dir_all(folder);
        self.truth.shaken = Some(Instant::now());
        given
    }

    /// Ends the newest gateway, and starts it again.
    fn restart(&mut self) {
        let last = Instant::now();
        let gateway = self.gateway.take().expect("it runs");
        let given = self.end(gateway);
        match self.dice.below(6) {
            0 => {
                // A file changed, and perhaps the layout, while nobody was there.
                let file = index(&mut self.dice, FILES);
                self.write(file);
                self.layout = Layout::roll(&mut self.dice);
            }
            1 if self.older.is_none() => {
                self.count("stores lost");
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(self.state().join(format!("{STORE_FILE}{end}")));
                }
            }
            2 => self.lose_rows(),
            _ => {}
        }
        self.start();
        self.truth.shaken = Some(Instant::now());
        let next = self.given();
        self.truth.change(&given, &next, last, last);
    }

    /// Rows are removed, or are not what they were any more; gateways may run.
    fn lose_rows(&mut self) {
        self.count("rows lost");
        let folder = self.state().join(ROWS_FOLDER);
        let how = self.dice.below(4);
        if how == 0 {
            let _ = std::fs::remove_dir_all(&folder);
        }
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            // It may be replaced at this moment.
            let _ = match how {
                1 => std::fs::remove_file(path),
                2 => std::fs::write(path, ""),
                _ => std::fs::write(path, "no rows\n".repeat(1_000)),
            };
        }
        self.truth.shaken = Some(Instant::now());
        self.truth.lost = Some(Instant::now());
    }

    /// Starts a newer gateway beside the one that runs, with something else.
    fn begin_hand_over(&mut self) {
        self.count("hand-overs");
        self.older = self.gateway.take();
        let file = index(&mut self.dice, FILES);
        self.write(file);
        self.layout = Layout::roll(&mut self.dice);
        self.start();
    }

    fn end_hand_over(&mut self) {
        let last = Instant::now();
        let older = self.older.take().expect("it runs");
        let given = self.end(older);
        self.truth.change(&given, &Given::new(), last, Instant::now());
    }

    /// Has a file say something else.
    fn write(&mut self, file: usize) {
        self.rules[file] = self.dice.below(1 << PAGES);
        self.comments[file] = self.dice.below(u64::MAX);
    }

    /// Changes one file, or the configuration, and waits until that is in force.
    fn change(&mut self) {
        let from = Instant::now();
        let folder = self.newest().folder.clone();
        if self.dice.below(3) > 0 {
            self.count("files changed");
            let file = index(&mut self.dice, FILES);
            self.write(file);
            let text = robots(self.rules[file], self.comments[file]);
            rename_over(&folder.join(format!("robots-{file}.txt")), text);
        } else {
            self.count("hosts moved");
            self.layout = Layout::roll(&mut self.dice);
            rename_over(&folder.join("gateway.toml"), self.layout.config(&self.origin.url()));
        }
        let socket = folder.join("control.sock");
        let socket = socket.to_str().expect("UTF-8");
        let ended = crate::support::command::ctl(["reload", "--control", socket]);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let next = self.given();
        let old = std::mem::replace(&mut self.newest().given, next.clone());
        self.truth.change(&old, &next, from, Instant::now());
    }

    fn step_clock(&mut self) {
        self.count("steps of the clock");
        let hours = self.dice.below(4_000);
        let sign = if self.dice.below(2) == 0 { '+' } else { '-' };
        rename_over(&self.folder.join("clock"), format!("{sign}{hours}h"));
    }

    fn ask(&mut self, by_older: bool, host: &str, who: usize, request: Request) -> ClientResponse {
        let agent = format!("Modelbot{}/1.0 (+https://bot.example/)", who % 2);
        let address = format!("198.51.{}.7", 100 + who);
        let request = request.for_host(host).by(agent).with("X-Forwarded-For", address);
        let gateway = if by_older { &mut self.older } else { &mut self.gateway };
        gateway.as_mut().expect("it runs").client.send(&request)
    }

    /// Reads robots.txt, or asks whether the copy is current.
    fn read(&mut self, by_older: bool, host: &'static str, who: usize, rules: PageSet, case: &str) {
        let (key, begun) = ((host, who), Instant::now());
        let kept = self.kept.get(&key).cloned();
        let (request, how) = match (self.dice.below(6), &kept) {
            (0, _) => (head("/robots.txt"), "HEADs"),
            (1, Some(kept)) => {
                (get("/robots.txt").with("If-None-Match", &kept.etag), "copies validated by tag")
            }
            (2, Some(kept)) => {
                (get("/robots.txt").with("If-Modified-Since", &kept.date), "copies validated by date")
            }
            _ => (get("/robots.txt"), "reads"),
        };
        self.count(how);
        let answer = self.ask(by_older, host, who, request);
        let is_read = match answer.status {
            200 => how != "HEADs",
            304 => {
                let kept = kept.expect("what it asked with");
                // Dates have a resolution of a second (RFC 9110 §8.8.2.2), and the clock may come to the same one twice. What
                // is said by date counts as a read for nobody.
                let is_same_second = how == "copies validated by date"
                    && answer.header("Last-Modified").is_some_and(|date| date == kept.date);
                let is_current = kept.rules == rules || is_same_second;
                assert!(
                    is_current,
                    "{case}: an old copy is said to be current: {kept:?}, {rules}, {:?}",
                    answer.header("Last-Modified")
                );
                how == "copies validated by tag"
            }
            404 => {
                self.kept.remove(&key);
                false
            }
            status => panic!("{case}: {status}"),
        };
        if is_read {
            let reads = self.truth.reads.entry(key).or_default();
            reads.retain(|read| read.done.elapsed() < 2 * NOTICE);
            reads.push(ModelRead { begun, done: Instant::now() });
        }
        if is_read && answer.status == 200 {
            let field = |name| answer.header(name).expect("a validator").to_owned();
            self.kept.insert(key, KeptVersion { rules, etag: field("ETag"), date: field("Last-Modified") });
        }
    }

    fn request(&mut self, seed: u64, step: u64) {
        let (host, who) = (HOSTS[index(&mut self.dice, HOSTS.len())], index(&mut self.dice, 4));
        let by_older = self.older.is_some() && self.dice.below(2) == 0;
        let case =
            format!("seed {seed}, step {step}: {host} by {who}{}", if by_older { ", older" } else { "" });
        let (newest, older) = (self.gateway.as_ref(), self.older.as_ref());
        let (this, other) = if by_older { (older, newest) } else { (newest, older) };
        let rules = this.expect("it runs").given[host];
        let beside = other.map(|other| other.given[host]);
        if self.dice.below(6) == 0 {
            return self.read(by_older, host, who, rules, &case);
        }
        let page = self.dice.below(PAGES);
        let begun = Instant::now();
        let target = format!("/page{page}?{step}");
        let status = self.ask(by_older, host, who, get(&target)).status;
        let done = Instant::now();
        let case = format!("{case}: /page{page}: {status}");
        let disallowed = rules >> page & 1 == 1;
        let is_allowed_beside = beside.is_some_and(|rules| rules >> page & 1 == 0);
        let is_held = self.truth.excuse(host, who, page, begun, done, true);
        self.asked.insert(target, is_held || is_allowed_beside);
        if status == 403 {
            self.count("refused");
            assert!(disallowed, "{case}: the version in force allows it");
            // What was served before the gateways' records were lost they do not know.
            if self.truth.lost.is_some_and(|when| when.elapsed() < 3 * NOTICE) {
                self.count("refused after a loss");
                return;
            }
            assert!(!is_allowed_beside, "{case}: another gateway serves what allows it");
            assert!(
                !is_held,
                "{case}: a version that it could hold allows it; now {done:?}, since {begun:?}, {:?}, read {:?}",
                self.truth.served.get(host),
                self.truth.reads.get(&(host, who))
            );
        } else if disallowed {
            let is_excused = is_allowed_beside || self.truth.excuse(host, who, page, begun, done, false);
            if is_excused {
                self.count("excused");
            } else if beside.is_some() {
                self.count("lenient beside another gateway");
            } else if self.truth.shaken.is_some_and(|when| when.elapsed() < 2 * NOTICE) {
                self.count("lenient after an end or a loss");
            } else {
                panic!("{case}: nothing excuses it, and nothing has happened");
            }
        } else {
            self.count("allowed");
        }
    }
}

#[test]
fn nobody_is_accused_of_what_a_version_that_it_could_hold_allows_or_refused_where_that_is_known() {
    let steps =
        std::env::var("ROBOTS_GATEWAY_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(STEPS);
    let seed = std::env::var("ROBOTS_GATEWAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    if library().is_none() {
        println!("libfaketime is not installed: the time of day is not stepped");
    }
    let mut course = Course::new(seed);
    let first = Instant::now();
    course.start();
    // Before the first start somebody else served what allows everything.
    let before = HOSTS.map(|host| (host, 0)).into_iter().collect();
    let given = course.given();
    course.truth.change(&before, &given, first, Instant::now());
    course.truth.lost = Some(Instant::now());
    for step in 0..steps {
        match course.dice.below(1_000) {
            0..6 => course.restart(),
            6..40 => course.change(),
            40..50 if library().is_some() => course.step_clock(),
            50..52 => course.lose_rows(),
            52..54 if course.older.is_none() => course.begin_hand_over(),
            52..72 if course.older.is_some() => course.end_hand_over(),
            _ => course.request(seed, step),
        }
    }
    for gateway in [course.older.take(), course.gateway.take()].into_iter().flatten() {
        stop(gateway.daemon);
    }
    let accused = accused(&course.state(), &course.asked);
    println!("{steps} steps, seed {seed}: {accused} accused, no unfair refusal; {:?}", course.counts);
    assert!(accused > 0, "the course must see accusations");
    let counted = |what| course.counts.get(what).copied().unwrap_or_default();
    for what in
        ["refused", "excused", "allowed", "reads", "files changed", "hosts moved", "hand-overs", "rows lost"]
    {
        assert!(counted(what) > 0, "the course must see both sides: {:?}", course.counts);
    }
}
