//! Fair notice across restarts (RFC 9309 §2.4): versions and reads outlive the process.

use crate::load::user_agent;
use crate::place::{Place, stop};
use crate::support::folder::rename_over;
use crate::support::{Daemon, get, until, version_of};
use robots_gateway::decide::Notice;
use robots_gateway::record::{EventKind, Filter};
use std::time::{Duration, SystemTime};

const OPEN: &str = "User-agent: *\nAllow: /\n";
const CLOSED: &str = "User-agent: *\nDisallow: /new\n";

fn ask(gateway: &Daemon, crawler: &str, target: &str) -> u16 {
    gateway.send(&get(target).by(user_agent(crawler))).status
}

fn replace(place: &Place, gateway: &Daemon, robots: &str) {
    rename_over(&place.folder.join("robots.txt"), robots);
    until("the new file is served", || (gateway.send(&get("/robots.txt")).text() == robots).then_some(()));
}

/// How often what was told of a crawler: stale, violation after its own read, violation after the notice.
fn story(place: &Place, crawler: &str) -> [u64; 3] {
    let reader = place.reader();
    let Some(window) = reader.span().expect("a readable store") else { return [0; 3] };
    let filter = Filter { crawler: Some(crawler.to_owned()), ..Filter::default() };
    let totals = reader.totals(&window, &filter).expect("a readable store");
    let kinds = [
        (EventKind::Stale, Notice::Pending),
        (EventKind::Violation, Notice::Read),
        (EventKind::Violation, Notice::Lapsed),
    ];
    kinds.map(|(kind, notice)| {
        let of = totals
            .iter()
            .filter(|total| total.decision.kind == kind && total.decision.notice == Some(notice));
        of.map(|total| total.count).sum()
    })
}

#[test]
fn the_story_of_a_new_rule_is_told_across_restarts() {
    let place = Place::new();
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
    let place = Place::new();
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
fn the_first_version_of_a_site_is_in_force_for_ever() {
    let place = Place::new();
    std::fs::write(place.folder.join("robots.txt"), CLOSED).expect("a robots.txt");
    for _ in 0..2 {
        let gateway = place.start_with("notice = \"1h\"");
        assert_eq!(ask(&gateway, "Firstbot", "/new"), 403);
        stop(gateway);
    }
    assert_eq!(story(&place, "Firstbot"), [0, 0, 2]);
}

#[test]
fn reads_are_kept_by_crawler_version_and_network() {
    let place = Place::new();
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
    let mut told: Vec<_> =
        reads.iter().map(|read| (read.network.as_deref().unwrap_or_default(), read.count)).collect();
    told.sort_unstable();
    assert_eq!(told, [("198.51.100.0/24", 3), ("203.0.113.0/24", 1)]);
    assert_eq!(reads[0].subject.crawler.as_deref(), Some("Readbot"));
    assert_eq!(reads[0].version.to_string(), version_of(crate::place::ROBOTS));
    assert!(reads.iter().all(|read| read.first <= read.last && &*read.host == "localhost"));
}

#[test]
fn where_the_store_was_broken_everybody_has_the_benefit_of_the_doubt() {
    let place = Place::new();
    std::fs::write(place.folder.join("robots.txt"), CLOSED).expect("a robots.txt");
    let gateway = place.start_with("notice = \"1h\"");
    assert_eq!(ask(&gateway, "Doubtbot", "/new"), 403);
    stop(gateway);
    std::fs::write(place.store(), "no database").expect("a broken store");
    let gateway = place.start_with("notice = \"1h\"");
    assert_eq!(ask(&gateway, "Doubtbot", "/new"), 200, "nobody knows which version it may hold");
    stop(gateway);
    assert_eq!(story(&place, "Doubtbot"), [1, 0, 0], "in the store that was begun");
}
