//! A simulator of fleets: what they cost their database, and how soon members serve what is published. `make sizes` runs it;
//! what it prints is in docs/performance.md. Whether their counts survive what goes wrong the tests of fleets say.
//!
//! Members are tasks of this process. Each has a store, rows and a policy of its own, and the exchange that a gateway has;
//! only its listeners are missing. The database is a real `PostgreSQL`. Named parts alone are run with
//! `make sizes ARGS="batches converging"`.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement fails by panicking, and prints what it measured"
)]

mod batches;
mod converging;
#[expect(dead_code, reason = "the tests of fleets use more of it")]
#[path = "../../tests/fleet/engine.rs"]
mod engine;
mod member;
mod scene;

#[expect(dead_code, reason = "the tests use more of it")]
mod support;

/// A size that the environment may set.
fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let parts: [(&str, fn()); 2] = [("batches", batches::measure), ("converging", converging::measure)];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part();
        }
    }
}
