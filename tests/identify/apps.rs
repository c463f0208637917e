//! Apps: how many of them are judged, and why it cannot be fewer.
//!
//! The corpus lists apps and automated clients apart, after the lists that its
//! headers come from. Those lists do not agree: HTTP libraries stand in both, down
//! to one product in two versions, and a header such as `Foo/1.2` says nothing of
//! whether an app or a server sent it (RFC 9110 §10.1.5). What both lists hold is
//! judged here, as a tool: audited, and never refused by default.

use super::corpus::{CorpusRecord, identifier, percent, records};
use std::collections::{HashMap, HashSet};

/// How an app that is judged is argued, the first that holds.
const ARGUED: [(&str, usize); 4] = [
    ("of a product that is an automated client too", 19),
    ("of what the corpus itself calls a library", 43),
    ("built like automated clients that nothing else tells apart", 17),
    ("judged without such a reason", 5),
];

/// The share of automated clients that must be recognised, in per cent.
const RECOGNISED: usize = 99;

/// The product that opens a header, letters in lower case.
fn product(header: &str) -> String {
    header.split(['/', ' ']).next().unwrap_or_default().to_ascii_lowercase()
}

/// How a header is built, whatever its words and versions: `Foo/1.2 (bar)` is
/// `W/N (W)`, and words in a row are one.
fn build(header: &str) -> String {
    let mut built = String::new();
    let mut rest = header.chars().peekable();
    while let Some(c) = rest.next() {
        let word = c.is_alphabetic() || c == '_';
        if !word && !c.is_ascii_digit() {
            built.push(c);
            continue;
        }
        while rest.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | ':')).is_some() {}
        built.push(if word { 'W' } else { 'N' });
        while built.ends_with("W W") {
            built.truncate(built.len() - 2);
        }
    }
    built
}

fn judged(records: &[CorpusRecord]) -> Vec<&CorpusRecord> {
    let automated = |record: &&CorpusRecord| {
        identifier().recognise(Some(record.user_agent().as_bytes())).client.is_automated()
    };
    records.iter().filter(automated).collect()
}

fn by_build<'r>(records: &[&'r CorpusRecord]) -> HashMap<String, Vec<&'r str>> {
    let mut builds: HashMap<String, Vec<&str>> = HashMap::new();
    for record in records {
        builds.entry(build(record.user_agent())).or_default().push(record.user_agent());
    }
    builds
}

#[test]
fn apps_are_judged_only_where_automated_clients_send_the_same() {
    let (Some(apps), Some(bots)) = (records("apps.jsonl"), records("bots.jsonl")) else { return };
    let products: HashSet<String> = bots.iter().map(|record| product(record.user_agent())).collect();
    let builds = by_build(&judged(&bots));
    let mut counts = ARGUED.map(|_| 0);
    let mut unargued = Vec::new();
    for record in judged(&apps) {
        let header = record.user_agent();
        let opening = product(header);
        let nth = match () {
            () if opening != "mozilla" && products.contains(&opening) => 0,
            () if record.text("class").contains("library") => 1,
            () if builds.contains_key(&build(header)) => 2,
            () => {
                unargued.push(header);
                3
            }
        };
        counts[nth] += 1;
    }
    let all: usize = counts.iter().sum();
    println!("apps: {} headers, {all} judged ({:.2} %):", apps.len(), percent(all, apps.len()));
    for ((why, limit), count) in ARGUED.iter().zip(counts) {
        println!("  {count} {why}");
        assert!(count <= *limit, "{count} {why}, and there were {limit}: {unargued:#?}");
    }
    assert!(percent(counts[2] + counts[3], apps.len()) <= 1.0, "of what is no library by either list");
}

/// What any rule could reach that looks at how headers are built and not at their
/// words: it acquits builds for as long as enough automated clients are still
/// recognised, those first that cost fewest of them.
#[test]
fn no_rule_over_the_build_of_a_header_judges_one_app_in_a_hundred() {
    let (Some(apps), Some(bots)) = (records("apps.jsonl"), records("bots.jsonl")) else { return };
    let (judged_apps, found) = (judged(&apps), judged(&bots));
    let costs = by_build(&found);
    let mut builds: Vec<(usize, usize)> = by_build(&judged_apps)
        .iter()
        .map(|(build, headers)| (costs.get(build).map_or(0, Vec::len), headers.len()))
        .collect();
    // By automated clients lost for each app won.
    builds.sort_by(|(cost, won), (other, more)| (cost * more).cmp(&(other * won)));
    let mut spare = found.len() - (bots.len() * RECOGNISED).div_ceil(100);
    let (mut left, mut free) = (judged_apps.len(), 0);
    for (cost, won) in builds {
        if cost == 0 {
            free += won;
        } else if cost > spare {
            // No build behind this one is cheaper: a part of it bounds what is left.
            left -= (won * spare).div_ceil(cost);
            break;
        }
        spare -= cost;
        left -= won;
    }
    println!(
        "apps: {} judged, {free} of a build that no automated client has; at best {left} ({:.2} %) with {RECOGNISED} % \
         of automated clients recognised",
        judged_apps.len(),
        percent(left, apps.len()),
    );
    assert!(percent(judged_apps.len(), apps.len()) <= 2.13);
    assert!(percent(left, apps.len()) > 1.0, "a rule would do: find it");
}

#[test]
fn builds_say_nothing_of_words() {
    for (header, built) in [
        ("Foo/1.2 (bar; x)", "W/N (W; W)"),
        ("Foo Bar baz/2", "W/N"),
        ("git/2.32.0.windows.2", "W/N"),
        ("a_b-c:d 12", "W N"),
        ("", ""),
    ] {
        assert_eq!(build(header), built, "{header}");
    }
}
