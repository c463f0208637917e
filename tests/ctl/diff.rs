//! `gatewayctl diff`: what a new robots.txt would change.

use crate::golden::{assert_golden, ctl};
use crate::support::agents::{CHROME, GOOGLEBOT, GPTBOT};
use crate::support::{Daemon, Ended, Folder, Nginx, get, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

const OLD: &str = "User-agent: *\nDisallow: /private\nDisallow: /old\n";
const NEW: &str = "User-agent: *\nDisallow: /private\nDisallow: /shop\n\nUser-agent: GPTBot\nDisallow: /\n";

fn log() -> String {
    let mut log = String::new();
    for (count, agent, target) in [
        (3, GPTBOT, "/open"),
        (2, GPTBOT, "/private"),
        (4, GOOGLEBOT, "/shop/1"),
        (1, GOOGLEBOT, "/shop/2"),
        (2, GOOGLEBOT, "/old"),
        (5, CHROME, "/shop/1"),
    ] {
        for _ in 0..count {
            let _ = writeln!(
                log,
                "192.0.2.1 - - [01/Nov/2026:00:00:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"{agent}\""
            );
        }
    }
    log
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("old.txt", OLD);
    folder.write("new.txt", NEW);
    folder.write("access.log", log());
    folder
}

#[track_caller]
fn diff(folder: &Folder, more: &[&str], code: i32) -> Ended {
    ctl(folder, &[&["diff", "new.txt", "--robots", "old.txt"], more].concat()).exits(code)
}

#[test]
fn rules_alone() {
    let folder = folder();
    assert_golden("diff-rules", &folder, &diff(&folder, &[], 0));
    let same = ctl(&folder, &["diff", "old.txt", "--robots", "old.txt"]).exits(0);
    assert_golden("diff-same", &folder, &same);
}

#[test]
fn flips_of_a_log_and_the_loss_of_a_search_engine() {
    let folder = folder();
    assert_golden("diff-log", &folder, &diff(&folder, &["--log", "access.log"], 1));
    let ended = diff(&folder, &["--log", "access.log", "--format", "json"], 1);
    assert_golden("diff-log-json", &folder, &ended);
    let told = ended.json();
    assert_eq!(told["losses"], json!([{ "crawler": "Googlebot", "pages": 2, "requests": 5 }]), "{told}");
    assert_eq!(
        (&told["requests"]["judged"], &told["requests"]["flipped"]),
        (&json!(12), &json!(10)),
        "{told}"
    );
    folder.write("torn.log", [&log(), "torn\n"].concat());
    assert_golden("diff-log-torn", &folder, &diff(&folder, &["--log", "torn.log", "--top", "1"], 1));
    let back =
        ctl(&folder, &["diff", "old.txt", "--robots", "new.txt", "--log", "access.log", "--format", "json"]);
    assert_eq!(back.exits(1).json()["losses"][0]["requests"], 2);
}

#[test]
fn a_log_in_which_nothing_can_be_judged_is_no_all_clear() {
    let folder = folder();
    let common = "192.0.2.1 - - [01/Nov/2026:00:00:00 +0000] \"GET /shop/1 HTTP/1.1\" 200 5\n";
    folder.write("common.log", common.repeat(3));
    let ended = diff(&folder, &["--log", "common.log"], 2);
    assert!(ended.stderr.contains("3 lines: none of them has a User-Agent"), "{}", ended.stderr);
    let site =
        "[[sites]]\nhosts = [\"one.example\"]\norigin = \"http://127.0.0.1:9\"\nrobots = \"old.txt\"\n";
    folder.write("gateway.toml", site);
    let foreign =
        log().lines().flat_map(|line| ["two.example ", line, "\n"].map(str::to_owned)).collect::<String>();
    folder.write("foreign.log", &foreign);
    let arguments =
        ["diff", "new.txt", "--config", "gateway.toml", "--format", "json", "--log", "foreign.log"];
    let told = ctl(&folder, &arguments).exits(2).json();
    let text = ctl(&folder, &["replay", "--config", "gateway.toml", "foreign.log"]).exits(0).stdout;
    assert!(text.starts_with("none of 17 requests could be judged") && !text.contains("1970"), "{text}");
    assert_eq!(
        (&told["requests"]["other_hosts"], &told["requests"]["without_user_agent"]),
        (&json!(17), &json!(0)),
        "{told}"
    );
}

#[test]
fn what_cannot_be_compared_is_exit_2() {
    let folder = folder();
    folder.write("page.html", "<html></html>");
    for bad in [
        &["diff", "absent.txt", "--robots", "old.txt"][..],
        &["diff", "page.html", "--robots", "old.txt"],
        &["diff", "new.txt", "--robots", "absent.txt"],
        &["diff", "new.txt", "--robots", "old.txt", "--log", "absent.log"],
        &["diff", "new.txt", "--robots", "old.txt", "--since", "7d", "--state-dir", "absent"],
    ] {
        let ended = ctl(&folder, bad).exits(2);
        assert!(!ended.stderr.contains("panicked") && ended.stdout.is_empty(), "{bad:?}: {ended:?}");
    }
}

#[test]
fn the_store_remembers_what_was_asked_for() {
    let origin = Nginx::start();
    let gateway = Daemon::with(OLD).in_front_of(&origin).start();
    gateway.folder().write("new.txt", NEW);
    for (count, target) in [(3, "/shop/1"), (1, "/open"), (2, "/old")] {
        for _ in 0..count {
            gateway.send(&get(target).by(GOOGLEBOT));
        }
    }
    let arguments = ["diff", "new.txt", "--robots", "robots.txt", "--since", "1h", "--state-dir", "state"];
    let told = until("the counts are in the store", || {
        let ended = ctl(gateway.folder(), &[&arguments[..], &["--format", "json"]].concat());
        let told: Value = serde_json::from_str(&ended.stdout).ok()?;
        (told["requests"]["judged"] == 6).then_some(told)
    });
    assert_eq!(told["requests"]["share"], 1.0, "{told}");
    let flips: Vec<_> = told["flips"]
        .as_array()
        .expect("flips")
        .iter()
        .map(|flip| json!([flip["crawler"], flip["target"], flip["to"], flip["count"]]))
        .collect();
    let wanted =
        [json!(["Googlebot", "/shop/1", "disallowed", 3]), json!(["Googlebot", "/old", "allowed", 2])];
    assert_eq!(flips, wanted, "{told}");
    assert_eq!(told["losses"][0]["pages"], 1);
}

/// Violations by crawler and target, as a replay tells them one by one.
fn violations(folder: &Folder, robots: &str, log: &str) -> BTreeMap<(String, String), i64> {
    let ended = ctl(folder, &["replay", log, "--robots", robots, "--events"]).exits(0);
    let mut found = BTreeMap::new();
    for line in ended.stdout.lines() {
        let event: Value = serde_json::from_str(line).expect("an event");
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        if text("event") == "violation" {
            *found.entry((text("crawler"), text("target"))).or_default() += 1;
        }
    }
    found
}

#[test]
fn flips_are_what_two_replays_differ_in() {
    let Some(corpus) = std::env::var_os("ROBOTS_GATEWAY_CORPUS").map(PathBuf::from) else {
        eprintln!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let file = |name: &str| corpus.join(name).to_str().expect("UTF-8").to_owned();
    let log = file("logs/elastic-2015.combined.log.gz");
    for (old, new) in [
        ("2026-wikimedia.txt", "www.nber.org.txt"),
        ("2022-quora.txt", "2022-zillow.txt"),
        ("2022-reddit.txt", "2022-twitter.txt"),
    ] {
        let [old, new] = [old, new].map(|name| file(&format!("robots/files/{name}")));
        compare_with_two_replays(&old, &new, &log);
    }
}

/// Adds up what two replays differ in, by crawler and target, and holds the flips of a diff to it.
#[track_caller]
fn compare_with_two_replays(old: &str, new: &str, log: &str) {
    let folder = Folder::new();
    let told = ctl(&folder, &["diff", new, "--robots", old, "--log", log, "--format", "json"]).json();
    let mut wanted = violations(&folder, new, log);
    for (key, count) in violations(&folder, old, log) {
        *wanted.entry(key).or_default() -= count;
    }
    wanted.retain(|_, count| *count != 0);
    let mut flips: BTreeMap<(String, String), i64> = BTreeMap::new();
    for flip in told["flips"].as_array().expect("flips") {
        let text = |name: &str| flip[name].as_str().unwrap_or_default().to_owned();
        let sign = i64::from(text("to") == "disallowed") - i64::from(text("from") == "disallowed");
        *flips.entry((text("crawler"), text("target"))).or_default() +=
            sign * flip["count"].as_i64().expect("a count");
    }
    flips.retain(|_, count| *count != 0);
    eprintln!("{} kinds of requests flip between {old} and {new}", flips.len());
    assert!(flips.len() > 10, "the files differ too little: {told}");
    assert_eq!(flips, wanted, "{old} and {new}");
}
