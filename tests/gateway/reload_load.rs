//! A thousand reloads while several clients ask: no request fails, none sees two policies, and each
//! change is judged by soon after the rename.

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::{Client, Daemon, Nginx, get};
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const RELOADS: usize = 1_000;
const CONTENTS: usize = 8;
const CLIENTS: usize = 3;

/// Each content disallows a path of its own and nothing else, and differs in length from the others.
fn content(number: usize) -> String {
    let padding = "# rules change\n".repeat(number * 7);
    format!("{padding}User-agent: *\nDisallow: /only-{number}\n")
}

fn resident_kib(process: u32) -> u64 {
    let status =
        fs::read_to_string(format!("/proc/{process}/status")).expect("Linux shows a process's memory");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Asks for all eight paths in turn, and for a page as a browser; returns what it could not accept.
fn ask(address: SocketAddr, stop: &AtomicBool, count: &AtomicU64) -> Result<(), String> {
    let mut client = Client::try_to(address).map_err(|error| format!("cannot connect: {error}"))?;
    for number in (0..CONTENTS).cycle() {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let path = format!("/only-{number}");
        for agent in [GPTBOT, CHROME] {
            let response =
                client.try_send(&get(&path).by(agent)).map_err(|error| format!("{path} failed: {error}"))?;
            count.fetch_add(1, Ordering::Relaxed);
            let rule = format!("rule: Disallow: {path}\n");
            let right = match response.status {
                200 => response.body.starts_with(b"origin: "),
                403 => agent == GPTBOT && response.text().contains(&rule),
                _ => false,
            };
            if !right {
                return Err(format!("{path} by {agent}: {response:?}"));
            }
        }
    }
    Ok(())
}

/// Swaps the content and waits until it is judged by; the time from the rename.
fn swap(gateway: &Daemon, client: &mut Client, number: usize) -> Duration {
    let probe = get(format!("/only-{number}")).by(GPTBOT);
    rename_over(&gateway.robots(), content(number));
    let renamed = Instant::now();
    loop {
        let status = client.send(&probe).status;
        let elapsed = renamed.elapsed();
        match status {
            403 => return elapsed,
            200 => assert!(elapsed < Duration::from_secs(10), "the change is not judged by"),
            _ => panic!("{status} in the middle of a reload"),
        }
    }
}

#[test]
fn a_thousand_reloads_under_load() {
    let origin = Nginx::start();
    let gateway = Daemon::with(content(0)).in_mode("enforce").with_notice("0s").in_front_of(&origin).start();
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut client = gateway.client();
    let (mut times, memory, failures) = thread::scope(|scope| {
        let askers: Vec<_> =
            (0..CLIENTS).map(|_| scope.spawn(|| ask(gateway.address(), &stop, &count))).collect();
        let mut times = Vec::with_capacity(RELOADS);
        let mut memory = (0, 0);
        for reload in 1..=RELOADS {
            times.push(swap(&gateway, &mut client, reload % CONTENTS));
            match reload {
                200 => memory.0 = resident_kib(gateway.process_id()),
                RELOADS => memory.1 = resident_kib(gateway.process_id()),
                _ => {}
            }
        }
        stop.store(true, Ordering::Relaxed);
        let results = askers.into_iter().map(|asker| asker.join().expect("no panic"));
        (times, memory, results.filter_map(Result::err).collect::<Vec<_>>())
    });
    times.sort();
    let (median, last) = (times[RELOADS / 2], times[RELOADS - RELOADS / 100]);
    println!(
        "{RELOADS} reloads, {} requests of {CLIENTS} clients meanwhile: judged by after {median:?} (median), {last:?} (99 of 100); \
         memory {} KiB after 200 reloads, {} KiB at the end",
        count.load(Ordering::Relaxed),
        memory.0,
        memory.1
    );
    assert_eq!(failures, Vec::<String>::new());
    assert!(count.load(Ordering::Relaxed) > RELOADS as u64, "there was no load");
    assert!(median <= Duration::from_millis(200), "median {median:?}");
    assert!(memory.1 < memory.0 + 32 * 1024, "memory grows: {memory:?} KiB");
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    assert!(status["generation"].as_u64() >= Some(RELOADS as u64), "{status}");
}
