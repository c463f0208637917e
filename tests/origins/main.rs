//! Origins of every kind behind the built gateway: several, sick ones, on sockets, with TLS, and one that
//! misbehaves at random.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod chaos;
#[path = "../dice/mod.rs"]
mod dice;
mod failures;
mod moving;
mod server;
mod several;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod tls;
