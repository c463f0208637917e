//! `gatewayctl` from the outside: its answers, word for word, and its exit codes.
//!
//! The texts stand in `golden/`; `GOLDEN=write` writes them anew, to be read before they are kept.
//! What is promised to programs (JSON keys, exit codes) is also asserted here, field by field.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it saw"
)]

mod ai_log;
mod batch;
mod check;
mod compose;
#[path = "../dice/mod.rs"]
mod dice;
mod diff;
mod doctor;
mod everywhere;
mod explain;
mod golden;
mod init;
mod lint;
mod modes;
mod replay;
mod running;
mod slowed;
#[expect(
    dead_code,
    unused_imports,
    reason = "the harness is the one of the gateway's tests, which use more of it"
)]
#[path = "../gateway/support/mod.rs"]
mod support;
mod terminal;
mod texts;
mod wrong_files;
