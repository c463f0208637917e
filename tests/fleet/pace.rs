//! No request waits for the database.

use crate::scene::{Scene, stands};
use crate::support::agents::GPTBOT;
use crate::support::{Daemon, get};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// How many requests are timed.
const REQUESTS: u32 = 3_000;

/// The slowest of a hundred requests, and how many come in a second.
fn timed(member: &Daemon) -> (Duration, f64) {
    let mut client = member.client();
    let begun = Instant::now();
    let mut times: Vec<Duration> = (0..REQUESTS)
        .map(|number| {
            let asked = Instant::now();
            client.send(&get(format!("/private/{number}")).by(GPTBOT));
            asked.elapsed()
        })
        .collect();
    let rate = f64::from(REQUESTS) / begun.elapsed().as_secs_f64();
    times.sort();
    (times[times.len() * 99 / 100], rate)
}

#[test]
fn requests_are_as_fast_while_the_database_is_frozen_or_gone() {
    let mut scene = Scene::new();
    let a = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&a, "member");
    timed(&a);
    let running = timed(&a);
    scene.engine.freeze();
    let frozen = timed(&a);
    scene.engine.thaw();
    scene.engine.kill();
    let gone = timed(&a);
    println!("p99 and requests a second: running {running:?}, frozen {frozen:?}, gone {gone:?}");
    // A single wait for the database would take seconds. The machine of the tests has other work to do, too.
    for (p99, _) in [frozen, gone] {
        assert!(p99 < running.0 * 4 + Duration::from_millis(20), "{p99:?} beside {:?}", running.0);
    }
}

/// What is not shown before another member's read has come.
const UNKNOWN: &str = "robots_gateway_fleet_reads_lag_seconds";

#[test]
fn metrics_are_those_of_the_reference() {
    let scene = Scene::new();
    let a = scene.published("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&a, "member");
    let reference = include_str!("../../docs/metrics.md");
    let listed: Vec<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("robots_gateway_fleet_") && *name != UNKNOWN)
        .collect();
    let socket = a.folder().join("control.sock");
    let output = std::process::Command::new("curl")
        .args(["-s", "--unix-socket", socket.to_str().expect("UTF-8"), "http://localhost/metrics"])
        .output()
        .expect("curl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let shown: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .filter(|name| name.starts_with("robots_gateway_fleet_") && *name != UNKNOWN)
        .collect();
    assert_eq!(shown, listed, "{text}");
}
