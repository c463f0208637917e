//! A fleet from the outside: real gateways and a real `PostgreSQL`, which is killed, frozen and replaced.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and prints what it measured"
)]

#[expect(dead_code, reason = "the simulator uses more of it")]
mod engine;
mod exactness;
mod fairness;
mod oracle;
mod publishing;
mod relay;
mod scene;
mod schema;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod told;
mod troubles;
mod waiting;
