//! Recognition measured on real headers, and the form of the bundled data.
//!
//! The headers are not part of the project. `ROBOTS_GATEWAY_CORPUS` names a
//! folder that holds them under `ua/`; without it these tests say that they
//! were skipped, and pass. The tests of `catalogue` need no corpus.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail loudly, and the figures are what these tests are for"
)]

mod apps;
mod catalogue;
mod contributed;
mod corpus;
mod crawlers;
mod kinds;
mod memory;
mod operator_tokens;
mod people;
mod speed;
mod tricky;
