//! Nobody is accused at one gateway of what it could not know of another.

use crate::relay::{DatabaseRelay, RelayState};
use crate::scene::{PATIENCE, Scene, ctl_of, stands, status};
use crate::support::agents::{BINGBOT, CHROME, CLAUDEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::journal::JournalFile;
use crate::support::wait::within;
use crate::support::{Daemon, get};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The old rules and the new ones: each forbids what the other allows.
const OLD: &str = "User-agent: *\nDisallow: /old\n";
const NEW: &str = "User-agent: *\nDisallow: /new\n";

const KEYS: &str = "settle = \"0s\"\nlease = \"10s\"";

/// What is recorded of a request for `target`, which nobody asked for before.
#[track_caller]
fn judged(scene: &Scene, name: &str, member: &Daemon, target: &str, agent: &str) -> (String, String) {
    member.send(&get(target).by(agent));
    let journal = JournalFile(scene.state(name).join("journal.jsonl"));
    let event = journal.event_of(target);
    let word = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
    (word("event"), word("notice"))
}

#[track_caller]
fn is_judged(scene: &Scene, name: &str, member: &Daemon, target: &str, agent: &str, expected: (&str, &str)) {
    let found = judged(scene, name, member, target, agent);
    assert_eq!((found.0.as_str(), found.1.as_str()), expected, "{target}; {}", status(member));
}

fn serves(member: &Daemon, robots: &str) -> bool {
    member.send(&get("/robots.txt")).text() == robots
}

fn serves_to(member: &Daemon, robots: &str, agent: &str) -> bool {
    member.send(&get("/robots.txt").by(agent)).text() == robots
}

/// Whether no other member serves another version any more.
fn is_served_by_all(member: &Daemon) -> bool {
    let status = member.ctl(&["status", "--format", "json"]).json();
    status["sites"][0]["notice"]
        .as_str()
        .is_some_and(|notice| !notice.contains("still serves another version"))
}

#[track_caller]
fn comes_to_serve(member: &Daemon, robots: &str, patience: Duration) -> Duration {
    let begun = Instant::now();
    assert!(within(patience, || serves(member, robots).then_some(())).is_some(), "{}", member.log.text());
    begun.elapsed()
}

#[test]
fn what_one_member_begins_to_serve_is_held_by_everybody_at_the_others() {
    let scene = Scene::new();
    let (a, b) = (scene.published("a", OLD, "1h", KEYS), scene.published("b", OLD, "1h", KEYS));
    stands(&a, "member");
    stands(&b, "member");
    is_judged(&scene, "b", &b, "/old/before", GPTBOT, ("violation", "lapsed"));
    rename_over(&a.robots(), NEW);
    let took = comes_to_serve(&a, NEW, PATIENCE);
    println!("a changed file was served after {took:?}");
    // A crawler that has read it at the one may hold it at the other, which serves the old one.
    assert!(serves(&b, OLD));
    is_judged(&scene, "b", &b, "/old/after", GPTBOT, ("stale", "pending"));
    rename_over(&b.robots(), NEW);
    comes_to_serve(&b, NEW, PATIENCE);
    // Now everybody has the new one, and the old one is within notice.
    let settled = within(PATIENCE, || is_served_by_all(&b).then_some(()));
    assert!(settled.is_some());
    is_judged(&scene, "b", &b, "/new/unread", BINGBOT, ("stale", "pending"));
}

#[test]
fn a_read_at_one_member_counts_at_the_others() {
    let scene = Scene::new();
    let settle = "settle = \"1s\"";
    let [a, b] = ["a", "b"].map(|name| scene.published_with(name, OLD, "1h", KEYS, settle));
    stands(&a, "member");
    stands(&b, "member");
    for member in [&a, &b] {
        rename_over(&member.robots(), NEW);
    }
    comes_to_serve(&a, NEW, PATIENCE);
    comes_to_serve(&b, NEW, PATIENCE);
    is_judged(&scene, "b", &b, "/new/0", CLAUDEBOT, ("stale", "pending"));
    let mut attempt = 0;
    let found = within(PATIENCE, || {
        // It is known at once that all serve the new one only some moments later: only a read after that tells.
        a.send(&get("/robots.txt").by(CLAUDEBOT));
        std::thread::sleep(Duration::from_millis(700));
        attempt += 1;
        let (event, notice) = judged(&scene, "b", &b, &format!("/new/{attempt}"), CLAUDEBOT);
        (event == "violation").then_some(notice)
    });
    assert_eq!(found.as_deref(), Some("read"), "{}; {}", status(&a), status(&b));
    is_judged(&scene, "b", &b, "/new/unread", GPTBOT, ("stale", "pending"));
}

#[test]
fn a_member_that_is_frozen_is_waited_for_until_its_lease_is_over_and_then_accuses_nobody() {
    let scene = Scene::new();
    let (a, b) = (scene.published("a", OLD, "1h", KEYS), scene.published("b", OLD, "1h", KEYS));
    stands(&a, "member");
    stands(&b, "member");
    b.signal("STOP");
    let stopped = Instant::now();
    rename_over(&a.robots(), NEW);
    let refused = within(PATIENCE, || {
        let last = a.ctl(&["status", "--format", "json"]).json()["last_reload"].clone();
        (last["result"] == "refused").then_some(last)
    });
    let told = refused.unwrap_or_else(|| panic!("{}", a.log.text()))["errors"][0]["message"].clone();
    assert!(told.as_str().is_some_and(|told| told.contains("waits for b")), "{told}");
    comes_to_serve(&a, NEW, PATIENCE);
    assert!(stopped.elapsed() > Duration::from_secs(10), "{:?}", stopped.elapsed());
    // It wakes up, and may have missed anything.
    b.signal("CONT");
    // Time limits have passed for connections that were open, and for none that comes now.
    assert_eq!(b.send(&get("/").by(CHROME)).status, 200, "{}", b.log.text());
    let (event, _) = judged(&scene, "b", &b, "/old/awake", GPTBOT);
    assert_eq!(event, "stale");
    stands(&b, "member");
    is_judged(&scene, "b", &b, "/old/later", GPTBOT, ("stale", "pending"));
}

#[test]
fn what_a_member_that_is_cut_off_goes_on_to_serve_may_be_held_everywhere() {
    let scene = Scene::new();
    let settle = "settle = \"0s\"";
    let a = scene.published_with("a", OLD, "1h", KEYS, settle);
    let relay = DatabaseRelay::to(scene.engine.port());
    let b = scene.builder_by(relay.port(), "b", OLD, "1h", KEYS).set(settle).served_for_long().start();
    stands(&a, "member");
    stands(&b, "member");
    relay.set(RelayState::Silent);
    rename_over(&a.robots(), NEW);
    comes_to_serve(&a, NEW, PATIENCE);
    assert_eq!(status(&b)["standing"], "isolated");
    // A crawler reads the new one here and the old one there, and obeys what it read last.
    for attempt in 0..10 {
        assert!(serves_to(&a, NEW, GPTBOT) && serves_to(&b, OLD, GPTBOT));
        is_judged(&scene, "a", &a, &format!("/new/cut-off/{attempt}"), GPTBOT, ("stale", "pending"));
        std::thread::sleep(Duration::from_millis(200));
    }
    scene.forget("b");
    let mut attempt = 0;
    let found = within(PATIENCE, || {
        assert!(serves_to(&a, NEW, GPTBOT));
        attempt += 1;
        let (event, notice) = judged(&scene, "a", &a, &format!("/new/{attempt}"), GPTBOT);
        (event == "violation").then_some(notice)
    });
    assert_eq!(found.as_deref(), Some("read"), "{}", status(&a));
}

#[test]
fn a_version_that_came_and_went_while_a_member_was_away_may_be_held_there() {
    let scene = Scene::new();
    let [a, mut b] = ["a", "b"].map(|name| scene.published(name, OLD, "1h", KEYS));
    stands(&a, "member");
    stands(&b, "member");
    b.signal("TERM");
    assert_eq!(b.ends_within(PATIENCE), Some(0), "{}", b.log.text());
    for robots in [NEW, OLD] {
        rename_over(&a.robots(), robots);
        comes_to_serve(&a, robots, PATIENCE);
    }
    // A crawler that read the new one at the one member obeys it at the other.
    let b = scene.published("b", OLD, "1h", KEYS);
    stands(&b, "member");
    is_judged(&scene, "b", &b, "/old/back", GPTBOT, ("stale", "pending"));
}

#[test]
fn the_operator_says_that_a_member_is_gone() {
    let scene = Scene::new();
    let keys = "settle = \"0s\"\nlease = \"10m\"";
    let (a, b) = (scene.published("a", OLD, "1h", keys), scene.published("b", OLD, "1h", keys));
    stands(&a, "member");
    stands(&b, "member");
    b.signal("KILL");
    rename_over(&a.robots(), NEW);
    let waits = within(PATIENCE, || (status(&a)["waits_for"][0] == "b").then_some(()));
    assert!(waits.is_some(), "{}", status(&a));
    // The credentials of a member are not enough.
    let refused = ctl_of(&a, &["fleet", "forget", "b"]).exits(2);
    assert!(refused.stderr.contains("refuses"), "{}", refused.stderr);
    scene.forget("b");
    comes_to_serve(&a, NEW, PATIENCE);
}

#[test]
fn a_new_member_inherits_what_the_others_know() {
    let scene = Scene::new();
    let a = scene.published("a", OLD, "1h", KEYS);
    stands(&a, "member");
    // Its folder is empty, and nobody says since when the file was published.
    let b = scene.member("b", OLD, "1h", KEYS);
    stands(&b, "member");
    is_judged(&scene, "b", &b, "/old/first", GPTBOT, ("violation", "lapsed"));
    // Another file changes, and a third one joins: it knows what the others replaced.
    for member in [&a, &b] {
        rename_over(&member.robots(), NEW);
    }
    comes_to_serve(&a, NEW, PATIENCE);
    comes_to_serve(&b, NEW, PATIENCE);
    let c = scene.member("c", NEW, "1h", KEYS);
    stands(&c, "member");
    is_judged(&scene, "c", &c, "/new/first", GPTBOT, ("stale", "pending"));
}

#[test]
fn a_member_without_the_database_goes_on_refusing_and_accuses_nobody() {
    let mut scene = Scene::new();
    let a = scene.published_in("a", OLD, "enforce", KEYS);
    stands(&a, "member");
    let journal = |target: &str| JournalFile(scene.state("a").join("journal.jsonl")).event_of(target);
    let ask = |target: &str| a.send(&get(target).by(GPTBOT)).status;
    assert_eq!(
        (ask("/old/1"), journal("/old/1")["event"].as_str().map(str::to_owned)),
        (403, Some("violation".to_owned()))
    );
    scene.engine.freeze();
    let isolated = within(PATIENCE, || (status(&a)["standing"] == "isolated").then_some(()));
    assert!(isolated.is_some(), "{}", status(&a));
    assert_eq!(ask("/old/2"), 403);
    let journal = |target: &str| JournalFile(scene.state("a").join("journal.jsonl")).event_of(target);
    let event = journal("/old/2");
    assert_eq!((&event["event"], &event["notice"]), (&Value::from("stale"), &Value::from("unknown")));
    scene.engine.thaw();
    stands(&a, "member");
    scene.engine.kill();
    scene.engine.resume();
    assert_eq!(ask("/old/3"), 403);
    let events = within(PATIENCE, || {
        let target = format!("/old/{:?}", Instant::now());
        let target = target.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '/', "-");
        ask(&target);
        (JournalFile(scene.state("a").join("journal.jsonl")).event_of(&target)["event"] == "violation")
            .then_some(())
    });
    assert!(events.is_some(), "{}", status(&a));
}

/// Two members, of which `b` was killed within its lease.
fn members_of_which_b_is_gone(scene: &Scene) -> [Daemon; 2] {
    let keys = "settle = \"0s\"\nlease = \"10m\"";
    let members = ["a", "b"].map(|name| scene.published(name, OLD, "1h", keys));
    for member in &members {
        stands(member, "member");
    }
    members[1].signal("KILL");
    members
}

#[test]
fn an_emergency_waits_for_nobody() {
    let scene = Scene::new();
    let [a, _b] = members_of_which_b_is_gone(&scene);
    std::fs::write(a.robots(), NEW).expect("the file");
    // Without the word for emergencies it waits for the one that is gone.
    a.ctl(&["reload"]).exits(1);
    assert!(serves(&a, OLD));
    a.ctl(&["reload", "--now"]).exits(0);
    assert!(serves(&a, NEW));
    // What another member counts as serving is held, and said once more it binds when that is over.
    is_judged(&scene, "a", &a, "/new/1", GPTBOT, ("stale", "pending"));
    scene.forget("b");
    let settled = within(PATIENCE, || is_served_by_all(&a).then_some(()));
    assert!(settled.is_some());
    let told = a.ctl(&["reload", "--now"]).exits(0);
    assert!(told.stdout.contains("notice is waived for everyone"), "{}", told.stdout);
    is_judged(&scene, "a", &a, "/new/2", GPTBOT, ("stale", "waived"));
}

#[test]
fn a_word_for_emergencies_at_one_member_holds_at_the_others() {
    let scene = Scene::new();
    let [a, b] = ["a", "b"].map(|name| scene.published(name, OLD, "1h", KEYS));
    for member in [&a, &b] {
        stands(member, "member");
    }
    for member in [&a, &b] {
        rename_over(&member.robots(), NEW);
    }
    for member in [&a, &b] {
        comes_to_serve(member, NEW, PATIENCE);
    }
    is_judged(&scene, "b", &b, "/new/before", GPTBOT, ("stale", "pending"));
    let settled = within(PATIENCE, || is_served_by_all(&a).then_some(()));
    assert!(settled.is_some());
    a.ctl(&["reload", "--now"]).exits(0);
    let waived = within(PATIENCE, || {
        let status = b.ctl(&["status", "--format", "json"]).json();
        status["sites"][0]["notice"].as_str().is_some_and(|notice| notice.contains("waived")).then_some(())
    });
    assert!(waived.is_some(), "{}", status(&b));
    is_judged(&scene, "b", &b, "/new/after", GPTBOT, ("stale", "waived"));
}

#[test]
fn a_restart_with_another_file_waits_as_a_reload_does() {
    let scene = Scene::new();
    let keys = "settle = \"0s\"\nlease = \"10m\"";
    let [mut a, b] = ["a", "b"].map(|name| scene.published(name, OLD, "1h", keys));
    for member in [&a, &b] {
        stands(member, "member");
    }
    b.signal("STOP");
    a.signal("TERM");
    assert_eq!(a.ends_within(PATIENCE), Some(0), "{}", a.log.text());
    let a = scene.published("a", NEW, "1h", keys);
    assert!(serves(&a, OLD), "{}", a.log.text());
    let waits = within(PATIENCE, || (status(&a)["waits_for"][0] == "b").then_some(()));
    assert!(waits.is_some(), "{}", status(&a));
    b.signal("CONT");
    comes_to_serve(&a, NEW, PATIENCE);
}

#[test]
fn only_the_robots_txt_waits_of_a_configuration_that_changed() {
    let scene = Scene::new();
    let [a, _b] = members_of_which_b_is_gone(&scene);
    rename_over(&a.robots(), NEW);
    let path = a.folder().join("gateway.toml");
    let config = std::fs::read_to_string(&path).expect("a configuration");
    rename_over(&path, format!("robots_max_age = \"10m\"\n{config}"));
    let age = || a.send(&get("/robots.txt")).header("cache-control").unwrap_or_default().to_owned();
    assert!(within(PATIENCE, || age().contains("max-age=600").then_some(())).is_some(), "{}", a.log.text());
    assert!(serves(&a, OLD));
    // The rest is in force before it is told what waits.
    let waits = within(PATIENCE, || {
        let last = a.ctl(&["status", "--format", "json"]).json()["last_reload"].clone();
        last["errors"][0]["message"].as_str()?.contains("waits for b").then_some(())
    });
    assert!(waits.is_some(), "{}", a.log.text());
}

#[test]
fn who_says_the_same_again_adds_nothing_to_the_rows_of_the_others() {
    let scene = Scene::new();
    let [a, b] = ["a", "b"].map(|name| scene.published(name, OLD, "1h", KEYS));
    for member in [&a, &b] {
        stands(member, "member");
    }
    let applied = || scene.engine.sql("SELECT applied FROM robots_gateway.member WHERE name = 'a'");
    let size = || {
        let rows = std::fs::read_dir(scene.state("a").join("rows")).into_iter().flatten().flatten();
        rows.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum::<u64>()
    };
    let is_calm = |last: &mut (u64, String)| {
        let now = (size(), applied());
        std::mem::replace(last, now.clone()) == now
    };
    let mut last = (0, String::new());
    assert!(
        within(PATIENCE, || {
            std::thread::sleep(Duration::from_millis(1_500));
            is_calm(&mut last).then_some(())
        })
        .is_some()
    );
    scene.engine.sql("BEGIN; SET LOCAL ROLE robots_gateway_owner; UPDATE robots_gateway.member SET changed = robots_gateway.next_stamp() WHERE name = 'b'; COMMIT");
    assert!(within(PATIENCE, || (applied() != last.1).then_some(())).is_some(), "{}", status(&a));
    assert_eq!(size(), last.0);
}
