//! The recipes of the guide's pages for each proxy, with the real proxies: what is refused and what passes, whose address is
//! recorded, and what becomes of requests while the gateway is down.
//!
//! What a proxy reads is what `gatewayctl init --beside` writes and what the page shows, with other ports and folders.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it saw"
)]

mod caddy;
mod carries;
mod envoy;
mod haproxy;
mod judged;
mod nginx;
mod proxy;
mod scene;
mod site;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod traefik;
