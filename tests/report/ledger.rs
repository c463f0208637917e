//! What a sender knows: whom it was, what it asked for, and what was answered.
//!
//! From that and its own reading of the robots.txt it tells what the report must say, by crawler, proof,
//! rule and action.

use crate::dice::Dice;
use crate::place::ROBOTS;
use crate::support::{Client, get, version_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

const CRAWLERS: u64 = 50;
const TARGETS: u64 = 200;

/// Who a request is from: the name that the report gives it, and the proof.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Who {
    crawler: String,
    proof: &'static str,
}

/// By line, text of the rule, notice and action. What a read says of notice depends on when it was sent, so
/// of a crawler that reads, `read` and `lapsed` are one.
type RuleCounts = BTreeMap<(u64, String, String, String), u64>;

/// What one of them did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deeds {
    requests: u64,
    refused: u64,
    violations: u64,
    spoofed: u64,
    reads: u64,
    rules: RuleCounts,
    paths: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReportLedger(pub(crate) BTreeMap<Who, Deeds>);

/// One request and its answer; `status` is `None` when the gateway died first.
#[derive(Clone, Debug)]
pub(crate) struct SentLoad {
    pub(crate) at: Instant,
    number: u64,
    target: String,
    pub(crate) status: Option<u16>,
}

/// User-Agent and address of a sender, and who that is. The first is true, the second borrows its name, the
/// third is no crawler at all; one in five of the others reads robots.txt.
fn sender(number: u64) -> (String, &'static str, Who) {
    let who = |crawler: &str, proof| Who { crawler: crawler.to_owned(), proof };
    match number {
        0 => ("GPTBot/1.2".to_owned(), "20.171.206.7", who("GPTBot", "confirmed")),
        1 => ("GPTBot/1.2".to_owned(), "95.216.227.158", who("GPTBot", "contradicted")),
        2 => ("curl/8.5.0".to_owned(), "198.51.100.9", who("curl", "unchecked")),
        _ => {
            let name = format!("Exact{number:02}bot");
            let header = format!("{name}/1.0 (+https://crawler.example/{name})");
            (header, "198.51.100.7", who(&name, "unchecked"))
        }
    }
}

fn reads(number: u64) -> bool {
    number.is_multiple_of(5)
}

/// The same, of an element of the report.
fn may_read(entry: &Value) -> bool {
    (0..CRAWLERS).filter(|number| reads(*number)).any(|number| {
        let (_, _, who) = sender(number);
        entry["crawler"] == who.crawler && entry["proof"] == who.proof
    })
}

fn target(number: u64) -> String {
    match number % 4 {
        0 => format!("/private/{number}"),
        1 => format!("/secret?page={number}"),
        2 => format!("/private/open/{number}"),
        _ => format!("/article/{number}"),
    }
}

/// The rule that forbids a target, read off [`ROBOTS`] by eye: line and text.
fn rule(number: u64, target: &str) -> Option<(u64, &'static str)> {
    let is_open = target.starts_with("/private/open");
    match number {
        0 | 1 if target.starts_with("/private/") => Some((8, "Disallow: /private/")),
        0 | 1 if target.starts_with("/article") => Some((9, "Disallow: /article")),
        0 | 1 => None,
        _ if target.starts_with("/private/") && !is_open => Some((2, "Disallow: /private/")),
        _ if target.starts_with("/secret") => Some((3, "Disallow: /secret")),
        _ => None,
    }
}

/// Sends what the dice say, one request; robots.txt now and then, by those who read it.
pub(crate) fn send_one(client: &mut Client, dice: &mut Dice) -> SentLoad {
    let (number, path) = (dice.below(CRAWLERS), dice.below(TARGETS));
    let target = if reads(number) && path == 7 { "/robots.txt".to_owned() } else { target(path) };
    let (agent, address, _) = sender(number);
    let answer = client.try_send(&get(&target).by(agent).with("X-Forwarded-For", address));
    SentLoad { at: Instant::now(), number, target, status: answer.ok().map(|answer| answer.status) }
}

/// Several senders at once; what they sent together.
#[track_caller]
pub(crate) fn send_all(addresses: &[SocketAddr], count: u64) -> ReportLedger {
    let mut whole = ReportLedger::default();
    std::thread::scope(|scope| {
        let one = |address: SocketAddr, seed: u64| {
            let (mut client, mut dice, mut ledger) =
                (Client::to(address), Dice(seed), ReportLedger::default());
            for _ in 0..count {
                let sent = send_one(&mut client, &mut dice);
                assert!(matches!(sent.status, Some(200 | 403)), "{sent:?}");
                ledger.note(&sent);
            }
            ledger
        };
        let senders: Vec<_> = addresses
            .iter()
            .zip(1..)
            .map(|(address, seed)| scope.spawn(move || one(*address, seed)))
            .collect();
        for sender in senders {
            whole.add(&sender.join().expect("a sender that got its answers"));
        }
    });
    whole
}

impl ReportLedger {
    /// Writes down a request that was answered, or one that was perhaps taken: as refused where a rule
    /// forbids it, which is what this gateway does.
    pub(crate) fn note(&mut self, sent: &SentLoad) {
        let (_, _, who) = sender(sent.number);
        let (is_tool, is_borrowed) = (who.crawler == "curl", who.proof == "contradicted");
        let deeds = self.0.entry(who).or_default();
        if sent.target == "/robots.txt" {
            deeds.reads += 1;
            return;
        }
        deeds.requests += 1;
        *deeds.paths.entry(sent.target.clone()).or_default() += 1;
        let rule = rule(sent.number, &sent.target);
        let refused = rule.is_some() && !is_tool;
        assert!(sent.status.is_none_or(|status| (status == 403) == refused), "{sent:?}");
        deeds.refused += u64::from(refused);
        deeds.spoofed += u64::from(is_borrowed && rule.is_none());
        if let Some((line, text)) = rule {
            deeds.violations += 1;
            let notice = if reads(sent.number) { "read or lapsed" } else { "lapsed" };
            let action = if refused { "refused" } else { "forwarded" };
            *deeds.rules.entry((line, text.to_owned(), notice.to_owned(), action.to_owned())).or_default() +=
                1;
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (who, theirs) in &other.0 {
            let ours = self.0.entry(who.clone()).or_default();
            ours.requests += theirs.requests;
            ours.refused += theirs.refused;
            ours.violations += theirs.violations;
            ours.spoofed += theirs.spoofed;
            ours.reads += theirs.reads;
            for (rule, count) in &theirs.rules {
                *ours.rules.entry(rule.clone()).or_default() += count;
            }
            for (path, count) in &theirs.paths {
                *ours.paths.entry(path.clone()).or_default() += count;
            }
        }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.0.values().map(|deeds| deeds.requests).sum()
    }

    /// What a report tells. Its parts must agree with each other.
    #[track_caller]
    pub(crate) fn told(report: &Value) -> Self {
        let mut ledger = Self::default();
        for entry in report["crawlers"].as_array().expect("crawlers") {
            let proofs = ["confirmed", "contradicted", "unchecked"];
            let proof = proofs.into_iter().find(|proof| entry["proof"] == *proof).expect("a proof");
            let crawler = entry["crawler"].as_str().expect("a name").to_owned();
            let number = |name: &str| entry[name].as_u64().expect("a count");
            let mut deeds = Deeds {
                requests: number("requests"),
                refused: number("refused"),
                violations: number("violations"),
                spoofed: number("spoofed"),
                reads: number("reads"),
                ..Deeds::default()
            };
            deeds.take_rules(entry);
            for path in entry["paths"].as_array().expect("paths") {
                let target = path["target"].as_str().expect("a target").to_owned();
                assert!(
                    deeds.paths.insert(target, path["count"].as_u64().expect("a count")).is_none(),
                    "{entry}"
                );
            }
            assert_eq!(deeds.rules.values().sum::<u64>(), deeds.violations, "{entry}");
            assert_eq!(deeds.paths.values().sum::<u64>(), deeds.requests, "{entry}");
            assert!(ledger.0.insert(Who { crawler, proof }, deeds).is_none(), "told twice: {entry}");
        }
        ledger
    }

    /// Fails the test unless this says what `sent` says; shows the first that differ.
    #[track_caller]
    pub(crate) fn says(&self, sent: &Self) {
        for (who, deeds) in &sent.0 {
            assert_eq!(self.0.get(who), Some(deeds), "{who:?}");
        }
        assert_eq!(self.0.len(), sent.0.len(), "who has sent nothing is told of");
    }

    /// Fails the test unless no count here is above that of `other`.
    #[track_caller]
    pub(crate) fn is_within(&self, other: &Self) {
        for (who, ours) in &self.0 {
            let theirs = other.0.get(who).cloned().unwrap_or_default();
            let fits = ours.requests <= theirs.requests
                && ours.refused <= theirs.refused
                && ours.reads <= theirs.reads
                && ours.rules.iter().all(|(rule, count)| count <= theirs.rules.get(rule).unwrap_or(&0))
                && ours.paths.iter().all(|(path, count)| count <= theirs.paths.get(path).unwrap_or(&0));
            assert!(fits, "{who:?}: {ours:?} is not within {theirs:?}");
        }
    }
}

impl Deeds {
    fn take_rules(&mut self, entry: &Value) {
        for rule in entry["rules"].as_array().expect("rules") {
            assert_eq!(rule["robots_version"], version_of(ROBOTS), "{rule}");
            let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
            let group = if rule["line"].as_u64() >= Some(7) { "GPTBot" } else { "*" };
            assert_eq!(rule["group"], serde_json::json!([group]), "{rule}");
            assert!(self.reads > 0 || rule["notice"] == "lapsed", "nothing was read: {entry}");
            let notice = if may_read(entry) { "read or lapsed".to_owned() } else { text("notice") };
            let line = rule["line"].as_u64().expect("a line");
            let key = (line, text("rule"), notice, text("action"));
            *self.rules.entry(key).or_default() += rule["count"].as_u64().expect("a count");
        }
    }
}
