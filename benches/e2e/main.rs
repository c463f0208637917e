//! The gateway end to end, beside other servers in the same run: `cargo bench --bench e2e`.
//!
//! nginx is the origin; in front of it stand, in turn, the gateway, pingora's minimal example, and nginx, `HAProxy` and Caddy with lists of crawlers. wrk asks each for the same things. What is printed
//! is processor time for each request, from the system's own books, so that a slow load does not flatter a slow
//! server; and medians over several rounds in rotating order, so that a busy machine hurts all alike. The two peers of a
//! gate have one more turn in each round, both at once.
//!
//! Exit code 0: every gate passed; 1: one did not; 2: nothing was measured, or a peer did not do what it was asked.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints figures")]

mod attack;
mod beside;
mod certificate;
mod exactness;
mod figures;
mod gates;
mod h2load;
mod idle;
mod lists;
mod load;
mod memory;
mod origin;
mod peers;
mod plot;
mod process;
mod rate;
mod rounds;
mod scenario;
mod workers;

use clap::Parser;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use peers::Kind;
use rounds::Plan;
use scenario::SCENARIOS;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Requests per second while the latency is measured.
const LATENCY_RATE: u32 = 8_000;

/// The gateway end to end, beside other servers
#[derive(Debug, Parser)]
#[command(name = "e2e")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Options {
    /// Seconds of each turn [default: 1 for the scenarios, 2 for the workers, 4 for all others]
    #[arg(long)]
    seconds: Option<u32>,
    /// Rounds; in each every peer has its turn in every scenario [default: 11, and 5 of attacks]
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    rounds: Option<usize>,
    /// Only these peers; may be repeated
    #[arg(long, value_name = "PEER", value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::word)))]
    peer: Vec<String>,
    /// Only the scenario of this name, or those whose name holds it
    #[arg(long, value_name = "TEXT", default_value = "")]
    scenario: String,
    /// Measure the latency that judging adds at a fixed rate, over nine alternating rounds, in place of the scenarios
    #[arg(long)]
    latency: bool,
    /// Measure two workers beside one at the same rate, in place of the scenarios
    #[arg(long)]
    workers: bool,
    /// Requests per second of those two [default: 8000, and three quarters of what one worker answers at most]
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Measure a well-behaved client while others attack, in place of the scenarios; --scenario chooses attacks by name
    #[arg(long)]
    attack: bool,
    /// Measure memory under full load and a reload each second for so many minutes, in place of the scenarios
    #[arg(long, value_name = "MINUTES")]
    memory: Option<u32>,
    /// Measure the memory of so many idle connections [10000], in place of the scenarios
    #[arg(long, value_name = "N")]
    idle: Option<usize>,
    /// Where the plot of the memory goes
    #[arg(long, value_name = "FILE", default_value = "target/e2e-memory.svg")]
    plot: PathBuf,
    /// Attack, for this program's own use: name, two addresses, certificate
    #[arg(long, hide = true, num_args = 4)]
    besiege: Vec<String>,
    /// Be the well-behaved client, for this program's own use: address, seconds
    #[arg(long, hide = true, num_args = 2)]
    visit: Vec<String>,
    /// What `cargo bench` says
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("e2e: {error}");
            ExitCode::from(2)
        }
    }
}

/// `false` when a gate did not pass.
fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    if let [name, plain, tls, certificate] = options.besiege.as_slice() {
        return attack::besiege(name, plain.parse()?, tls.parse()?, Path::new(certificate));
    }
    if let [address, seconds] = options.visit.as_slice() {
        return attack::visit(address.parse()?, seconds.parse()?);
    }
    if cfg!(debug_assertions) {
        eprintln!(
            "e2e: this is a debug build: it shows that the measurement runs, and its figures say nothing"
        );
    }
    let folder = tempfile::tempdir()?;
    let seconds = options.seconds.unwrap_or(4);
    if let Some(minutes) = options.memory {
        return memory::measure(minutes, &options.plot, folder.path());
    }
    if let Some(count) = options.idle {
        return idle::measure(count, folder.path());
    }
    if options.attack {
        return attack::measure(seconds, options.rounds.unwrap_or(5), &options.scenario, folder.path());
    }
    if options.latency {
        return rate::latency(options.rate.unwrap_or(LATENCY_RATE), seconds, folder.path());
    }
    if options.workers {
        return workers::measure(options.rate, options.seconds.unwrap_or(2), folder.path());
    }
    let named = |kind: &Kind| options.peer.is_empty() || options.peer.iter().any(|word| word == kind.word());
    let is_name = SCENARIOS.iter().any(|scenario| scenario.name == options.scenario);
    let scenarios = SCENARIOS.into_iter().filter(|scenario| {
        scenario.name.contains(&options.scenario) && (!is_name || scenario.name == options.scenario)
    });
    let plan = Plan {
        // Many short turns: what the machine does meanwhile comes to all peers alike.
        seconds: options.seconds.unwrap_or(1),
        rounds: options.rounds.unwrap_or(11),
        kinds: Kind::ALL.into_iter().filter(named).collect(),
        scenarios: scenarios.collect(),
    };
    plan.run(folder.path())
}
