//! Memory under full load with 10,000 distinct User-Agents and targets, while robots.txt changes each second.

use crate::certificate::Certificate;
use crate::figures::{mebibytes, median};
use crate::load::{CONNECTIONS, report};
use crate::origin::BenchOrigin;
use crate::peers::{Addresses, GatewayPeer, Where, control};
use crate::plot;
use crate::process::{Processor, Running, command};
use std::error::Error;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Contents that follow each other.
const CONTENTS: u32 = 8;

/// Minutes in which memory may still grow: caches fill, the store's pages too.
const SETTLING: u32 = 5;

/// How much more it may be at the end than after that: what one sample differs from the next by.
const GROWTH: f64 = 1.05;

/// Half browsers, half crawlers, each with a version and a target of its own.
const REQUESTS: &str = r#"
local number = 0
request = function()
    number = (number + 7919) % 10000
    local agent
    if number % 2 == 0 then
        agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0." .. number .. ".0 Safari/537.36"
    else
        agent = "Mozilla/5.0 (compatible; Crawler" .. number .. "bot/1." .. number .. "; +http://example.org/bot)"
    end
    return wrk.format("GET", "/page/" .. number, {["User-Agent"] = agent, ["Host"] = "e2e.example"})
end
done = function(summary, latency, requests)
    io.write(string.format("e2e %d %d %d %d %d %d %d\n", summary.requests, summary.duration,
        latency:percentile(50), latency:percentile(99), latency:percentile(99.9), 0,
        summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
"#;

/// Measures for so many minutes, writes the plot, and says whether memory was flat after the first five.
pub(crate) fn measure(minutes: u32, picture: &Path, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let origin = BenchOrigin::start(folder)?;
    let robots = folder.join("robots.txt");
    write(&robots, 0)?;
    let gateway = GatewayPeer { robots: robots.clone(), notice: "0s", ..GatewayPeer::default() };
    Certificate::make(folder)?;
    let place = Where { origin: origin.address(), addresses: Addresses::free()?, folder };
    let running = gateway.start(place)?;
    let script = folder.join("requests.lua");
    std::fs::write(&script, REQUESTS)?;
    let load = {
        let address = running.address();
        std::thread::spawn(move || full_load(address, minutes, &script).map_err(|error| error.to_string()))
    };
    let samples = sampled(&running, &robots, minutes)?;
    let load = load.join().map_err(|_| "the load panicked")??;
    plot::write(picture, &samples)?;
    let generation = generation(folder)?;
    println!(
        "{} requests in {:.0} s, {} failed; {generation} policies were in force; plot: {}",
        load.requests,
        load.seconds,
        load.socket_errors,
        picture.display()
    );
    Ok(is_flat(&samples, minutes) && load.socket_errors == 0)
}

fn full_load(address: SocketAddr, minutes: u32, script: &Path) -> Result<crate::load::Load, Box<dyn Error>> {
    let mut wrk = command("wrk", Processor::Load);
    wrk.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{}s", minutes * 60), "--timeout", "10s", "-s"]);
    wrk.arg(script).arg(format!("http://{address}/"));
    report(wrk)
}

/// Seconds since the start, and bytes; one sample and one new robots.txt each second.
fn sampled(running: &Running, robots: &Path, minutes: u32) -> Result<Vec<(f64, u64)>, Box<dyn Error>> {
    let (start, mut samples) = (Instant::now(), Vec::new());
    for second in 1..=minutes * 60 {
        write(robots, second)?;
        let next = start + Duration::from_secs(second.into());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        samples.push((start.elapsed().as_secs_f64(), running.memory()?));
    }
    Ok(samples)
}

/// Puts the next of the contents in the place of the last, in one step.
fn write(robots: &Path, second: u32) -> std::io::Result<()> {
    let content = second % CONTENTS;
    let mut text = String::from("User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\n");
    for line in 0..=content * 40 {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "Disallow: /page/{line}{content}");
    }
    let beside = robots.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(beside, robots)
}

/// How many policies were in force.
fn generation(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut status = Command::new(env!("CARGO_BIN_EXE_gatewayctl"));
    let output = status.args(["status", "--format", "json", "--control"]).arg(control(folder)).output()?;
    let status: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    status.get("generation").and_then(serde_json::Value::as_u64).ok_or_else(|| "no generation".into())
}

/// Compares the first minute after settling with the last.
fn is_flat(samples: &[(f64, u64)], minutes: u32) -> bool {
    let settling = f64::from(SETTLING.min(minutes / 2) * 60);
    let end = f64::from(minutes * 60);
    let between = |from: f64, to: f64| {
        let within = samples.iter().filter(|(second, _)| (from..to).contains(second));
        median(within.map(|(_, bytes)| mebibytes(*bytes)).collect()).unwrap_or_default()
    };
    let (first, last) = (between(settling, settling + 60.0), between(end - 60.0, end + 60.0));
    let is_flat = last <= first * GROWTH;
    let word = if is_flat { "pass" } else { "FAIL" };
    println!("{word:<12} memory: {first:.1} MiB after {settling:.0} s, {last:.1} MiB at the end");
    is_flat
}
