//! A random course of a fleet, beside an oracle that sees everything: nobody is accused whom a single gateway that had seen
//! all the traffic would not accuse, and where nothing is amiss nobody is refused whom it would not refuse.
//!
//! There are three files; each forbids the pages of the two others. So whoever is accused of asking for a page can hold no
//! copy of the file that allows it. The oracle knows when it saw which file served by anybody, and what each crawler read
//! last: what was still served after that, the crawler could hold (RFC 9309 §2.4, and notice is longer than the test).
//!
//! Meanwhile members are frozen, killed and cut off, their clocks are off by minutes and are stepped, and the database is
//! frozen and killed. `ROBOTS_GATEWAY_STEPS` makes the course longer.

use crate::engine::clock_library;
use crate::relay::DatabaseRelay;
use crate::scene::{Scene, stands};
use crate::support::agents::{BINGBOT, CLAUDEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::journal::JournalFile;
use crate::support::{Client, Daemon, get};
use crate::troubles::Troubles;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const CRAWLERS: [&str; 3] = [GPTBOT, CLAUDEBOT, BINGBOT];
pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// How many steps a course has where nobody says otherwise.
const STEPS: u64 = 3_000;

/// How long the steps of a course wait in sum, about; each waits for up to this at least, so that there is time for troubles
/// in a course of very many steps.
const COURSE: Duration = Duration::from_secs(60);
const LEAST_PAUSE: u64 = 5;

/// For how long after one of these the fleet may still be kinder than the oracle: a batch is sent every ten seconds, and a
/// member that was cut off is tried again after fifteen at most.
const AFTER: Duration = Duration::from_secs(30);

pub(crate) fn robots(file: usize) -> String {
    let forbidden = (0..3).filter(|other| *other != file).map(|other| format!("Disallow: /{other}/\n"));
    format!("User-agent: *\n{}", forbidden.collect::<String>())
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A generator of which only the course matters (`SplitMix64`).
pub(crate) struct OracleDice(u64);

impl OracleDice {
    pub(crate) fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound).expect("small")
    }

    /// A length of time up to `most`.
    pub(crate) fn span(&mut self, least: Duration, most: Duration) -> Duration {
        let millis = u64::try_from(most.saturating_sub(least).as_millis()).expect("short");
        least + Duration::from_millis(self.below(millis) as u64)
    }
}

/// What a gateway that had seen all would say of a request, and why the fleet may be kinder.
struct Asked {
    is_excused: bool,
    because: &'static str,
}

/// What the oracle saw.
#[derive(Default)]
struct Oracle {
    /// For each file, when it was last seen to be served: the moment at which it was asked for.
    served: [Option<Instant>; 3],
    /// The files that crawlers read last, when they had them, and where.
    reads: HashMap<usize, (usize, Instant, usize)>,
    /// When files changed last.
    changed: Option<Instant>,
    asked: HashMap<String, Asked>,
}

impl Oracle {
    /// A crawler, or nobody in particular, asks for robots.txt.
    fn read(&mut self, members: &Members, member: usize, crawler: Option<usize>) {
        let asked = Instant::now();
        let agent = crawler
            .map_or("Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", |crawler| {
                CRAWLERS[crawler]
            });
        let Some(text) = answer(&members.running[member], "/robots.txt", agent) else { return };
        let file = (0..3).find(|file| robots(*file) == text).expect("one of the three");
        self.served[file] = self.served[file].max(Some(asked));
        if let Some(crawler) = crawler {
            self.reads.insert(crawler, (file, Instant::now(), member));
        }
    }

    /// A crawler asks for a page that one file allows.
    fn ask(&mut self, members: &Members, member: usize, crawler: usize, file: usize, troubles: &Troubles) {
        let target = format!("/{file}/{}", self.asked.len());
        let last = self.reads.get(&crawler).copied();
        let is_excused = match last {
            Some((read, ..)) if read == file => true,
            // It was still served after the crawler had read another one.
            Some((_, read, _)) => self.served[file].is_some_and(|served| served > read),
            None => self.served[file].is_some(),
        };
        let is_late = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() < AFTER);
        let because = if troubles.are_on() || is_late(troubles.last) {
            "a member or the database was away"
        } else if is_late(self.changed) {
            "a file was changing"
        } else if last.is_some_and(|(_, read, at)| at != member && is_late(Some(read))) {
            "a read at another member was on its way"
        } else {
            "nothing of that"
        };
        self.asked.insert(target.clone(), Asked { is_excused, because });
        answer(&members.running[member], &target, CRAWLERS[crawler]);
    }
}

/// Nothing of a member that is frozen.
fn answer(member: &Daemon, target: &str, agent: &str) -> Option<String> {
    let mut client = Client::try_to(member.address()).ok()?;
    let response = client.try_send(&get(target).by(agent)).ok()?;
    Some(response.text())
}

/// The members, each with a way to the database and a time of day of its own.
pub(crate) struct Members {
    pub(crate) running: Vec<Daemon>,
    pub(crate) relays: Vec<DatabaseRelay>,
    pub(crate) clocks: Vec<PathBuf>,
    files: Vec<usize>,
}

impl Members {
    fn start(scene: &Scene) -> Self {
        let relays = NAMES.iter().map(|_| DatabaseRelay::to(scene.engine.port())).collect();
        let clocks = NAMES.iter().zip(["-7m", "+0m", "+11m"]);
        let clocks = clocks.map(|(name, offset)| scene.file(&format!("{name}.clock"), offset).into());
        let mut members =
            Self { running: Vec::new(), relays, clocks: clocks.collect(), files: vec![0; NAMES.len()] };
        for member in 0..NAMES.len() {
            let started = members.starts(scene, member, true);
            members.running.push(started);
        }
        for member in &members.running {
            stands(member, "member");
        }
        members
    }

    fn starts(&self, scene: &Scene, member: usize, is_first: bool) -> Daemon {
        let (port, text) = (self.relays[member].port(), robots(self.files[member]));
        let keys = "settle = \"1s\"\nlease = \"10s\"";
        let mut builder = scene.builder_by(port, NAMES[member], &text, "1h", keys).set("settle = \"0s\"");
        if let Some(library) = clock_library() {
            let clock = self.clocks[member].to_str().expect("UTF-8").to_owned();
            builder = builder
                .variable("LD_PRELOAD", library.to_str().expect("UTF-8"))
                .variable("FAKETIME_TIMESTAMP_FILE", &clock);
            builder =
                builder.variable("FAKETIME_NO_CACHE", "1").variable("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        if is_first { builder.served_for_long().start() } else { builder.start() }
    }

    /// Kills a member, which starts again with what is on its disk.
    pub(crate) fn restart(&mut self, scene: &Scene, member: usize) {
        self.running[member].signal("KILL");
        self.running[member].ends_within(Duration::from_secs(20));
        self.running[member] = self.starts(scene, member, false);
    }

    fn change(&mut self, member: usize, file: usize) {
        self.files[member] = file;
        rename_over(&self.running[member].robots(), robots(file));
    }
}

#[test]
fn nobody_is_accused_whom_one_gateway_that_saw_all_would_not_accuse() {
    let (seed, steps) = (number("ROBOTS_GATEWAY_SEED", 1), number("ROBOTS_GATEWAY_STEPS", STEPS));
    let mut dice = OracleDice(seed);
    let mut scene = Scene::new();
    let mut members = Members::start(&scene);
    let (mut oracle, mut troubles) = (Oracle::default(), Troubles::default());
    oracle.read(&members, 0, None);
    let pause = (u64::try_from(COURSE.as_millis()).expect("short") * 2 / steps).max(LEAST_PAUSE);
    let mut next_change = Instant::now();
    for _ in 0..steps {
        troubles.go_on(&mut scene, &mut members, &mut dice);
        if next_change <= Instant::now() {
            next_change = Instant::now() + dice.span(Duration::from_millis(500), Duration::from_secs(8));
            oracle.changed = Some(Instant::now());
            // One file comes to all, as far as they are awake and others let them; or to one alone.
            let (file, only) = (dice.below(3), dice.below(12));
            for member in (0..3).filter(|member| only >= 3 || only == *member) {
                members.change(member, file);
            }
        }
        let (member, crawler) = (dice.below(3), dice.below(3));
        if troubles.spares(member) {
            match dice.below(6) {
                0 => oracle.read(&members, member, Some(crawler)),
                1 => oracle.read(&members, member, None),
                _ => oracle.ask(&members, member, crawler, dice.below(3), &troubles),
            }
        }
        std::thread::sleep(Duration::from_millis(dice.below(pause) as u64));
    }
    troubles.end(&scene, &members);
    drop(members);
    tell(&scene, &oracle, &troubles, seed, steps);
}

/// Compares what was recorded with what the oracle knows.
fn tell(scene: &Scene, oracle: &Oracle, troubles: &Troubles, seed: u64, steps: u64) {
    let (mut accused, mut excused) = (0, 0);
    let mut lenient: BTreeMap<(String, &str), u32> = BTreeMap::new();
    let mut unfair = Vec::new();
    for name in NAMES {
        for event in JournalFile(scene.state(name).join("journal.jsonl")).events() {
            let target = event["target"].as_str().unwrap_or_default();
            let Some(asked) = oracle.asked.get(target) else { continue };
            match (event["event"].as_str(), asked.is_excused) {
                (Some("violation"), true) => unfair.push(event.to_string()),
                (Some("violation"), false) => accused += 1,
                (Some("stale"), true) => {
                    excused += 1;
                    // It would be refused in enforce mode against a version that the fleet knows it could hold.
                    if event["notice"] == "unknown" && asked.because == "nothing of that" {
                        unfair.push(event.to_string());
                    }
                }
                (Some("stale"), false) => {
                    let notice = event["notice"].as_str().unwrap_or_default().to_owned();
                    *lenient.entry((notice, asked.because)).or_default() += 1;
                }
                _ => {}
            }
        }
    }
    eprintln!(
        "seed {seed}: {steps} steps, {} requests, {accused} accused, {excused} excused as by the oracle, {} unfair\n{:?}",
        oracle.asked.len(),
        unfair.len(),
        troubles.counts
    );
    for ((notice, because), count) in &lenient {
        eprintln!("  {count} kinder than the oracle, `{notice}`: {because}");
    }
    assert!(unfair.is_empty(), "{}", unfair.join("\n"));
    assert!(accused > 0 && excused > 0, "a course that sees one side only shows nothing");
}
