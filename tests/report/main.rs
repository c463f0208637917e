//! `gatewayctl report` from the outside: the real daemon counts, the sender's own ledger is the judge.
//!
//! What a test sends it writes down itself, answer by answer. The gateway's own counters are never asked
//! whether the gateway counts right.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod clock;
mod course;
#[path = "../dice/mod.rs"]
mod dice;
mod exactness;
mod fill;
mod hostile;
mod ledger;
mod losses;
mod mail;
mod place;
mod schema;
mod season;
mod story;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod told;
mod wrong;
