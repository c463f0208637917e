//! Who was told what: held against reads that are known, over reloads, restarts and kills.

use crate::place::{ReportPlace, stop};
use crate::support::agents::{CLAUDEBOT, CURL, GPTBOT};
use crate::support::command::ctl;
use crate::support::wait::{PATIENCE, within};
use crate::support::{Daemon, get, head, version_of};
use robots_gateway::record::STORE_FILE;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Name, proof, version and preference: how many reads.
type KnownReads = BTreeMap<(String, String, String, String), u64>;

/// User-Agent, address, and who that is.
const GPTBOT_ITSELF: (&str, &str, &str, &str) = (GPTBOT, "20.171.206.7", "GPTBot", "confirmed");
const READERS: [(&str, &str, &str, &str); 4] = [
    GPTBOT_ITSELF,
    (GPTBOT, "95.216.227.158", "GPTBot", "contradicted"),
    (CLAUDEBOT, "198.51.100.7", "ClaudeBot", "unchecked"),
    (CURL, "198.51.100.9", "curl", "unchecked"),
];

const FIRST: &[u8] = b"License: https://example.org/license.xml\nUser-agent: *\nContent-Signal: ai-train=no, search=yes\nDisallow: /x\n";
/// GPTBot has a group of its own; not UTF-8, and it does not end in a line end.
const SECOND: &[u8] = b"User-agent: GPTBot\nContent-Usage: /open train-ai=y\nContent-Usage: train-ai=n\nAllow: /\n\nUser-agent: *\n# caf\xE9\nContent-Usage: search=y\nDisallow: /x";
/// Says nothing about use.
const THIRD: &[u8] = b"User-agent: *\nDisallow: /x\n";

/// What a version says to GPTBot, or to everyone else: by eye.
fn said(version: &[u8], name: &str) -> &'static [&'static str] {
    match (version, name) {
        (FIRST, _) => {
            &["License: https://example.org/license.xml", "Content-Signal: ai-train=no, search=yes"]
        }
        (SECOND, "GPTBot") => &["Content-Usage: /open train-ai=y", "Content-Usage: train-ai=n"],
        (SECOND, _) => &["Content-Usage: search=y"],
        _ => &[],
    }
}

/// Reads `version` so often by each reader: whole, or as a copy that is still good.
fn read(gateway: &Daemon, version: &[u8], times: u64, known: &mut KnownReads) {
    for (agent, address, name, proof) in READERS {
        for number in 0..times {
            let mut request = get("/robots.txt").by(agent).with("X-Forwarded-For", address);
            if number % 3 == 1 {
                let entity = gateway.send(&get("/robots.txt").by(crate::support::agents::CHROME));
                request = request.with("If-None-Match", entity.header("ETag").expect("an entity tag"));
            }
            let answer = gateway.send(&request);
            assert_eq!(answer.status, if number % 3 == 1 { 304 } else { 200 }, "{name}");
            // What shows nobody the file is no read.
            gateway.send(&head("/robots.txt").by(agent).with("X-Forwarded-For", address));
        }
        for preference in said(version, name) {
            let key = (name.to_owned(), proof.to_owned(), version_of(version), (*preference).to_owned());
            *known.entry(key).or_default() += times;
        }
    }
}

/// The same of what is told.
fn told(report: &Value) -> KnownReads {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut found = KnownReads::new();
    for crawler in report["crawlers"].as_array().expect("crawlers") {
        for told in crawler["told"].as_array().expect("a list") {
            let key = [&crawler["crawler"], &crawler["proof"], &told["robots_version"], &told["preference"]];
            let [name, proof, version, preference] = key.map(text);
            let reads = told["reads"].as_u64().expect("a count");
            let twice = found.insert((name, proof, version, preference), reads);
            assert_eq!(twice, None, "{report}");
        }
    }
    found
}

#[track_caller]
fn settles_at(place: &ReportPlace, known: &KnownReads) {
    let mut last = KnownReads::new();
    let settled = within(PATIENCE, || {
        last = told(&place.json(&[]));
        (last == *known).then_some(())
    });
    assert!(settled.is_some(), "{last:#?} instead of {known:#?}");
}

#[track_caller]
fn serve(place: &ReportPlace, gateway: &Daemon, version: &[u8]) {
    place.folder.write("robots.txt", version);
    gateway.ctl(&["reload"]).exits(0);
    let served = gateway.send(&get("/robots.txt").by(crate::support::agents::CHROME));
    assert_eq!(served.body, version);
}

fn place() -> ReportPlace {
    let place = ReportPlace::with("User-agent: *\nDisallow:\n");
    place.folder.write("robots.txt", FIRST);
    place
}

#[test]
fn every_read_of_every_preference_is_told_over_reloads_restarts_and_kills() {
    let (place, mut known) = (place(), KnownReads::new());
    let gateway = place.start();
    read(&gateway, FIRST, 4, &mut known);
    serve(&place, &gateway, SECOND);
    read(&gateway, SECOND, 3, &mut known);
    serve(&place, &gateway, THIRD);
    read(&gateway, THIRD, 2, &mut known);
    // It comes back: equal bytes are one version.
    serve(&place, &gateway, FIRST);
    read(&gateway, FIRST, 1, &mut known);
    // At once, while the last reads still wait in memory.
    stop(gateway);
    assert_eq!(told(&place.json(&[])), known);
    place.folder.write("robots.txt", SECOND);
    for _ in 0..3 {
        let mut gateway = place.start();
        read(&gateway, SECOND, 2, &mut known);
        settles_at(&place, &known);
        gateway.signal("KILL");
        gateway.ends_within(Duration::from_secs(10));
    }
    let gateway = place.start();
    settles_at(&place, &known);
    read(&gateway, SECOND, 1, &mut known);
    stop(gateway);
    let report = place.json(&[]);
    assert_eq!(told(&report), known);
    println!("{} preferences told, {} reads", known.len(), known.values().sum::<u64>());
}

#[test]
fn what_was_told_is_in_the_page_and_the_table_in_harmless_words() {
    let (place, mut known) = (place(), KnownReads::new());
    place.folder.write("robots.txt", "User-agent: *\nContent-Signal: =cmd</pre><script>\nDisallow: /x\n");
    let gateway = place.start();
    read(&gateway, b"", 1, &mut known);
    stop(gateway);
    let page = place.report(&["--format", "html"]).exits(0).stdout;
    assert!(page.contains("Who was told what about the use of pages"), "{page}");
    assert!(page.contains("&lt;script&gt;") || page.contains("&#60;script&#62;"), "{page}");
    assert!(!page.contains("<script"));
    let table = place.report(&["--format", "csv"]).exits(0).stdout;
    assert!(table.lines().next().is_some_and(|head| head.contains(",told,")), "{table}");
    assert_eq!(told(&place.json(&["--crawler", "claudebot"])).len(), 1);
}

/// A version that says nothing about use.
#[test]
fn where_nothing_was_said_nobody_was_told() {
    let (place, mut known) = (place(), KnownReads::new());
    place.folder.write("robots.txt", THIRD);
    let gateway = place.start();
    read(&gateway, THIRD, 1, &mut known);
    stop(gateway);
    let report = place.json(&[]);
    assert_eq!(report["crawlers"].as_array().map(Vec::len), Some(READERS.len()), "{report}");
    assert_eq!(told(&report), KnownReads::new());
}

const BY_TOKENS: &[u8] = b"User-agent: FooBot\nContent-Usage: train-ai=n\nAllow: /\n\nUser-agent: *\nContent-Usage: train-ai=y\nAllow: /\n";

/// The group of a read is the one that the client was judged by, whatever its name is.
#[test]
fn whoever_is_found_by_another_token_than_its_name_is_told_what_that_group_says() {
    let place = place();
    place.folder.write("robots.txt", BY_TOKENS);
    let gateway = place.start();
    let agents = [
        ("SomeBot/1.0 (FooBot)", "train-ai=n"),
        ("Mozilla/5.0 (compatible; FooBot-Image/1.0; +http://example.org/bot)", "train-ai=n"),
        ("SomeBot/1.0", "train-ai=y"),
        // It takes no group but its own.
        ("AdsBot-Google (+http://www.google.com/adsbot.html)", ""),
    ];
    let file = place.folder.join("robots.txt").to_str().expect("UTF-8").to_owned();
    let mut known = BTreeMap::new();
    for (agent, said) in agents {
        assert_eq!(gateway.send(&get("/robots.txt").by(agent)).status, 200);
        let arguments =
            ["explain", "--robots", &file, "--user-agent", agent, "--target", "/", "--format", "json"];
        let explained = ctl(arguments).exits(0).json();
        let now =
            explained["preferences"].as_array().expect("a list").iter().map(|told| told["value"].as_str());
        assert_eq!(now.flatten().collect::<Vec<_>>().join(""), said, "{agent}");
        if !said.is_empty() {
            *known.entry(format!("Content-Usage: {said}")).or_insert(0) += 1;
        }
    }
    stop(gateway);
    let mut found = BTreeMap::new();
    for ((.., preference), reads) in told(&place.json(&[])) {
        *found.entry(preference).or_insert(0) += reads;
    }
    assert_eq!(found, known);
}

#[test]
fn a_version_whose_text_is_gone_is_told_without_it() {
    let (place, mut known) = (place(), KnownReads::new());
    let gateway = place.start();
    read(&gateway, FIRST, 1, &mut known);
    stop(gateway);
    let store = rusqlite::Connection::open(place.folder.join("state").join(STORE_FILE)).expect("a store");
    store.execute("DELETE FROM robots", []).expect("a table");
    drop(store);
    let report = place.json(&[]);
    let crawlers = report["crawlers"].as_array().expect("crawlers");
    assert_eq!(crawlers.len(), READERS.len(), "{report}");
    for told in crawlers.iter().map(|crawler| &crawler["told"][0]) {
        assert_eq!((&told["preference"], &told["line"]), (&Value::Null, &Value::Null), "{report}");
        assert_eq!(
            (told["robots_version"].as_str(), told["reads"].as_u64()),
            (Some(&*version_of(FIRST)), Some(1))
        );
    }
    let page = place.report(&["--format", "html"]).exits(0).stdout;
    assert!(page.contains("The text is not kept"), "{page}");
}
