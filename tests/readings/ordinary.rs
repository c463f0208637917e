//! Ordinary targets: whatever people and crawlers ask for every day is judged as it was sent.
//!
//! A variant is a target that is allowed as sent, so every one of these would be a false refusal.

use crate::generate::Random;
use crate::judge::{ReadingJudge, all_rules, compile};
use robots_gateway::decide::{SiteRules, VerdictOutcome};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

/// Targets made in the suite, and in a live run.
const FEW: usize = 20_000;
const MANY: usize = 1_000_000;

const WORDS: [&str; 24] = [
    "blog",
    "news",
    "2024",
    "05",
    "products",
    "shoes",
    "wiki",
    "api",
    "v1.2.3",
    "images",
    "assets",
    "users",
    "~jo",
    "index.html",
    "logo.png",
    "feed.xml",
    "private-lessons",
    "docs",
    "about",
    "en",
    "search-tips",
    ".well-known",
    "jquery.min.js",
    "sitemap.xml.gz",
];

/// What stands in segments beside letters, as browsers and content systems write it.
const ODD: [&str; 26] = [
    "%20",
    "%C3%A9",
    "%E6%97%A5%E6%9C%AC",
    "+",
    "%2B",
    "%28",
    ")",
    "%27",
    "%22",
    "%2C",
    ",",
    ":",
    "%3A",
    "@",
    "%40",
    "=",
    ";v=1",
    "!",
    "$",
    "'",
    "...",
    "100%25",
    "%25off",
    "&",
    "%7Bid%7D",
    "%e2%80%a6",
];

const QUERIES: [&str; 20] = [
    "?",
    "?page=2",
    "?utm_source=x&utm_medium=y",
    "?u=https://x/private/",
    "?u=https%3A%2F%2Fx%2Fprivate%2F%3Fr%3Dd%26q%3D1",
    "?next=/private/../docs/secret.pdf/.",
    "?next=%2Fprivate%2F",
    "?next=//x/private/",
    "?file=%5C%5Cserver%5Cprivate%5Cx",
    "?file=..\\private\\x",
    "?path=../../private",
    "?b=YWJjZA%3D%3D",
    "?filter%5Bname%5D=a%26b",
    "?q=100%25+%26+more",
    "?q=caf%C3%A9;a=b",
    "?a=%252Fprivate%252F",
    "?width=100%25&height=100%25",
    "?replytocom=5#x",
    "?t=2024-05-01T00%3A00%3A00%2B02%3A00",
    "?r=d/&a&b/",
];

fn made(random: &mut Random) -> String {
    let mut target = String::new();
    for _ in 0..=random.below(6) {
        target.push('/');
        target.push_str(random.pick(&WORDS));
        if random.one_in(4) {
            target.push_str(random.pick(&ODD));
            target.push_str(if random.one_in(2) { random.pick(&WORDS) } else { "" });
        }
        if random.one_in(200) {
            target.push_str(&"long-".repeat(random.below(800)));
        }
    }
    match random.below(10) {
        0 => target.push('/'),
        // What editors and links of pages leave behind.
        1 => target.push_str(random.pick(&[
            "/../about",
            "/./x.css",
            "//x.css",
            "/group%2Fproject",
            "/R%26D",
            "/C%23",
            "/Why%3F",
        ])),
        _ => {}
    }
    if random.one_in(2) {
        target.push_str(random.pick(&QUERIES));
    }
    let end = target.find('#').unwrap_or(target.len());
    target.truncate(end);
    target
}

/// How often each target was asked for in the access logs of the corpora, and the robots.txt files there.
fn corpus() -> Option<(BTreeMap<String, usize>, Vec<SiteRules>)> {
    let Some(folder) = env::var_os("ROBOTS_GATEWAY_CORPUS").map(PathBuf::from) else {
        println!("skipped the logs: ROBOTS_GATEWAY_CORPUS is not set");
        return None;
    };
    let mut targets = BTreeMap::new();
    for entry in fs::read_dir(folder.join("logs")).unwrap() {
        let log = flate2::read::GzDecoder::new(fs::File::open(entry.unwrap().path()).unwrap());
        for line in std::io::read_to_string(log).unwrap().lines() {
            let target = line.split('"').nth(1).and_then(|request| request.split(' ').nth(1));
            if let Some(target) = target.filter(|target| target.starts_with('/')) {
                *targets.entry(target.to_owned()).or_default() += 1;
            }
        }
    }
    let files = fs::read_dir(folder.join("robots/files")).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    Some((targets, files.iter().map(|path| compile(&fs::read(path).unwrap())).collect()))
}

/// Judges all of it; every variant is printed.
fn try_all(made_targets: usize) {
    let judge = ReadingJudge::named("OrdinaryBot");
    let mut rules = all_rules();
    rules.push(compile(b"User-agent: *\nDisallow: /*?\nDisallow: /*.php$\nDisallow: /*/feed/$\n"));
    let mut variants = 0;
    let mut verdicts = 0;
    let mut judged = |rules: &SiteRules, target: &str, times: usize| {
        verdicts += times;
        if judge.outcome(rules, target.as_bytes()) == VerdictOutcome::Variant {
            println!("{target} became a variant");
            variants += times;
        }
    };
    if let Some((logged, files)) = corpus() {
        rules.extend(files);
        let requests: usize = logged.values().sum();
        println!("{requests} requests of logs, {} targets, by each of {} files", logged.len(), rules.len());
        for (target, times) in &logged {
            for rules in &rules {
                judged(rules, target, *times);
            }
        }
    }
    let mut random = Random::new(7);
    for number in 0..made_targets {
        judged(&rules[number % rules.len()], &made(&mut random), 1);
    }
    println!("{made_targets} made targets; {verdicts} verdicts, {variants} variants");
    assert!(verdicts >= made_targets && variants == 0);
}

#[test]
fn ordinary_targets_do_not_become_variants() {
    try_all(FEW);
}

#[test]
#[ignore = "make readings: a million targets take a minute"]
fn a_million_ordinary_targets_do_not_become_variants() {
    try_all(MANY);
}
