//! What is shipped beside the programs, held to what the programs do: configuration, rules, unit, README, changelog.
//!
//! Not the gateway's behaviour on the wire; this is about files that would otherwise drift from it unnoticed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its subject has failed")]

mod bounds;
mod chart;
mod configuration;
mod container;
mod dist;
mod examples;
mod fields;
mod fleet;
mod guide;
mod newcomer;
mod origin;
mod package;
mod release;
mod rules;
mod sandbox;
mod scripts;
mod unit;
mod workflows;

use std::path::{Path, PathBuf};

/// The daemon, as built for this test.
const DAEMON: &str = env!("CARGO_BIN_EXE_robots-gateway");

/// The tool, as built for this test.
const TOOL: &str = env!("CARGO_BIN_EXE_gatewayctl");

/// A file of the project.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The text of a file of the project.
fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
