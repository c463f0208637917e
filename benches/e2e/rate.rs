//! Two measurements at a fixed rate, by h2load: what judging adds to the slowest answers, and what a second worker
//! costs. At a fixed rate a slower server answers later instead of being asked less.

use crate::certificate::Certificate;
use crate::figures::median;
use crate::h2load::{H2load, Request};
use crate::load::Load;
use crate::origin::Origin;
use crate::peers::{Addresses, Gateway, Kind, Peer, Where};
use crate::process::{Place, Running};
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

/// Whether the latency that judging adds at the 99th percentile lies within what the bare proxy differs from itself.
pub(crate) fn latency(rate: u32, seconds: u32, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let h2load = H2load::new(folder)?;
    let origin = Origin::start(folder)?;
    let start = |kind| Peer::start(kind, &origin, folder);
    let (bare, gateway) = (start(Kind::Bare)?, start(Kind::Enforce)?);
    for peer in [&bare, &gateway] {
        SCENARIOS.iter().take(1).try_for_each(|scenario| scenario.prove(peer))?;
        load(&h2load, peer.addresses.plain, rate, seconds)?;
    }
    let (mut added, mut spread) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let first = load(&h2load, bare.addresses.plain, rate, seconds)?.p99;
        let judged = load(&h2load, gateway.addresses.plain, rate, seconds)?.p99;
        let second = load(&h2load, bare.addresses.plain, rate, seconds)?.p99;
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
    let h2load = H2load::new(folder)?;
    let origin = Origin::start(folder)?;
    let start = |threads: usize| {
        let folder = folder.join(format!("workers-{threads}"));
        std::fs::create_dir_all(&folder)?;
        Certificate::make(&folder)?;
        let place = Where { origin: origin.address(), addresses: Addresses::free()?, folder: &folder };
        Gateway { threads, place: Place::Anywhere, ..Gateway::default() }.start(place)
    };
    let (one, two) = (start(1)?, start(2)?);
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let (alone, together) = (cost(&h2load, &one, rate, seconds)?, cost(&h2load, &two, rate, seconds)?);
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
fn cost(h2load: &H2load, running: &Running, rate: u32, seconds: u32) -> Result<f64, Box<dyn Error>> {
    let before = running.cpu()?;
    let requests = load(h2load, running.address(), rate, seconds)?.requests;
    let after = running.cpu()?;
    let spent = after.since(before);
    Ok(spent * 1e6 / f64::from(u32::try_from(requests)?))
}

/// A load at a fixed rate; fails when the server did not keep up, or answered with anything but 200.
fn load(h2load: &H2load, address: SocketAddr, rate: u32, seconds: u32) -> Result<Load, Box<dyn Error>> {
    let url = &format!("http://{address}/page");
    let request = Request { url, user_agent: BROWSER, seconds, connections: CONNECTIONS, rate: Some(rate) };
    let load = h2load.run(request)?;
    let offered = u64::from(rate) * u64::from(seconds);
    if load.statuses_above_399 > 0 || load.requests < offered / 10 * 9 {
        let Load { requests, statuses_above_399, .. } = load;
        return Err(format!(
            "of {offered} requests {requests} were answered in time, {statuses_above_399} with an error: the rate is \
             too high here"
        )
        .into());
    }
    Ok(load)
}
