//! Real servers are asked for targets made to get around rules, and the corpus is written.

use crate::client::ReadingClient;
use crate::generate::{Random, target};
use crate::judge::{ReadingJudge, ReadingVerdict, all_rules, found};
use crate::origins::{NamedOrigin, Origins};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::{env, fs, thread};

/// Targets of one run; `READINGS_TARGETS` asks for more.
const TARGETS: usize = 20_000;

/// Lines of the corpus: enough to have every kind, few enough to be read in a second.
const RECORDED: usize = 2_500;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readings/corpus.tsv");

const HEAD: &str = "\
# What real servers answered with: a target, the page, and who took the one for the other. Written by `make readings`.
";

/// Targets that got around a rule once; they stay in the corpus.
const KNOWN: [&str; 16] = [
    "/robots.txt%2F..\\x.html\\/%2E%2e",
    "/robots.txt/..;%252fopen%5Cx/../.%2e/x.html//..",
    "/robots.txt/..%2Fdoc%73%5csecret.pdf%5c%2e%2e%2e/..",
    "/a\\a/..%2fprivate/x.html",
    "/private%2f\\/../x.html",
    "///private/..\\a//../x.html",
    "/.well-known/acme-challenge/a\\a\\a%2f..%2f..%2f..%2fprivate/x.html",
    "//x/private/x.html",
    "/r%3Dd/x.html",
    "/a%26b/x.html",
    "/docs/secret.pdf/.",
    "/docs/secret.pdf%2f.",
    "/open/%252e%252e/private/x.html",
    "/x/y//..//../private/x.html",
    "/open/..%5cprivate/x.html",
    "/a%3fb/%252e%252e/private/x.html",
];

/// What an origin took a target for.
type LiveAnswer = (NamedOrigin, String, String);

#[test]
#[ignore = "make readings: it needs nginx, Apache, lighttpd, Caddy, Python and Node, and minutes"]
fn live() {
    let count = env::var("READINGS_TARGETS").map_or(TARGETS, |count| count.parse().expect("a number"));
    let seed = env::var("READINGS_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let mut random = Random::new(seed);
    let mut targets: BTreeSet<String> = KNOWN.map(str::to_owned).into();
    while targets.len() < count {
        targets.insert(target(&mut random));
    }
    let origins = Origins::start();
    let answers = asked(&origins.all, &targets);
    let holes = judged(&targets, &origins, &answers);
    if seed == 1 {
        record(&answers);
    }
    assert_eq!(holes, 0, "holes are listed above");
}

/// Every origin's answers that are pages.
fn asked(origins: &[NamedOrigin], targets: &BTreeSet<String>) -> Vec<LiveAnswer> {
    thread::scope(|scope| {
        let ask = |origin: &NamedOrigin| {
            let mut client = ReadingClient::new(origin.1);
            let ask = |target: &String| client.page(target).map(|page| (*origin, target.clone(), page));
            targets.iter().filter_map(ask).collect::<Vec<_>>()
        };
        let threads: Vec<_> = origins.iter().map(|origin| scope.spawn(move || ask(origin))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("answers")).collect()
    })
}

/// Prints what became of all targets; the number of holes.
fn judged(targets: &BTreeSet<String>, origins: &Origins, answers: &[LiveAnswer]) -> usize {
    let (judge, rules) = (ReadingJudge::new(), all_rules());
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut holes = HashSet::new();
    for ((origin, _), target, page) in answers {
        let found = found(&judge, &rules, target, page);
        counts.entry(origin).or_default()[found as usize] += 1;
        if found == ReadingVerdict::Hole && holes.insert(target) && holes.len() <= 60 {
            println!("{target} is {page} to {origin}, and allowed");
        }
    }
    println!("{:<18} {:>9} {:>9} {:>9} {:>9}", "pages of", "open", "violation", "variant", "hole");
    for (origin, [open, violation, variant, hole]) in &counts {
        println!("{origin:<18} {open:>9} {violation:>9} {variant:>9} {hole:>9}");
    }
    let (asked, origins) = (targets.len(), origins.all.len());
    println!("{asked} targets, {origins} origins, {} pages, {} holes", answers.len(), holes.len());
    assert_eq!(counts.len(), origins, "an origin that never answers with a page tells nothing");
    holes.len()
}

/// Keeps what reached a page that some rules disallow while they allow the target as sent: of every length, and all that
/// is known.
fn record(answers: &[LiveAnswer]) {
    let (judge, rules) = (ReadingJudge::new(), all_rules());
    let mut lines: BTreeMap<(usize, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for ((origin, _), target, page) in answers {
        if matches!(found(&judge, &rules, target, page), ReadingVerdict::Variant | ReadingVerdict::Hole) {
            lines.entry((target.len(), target, page)).or_default().insert(origin);
        }
    }
    let mut text = HEAD.to_owned();
    let every = lines.len().div_ceil(RECORDED);
    let mut kept = 0;
    for (number, ((_, target, page), origins)) in lines.iter().enumerate() {
        if number % every == 0 || KNOWN.contains(target) {
            let origins: Vec<&str> = origins.iter().copied().collect();
            writeln!(text, "{target}\t{page}\t{}", origins.join(" ")).expect("text");
            kept += 1;
        }
    }
    fs::write(CORPUS, text).expect("the corpus");
    println!("{kept} of {} lines recorded in {CORPUS}", lines.len());
}
