//! Two measurements at a fixed rate, by h2load: what judging adds to the slowest answers, and what a second worker
//! costs. At a fixed rate a slower server answers later instead of being asked less.

use crate::figures::median;
use crate::origin::Origin;
use crate::peers::{Gateway, Kind, Peer};
use crate::process::{Place, Running, command, is_installed};
use crate::scenario::{BROWSER, SCENARIOS};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;

/// Alternating rounds.
const ROUNDS: usize = 9;

/// Connections, each with its share of the rate.
const CONNECTIONS: u32 = 16;

/// A second worker may cost so much more for each request.
const SECOND_WORKER: f64 = 1.1;

/// The 99th percentile of the latency, in microseconds, and the requests it was taken from.
struct Slow {
    p99: f64,
    requests: usize,
}

/// Whether the latency that judging adds at the 99th percentile lies within what the bare proxy differs from itself.
pub(crate) fn latency(rate: u32, seconds: u32, folder: &Path) -> Result<bool, Box<dyn Error>> {
    needs_h2load()?;
    let origin = Origin::start(folder)?;
    let start = |kind| Peer::start(kind, &origin, folder);
    let (bare, gateway) = (start(Kind::Bare)?, start(Kind::Enforce)?);
    for peer in [&bare, &gateway] {
        SCENARIOS.iter().take(1).try_for_each(|scenario| scenario.prove(peer))?;
        load(peer.address(), rate, seconds, folder)?;
    }
    let (mut added, mut spread) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let first = load(bare.address(), rate, seconds, folder)?.p99;
        let judged = load(gateway.address(), rate, seconds, folder)?.p99;
        let second = load(bare.address(), rate, seconds, folder)?.p99;
        println!("round {round}: p99 bare {first:.0} us, gateway {judged:.0} us, bare again {second:.0} us");
        added.push(judged - f64::midpoint(first, second));
        spread.push((second - first).abs());
    }
    let widest = spread.iter().copied().fold(0.0, f64::max);
    let added = median(added).unwrap_or_default();
    let passed = added <= widest;
    let word = if passed { "pass" } else { "FAIL" };
    let usual = median(spread).unwrap_or_default();
    println!(
        "{word:<12} p99 at {rate}/s: judging adds {added:.0} us; bare differs from itself by {usual:.0} us, at most {widest:.0}"
    );
    Ok(passed)
}

/// Whether two workers cost no more for each request than one, at a rate that one can bear.
pub(crate) fn workers(rate: u32, seconds: u32, folder: &Path) -> Result<bool, Box<dyn Error>> {
    needs_h2load()?;
    let origin = Origin::start(folder)?;
    let start = |threads: usize| {
        let folder = folder.join(format!("workers-{threads}"));
        std::fs::create_dir_all(&folder)?;
        Gateway { threads, place: Place::Anywhere, ..Gateway::default() }.start(origin.address(), &folder)
    };
    let (one, two) = (start(1)?, start(2)?);
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let (alone, together) = (cost(&one, rate, seconds, folder)?, cost(&two, rate, seconds, folder)?);
        println!("round {round}: one worker {alone:.2} us a request, two {together:.2}");
        ratios.push(together / alone);
    }
    let ratio = median(ratios).unwrap_or(f64::NAN);
    let passed = ratio <= SECOND_WORKER;
    let word = if passed { "pass" } else { "FAIL" };
    println!("{word:<12} two workers / one at {rate}/s = {ratio:.3}, at most {SECOND_WORKER:.2}");
    Ok(passed)
}

/// Microseconds of processor time for each request.
fn cost(running: &Running, rate: u32, seconds: u32, folder: &Path) -> Result<f64, Box<dyn Error>> {
    let before = running.cpu()?;
    let requests = load(running.address(), rate, seconds, folder)?.requests;
    let after = running.cpu()?;
    let spent = after.user + after.system - before.user - before.system;
    Ok(spent * 1e6 / f64::from(u32::try_from(requests)?))
}

fn needs_h2load() -> Result<(), Box<dyn Error>> {
    if is_installed("h2load") {
        Ok(())
    } else {
        Err("h2load is not installed (Debian: apt-get install nghttp2-client)".into())
    }
}

/// A load at a fixed rate; fails when the server did not keep up, or answered with anything but 200.
fn load(address: SocketAddr, rate: u32, seconds: u32, folder: &Path) -> Result<Slow, Box<dyn Error>> {
    let log = folder.join("h2load.log");
    // It appends to what is there.
    let _ = std::fs::remove_file(&log);
    let mut h2load = command("h2load", Place::Load);
    h2load.args(["--h1", "-t", "1", "-c", &CONNECTIONS.to_string(), "-D", &seconds.to_string()]);
    h2load.args(["--rps", &(rate / CONNECTIONS).to_string(), "-H", &format!("user-agent: {BROWSER}")]);
    h2load.arg("--log-file").arg(&log).arg(format!("http://{address}/page"));
    let output = h2load.output()?;
    // One line for each request: when it began, its status, and how many microseconds it took.
    let text = std::fs::read_to_string(&log)
        .map_err(|_| format!("h2load: {}", String::from_utf8_lossy(&output.stdout)))?;
    let mut latencies = Vec::new();
    for line in text.lines() {
        let mut fields = line.split('\t').skip(1);
        if fields.next() != Some("200") {
            return Err(format!("h2load saw another status than 200: {line}").into());
        }
        latencies.push(fields.next().ok_or("a line without a latency")?.parse::<f64>()?);
    }
    let offered = rate as usize * seconds as usize;
    if latencies.len() < offered / 10 * 9 {
        let answered = latencies.len();
        return Err(format!(
            "of {offered} requests {answered} were answered in time: the rate is too high here"
        )
        .into());
    }
    latencies.sort_by(f64::total_cmp);
    let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default();
    Ok(Slow { p99, requests: latencies.len() })
}
