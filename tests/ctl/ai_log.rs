//! The access log of a site under AI crawlers, made of headers that were really sent, and what blocking them would
//! change: as text, as JSON and as a page.
//!
//! `ROBOTS_GATEWAY_PICTURES` names a folder that the page is put into, to be looked at.

use crate::dice::Dice;
use crate::golden::ctl;
use crate::support::Folder;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// How many requests the log has.
const REQUESTS: u64 = 20_000;

/// What the log was made of.
struct Made {
    log: String,
    /// How many requests each agent made, beside those for robots.txt.
    requests: BTreeMap<String, u64>,
}

/// The headers of one file of the corpus.
fn headers(folder: &std::path::Path, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("ua").join(file)).expect("a file of the corpus");
    let header = |line: &str| {
        let record: Value = serde_json::from_str(line).expect("a JSON line");
        record["ua"].as_str().filter(|header| !header.contains(['"', '\\', '\n'])).map(str::to_owned)
    };
    text.lines().filter_map(header).collect()
}

/// Half of the requests are people's; the agents that are listed first make most of the others.
fn made(corpus: &std::path::Path) -> Made {
    let list = std::fs::read(corpus.join("ua/ai_agents.json")).expect("a file of the corpus");
    let list: serde_json::Map<String, Value> = serde_json::from_slice(&list).expect("JSON");
    let (bots, browsers) = (headers(corpus, "bots.jsonl"), headers(corpus, "browsers.jsonl"));
    let leading = ["GPTBot", "meta-externalagent", "Bytespider", "PerplexityBot"];
    let named = |name: &str| {
        let header = bots
            .iter()
            .find(|header| ['/', ';'].iter().any(|end| header.contains(&format!("{name}{end}"))))?;
        Some((name.to_owned(), header.clone()))
    };
    let rest = list.keys().map(String::as_str).filter(|name| name.len() > 5 && !leading.contains(name));
    let agents: Vec<(String, String)> = leading.into_iter().chain(rest).filter_map(named).collect();
    let (mut dice, mut log, mut requests) = (Dice(1), String::new(), BTreeMap::new());
    for number in 0..REQUESTS {
        let time = format!(
            "{:02}/Nov/2026:{:02}:{:02}:{:02} +0000",
            1 + number * 7 / REQUESTS,
            number * 168 / REQUESTS % 24,
            dice.below(60),
            dice.below(60)
        );
        let page = dice.below(400);
        let is_agent = dice.below(2) == 0;
        let (who, header, address) = if is_agent {
            let (most, least) = (dice.below(agents.len() as u64), dice.below(agents.len() as u64));
            let at = usize::try_from(most.min(least) * least / agents.len() as u64).expect("an index");
            let (name, header) = &agents[at];
            (Some(name), header, format!("192.0.2.{}", 1 + at % 250))
        } else {
            (
                None,
                &browsers[usize::try_from(dice.below(browsers.len() as u64)).expect("an index")],
                format!("198.51.100.{}", 1 + page % 250),
            )
        };
        let reads = who.is_some() && dice.below(200) == 0;
        let target = if reads { "/robots.txt".to_owned() } else { format!("/articles/{page}") };
        if let Some(who) = who.filter(|_| !reads) {
            *requests.entry(who.clone()).or_default() += 1;
        }
        let _ = writeln!(log, "{address} - - [{time}] \"GET {target} HTTP/1.1\" 200 5120 \"-\" \"{header}\"");
    }
    Made { log, requests }
}

/// The names that one catalogue entry has, in lower case.
fn names_of(purpose: &str) -> HashSet<String> {
    let told = ctl(&Folder::new(), &["crawlers", "--purpose", purpose, "--format", "json"]).exits(0).json();
    let crawlers = told["crawlers"].as_array().expect("crawlers");
    crawlers.iter().filter_map(|one| one["name"].as_str()).map(str::to_ascii_lowercase).collect()
}

#[test]
fn a_site_under_ai_crawlers_is_told_what_blocking_them_would_change() {
    let Some(corpus) = std::env::var_os("ROBOTS_GATEWAY_CORPUS").map(PathBuf::from) else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let (folder, made) = (Folder::new(), made(&corpus));
    folder.write("access.log", &made.log);
    let blocked = ["replay", "access.log", "--block", "ai-train"];
    let told = ctl(&folder, &[&blocked[..], &["--format", "json"]].concat()).exits(0).json();
    let train = names_of("ai-train");
    let expected: u64 = made
        .requests
        .iter()
        .filter(|(name, _)| train.contains(&name.to_ascii_lowercase()))
        .map(|it| it.1)
        .sum();
    assert!(expected > REQUESTS / 10, "{expected}");
    assert_eq!(told["replay"]["refused"], expected, "{:?}", told["blocked"]);
    for one in told["blocked"].as_array().expect("who is blocked") {
        let name = one["crawler"].as_str().expect("a name").to_ascii_lowercase();
        let own = made.requests.iter().find(|(agent, _)| agent.to_ascii_lowercase() == name);
        assert_eq!(one["requests"].as_u64(), own.map(|own| *own.1), "{name}");
    }
    let text = ctl(&folder, &[&blocked[..], &["--all"]].concat()).exits(0).stdout;
    assert!(text.contains("if you had blocked AI training: ") && text.contains(" of GPTBot, "), "{text}");
    let page = ctl(&folder, &[&blocked[..], &["--format", "html"]].concat()).exits(0).stdout;
    for proposal in told["proposals"].as_array().expect("proposals") {
        let lines = proposal["lines"].as_str().expect("lines");
        assert!(page.contains(lines) && text.contains(lines), "{lines}");
        assert!(!train.contains(&proposal["crawler"].as_str().expect("a name").to_ascii_lowercase()));
    }
    assert!(!told["proposals"].as_array().expect("proposals").is_empty());
    if let Some(pictures) = std::env::var_os("ROBOTS_GATEWAY_PICTURES") {
        std::fs::write(PathBuf::from(&pictures).join("ai-log.html"), &page).expect("written");
        std::fs::write(PathBuf::from(&pictures).join("ai-log.txt"), &text).expect("written");
    }
}
