//! Fair notice across restarts (RFC 9309 §2.4): versions and reads outlive the process.

use crate::load::user_agent;
use crate::place::{StorePlace, stop};
use crate::support::folder::rename_over;
use crate::support::journal::JournalFile;
use crate::support::{Daemon, get, until, version_of};
use robots_gateway::decide::Notice;
use robots_gateway::record::{CountedDecision, EventKind, Filter, ROWS_FOLDER};
use serde_json::Value;
use std::time::{Duration, SystemTime};

const OPEN: &str = "User-agent: *\nAllow: /\n";
const CLOSED: &str = "User-agent: *\nDisallow: /new\n";

fn ask(gateway: &Daemon, crawler: &str, target: &str) -> u16 {
    gateway.send(&get(target).by(user_agent(crawler))).status
}

/// What the journal has of the last request for a page: its kind, its notice and what was done.
fn last_of(gateway: &Daemon, place: &StorePlace, crawler: &str, target: &str) -> [String; 3] {
    let before = journal(place).len();
    ask(gateway, crawler, target);
    let event = until("the journal has it", || {
        journal(place).into_iter().skip(before).find(|event| event["target"] == target)
    });
    ["event", "notice", "action"].map(|field| event[field].as_str().unwrap_or_default().to_owned())
}

fn journal(place: &StorePlace) -> Vec<Value> {
    JournalFile(place.store().with_file_name("journal.jsonl")).events()
}

const UNKNOWN: [&str; 3] = ["stale", "unknown", "refused"];
const LAPSED: [&str; 3] = ["violation", "lapsed", "refused"];

fn replace(place: &StorePlace, gateway: &Daemon, robots: &str) {
    rename_over(&place.folder.join("robots.txt"), robots);
    until("the new file is served", || (gateway.send(&get("/robots.txt")).text() == robots).then_some(()));
}

/// How often what was told of a crawler: stale, violation after its own read, violation after the notice.
fn story(place: &StorePlace, crawler: &str) -> [u64; 3] {
    let reader = place.reader();
    let Some(window) = reader.span().expect("a readable store") else { return [0; 3] };
    let filter = Filter { crawler: Some(crawler.to_owned()), ..Filter::default() };
    let counts = reader.counts(&window, &filter).expect("a readable store");
    let kinds = [
        (EventKind::Stale, Notice::Pending),
        (EventKind::Violation, Notice::Read),
        (EventKind::Violation, Notice::Lapsed),
    ];
    kinds.map(|(kind, notice)| {
        let is_so = |decision: &CountedDecision| decision.kind == kind && decision.notice == Some(notice);
        counts.values().map(|activity| activity.requests(is_so)).sum()
    })
}

#[test]
fn the_story_of_a_new_rule_is_told_across_restarts() {
    let place = StorePlace::new();
    std::fs::write(place.folder.join("robots.txt"), OPEN).expect("a robots.txt");
    let settings = "notice = \"8s\"\nsettle = \"50ms\"";
    let gateway = place.start_with(settings);
    assert_eq!(ask(&gateway, "Readbot", "/robots.txt"), 200);
    assert_eq!(ask(&gateway, "Readbot", "/new/1"), 200);
    replace(&place, &gateway, CLOSED);
    let replaced = SystemTime::now();
    assert_eq!(ask(&gateway, "Readbot", "/new/2"), 200, "its copy allows it");
    stop(gateway);

    let gateway = place.start_with(settings);
    assert_eq!(ask(&gateway, "Readbot", "/new/3"), 200, "its copy still does");
    assert_eq!(ask(&gateway, "Readbot", "/robots.txt"), 200);
    until("the read counts", || (ask(&gateway, "Readbot", "/new/4") == 403).then_some(()));
    stop(gateway);

    let gateway = place.start_with(settings);
    assert_eq!(ask(&gateway, "Readbot", "/new/5"), 403, "what it read is remembered");
    if replaced.elapsed().unwrap_or_default() < Duration::from_secs(7) {
        assert_eq!(ask(&gateway, "Neverbot", "/new/1"), 200, "the notice is not over");
    }
    until("the notice lapses", || (ask(&gateway, "Neverbot", "/new/2") == 403).then_some(()));
    assert!(replaced.elapsed().unwrap_or_default() >= Duration::from_secs(7), "it lapsed too early");
    stop(gateway);

    let [stale, read, lapsed] = story(&place, "Readbot");
    assert!(stale >= 2 && read >= 2 && lapsed == 0, "{stale} {read} {lapsed}");
    let [stale, read, lapsed] = story(&place, "Neverbot");
    assert!(stale >= 1 && read == 0 && lapsed == 1, "{stale} {read} {lapsed}");
    assert!(
        place.events("Neverbot").iter().any(|event| event["notice"] == "lapsed" && event["status"] == 403)
    );
}

#[test]
fn a_file_that_changed_while_the_gateway_was_down_comes_into_force_at_its_start() {
    let place = StorePlace::new();
    let robots = place.folder.join("robots.txt");
    std::fs::write(&robots, OPEN).expect("a robots.txt");
    stop(place.start_with("notice = \"1h\""));
    rename_over(&robots, CLOSED);
    let gateway = place.start_with("notice = \"1h\"");
    assert_eq!(ask(&gateway, "Heldbot", "/new"), 200, "it may hold the version before");
    stop(gateway);
    let versions = place.reader().versions(None).expect("a readable store");
    let ids: Vec<_> = versions.iter().map(|version| version.id.map(|id| id.to_string())).collect();
    assert_eq!(ids, [Some(version_of(OPEN)), Some(version_of(CLOSED))]);
    assert_eq!(versions[0].bytes.as_deref(), Some(OPEN.as_bytes()));
    assert_eq!((versions[0].until, versions[1].until), (Some(versions[1].from), None));
    // And it goes on from there: another start changes nothing.
    let gateway = place.start_with("notice = \"1h\"");
    assert_eq!(ask(&gateway, "Heldbot", "/new"), 200);
    stop(gateway);
    assert_eq!(place.reader().versions(None).expect("a readable store"), versions);
}

#[test]
fn the_notice_of_the_first_version_is_not_begun_anew_by_a_restart() {
    let place = StorePlace::new();
    std::fs::write(place.folder.join("robots.txt"), CLOSED).expect("a robots.txt");
    let gateway = place.start_with("notice = \"2s\"");
    assert_eq!(
        last_of(&gateway, &place, "Firstbot", "/new"),
        UNKNOWN,
        "nobody knows what it may have read before"
    );
    until("the notice lapses", || (last_of(&gateway, &place, "Firstbot", "/new") == LAPSED).then_some(()));
    stop(gateway);
    let gateway = place.start_with("notice = \"2s\"");
    assert_eq!(last_of(&gateway, &place, "Firstbot", "/new"), LAPSED);
    stop(gateway);
    let [_, read, lapsed] = story(&place, "Firstbot");
    assert_eq!((read, lapsed), (0, 2));
}

#[test]
fn reads_are_kept_by_crawler_version_and_network() {
    let place = StorePlace::new();
    let settings = "trusted_proxies = [\"127.0.0.1\"]\naddresses = \"truncated\"";
    let gateway = place.start_with(settings);
    for (address, times) in [("198.51.100.7", 2), ("198.51.100.9", 1), ("203.0.113.5", 1)] {
        for _ in 0..times {
            let request = get("/robots.txt").by(user_agent("Readbot")).with("X-Forwarded-For", address);
            assert_eq!(gateway.send(&request).status, 200);
        }
    }
    stop(gateway);
    let reads = place.reader().reads(&Filter::default()).expect("a readable store");
    let mut told: Vec<_> = reads
        .iter()
        .map(|read| (read.key.network.as_deref().unwrap_or_default(), read.sum.seen.count))
        .collect();
    told.sort_unstable();
    assert_eq!(told, [("198.51.100.0/24", 3), ("203.0.113.0/24", 1)]);
    assert_eq!(reads[0].subject.crawler.as_deref(), Some("Readbot"));
    assert_eq!(reads[0].key.version.to_string(), version_of(crate::place::ROBOTS));
    assert!(
        reads.iter().all(|read| read.sum.seen.first <= read.sum.seen.last && &*read.key.host == "localhost")
    );
}

/// A gateway whose first version binds everyone already.
fn bound(place: &StorePlace) -> Daemon {
    std::fs::write(place.folder.join("robots.txt"), CLOSED).expect("a robots.txt");
    let gateway = place.start_with("notice = \"2s\"");
    until("the notice lapses", || (last_of(&gateway, place, "Doubtbot", "/new") == LAPSED).then_some(()));
    gateway
}

#[test]
fn a_store_that_is_lost_beside_whole_rows_is_no_first_start() {
    for loss in ["broken", "removed"] {
        let place = StorePlace::new();
        stop(bound(&place));
        match loss {
            "broken" => std::fs::write(place.store(), "no database").expect("a broken store"),
            _ => std::fs::remove_file(place.store()).expect("a store"),
        }
        let gateway = place.start_with("notice = \"2s\"");
        let first = last_of(&gateway, &place, "Doubtbot", "/new");
        // A broken one does not say whether they are the last that there were.
        assert_eq!(first, if loss == "broken" { UNKNOWN } else { LAPSED }, "{loss}");
        until("notice ends", || (last_of(&gateway, &place, "Doubtbot", "/new") == LAPSED).then_some(()));
        stop(gateway);
    }
}

/// The one document of rows there is.
fn rows_of(place: &StorePlace) -> std::path::PathBuf {
    let folder = std::fs::read_dir(place.store().with_file_name(ROWS_FOLDER)).expect("a folder");
    let mut found: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "rows"));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn where_rows_are_lost_nobody_is_accused_and_refusals_go_on() {
    for loss in
        ["broken", "removed", "all removed", "shortened", "put back", "put back beside a broken store"]
    {
        let place = StorePlace::new();
        let gateway = bound(&place);
        let rows = rows_of(&place);
        let bytes = std::fs::read(&rows).expect("rows");
        let next = format!("# It says the same.\n{CLOSED}");
        rename_over(&place.folder.join("robots.txt"), &next);
        until("it is served", || (gateway.send(&get("/robots.txt")).text() == next).then_some(()));
        stop(gateway);
        match loss {
            "broken" => std::fs::write(&rows, "no rows\n").expect("broken rows"),
            "removed" => std::fs::remove_file(&rows).expect("rows"),
            "all removed" => std::fs::remove_dir_all(rows.parent().expect("a folder")).expect("rows"),
            "put back" => std::fs::write(&rows, &bytes).expect("older rows"),
            "put back beside a broken store" => {
                std::fs::write(&rows, &bytes).expect("older rows");
                std::fs::write(place.store(), "no store").expect("a broken store");
            }
            _ => std::fs::write(&rows, &bytes[..200]).expect("shorter rows"),
        }
        let gateway = place.start_with("notice = \"1h\"");
        assert_eq!(last_of(&gateway, &place, "Doubtbot", "/new"), UNKNOWN, "{loss}");
        let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        let what = "what was served before the records were lost or damaged";
        assert_eq!(status["sites"][0]["unknown"][0]["what"], what, "{status}");
        stop(gateway);
    }
}

#[test]
fn a_state_folder_that_cannot_be_written_accuses_nobody_and_refuses_reloads() {
    let place = StorePlace::new();
    std::fs::write(place.folder.join("robots.txt"), CLOSED).expect("a robots.txt");
    // A file stands where the folder of rows should be: root may write everywhere else.
    let rows = place.store().with_file_name(ROWS_FOLDER);
    std::fs::create_dir_all(rows.parent().expect("a folder")).expect("a folder");
    std::fs::write(&rows, "").expect("a file");
    let gateway = place.start_with("notice = \"1s\"");
    std::thread::sleep(Duration::from_millis(1_100));
    let noted = last_of(&gateway, &place, "Doubtbot", "/new");
    assert_eq!(noted, UNKNOWN, "nothing can be noted, whatever time has passed");
    rename_over(&place.folder.join("robots.txt"), "User-agent: *\nDisallow: /other\nDisallow: /new\n");
    let report = gateway.ctl(&["reload", "--format", "json"]).exits(1).json();
    assert_eq!(report["result"], "refused", "{report}");
    let message = report["errors"][0]["message"].as_str().expect("a message");
    assert!(message.contains("make the state folder writable"), "{message}");
    assert_eq!(gateway.send(&get("/robots.txt")).text(), CLOSED, "what cannot be noted is not served");
    std::fs::remove_file(&rows).expect("a file");
    until("it accuses again", || (last_of(&gateway, &place, "Doubtbot", "/new") == LAPSED).then_some(()));
    stop(gateway);
}
