//! Black-box tests of the admin listener: what a real gateway shows to Prometheus, to probes and to a browser.
//!
//! What Prometheus would make of it is asked of promtool, and what a browser would of Chromium, where they are
//! installed; the tests' own reading of the formats is stricter and needs neither.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skipped"
)]

mod browser;
mod certificates;
mod dashboard;
mod exposition;
mod html;
mod live;
mod metrics;
mod page;
mod probes;
mod queries;
mod reference;
mod scene;
mod store;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod tester;
