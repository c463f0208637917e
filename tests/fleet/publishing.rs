//! One place to change what all members serve and enforce.

use crate::scene::{PATIENCE, Scene, ctl_of, stands};
use crate::support::agents::GPTBOT;
use crate::support::journal::JournalFile;
use crate::support::wait::within;
use crate::support::{Daemon, get};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::Value;
use std::time::{Duration, Instant};

const OLD: &str = "User-agent: *\nDisallow: /old\n";
const NEW: &str = "User-agent: *\nDisallow: /new\n";

const KEYS: &str = "settle = \"0s\"\nlease = \"10s\"";

fn serves(member: &Daemon, robots: &str) -> bool {
    member.send(&get("/robots.txt")).text() == robots
}

#[track_caller]
fn comes_to_serve(member: &Daemon, robots: &str) {
    let served = within(PATIENCE, || serves(member, robots).then_some(()));
    assert!(served.is_some(), "{}", member.log.text());
}

/// What `gatewayctl fleet` says, once it ends so.
#[track_caller]
fn overview(member: &Daemon, exit: i32) -> Value {
    let mut last = String::new();
    let found = within(PATIENCE, || {
        let ended = ctl_of(member, &["fleet", "--format", "json"]);
        last.clone_from(&ended.stdout);
        (ended.code == Some(exit)).then(|| ended.json())
    });
    found.unwrap_or_else(|| panic!("{last}; {}", member.log.text()))
}

/// Waits until `gatewayctl fleet` says why a member is late.
#[track_caller]
fn tells(member: &Daemon, why: &str) {
    let mut told = Value::Null;
    let found = within(PATIENCE, || {
        told = overview(member, 1);
        told["members"][0]["late"].as_str()?.contains(why).then_some(())
    });
    assert!(found.is_some(), "{told}; {}", member.log.text());
}

#[test]
fn a_new_member_with_an_older_file_of_its_own_begins_with_what_is_published() {
    let scene = Scene::new();
    let a = scene.published_with("a", OLD, "1h", KEYS, "settle = \"0s\"");
    stands(&a, "member");
    let file = scene.file("published.txt", NEW);
    scene.publisher(&["fleet", "publish", &file]).exits(0);
    comes_to_serve(&a, NEW);
    let is_accused = |target: &str| {
        a.send(&get(target).by(GPTBOT));
        JournalFile(scene.state("a").join("journal.jsonl")).event_of(target)["event"] == "violation"
    };
    let mut asked = 0;
    let bound = within(PATIENCE, || {
        a.send(&get("/robots.txt").by(GPTBOT));
        asked += 1;
        is_accused(&format!("/new/{asked}")).then_some(())
    });
    assert!(bound.is_some(), "{}", a.log.text());
    let b = scene.member("b", OLD, "1h", KEYS);
    assert!(serves(&b, NEW), "{}", b.log.text());
    stands(&b, "member");
    // Nobody was told of a file that allows it.
    assert!(is_accused("/new/after"), "{}", a.log.text());
}

#[test]
fn what_is_published_is_served_and_enforced_by_all_members() {
    let mut scene = Scene::new();
    let names = ["a", "b", "c", "d", "e"];
    let members = names.map(|name| scene.published(name, OLD, "1h", KEYS));
    for member in &members {
        stands(member, "member");
    }
    let file = scene.file("published.txt", NEW);
    let begun = Instant::now();
    let done = scene.publisher(&["fleet", "publish", &file, "--format", "json"]).exits(0).json();
    assert_eq!((&done["generation"], &done["sites"][0]["site"]), (&1.into(), &"default".into()));
    let took = std::thread::scope(|scope| {
        let waits = members.each_ref().map(|member| {
            scope.spawn(move || {
                comes_to_serve(member, NEW);
                begun.elapsed()
            })
        });
        let mut took = waits.map(|wait| wait.join().expect("it serves it"));
        took.sort();
        took
    });
    println!("served after {took:?}");
    // A second for each of the beats that a change takes. The machine of the tests has other work to do.
    assert!(took[2] < Duration::from_secs(10), "{took:?}");
    let told = overview(&members[0], 0);
    let applied: Vec<&Value> =
        told["members"].as_array().expect("members").iter().map(|one| &one["generation"]).collect();
    assert_eq!((&told["generation"], applied), (&1.into(), vec![&Value::from(1); 5]));
    // Modes come in the same way, and leave the file as it is.
    scene.publisher(&["mode", "--fleet", "enforce"]).exits(0);
    for member in &members {
        let is_enforced =
            || member.ctl(&["mode"]).stdout.contains("enforce, published for the fleet").then_some(());
        assert!(within(PATIENCE, is_enforced).is_some(), "{}", member.log.text());
        assert!(serves(member, NEW));
    }
    // What was set at one gateway is stronger there.
    members[0].ctl(&["mode", "audit"]).exits(0);
    assert!(members[0].ctl(&["mode"]).stdout.contains("audit, set by hand"));
    // A start needs no database for it.
    let [_, mut b, ..] = members;
    scene.engine.kill();
    b.signal("TERM");
    assert_eq!(b.ends_within(PATIENCE), Some(0), "{}", b.log.text());
    let b = scene.published("b", OLD, "1h", KEYS);
    assert!(serves(&b, NEW), "{}", b.log.text());
    assert!(b.ctl(&["mode"]).stdout.contains("published for the fleet"));
    // And the tool judges by it.
    let state = scene.state("b");
    let explained = ctl_of(
        &b,
        &[
            "explain",
            "--user-agent",
            GPTBOT,
            "--target",
            "/new/x",
            "--state-dir",
            state.to_str().expect("UTF-8"),
        ],
    );
    explained.exits(1);
    scene.engine.resume();
    scene.publisher(&["fleet", "publish", "--clear"]).exits(0);
    comes_to_serve(&b, OLD);
}

#[test]
fn only_the_publisher_publishes_and_only_what_it_signed_is_taken() {
    let scene = Scene::new();
    let der = [b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", &[7; 32][..]].concat();
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).expect("a key");
    let public = [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", pair.public_key().as_ref()].concat();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der));
    let key = scene.file("key.pem", pem);
    let keys = format!("{KEYS}\npublisher_key = \"{}\"", STANDARD.encode(public));
    let a = scene.published("a", OLD, "1h", &keys);
    stands(&a, "member");
    let file = scene.file("published.txt", NEW);
    // A member may not, and does not without the key.
    let refused = ctl_of(&a, &["fleet", "publish", &file]).exits(2);
    assert!(refused.stderr.contains("--key FILE"), "{}", refused.stderr);
    let refused = ctl_of(&a, &["fleet", "publish", &file, "--key", &key]).exits(2);
    let says = |text: &str| refused.stderr.contains(text);
    assert!(says("permission denied") && says("GRANT robots_gateway_publisher"), "{}", refused.stderr);
    // The publisher's user without the key is not enough.
    scene.publisher(&["fleet", "publish", &file]).exits(0);
    tells(&a, "is not signed");
    assert!(serves(&a, OLD));
    let refused = scene.publisher(&["fleet", "publish", &file, "--key", &key]).exits(2);
    assert!(refused.stderr.contains("--anew"), "{}", refused.stderr);
    scene.publisher(&["fleet", "publish", &file, "--key", &key, "--anew"]).exits(0);
    comes_to_serve(&a, NEW);
    overview(&a, 0);
    // What was signed for one generation is none of another.
    scene.engine.sql(
        "BEGIN; SET LOCAL ROLE robots_gateway_owner; INSERT INTO robots_gateway.generation (number, stamp, published, document, signature)
         SELECT 3, 1, now(), document, signature FROM robots_gateway.generation WHERE number = 2; COMMIT",
    );
    tells(&a, "says that it is generation 2");
}

#[test]
fn a_file_that_may_not_come_into_force_is_published_by_nobody_and_taken_by_nobody() {
    let scene = Scene::new();
    let a = scene.published("a", OLD, "1h", KEYS);
    stands(&a, "member");
    let file = scene.file("page.txt", "<html></html>");
    let refused = scene.publisher(&["fleet", "publish", &file]).exits(2);
    assert!(refused.stderr.contains("web page"), "{}", refused.stderr);
    let html = STANDARD.encode("<html></html>");
    let document = format!(r#"{{"number":1,"robots":{{"default":"{html}"}}}}"#);
    scene
        .engine
        .sql_of("publisher", &format!("SELECT robots_gateway.publish(1, '{document}', '')"))
        .expect("it may");
    tells(&a, "web page");
    assert!(serves(&a, OLD));
    // What is unlike anything that is known is not half taken.
    scene
        .engine
        .sql_of("publisher", r#"SELECT robots_gateway.publish(2, '{"number":2,"origin":"http://x"}', '')"#)
        .expect("it may");
    tells(&a, "unknown field");
    let file = scene.file("robots.txt", NEW);
    scene.publisher(&["fleet", "publish", &file, "--anew"]).exits(0);
    comes_to_serve(&a, NEW);
}

#[test]
fn what_nobody_serves_is_not_published_and_what_is_ended_is_said() {
    let scene = Scene::new();
    let a = scene.published("a", OLD, "1h", KEYS);
    stands(&a, "member");
    overview(&a, 0);
    let file = scene.file("published.txt", NEW);
    let refused = scene.publisher(&["fleet", "publish", &file, "--site", "shop.example"]).exits(2);
    let says = |text: &str| refused.stderr.contains(text);
    assert!(says("no member of the fleet serves a site called `shop.example`"), "{}", refused.stderr);
    assert!(says("--site names one of these: default"), "{}", refused.stderr);
    scene.publisher(&["mode", "--fleet", "enforce"]).exits(0);
    let done = scene.publisher(&["fleet", "publish", &file, "--anew", "--wait"]).exits(0);
    let says = |text: &str| done.stdout.contains(text);
    assert!(says("generation 2") && says("no longer published for the fleet: enforce"), "{}", done.stdout);
    assert!(says("every member has applied it"), "{}", done.stdout);
    assert!(serves(&a, NEW), "it waited for that");
}
