//! A well-behaved client while others attack: `cargo bench --bench e2e -- --attack`.
//!
//! The gateway has the first processor to itself; attackers, client and origin share the rest. Attackers are bounded in
//! rate, so that they take no time from the client: what grows is what the gateway makes it wait. Every run has a
//! gateway of its own, asked first in quiet and then under attack, so that each is compared with itself.

mod attacker;
mod crowd;
mod flood;
mod http2;
mod kinds;
mod plain;
mod tls;
mod visitor;

pub(crate) use attacker::besiege;
pub(crate) use visitor::visit;

use crate::certificate::Certificate;
use crate::figures::{mebibytes, median};
use crate::origin::BenchOrigin;
use crate::peers::{Addresses, GatewayPeer, Where};
use crate::process::Running;
use attacker::{Attackers, Toll};
use kinds::{ATTACKS, Attack};
use std::error::Error;
use std::path::Path;
use std::time::Instant;
use visitor::Visit;

/// How much longer the slowest hundredth may take under attack, and what is fast enough however quiet it was before:
/// milliseconds.
const FACTOR: f64 = 3.0;
const FAST_ENOUGH: f64 = 20.0;

/// The most memory that the gateway may take under any of these attacks, in bytes.
const MOST_MEMORY: u64 = 250_000_000;

/// What the gateway calls the threads that serve.
const WORKER: &str = "worker";

/// With more of its time lost to others, a gateway's figures say little.
const QUIET: f64 = 0.02;

/// What one run saw.
#[derive(Debug)]
struct Run {
    quiet: Visit,
    attacked: Visit,
    /// How busy the gateway's processor was with it then, from 0 to 1.
    busy: f64,
    /// For which part of the time others kept it from its processor.
    disturbed: f64,
    /// The most memory the gateway had, in bytes.
    peak: u64,
    toll: Toll,
}

/// Measures every attack whose name holds `only`; `false` when a gate did not pass.
pub(crate) fn measure(
    seconds: u32,
    rounds: usize,
    only: &str,
    folder: &Path,
) -> Result<bool, Box<dyn Error>> {
    let attacks: Vec<&Attack> = ATTACKS.iter().filter(|attack| attack.name.contains(only)).collect();
    if attacks.is_empty() {
        let names = ATTACKS.map(|attack| attack.name).join(", ");
        return Err(format!("no attack has `{only}` in its name; there are {names}").into());
    }
    let origin = BenchOrigin::start(folder)?;
    let certificate = Certificate::make(folder)?;
    println!(
        "{:<18} {:>9} {:>9} {:>9} {:>6} {:>8} {:>9} {:>9} {:>7}  median of {rounds}, {seconds} s each",
        "attack", "quiet p99", "attacked", "allowed", "busy", "peak MiB", "opened", "closed", "verdict"
    );
    let (mut passed, mut disturbed) = (true, 0.0_f64);
    for attack in attacks {
        let run = || attack_once(attack, seconds, &origin, &certificate, folder);
        let runs: Vec<Run> = (0..rounds).map(|_| run()).collect::<Result<_, _>>()?;
        passed &= print(attack, &runs);
        disturbed = runs.iter().map(|run| run.disturbed).fold(disturbed, f64::max);
    }
    println!(
        "times in ms; allowed: {FACTOR} x quiet, or {FAST_ENOUGH} ms, and {:.0} MiB; busy: the gateway's share of one processor; \
         opened and closed: connections of attackers in the last run, and those of them that the gateway ended",
        mebibytes(MOST_MEMORY)
    );
    if disturbed > QUIET {
        let percent = disturbed * 100.0;
        println!(
            "this machine was not quiet: others kept the gateway from its processor for up to {percent:.0} % of a run"
        );
    }
    Ok(passed)
}

fn attack_once(
    attack: &Attack,
    seconds: u32,
    origin: &BenchOrigin,
    certificate: &Certificate,
    folder: &Path,
) -> Result<Run, Box<dyn Error>> {
    let addresses = Addresses::free()?;
    let place = Where { origin: origin.address(), addresses, folder };
    let gateway: Running = GatewayPeer::default().start(place)?;
    // Caches fill, connections to the origin open.
    Visit::of(addresses.plain, 1)?;
    let quiet = Visit::of(addresses.plain, seconds)?;
    let attackers = Attackers::begin(attack, addresses, certificate)?;
    let (before, waited, start) = (gateway.cpu()?, gateway.kept_waiting(WORKER)?, Instant::now());
    let attacked = Visit::of(addresses.plain, seconds)?;
    let length = start.elapsed().as_secs_f64();
    let busy = gateway.cpu()?.since(before) / length;
    let disturbed = (gateway.kept_waiting(WORKER)? - waited) / length;
    let toll = attackers.end()?;
    if toll.opened < attack.least {
        return Err(format!("{}: only {} connections were opened", attack.name, toll.opened).into());
    }
    let peak = gateway.peak_memory()?;
    gateway.stop()?;
    Ok(Run { quiet, attacked, busy, disturbed, peak, toll })
}

/// Prints one line; `false` when the gate did not pass.
fn print(attack: &Attack, runs: &[Run]) -> bool {
    let middle = |of: &dyn Fn(&Run) -> f64| median(runs.iter().map(of).collect()).unwrap_or(f64::NAN);
    let (quiet, attacked) = (middle(&|run| run.quiet.p99), middle(&|run| run.attacked.p99));
    let busy = middle(&|run| run.busy * 100.0);
    let allowed = (FACTOR * quiet).max(FAST_ENOUGH);
    let failed: u64 = runs.iter().map(|run| run.quiet.failed + run.attacked.failed).sum();
    let peak = runs.iter().map(|run| run.peak).max().unwrap_or_default();
    let Toll { opened, closed } = runs.last().map_or_else(Toll::default, |run| run.toll);
    let passed = attacked <= allowed && failed == 0 && peak <= MOST_MEMORY;
    let word = if passed { "pass" } else { "FAIL" };
    println!(
        "{:<18} {quiet:>9.2} {attacked:>9.2} {allowed:>9.2} {busy:>5.0}% {:>8.1} {opened:>9} {closed:>9} {word:>7}  {}",
        attack.name,
        mebibytes(peak),
        attack.what
    );
    if failed > 0 {
        println!("{:<18} {failed} requests of the well-behaved client failed", "");
    }
    passed
}
