//! Tests of the robots.txt engine through its public API.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail, and says what it skipped"
)]

mod adversary;
mod agreement;
mod composition;
mod conformance;
mod cookbook;
mod corpus;
mod findings;
mod generate;
mod hostile;
mod laws;
mod naive;
mod preferences;

use rfc9309::{Judgement, ParseLimits, Parsed, Robots};

fn parse(file: impl AsRef<[u8]>) -> Parsed {
    Robots::parse(file.as_ref(), &ParseLimits::default())
}

fn robots(file: impl AsRef<[u8]>) -> Robots {
    parse(file).robots
}

/// What a crawler with one token, which accepts the `*` group, is told.
fn judge<'r>(robots: &'r Robots, token: &str, target: &str) -> Judgement<'r> {
    robots.judge(&[token], true, target.as_bytes())
}

/// The targets among `targets` that `FooBot` may fetch.
fn allowed<'t>(file: &str, targets: &[&'t str]) -> Vec<&'t str> {
    let robots = robots(file);
    targets.iter().copied().filter(|target| judge(&robots, "FooBot", target).allow).collect()
}
