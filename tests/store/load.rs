//! Senders that keep a ledger of what was answered.

use crate::dice::Dice;
use crate::support::{Client, get};
use robots_gateway::enforce::Action;
use robots_gateway::record::{Filter, StoreReader};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const CRAWLERS: u64 = 50;
const TARGETS: u64 = 200;

/// How often a crawler asked for a target, and how often that was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedCounts {
    requests: u64,
    refused: u64,
}

/// By crawler and target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentLedger(BTreeMap<(String, String), AskedCounts>);

impl SentLedger {
    pub(crate) fn note(&mut self, crawler: &str, target: &str, refused: bool) {
        let asked = self.0.entry((crawler.to_owned(), target.to_owned())).or_default();
        asked.requests += 1;
        asked.refused += u64::from(refused);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (key, asked) in &other.0 {
            let ours = self.0.entry(key.clone()).or_default();
            ours.requests += asked.requests;
            ours.refused += asked.refused;
        }
    }

    pub(crate) fn sum(&self) -> u64 {
        self.0.values().map(|asked| asked.requests).sum()
    }

    /// What a store tells. Paths and roll-ups must come to the same, by crawler, action and rule.
    #[track_caller]
    pub(crate) fn stored(reader: &StoreReader) -> Self {
        let Some(window) = reader.span().expect("a readable store") else { return Self::default() };
        let mut ledger = Self::default();
        let all = reader.activities(&window, &Filter::default(), Some(usize::MAX)).expect("a readable store");
        let mut totals: BTreeMap<(String, Option<u32>, bool), u64> = BTreeMap::new();
        for (subject, activity) in all {
            let crawler = subject.crawler.as_deref().unwrap_or_default().to_owned();
            for (target, counts) in activity.paths {
                let asked = ledger.0.entry((crawler.clone(), target)).or_default();
                asked.requests += counts.requests();
                asked.refused += counts.refused;
            }
            for (decision, seen) in activity.decisions {
                let refused = decision.action == Action::Refuse;
                *totals.entry((crawler.clone(), decision.line, refused)).or_default() += seen.count;
            }
        }
        assert_eq!(totals, ledger.by_rule(), "roll-ups and paths tell different stories");
        ledger
    }

    /// By crawler, the line of the rule that decides, and whether it was refused: as the sender reads the
    /// robots.txt.
    fn by_rule(&self) -> BTreeMap<(String, Option<u32>, bool), u64> {
        let mut sums = BTreeMap::new();
        for ((crawler, target), asked) in &self.0 {
            let line = [("/private/open", 4), ("/private/", 2), ("/secret", 3)];
            let line = line.iter().find(|(path, _)| target.starts_with(path)).map(|(_, line)| *line);
            for (refused, count) in [(true, asked.refused), (false, asked.requests - asked.refused)] {
                if count > 0 {
                    *sums.entry((crawler.clone(), line, refused)).or_default() += count;
                }
            }
        }
        sums
    }

    /// Some entries that differ, for the message of a failure.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let keys = self.0.keys().chain(other.0.keys());
        let differing = keys.filter(|key| self.0.get(key) != other.0.get(key)).take(5);
        differing.fold(String::new(), |mut text, key| {
            let _ = write!(text, "{key:?}: {:?} and {:?}; ", self.0.get(key), other.0.get(key));
            text
        })
    }

    /// Fails the test unless no entry here is above that of `other`.
    #[track_caller]
    pub(crate) fn is_within(&self, other: &Self) {
        for (key, asked) in &self.0 {
            let most = other.0.get(key).copied().unwrap_or_default();
            let fits = asked.requests <= most.requests && asked.refused <= most.refused;
            assert!(fits, "{key:?} was counted {asked:?}, and sent {most:?}");
        }
    }
}

pub(crate) fn crawler(number: u64) -> String {
    format!("Exact{number:02}bot")
}

pub(crate) fn user_agent(crawler: &str) -> String {
    format!("{crawler}/1.0 (+https://crawler.example/{crawler})")
}

/// Half of what is asked for is disallowed.
fn target(number: u64) -> String {
    match number % 4 {
        0 => format!("/private/{number}"),
        1 => format!("/secret?page={number}"),
        2 => format!("/private/open/{number}"),
        _ => format!("/article/{number}"),
    }
}

/// One sender: sends `count` requests over one connection and writes down every answer.
#[track_caller]
pub(crate) fn send(address: SocketAddr, seed: u64, count: u64) -> SentLedger {
    let (mut client, mut dice, mut ledger) = (Client::to(address), Dice(seed), SentLedger::default());
    for _ in 0..count {
        let (crawler, target) = (crawler(dice.below(CRAWLERS)), target(dice.below(TARGETS)));
        let response = client.send(&get(&target).by(user_agent(&crawler)));
        assert!(matches!(response.status, 200 | 403), "{response:?}");
        ledger.note(&crawler, &target, response.status == 403);
    }
    ledger
}

/// Several senders at once; what they sent together.
#[track_caller]
pub(crate) fn send_all(addresses: &[SocketAddr], count: u64) -> SentLedger {
    let mut whole = SentLedger::default();
    std::thread::scope(|scope| {
        let senders = addresses.iter().zip(1..);
        let senders: Vec<_> =
            senders.map(|(address, seed)| scope.spawn(move || send(*address, seed, count))).collect();
        for sender in senders {
            whole.add(&sender.join().expect("a sender that got its answers"));
        }
    });
    whole
}

/// What senders of a gateway that may die at any moment know.
#[derive(Debug, Default)]
pub(crate) struct Diary(Mutex<Vec<(Instant, String, String, Fate)>>);

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered {
        refused: bool,
    },
    /// The gateway died before it answered; it may have counted it.
    Open,
}

impl Diary {
    /// Sends until the gateway is gone.
    pub(crate) fn send_until_gone(&self, address: SocketAddr, seed: u64) {
        let Ok(mut client) = Client::try_to(address) else { return };
        let mut dice = Dice(seed);
        loop {
            let (crawler, target) = (crawler(dice.below(CRAWLERS)), target(dice.below(TARGETS)));
            let response = client.try_send(&get(&target).by(user_agent(&crawler)));
            let is_gone = response.is_err();
            let fate =
                response.map_or(Fate::Open, |response| Fate::Answered { refused: response.status == 403 });
            self.0.lock().expect("a diary").push((Instant::now(), crawler, target, fate));
            if is_gone {
                return;
            }
        }
    }

    /// What must have been counted when the gateway died at `death`: what was answered a second before.
    pub(crate) fn at_least(&self, death: Instant) -> SentLedger {
        self.ledger(|at, _| at + Duration::from_secs(1) < death)
    }

    /// What may have been counted: all that was ever sent.
    pub(crate) fn at_most(&self) -> SentLedger {
        self.ledger(|_, _| true)
    }

    fn ledger(&self, admits: impl Fn(Instant, Fate) -> bool) -> SentLedger {
        let mut ledger = SentLedger::default();
        for (at, crawler, target, fate) in &*self.0.lock().expect("a diary") {
            match *fate {
                _ if !admits(*at, *fate) => {}
                Fate::Answered { refused } => ledger.note(crawler, target, refused),
                // What is not known to have been refused is taken for both.
                Fate::Open => ledger.note(crawler, target, true),
            }
        }
        ledger
    }
}
