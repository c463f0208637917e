//! What a fleet told whom: reads at every gateway, each counted once.

use crate::scene::{PATIENCE, Scene, ctl_of, stands};
use crate::support::agents::{CLAUDEBOT, GPTBOT};
use crate::support::wait::within;
use crate::support::{Daemon, get, version_of};
use serde_json::Value;
use std::collections::BTreeMap;

const OLD: &str = "User-agent: *\nContent-Signal: ai-train=no\nDisallow: /x\n";
const NEW: &str = "User-agent: *\nContent-Usage: train-ai=n\nDisallow: /x\n";

/// Name and version: how many reads.
type FleetReads = BTreeMap<(String, String), u64>;

fn read(member: &Daemon, agent: &str, name: &str, file: &str, times: u64, known: &mut FleetReads) {
    for _ in 0..times {
        let answer = member.send(&get("/robots.txt").by(agent));
        assert_eq!(answer.text(), file);
    }
    *known.entry((name.to_owned(), version_of(file))).or_default() += times;
}

fn report(member: &Daemon) -> Value {
    ctl_of(member, &["report", "--fleet", "--format", "json"]).exits(0).json()
}

fn told(report: &Value) -> FleetReads {
    let crawlers = report["crawlers"].as_array().expect("crawlers").iter();
    let all = crawlers.flat_map(|crawler| {
        let name = crawler["crawler"].as_str().expect("a name");
        crawler["told"].as_array().expect("a list").iter().map(move |told| (name, told))
    });
    let one = |(name, told): (&str, &Value)| {
        let version = told["robots_version"].as_str().expect("a version");
        ((name.to_owned(), version.to_owned()), told["reads"].as_u64().expect("a count"))
    };
    all.map(one).collect()
}

#[track_caller]
fn settles_at(member: &Daemon, known: &FleetReads) {
    let mut last = Value::Null;
    let settled = within(PATIENCE, || {
        last = report(member);
        (told(&last) == *known).then_some(())
    });
    assert!(settled.is_some(), "{last:#} instead of {known:?}");
}

#[test]
fn every_read_at_every_member_is_told_once() {
    let mut scene = Scene::new();
    let members = ["a", "b"].map(|name| scene.member(name, OLD, "0s", "settle = \"0s\""));
    let [a, b] = members;
    for member in [&a, &b] {
        stands(member, "member");
    }
    let mut known = FleetReads::new();
    read(&a, GPTBOT, "GPTBot", OLD, 3, &mut known);
    read(&b, GPTBOT, "GPTBot", OLD, 4, &mut known);
    read(&b, CLAUDEBOT, "ClaudeBot", OLD, 2, &mut known);
    settles_at(&a, &known);
    // A kill of the database between two batches, and of a member after what it counted was written.
    scene.engine.kill();
    scene.engine.resume();
    for member in [&a, &b] {
        std::fs::write(member.robots(), NEW).expect("a robots.txt");
    }
    for member in [&a, &b] {
        let served = within(PATIENCE, || {
            let answer = member.send(&get("/robots.txt").by(crate::support::agents::CHROME));
            (answer.text() == NEW).then_some(())
        });
        assert!(served.is_some(), "{}", member.log.text());
    }
    read(&a, CLAUDEBOT, "ClaudeBot", NEW, 1, &mut known);
    read(&b, GPTBOT, "GPTBot", NEW, 5, &mut known);
    settles_at(&a, &known);
    b.signal("KILL");
    drop(b);
    let b = scene.member("b", NEW, "0s", "settle = \"0s\"");
    stands(&b, "member");
    read(&b, GPTBOT, "GPTBot", NEW, 2, &mut known);
    settles_at(&a, &known);
    scene.adds_up(&a, &["a", "b"]);
    println!("{known:?}");
}
