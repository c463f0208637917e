//! The store from the outside: the real daemon counts, the sender's own ledger is the judge.
//!
//! What a test sends it writes down itself, answer by answer, and compares with what the store tells. The
//! gateway's own counters are never asked whether the gateway counts right.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod backup;
mod clock;
#[path = "../dice/mod.rs"]
mod dice;
mod disks;
mod exactness;
mod files;
mod kills;
mod load;
mod model;
mod notice;
mod place;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
