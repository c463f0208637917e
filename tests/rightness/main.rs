//! Rightness of HTTP from the outside: a request is refused, or reaches the origin with its meaning, byte by
//! byte; never anything in between (RFC 9112 §11.2).
//!
//! Everything runs against the built program, with an origin that keeps the bytes it is sent.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it saw"
)]

mod access_log;
mod behind;
mod bodies;
mod conformance;
mod detours;
mod forwarding;
mod grammar;
mod h2;
mod http1;
mod keeper;
mod lenient;
mod pipelining;
mod resolving;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod table;
mod upgrades;
mod usage;
mod wire;
