//! The recorded budgets, and what counts as over them.
//!
//! Two runs of one build differ by less than one in a hundred, since hashes are seeded at random. One allocation
//! more costs a hundred instructions and more. So a stage may take 3 % and a few instructions more than recorded.
//! Another compiler moves everything by more than that: then 15 % are allowed, and it is said.

use crate::callgrind::Count;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::process::Command;

/// Where the budgets are kept.
pub(crate) const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/budgets.txt");

/// Percent that a stage may exceed its budget by, as built for the recorded machine and for another.
const TOLERANCE: u64 = 3;
const TOLERANCE_ELSEWHERE: u64 = 15;

/// Instructions that it may exceed it by in any case: a stage of a few dozen moves by whole instructions.
const SLACK: u64 = 8;

/// A stage that takes fewer percent of its budget has earned a smaller one.
const SAVED: u64 = 90;

const HEAD: &str = "\
# Instructions of one run of each stage. Written by `make budgets ARGS=--record`, compared by `make check`. A change
# that needs more says why; a change that needs less records it.
";

/// Budgets by stage, and what they were recorded with.
pub(crate) struct Budgets {
    recorded_with: String,
    stages: BTreeMap<String, u64>,
}

impl Budgets {
    pub(crate) fn of(measured: &[Count]) -> Self {
        let stages = measured.iter().map(|(stage, count)| ((*stage).to_owned(), *count)).collect();
        Self { recorded_with: machine(), stages }
    }

    pub(crate) fn read() -> Result<Self, Box<dyn Error>> {
        let text = std::fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        let mut budgets = Self { recorded_with: String::new(), stages: BTreeMap::new() };
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fault = || format!("{FILE}:{number}: expected `stage number`; record the file anew");
            let (key, value) = line.rsplit_once("  ").ok_or_else(fault)?;
            if key.trim() == "with" {
                value.trim().clone_into(&mut budgets.recorded_with);
            } else {
                budgets.stages.insert(key.trim().to_owned(), value.trim().parse().map_err(|_| fault())?);
            }
        }
        Ok(budgets)
    }

    pub(crate) fn write(&self) -> Result<(), Box<dyn Error>> {
        let mut text = format!("{HEAD}with  {}\n\n", self.recorded_with);
        for (stage, count) in &self.stages {
            writeln!(text, "{stage:<28}  {count:>7}")?;
        }
        std::fs::write(FILE, text).map_err(|error| format!("{FILE}: {error}").into())
    }

    /// Prints the figures; returns what is wrong with them.
    pub(crate) fn compare(&self, measured: &[Count]) -> Vec<String> {
        let here = machine();
        let is_same = here == self.recorded_with;
        if !is_same {
            println!(
                "budgets were recorded with {}; this is {here}: 15 % more are allowed",
                self.recorded_with
            );
        }
        let tolerance = if is_same { TOLERANCE } else { TOLERANCE_ELSEWHERE };
        let mut faults = Vec::new();
        println!("{:<28} {:>12} {:>8} {:>7}", "stage", "instructions", "budget", "");
        for (stage, count) in measured {
            let Some(budget) = self.stages.get(*stage) else {
                faults.push(format!("{stage} has no budget; record it"));
                continue;
            };
            let percent = count * 100 / (*budget).max(1);
            println!("{stage:<28} {count:>12} {budget:>8} {percent:>5} %");
            if *count > budget + budget * tolerance / 100 + SLACK {
                faults.push(format!("{stage} takes {count} instructions, and {budget} are allowed"));
            } else if is_same && percent < SAVED && count + SLACK < *budget {
                println!("{stage} takes less than before: record it, so that it stays so");
            }
        }
        let is_measured = |stage: &String| measured.iter().any(|(known, _)| known == stage);
        let gone = self.stages.keys().filter(|stage| !is_measured(stage));
        faults.extend(
            gone.map(|stage| format!("{stage} has a budget and is not measured; record the file anew")),
        );
        faults
    }
}

/// What counts depend on: the compiler, and the widest vectors that libraries choose at run time.
fn machine() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let version = version.unwrap_or_else(|_| "an unknown rustc".to_owned());
    format!("{version}, {}{}", std::env::consts::ARCH, vectors())
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> &'static str {
    if std::is_x86_feature_detected!("avx2") { " with AVX2" } else { "" }
}

#[cfg(not(target_arch = "x86_64"))]
const fn vectors() -> &'static str {
    ""
}
