//! After every trouble the report of the fleet is the sum of its members' reports, to the last count.

use crate::scene::{PATIENCE, Scene, ctl_of, fleet_report, requests, stands, status};
use crate::support::agents::{CURL, GPTBOT, REQUESTS};
use crate::support::wait::within;
use crate::support::{Client, Daemon, get};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// For how long the database does not answer: longer than anybody waits for it.
const FROZEN: Duration = Duration::from_secs(60);

/// Sends requests to a gateway until it is told to stop; each answer counts.
fn keep_asking(address: SocketAddr, stop: &AtomicBool, answered: &AtomicU64) {
    let mut client = Client::to(address);
    for number in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let agent = [GPTBOT, CURL, REQUESTS][usize::try_from(number % 3).expect("small")];
        let target = match number % 5 {
            0 => "/robots.txt".to_owned(),
            1 => format!("/private/{}", number % 20),
            _ => format!("/page/{}", number % 30),
        };
        if client.try_send(&get(target).by(agent)).is_err() {
            return;
        }
        answered.fetch_add(u64::from(number % 5 > 0), Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ask_while<T>(members: &[&Daemon], work: impl FnOnce() -> T) -> (T, u64) {
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let done = std::thread::scope(|scope| {
        for member in members {
            let (address, stop, answered) = (member.address(), &stop, &answered);
            scope.spawn(move || keep_asking(address, stop, answered));
        }
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    });
    (done, answered.into_inner())
}

#[test]
fn nothing_is_lost_or_counted_twice_when_the_database_is_killed_four_times() {
    let mut scene = Scene::new();
    let keys = "settle = \"0s\"";
    let names = ["a", "b", "c"];
    let members = names.map(|name| scene.member(name, ROBOTS, "0s", keys));
    let [a, b, c] = members.each_ref();
    for member in [a, b, c] {
        stands(member, "member");
    }
    let engine = &mut scene.engine;
    let ((), answered) = ask_while(&[a, b, c], || {
        for _ in 0..4 {
            // Each kill comes at another point between two batches.
            std::thread::sleep(Duration::from_millis(3_700));
            engine.kill();
            engine.resume();
        }
    });
    let whole = scene.adds_up(a, &names);
    assert_eq!(requests(&whole), answered);
    assert_eq!(whole["counts_lost"], 0);
    // The database was asked more often than it was there.
    let batches = scene.engine.sql("SELECT sum(sequence) FROM robots_gateway.writer");
    println!("{answered} requests in {batches} pieces");
}

/// All of it, one after the other, while requests come: how many were answered, and how many of those a kill may have lost.
fn hurt(scene: &mut Scene, members: &mut [Daemon; 3]) -> (u64, u64) {
    let mut answered = 0;
    for _ in 0..4 {
        let [a, b, c] = members.each_ref();
        let engine = &mut scene.engine;
        answered += ask_while(&[a, b, c], || {
            std::thread::sleep(Duration::from_millis(2_300));
            engine.kill();
            engine.resume();
        })
        .1;
    }
    scene.engine.freeze();
    let [a, b, c] = members.each_ref();
    answered += ask_while(&[a, b, c], || std::thread::sleep(FROZEN)).1;
    scene.engine.thaw();
    let last = ask_while(&[b], || std::thread::sleep(Duration::from_secs(2))).1;
    b.signal("KILL");
    members[1] = scene.member("b", ROBOTS, "0s", "settle = \"0s\"");
    let [a, b, c] = members.each_ref();
    let standby = scene.engine.standby();
    answered += last + ask_while(&[a, b, c], || std::thread::sleep(Duration::from_secs(12))).1;
    scene.is_replaced_by(standby);
    answered += ask_while(&[a, b, c], || std::thread::sleep(Duration::from_secs(1))).1;
    (answered, last)
}

#[test]
fn the_report_of_the_fleet_is_the_sum_after_kills_a_frozen_minute_and_a_promotion() {
    let mut scene = Scene::new();
    let names = ["a", "b", "c"];
    let mut members = names.map(|name| scene.member(name, ROBOTS, "0s", "settle = \"0s\""));
    for member in &members {
        stands(member, "member");
    }
    let (answered, last) = hurt(&mut scene, &mut members);
    let whole = scene.adds_up(&members[0], &names);
    let found = requests(&whole);
    // A gateway that is killed loses a moment of its own report, too.
    assert!((answered - last..=answered).contains(&found), "{found} of {answered}");
    println!(
        "{answered} requests were answered, {} of them lost with a gateway's last moment",
        answered - found
    );
}

#[test]
fn a_member_that_is_killed_and_started_again_goes_on_where_it_was() {
    let scene = Scene::new();
    let keys = "settle = \"0s\"";
    let a = scene.member("a", ROBOTS, "0s", keys);
    let b = scene.member("b", ROBOTS, "0s", keys);
    ask_while(&[&a, &b], || std::thread::sleep(Duration::from_secs(3)));
    // Its last moment is lost in its own report, too.
    b.signal("KILL");
    drop(b);
    let b = scene.member("b", ROBOTS, "0s", keys);
    ask_while(&[&a, &b], || std::thread::sleep(Duration::from_secs(1)));
    let whole = scene.adds_up(&a, &["a", "b"]);
    assert!(requests(&whole) > 0);
    let stores = scene.engine.sql("SELECT count(*) FROM robots_gateway.writer");
    assert_eq!(stores, "2");
}

#[test]
fn a_member_that_stops_sends_all_and_leaves_at_once() {
    let scene = Scene::new();
    let a = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    let mut b = scene.member("b", ROBOTS, "0s", "settle = \"0s\"");
    stands(&b, "member");
    let ((), answered) = ask_while(&[&b], || std::thread::sleep(Duration::from_secs(1)));
    b.signal("TERM");
    assert_eq!(b.ends_within(Duration::from_secs(20)), Some(0), "{}", b.log.text());
    let report = fleet_report(&a);
    assert_eq!(requests(&report), answered, "{}", report["fleet"]);
    let pending = report["fleet"]["outboxes"].as_array().expect("outboxes");
    assert!(pending.iter().all(|outbox| outbox["name"] != "b"), "{pending:?}");
    let overview = ctl_of(&a, &["fleet", "--format", "json"]).exits(0).json();
    let names: Vec<&str> = overview["members"]
        .as_array()
        .expect("members")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn a_standby_that_lost_its_last_second_is_told_again() {
    let scene = Scene::new();
    let a = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&a, "member");
    let mark = || {
        scene.engine.sql("SELECT coalesce(sum(sequence), 0) FROM robots_gateway.writer").parse().unwrap_or(0)
    };
    ask_while(&[&a], || within(PATIENCE, || (mark() > 0).then_some(())).expect("a batch is taken"));
    // What comes after this copy was made is what the standby loses.
    let standby = scene.engine.standby();
    let before: i64 = mark();
    ask_while(&[&a], || within(PATIENCE, || (mark() > before).then_some(())).expect("another one is"));
    let mut scene = scene;
    scene.is_replaced_by(standby);
    scene.adds_up(&a, &["a"]);
    let stamp: i64 = scene.engine.sql("SELECT robots_gateway.stamp() >> 48").parse().expect("a number");
    assert_eq!(stamp, 2, "the second timeline");
}

#[test]
fn the_page_shows_the_whole_fleet_and_does_not_wait_long_for_its_database() {
    let scene = Scene::new();
    let a = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    let (b, admin) = scene.watched("b", ROBOTS, "settle = \"0s\"");
    stands(&a, "member");
    stands(&b, "member");
    assert_eq!(status(&b)["reads_lag_seconds"], Value::Null);
    for member in [&a, &b] {
        member.send(&get("/robots.txt").by(GPTBOT));
        member.send(&get("/article").by(GPTBOT));
    }
    let whole = scene.adds_up(&a, &["a", "b"]);
    assert_eq!(requests(&whole), 2);
    let page = |target: &str| Client::to(admin).send(&get(target));
    let shows = |target: &str, count: u64| {
        let wanted = format!("<dt>Requests</dt><dd>{count}</dd>");
        assert!(
            within(PATIENCE, || page(target).text().contains(&wanted).then_some(())).is_some(),
            "{target}"
        );
    };
    shows("/", 1);
    shows("/?fleet=1", 2);
    let lag = within(PATIENCE, || status(&b)["reads_lag_seconds"].as_f64());
    assert!(lag.is_some_and(|lag| lag < 60.0), "the read at the other member is some seconds late: {lag:?}");
    scene.engine.freeze();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let begun = Instant::now();
            let response = page("/?fleet=1&since=2h");
            (response.status, response.text(), begun.elapsed())
        });
        assert_eq!(page("/?since=2h").status, 200, "the page of this gateway alone");
        let (code, text, took) = waits.join().expect("an answer");
        assert!(code == 503 && text.contains("database does not answer"), "{code}: {text}");
        assert!(took < Duration::from_secs(20), "{took:?}");
    });
    scene.engine.thaw();
    shows("/?fleet=1&since=3h", 2);
}
