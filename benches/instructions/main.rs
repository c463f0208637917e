//! How many instructions the pure stages take, against a recorded budget.
//!
//! Times change with the machine's mood; counts of executed instructions hardly do. `make budgets`
//! runs every stage of `stages.rs` under valgrind's callgrind and compares each with its line in `budgets.txt`;
//! `make budgets ARGS=--record` writes that file anew. It measures no time, and nothing that waits for a socket
//! or a disk: `e2e` does that. Without valgrind it says so and passes.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints figures")]

mod budgets;
mod callgrind;
mod scene;
mod stages;

use budgets::Budgets;
use std::error::Error;
use std::process::ExitCode;

/// Runs of which the highest counts are recorded.
const RUNS: usize = 5;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let says = |word: &str| arguments.iter().any(|argument| argument == word);
    let result = if says(callgrind::INSIDE) { run_stages() } else { compare(says("--record")) };
    result.unwrap_or_else(|error| {
        eprintln!("instructions: {error}");
        ExitCode::from(2)
    })
}

/// What runs under valgrind.
fn run_stages() -> Result<ExitCode, Box<dyn Error>> {
    stages::run(&scene::BenchScene::new()?);
    Ok(ExitCode::SUCCESS)
}

fn compare(record: bool) -> Result<ExitCode, Box<dyn Error>> {
    if !callgrind::is_installed() {
        println!("instructions: skipped, valgrind is not installed (Debian: apt-get install valgrind)");
        return Ok(ExitCode::SUCCESS);
    }
    if record {
        let measured = highest()?;
        Budgets::of(&measured).write()?;
        println!("{} budgets recorded in {}", measured.len(), budgets::FILE);
        return Ok(ExitCode::SUCCESS);
    }
    let faults = Budgets::read()?.compare(&callgrind::measure()?);
    for fault in &faults {
        eprintln!("instructions: {fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The most that a stage took in several runs: where the heap begins, and so what a growing buffer costs, is left to
/// chance.
fn highest() -> Result<Vec<callgrind::Count>, Box<dyn Error>> {
    let mut highest = callgrind::measure()?;
    for _ in 1..RUNS {
        for (known, (_, count)) in highest.iter_mut().zip(callgrind::measure()?) {
            known.1 = known.1.max(count);
        }
    }
    Ok(highest)
}
