//! Running this program under callgrind, and reading what it counted.
//!
//! One run counts all stages: callgrind counts only inside [`counted`], and writes one dump each time it returns.
//! The dumps are numbered, so the n-th is the n-th stage's.

use crate::stages::STAGES;
use std::error::Error;
use std::process::{Command, Stdio};

/// The argument that makes this program run the stages and nothing else.
pub(crate) const INSIDE: &str = "--stages";

/// How often a stage is run while it is counted. Hashes are seeded at random, so single runs differ by a probe or
/// two; a thousand of them do not.
pub(crate) const ROUNDS: u32 = 1_000;

/// A stage, and instructions of one run of it.
pub(crate) type Count = (&'static str, u64);

/// Runs `stage` [`ROUNDS`] times. Not inlined, since callgrind finds it by its name.
#[inline(never)]
pub(crate) fn counted(stage: &mut dyn FnMut()) {
    for _ in 0..ROUNDS {
        stage();
    }
}

pub(crate) fn is_installed() -> bool {
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    valgrind.status().is_ok_and(|status| status.success())
}

/// Counts every stage.
pub(crate) fn measure() -> Result<Vec<Count>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let dump = folder.path().join("dump");
    // The function is named in two spellings: of two options for one pattern callgrind heeds only the last.
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .args([
            "--toggle-collect=instructions*::callgrind::counted",
            "--dump-after=*instructions*::callgrind::counted",
        ])
        .arg(format!("--callgrind-out-file={}", dump.display()))
        .arg(std::env::current_exe()?)
        .arg(INSIDE)
        .stdout(Stdio::null())
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("callgrind ended with {}; it said:\n{said}", output.status).into());
    }
    let mut counts = Vec::with_capacity(STAGES.len());
    for (number, stage) in (1..).zip(STAGES) {
        let path = format!("{}.{number}", dump.display());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        counts.push((stage, total(&text).ok_or("a dump without totals")? / u64::from(ROUNDS)));
    }
    Ok(counts)
}

/// The line `totals: N` of a dump.
fn total(dump: &str) -> Option<u64> {
    dump.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}
