//! A random course of a fleet, beside an oracle that sees everything: nobody is accused whom a single gateway that had seen
//! all the traffic would not accuse.
//!
//! There are three files; each forbids the pages of the two others. So whoever is accused of asking for a page can hold no
//! copy of the file that allows it. The oracle knows when it saw which file served by anybody, and what each crawler read
//! last: what was still served after that, the crawler could hold (RFC 9309 §2.4, and notice is longer than the test).

use crate::scene::{Scene, stands};
use crate::support::agents::{BINGBOT, CLAUDEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::journal::JournalFile;
use crate::support::{Client, Daemon, get};
use std::collections::HashMap;
use std::time::{Duration, Instant};

const CRAWLERS: [&str; 3] = [GPTBOT, CLAUDEBOT, BINGBOT];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// How long the course takes.
const COURSE: Duration = Duration::from_secs(75);

fn robots(file: usize) -> String {
    let forbidden = (0..3).filter(|other| *other != file).map(|other| format!("Disallow: /{other}/\n"));
    format!("User-agent: *\n{}", forbidden.collect::<String>())
}

/// A generator of which only the course matters (`SplitMix64`).
struct OracleDice(u64);

impl OracleDice {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound).expect("small")
    }
}

/// What the oracle saw.
#[derive(Default)]
struct Oracle {
    /// For each file, when it was last seen to be served: the moment at which it was asked for.
    served: [Option<Instant>; 3],
    /// The files that crawlers read last, and when they had them.
    reads: HashMap<usize, (usize, Instant)>,
    /// Of requests by their targets: the page that was asked for could still be held as allowed.
    excused: HashMap<String, bool>,
    requests: u64,
}

impl Oracle {
    /// A crawler, or nobody in particular, asks for robots.txt.
    fn read(&mut self, member: &Daemon, crawler: Option<usize>) {
        let asked = Instant::now();
        let agent = crawler
            .map_or("Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0", |crawler| {
                CRAWLERS[crawler]
            });
        let Some(text) = answer(member, "/robots.txt", agent) else { return };
        let file = (0..3).find(|file| robots(*file) == text).expect("one of the three");
        self.served[file] = self.served[file].max(Some(asked));
        if let Some(crawler) = crawler {
            self.reads.insert(crawler, (file, Instant::now()));
        }
    }

    /// A crawler asks for a page that one file allows.
    fn ask(&mut self, member: &Daemon, crawler: usize, file: usize) {
        self.requests += 1;
        let target = format!("/{file}/{}", self.requests);
        let last = self.reads.get(&crawler).copied();
        let is_excused = match last {
            Some((read, _)) if read == file => true,
            // It was still served after the crawler had read another one.
            Some((_, read)) => self.served[file].is_some_and(|served| served > read),
            None => self.served[file].is_some(),
        };
        self.excused.insert(target.clone(), is_excused);
        answer(member, &target, CRAWLERS[crawler]);
    }
}

/// Nothing of a member that is frozen.
fn answer(member: &Daemon, target: &str, agent: &str) -> Option<String> {
    let mut client = Client::try_to(member.address()).ok()?;
    let response = client.try_send(&get(target).by(agent)).ok()?;
    Some(response.text())
}

/// What goes wrong, and until when.
#[derive(Default)]
struct Troubles {
    frozen: Option<(usize, Instant)>,
    engine: Option<Instant>,
}

impl Troubles {
    fn go_on(&mut self, scene: &mut Scene, members: &[Daemon], dice: &mut OracleDice) {
        let now = Instant::now();
        if let Some((member, _)) = self.frozen.filter(|(_, until)| *until < now) {
            members[member].signal("CONT");
            self.frozen = None;
        }
        if self.engine.is_some_and(|until| until < now) {
            scene.engine.thaw();
            self.engine = None;
        }
        let until = now + Duration::from_millis(1_000 + dice.below(13_000) as u64);
        match dice.below(400) {
            0 | 1 if self.frozen.is_none() => {
                let member = dice.below(3);
                members[member].signal("STOP");
                self.frozen = Some((member, until));
            }
            2 if self.engine.is_none() => {
                scene.engine.freeze();
                self.engine = Some(until);
            }
            3 if self.engine.is_none() => {
                scene.engine.kill();
                scene.engine.resume();
            }
            _ => {}
        }
    }

    fn spares(&self, member: usize) -> bool {
        self.frozen.is_none_or(|(frozen, _)| frozen != member)
    }
}

#[test]
fn nobody_is_accused_whom_one_gateway_that_saw_all_would_not_accuse() {
    let seed = std::env::var("ROBOTS_GATEWAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut dice = OracleDice(seed);
    let mut scene = Scene::new();
    let keys = "settle = \"1s\"\nlease = \"10s\"";
    let members = NAMES.map(|name| scene.published_with(name, &robots(0), "1h", keys, "settle = \"0s\""));
    for member in &members {
        stands(member, "member");
    }
    let (mut oracle, mut troubles) = (Oracle::default(), Troubles::default());
    oracle.read(&members[0], None);
    let begun = Instant::now();
    while begun.elapsed() < COURSE {
        troubles.go_on(&mut scene, &members, &mut dice);
        let member = dice.below(3);
        let crawler = dice.below(3);
        if dice.below(150) == 0 {
            // One file comes to all, as far as they are awake and others let them.
            let file = robots(dice.below(3));
            for member in &members {
                rename_over(&member.robots(), &file);
            }
        }
        if troubles.spares(member) {
            match dice.below(6) {
                0 => oracle.read(&members[member], Some(crawler)),
                1 => oracle.read(&members[member], None),
                _ => oracle.ask(&members[member], crawler, dice.below(3)),
            }
        }
        std::thread::sleep(Duration::from_millis(dice.below(40) as u64));
    }
    if let Some((member, _)) = troubles.frozen {
        members[member].signal("CONT");
    }
    drop(members);
    let (mut accused, mut lenient) = (0, 0);
    let mut unfair = Vec::new();
    for name in NAMES {
        for event in JournalFile(scene.state(name).join("journal.jsonl")).events() {
            let target = event["target"].as_str().unwrap_or_default();
            let Some(is_excused) = oracle.excused.get(target) else { continue };
            match (event["event"].as_str(), is_excused) {
                (Some("violation"), true) => unfair.push(event.to_string()),
                (Some("violation"), false) => accused += 1,
                (Some("stale"), false) => lenient += 1,
                _ => {}
            }
        }
    }
    eprintln!(
        "seed {seed}: {} requests, {accused} accused, {lenient} excused beyond what the oracle saw, {} unfair",
        oracle.requests,
        unfair.len()
    );
    assert!(unfair.is_empty(), "{}", unfair.join("\n"));
    assert!(accused > 0, "a course that accuses nobody shows nothing");
}
