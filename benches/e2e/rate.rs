//! What judging adds to the slowest answers, at a fixed rate, by h2load: there a slower server answers later instead of
//! being asked less.

use crate::figures::median;
use crate::h2load::{H2load, LoadRequest};
use crate::load::Load;
use crate::origin::BenchOrigin;
use crate::peers::{Kind, Peer};
use crate::scenario::{BROWSER, SCENARIOS};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;

/// Alternating rounds.
const ROUNDS: usize = 9;

/// Connections, each with its share of the rate.
pub(crate) const CONNECTIONS: u32 = 16;

/// Whether the latency that judging adds at the 99th percentile lies within what nginx differs from itself.
pub(crate) fn latency(rate: u32, seconds: u32, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let h2load = H2load::new(folder)?;
    let origin = BenchOrigin::start(folder)?;
    let start = |kind| Peer::start(kind, &origin, folder);
    let (nginx, gateway) = (start(Kind::NginxFour)?, start(Kind::Enforce)?);
    for peer in [&nginx, &gateway] {
        SCENARIOS.iter().take(1).try_for_each(|scenario| scenario.prove(peer))?;
        load(&h2load, peer.addresses.plain, rate, seconds)?;
    }
    let (mut added, mut spread) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let first = load(&h2load, nginx.addresses.plain, rate, seconds)?.p99;
        let judged = load(&h2load, gateway.addresses.plain, rate, seconds)?.p99;
        let second = load(&h2load, nginx.addresses.plain, rate, seconds)?.p99;
        println!(
            "round {round}: p99 nginx {first:.0} us, gateway {judged:.0} us, nginx again {second:.0} us"
        );
        added.push(judged - f64::midpoint(first, second));
        spread.push((second - first).abs());
    }
    let widest = spread.iter().copied().fold(0.0, f64::max);
    let added = median(added).unwrap_or_default();
    let passed = added <= widest;
    let word = if passed { "pass" } else { "FAIL" };
    let usual = median(spread).unwrap_or_default();
    println!(
        "{word:<12} p99 at {rate}/s: the gateway adds {added:.0} us to nginx, which differs from itself by {usual:.0} us, at most {widest:.0}"
    );
    Ok(passed)
}

/// A load at a fixed rate; fails when the server did not keep up, or answered with anything but 200.
fn load(h2load: &H2load, address: SocketAddr, rate: u32, seconds: u32) -> Result<Load, Box<dyn Error>> {
    let url = &format!("http://{address}/page");
    let request =
        LoadRequest { url, user_agent: BROWSER, seconds, connections: CONNECTIONS, rate: Some(rate) };
    let load = h2load.run(request)?;
    kept_up(&load, rate, seconds)?;
    Ok(load)
}

/// Fails when a server did not keep up with a rate, or answered with anything but 200.
pub(crate) fn kept_up(load: &Load, rate: u32, seconds: u32) -> Result<(), Box<dyn Error>> {
    let offered = u64::from(rate) * u64::from(seconds);
    let Load { requests, statuses_above_399, .. } = load;
    if *statuses_above_399 == 0 && *requests >= offered / 10 * 9 {
        return Ok(());
    }
    Err(format!(
        "of {offered} requests {requests} were answered in time, {statuses_above_399} with an error: the rate is too \
         high here"
    )
    .into())
}
