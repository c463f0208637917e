//! What origins make of a target, and whether the gateway knew.
//!
//! `recorded` reads `corpus.tsv`: targets, and which file a real server answered with. A target that some server took
//! for a disallowed file must not be allowed. `live` (`make readings`) runs the servers, asks them for thousands of
//! targets made to get around rules, and writes that corpus. `ordinary` goes the other way: what is asked for every day
//! must not become a variant.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod client;
mod files;
mod generate;
mod judge;
mod laws;
mod live;
mod ordinary;
mod origins;
mod recorded;
mod robots_txt;
mod worst;
