//! Proof of identity from the outside: the real gateway, a real name server and a real publisher, all on
//! loopback.
//!
//! Clients' addresses are those of real networks, and reach the gateway only as text in a header that a
//! trusted proxy would send; nothing is ever sent to them.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it saw"
)]

mod cards;
mod contradicted;
mod crawlers;
mod explain;
mod fetched;
mod name_server;
mod names;
mod outages;
mod publisher;
mod ranges;
mod refresh;
mod scene;
mod signatures;
mod signers;
mod signing;
mod signing_client;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
