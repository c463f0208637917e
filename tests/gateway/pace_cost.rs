//! What keeping a pace costs: the instructions of a forwarded request of a crawler, with callgrind, and how long it takes.
//!
//! Both mean something only of a build for release, on a machine that does little else:
//! `cargo test --release --test gateway pace_cost -- --ignored --nocapture --test-threads=1`.

use crate::support::agents::GPTBOT;
use crate::support::{Client, Daemon, Folder, Nginx, get};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Fewer than may come in a minute at the shortest delay.
const REQUESTS: usize = 3_000;

/// Of both counts the better of so many runs.
const RUNS: usize = 2;

/// So many instructions more it may take. What the kernel does for a forwarded request, more than the gateway itself, is
/// not counted here.
const MOST: i64 = 1_200;

const PATIENCE: Duration = Duration::from_secs(60);

/// With a delay that nobody is too fast for, or without one.
fn gateway(origin: &Nginx, paced: bool, wrapper: &[&str]) -> Daemon {
    let delay = if paced { "Crawl-delay: 0.01\n" } else { "" };
    Daemon::with(format!("User-agent: *\nDisallow: /private\n{delay}"))
        .published()
        .in_mode("enforce")
        .in_front_of(origin)
        .arg("--threads")
        .arg("1")
        .site(if paced { "crawl_delay = \"enforce\"" } else { "" })
        .by(wrapper)
        .start()
}

fn fetch(client: &mut Client, number: usize) {
    client.send(&get(format!("/page/{number}")).by(GPTBOT)).came_from_origin();
}

/// Instructions of the thread that served the requests, for each.
fn instructions(origin: &Nginx, paced: bool) -> u64 {
    let folder = Folder::new();
    let out = format!("--callgrind-out-file={}", folder.path().join("count").display());
    let mut gateway =
        gateway(origin, paced, &["valgrind", "--tool=callgrind", "--separate-threads=yes", "--quiet", &out]);
    let mut client = gateway.client();
    (0..REQUESTS).for_each(|number| fetch(&mut client, number));
    drop(client);
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(PATIENCE), Some(0));
    let counts =
        std::fs::read_dir(folder.path()).expect("counts").filter_map(|file| total(&file.ok()?.path()));
    counts.max().expect("a worker") / u64::try_from(REQUESTS).expect("few")
}

/// What the worker has done: others write the store, and one has read the catalogue.
fn total(dump: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(dump).ok().filter(|text| text.contains("Gateway>::decide"))?;
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[test]
#[ignore = "needs a build for release, and takes a minute"]
fn a_pace_costs_few_instructions_of_a_forwarded_request() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind is not installed (Debian: apt-get install valgrind)");
        return;
    }
    let origin = Nginx::start();
    let best = |paced| (0..RUNS).map(|_| instructions(&origin, paced)).min().expect("a run");
    let (off, on) = (best(false), best(true));
    let more = on.cast_signed() - off.cast_signed();
    println!("a forwarded request takes {off} instructions without a pace, {on} with one: {more} more");
    assert!(more <= MOST, "{off} without, {on} with a pace");
}

#[test]
#[ignore = "means little on a busy machine"]
fn a_pace_delays_nobody() {
    let origin = Nginx::start();
    let gateways = [false, true].map(|paced| gateway(&origin, paced, &[]));
    let mut clients = gateways.each_ref().map(Daemon::client);
    let mut took: [Vec<Duration>; 2] = Default::default();
    // One after the other, so that both meet the same moods of the machine.
    for number in 0..2 * REQUESTS {
        for (client, took) in clients.iter_mut().zip(&mut took) {
            let begun = Instant::now();
            fetch(client, number);
            took.push(begun.elapsed());
        }
        if number % 900 == 899 {
            clients = gateways.each_ref().map(Daemon::client);
        }
    }
    let [off, on] = took.map(|mut took| {
        took.sort_unstable();
        [took.len() / 2, took.len() * 99 / 100].map(|at| took.get(at).copied().expect("requests"))
    });
    println!("median and p99 without a pace {off:?}, with one {on:?}");
    assert!(on[1] <= off[1].mul_f64(1.2) + Duration::from_micros(100), "{off:?}, {on:?}");
}
