//! Fair notice as a whole, driven at random against a model of its own (RFC 9309 §2.4).
//!
//! The model writes down what each host was given, and when, by its own clock. A crawler may still hold every version
//! that was served within `notice`, unless it has read the file since. Whoever is refused although a version that it
//! certainly could hold allows the page was refused unfairly. Whoever is let pass although every version that it
//! possibly could hold disallows the page was treated leniently: that must have a reason.
//!
//! `make soak` takes 100,000 steps; the suite takes a few thousand.

use crate::place::stop;
use crate::support::folder::rename_over;
use crate::support::{Client, Daemon, Folder, Nginx, get};
use robots_gateway::record::{LEDGER_FILE, STORE_FILE};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const NOTICE: Duration = Duration::from_millis(1_500);
const SETTLE: Duration = Duration::from_millis(50);

/// As many steps as a run of the suite takes.
const STEPS: u64 = 3_000;

const HOSTS: [&str; 5] = ["a.example", "b.example", "x.w.example", "y.w.example", "other.example"];
const PATTERNS: [&str; 4] = ["a.example", "b.example", "*.w.example", "x.w.example"];
const FILES: usize = 3;
const PAGES: u64 = 3;

/// `SplitMix64`: a seed is enough to see a failing course again.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).expect("small")
    }
}

/// Which pages a version disallows, one bit for each.
type Rules = u64;

/// A stretch of time in which a host was given one version.
#[derive(Clone, Copy, Debug)]
struct Served {
    rules: Rules,
    /// It was certainly served until here.
    at_least_until: Instant,
    /// And certainly not any more after this.
    at_most_until: Instant,
}

/// A complete read by a crawler.
#[derive(Clone, Copy, Debug)]
struct Read {
    begun: Instant,
    done: Instant,
}

/// What really happened.
#[derive(Default)]
struct Truth {
    served: BTreeMap<&'static str, Vec<Served>>,
    current: BTreeMap<&'static str, Rules>,
    reads: BTreeMap<(&'static str, usize), Vec<Read>>,
    /// When something happened last that may make the gateway lenient for a while.
    shaken: Option<Instant>,
}

impl Truth {
    /// The hosts are given something else from between `from` and `to` on.
    fn change(&mut self, next: BTreeMap<&'static str, Rules>, from: Instant, to: Instant) {
        for (host, rules) in &self.current {
            if next.get(host) != Some(rules) {
                let served = Served { rules: *rules, at_least_until: from, at_most_until: to };
                self.served.entry(host).or_default().push(served);
            }
        }
        self.current = next;
        for list in self.served.values_mut() {
            list.retain(|served| served.at_most_until.elapsed() < 2 * NOTICE);
        }
    }

    /// Whether a version that the crawler could hold allows the page.
    fn excuse(
        &self,
        host: &'static str,
        who: usize,
        page: u64,
        sent: Instant,
        done: Instant,
        certainly: bool,
    ) -> bool {
        let reads = self.reads.get(&(host, who)).map_or(&[][..], Vec::as_slice);
        let mut held =
            self.served.get(host).into_iter().flatten().filter(|served| served.rules >> page & 1 == 0);
        held.any(|served| {
            if certainly {
                let within = served.at_least_until + NOTICE > done;
                let has_read = reads
                    .iter()
                    .any(|read| read.begun + SETTLE <= done && read.done >= served.at_least_until);
                within && !has_read
            } else {
                let within = served.at_most_until + NOTICE > sent;
                let has_read =
                    reads.iter().any(|read| read.done + SETTLE <= sent && read.begun > served.at_most_until);
                within && !has_read
            }
        })
    }
}

/// Which file stands at which pattern; patterns without one belong to the default site.
#[derive(Clone, Debug)]
struct Layout {
    files: BTreeMap<&'static str, usize>,
    default: usize,
}

impl Layout {
    fn roll(dice: &mut Dice) -> Self {
        let mut files = BTreeMap::new();
        for pattern in PATTERNS {
            if dice.below(3) > 0 {
                files.insert(pattern, dice.index(FILES));
            }
        }
        Self { files, default: dice.index(FILES) }
    }

    fn file(&self, host: &str) -> usize {
        let wildcard = host.ends_with(".w.example").then_some("*.w.example");
        let found = self.files.get(host).or_else(|| self.files.get(wildcard?));
        found.copied().unwrap_or(self.default)
    }

    /// Patterns of one file are one site; its name changes with the first of them.
    fn config(&self, origin: &str) -> String {
        let mut text = format!(
            "mode = \"enforce\"\nsettle = \"{}ms\"\ntrusted_proxies = [\"127.0.0.1\"]\n\
             journal_rate = \"off\"\n[verify]\ndns = false\n",
            SETTLE.as_millis()
        );
        for file in 0..FILES {
            let hosts: Vec<&str> =
                self.files.iter().filter(|(_, of)| **of == file).map(|(pattern, _)| *pattern).collect();
            if !hosts.is_empty() {
                write!(
                    text,
                    "[[sites]]\nhosts = {hosts:?}\norigin = \"{origin}\"\nrobots = \"robots-{file}.txt\"\n"
                )
                .expect("a String");
            }
        }
        let default = self.default;
        write!(text, "[[sites]]\norigin = \"{origin}\"\nrobots = \"robots-{default}.txt\"\n")
            .expect("a String");
        text
    }
}

fn robots(rules: Rules, comment: u64) -> String {
    let mut text = format!("# {comment}\nUser-agent: *\nAllow: /open\n");
    for page in (0..PAGES).filter(|page| rules >> page & 1 == 1) {
        writeln!(text, "Disallow: /page{page}").expect("a String");
    }
    text
}

/// A gateway, the files it reads, and what happened.
struct Course {
    dice: Dice,
    folder: Folder,
    origin: Nginx,
    gateway: Option<Daemon>,
    client: Option<Client>,
    layout: Layout,
    rules: [Rules; FILES],
    truth: Truth,
    counts: BTreeMap<&'static str, u64>,
}

impl Course {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let (folder, origin) = (Folder::new(), Nginx::start());
        let layout = Layout::roll(&mut dice);
        let rules = [(); FILES].map(|()| dice.below(1 << PAGES));
        let course = Self {
            dice,
            folder,
            origin,
            gateway: None,
            client: None,
            layout,
            rules,
            truth: Truth::default(),
            counts: BTreeMap::new(),
        };
        for (file, rules) in course.rules.iter().enumerate() {
            std::fs::write(course.file(file), robots(*rules, 0)).expect("a robots.txt");
        }
        std::fs::write(course.clock(), "+0").expect("a clock");
        // Before the first start somebody else served what allows everything.
        let before = HOSTS.map(|host| (host, 0)).into_iter().collect();
        Self { truth: Truth { current: before, ..Truth::default() }, ..course }
    }

    fn file(&self, number: usize) -> PathBuf {
        self.folder.join(&format!("robots-{number}.txt"))
    }

    fn clock(&self) -> PathBuf {
        self.folder.join("clock")
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn now_served(&self) -> BTreeMap<&'static str, Rules> {
        HOSTS.into_iter().map(|host| (host, self.rules[self.layout.file(host)])).collect()
    }

    fn write_config(&self) {
        rename_over(&self.folder.join("gateway.toml"), self.layout.config(&self.origin.url()));
    }

    /// Starts the gateway; what was served until `stopped` is replaced then.
    fn start(&mut self, stopped: Instant) {
        self.write_config();
        let place = |name: &str| self.folder.join(name).to_str().expect("UTF-8").to_owned();
        let (clock, faketime) = (place("clock"), library());
        let mut builder = Daemon::without_robots()
            .with_notice(&format!("{}ms", NOTICE.as_millis()))
            .arg("--config")
            .arg(&place("gateway.toml"))
            .arg("--state-dir")
            .arg(&place("state"))
            .arg("--control")
            .arg(&place("control.sock"))
            .arg("--listen")
            .arg("127.0.0.1:0");
        if let Some(library) = faketime {
            builder = builder
                .variable("LD_PRELOAD", &library)
                .variable("FAKETIME_TIMESTAMP_FILE", &clock)
                .variable("FAKETIME_NO_CACHE", "1")
                .variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let gateway = builder.start();
        self.truth.change(self.now_served(), stopped, stopped);
        self.client = Some(gateway.client());
        self.gateway = Some(gateway);
    }

    /// Ends the gateway, and says when it served for the last time at least.
    fn end(&mut self, by_force: bool) -> Instant {
        let gateway = self.gateway.take().expect("it runs");
        self.client = None;
        let last = Instant::now();
        if by_force {
            drop(gateway);
        } else {
            stop(gateway);
        }
        self.truth.shaken = Some(Instant::now());
        last
    }

    fn restart(&mut self) {
        let by_force = self.dice.below(2) == 0;
        self.count(if by_force { "kill -9" } else { "clean restarts" });
        let last = self.end(by_force);
        match self.dice.below(6) {
            0 => {
                // A file changed, and perhaps the layout, while nobody was there.
                let file = self.dice.index(FILES);
                self.rules[file] = self.dice.below(1 << PAGES);
                std::fs::write(self.file(file), robots(self.rules[file], 1)).expect("a robots.txt");
                self.layout = Layout::roll(&mut self.dice);
            }
            1 => {
                self.count("stores lost");
                for end in ["", "-wal", "-shm"] {
                    let _ = std::fs::remove_file(self.state().join(format!("{STORE_FILE}{end}")));
                }
            }
            2 => {
                self.count("ledgers lost");
                let _ = std::fs::remove_file(self.state().join(LEDGER_FILE));
            }
            _ => {}
        }
        self.start(last);
    }

    /// Changes one file, or the configuration, and waits until that is in force.
    fn change(&mut self) {
        let from = Instant::now();
        if self.dice.below(3) > 0 {
            self.count("files changed");
            let file = self.dice.index(FILES);
            self.rules[file] = self.dice.below(1 << PAGES);
            let comment = self.dice.next();
            rename_over(&self.file(file), robots(self.rules[file], comment));
        } else {
            self.count("hosts moved");
            self.layout = Layout::roll(&mut self.dice);
            self.write_config();
        }
        let socket = self.folder.join("control.sock");
        let socket = socket.to_str().expect("UTF-8");
        let ended = crate::support::command::ctl(["reload", "--control", socket]);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        self.truth.change(self.now_served(), from, Instant::now());
    }

    fn step_clock(&mut self) {
        self.count("steps of the clock");
        let hours = self.dice.below(4_000);
        let sign = if self.dice.below(2) == 0 { '+' } else { '-' };
        rename_over(&self.clock(), format!("{sign}{hours}h"));
    }

    fn ask(&mut self, target: &str, host: &str, who: usize) -> u16 {
        let agent = format!("Modelbot{}/1.0 (+https://bot.example/)", who % 2);
        let address = format!("198.51.{}.7", 100 + who);
        let request = get(target).for_host(host).by(agent).with("X-Forwarded-For", address);
        self.client.as_mut().expect("it runs").send(&request).status
    }

    fn request(&mut self, seed: u64, step: u64) {
        let (host, who) = (HOSTS[self.dice.index(HOSTS.len())], self.dice.index(4));
        let begun = Instant::now();
        if self.dice.below(6) == 0 {
            self.count("reads");
            assert_eq!(self.ask("/robots.txt", host, who), 200);
            let read = Read { begun, done: Instant::now() };
            let reads = self.truth.reads.entry((host, who)).or_default();
            reads.retain(|read| read.done.elapsed() < 2 * NOTICE);
            reads.push(read);
            return;
        }
        let page = self.dice.below(PAGES);
        let status = self.ask(&format!("/page{page}"), host, who);
        let done = Instant::now();
        let disallowed = self.truth.current[host] >> page & 1 == 1;
        let case = || format!("seed {seed}, step {step}: {host} /page{page} by {who}: {status}");
        if status == 403 {
            self.count("refused");
            assert!(disallowed, "{}: the version in force allows it", case());
            let is_excused = self.truth.excuse(host, who, page, begun, done, true);
            assert!(!is_excused, "{}: a version that it could hold allows it", case());
        } else if disallowed {
            let is_excused = self.truth.excuse(host, who, page, begun, done, false);
            if is_excused {
                self.count("excused");
            } else if self.truth.shaken.is_some_and(|when| when.elapsed() < 2 * NOTICE) {
                self.count("lenient after a restart");
            } else {
                panic!("{}: nothing excuses it, and nothing has happened", case());
            }
        } else {
            self.count("allowed");
        }
    }
}

/// Where libfaketime is, which steps the time of day for one process.
fn library() -> Option<String> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let found =
        folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists())?;
    found.to_str().map(str::to_owned)
}

#[test]
fn nobody_is_refused_what_a_version_that_it_could_hold_allows() {
    let steps =
        std::env::var("ROBOTS_GATEWAY_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(STEPS);
    let seed = std::env::var("ROBOTS_GATEWAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    if library().is_none() {
        println!("libfaketime is not installed: the time of day is not stepped");
    }
    let mut course = Course::new(seed);
    course.start(Instant::now());
    for step in 0..steps {
        match course.dice.below(1_000) {
            0..6 => course.restart(),
            6..40 => course.change(),
            40..50 if library().is_some() => course.step_clock(),
            _ => course.request(seed, step),
        }
    }
    let gateway = course.gateway.take().expect("it runs");
    stop(gateway);
    println!("{steps} steps, seed {seed}: no unfair refusal; {:?}", course.counts);
    let counted = |what| course.counts.get(what).copied().unwrap_or_default();
    for what in ["refused", "excused", "allowed", "reads", "files changed", "hosts moved"] {
        assert!(counted(what) > 0, "the course must see both sides: {:?}", course.counts);
    }
}
