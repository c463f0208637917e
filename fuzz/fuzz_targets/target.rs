//! A target: the laws of its readings hold.
//!
//! The first byte says whether parameters are dropped; the rest is the target.

#![no_main]

#[path = "../../tests/readings/laws.rs"]
mod laws;

use libfuzzer_sys::fuzz_target;
use robots_gateway::request::target::PathParameters;

fuzz_target!(|input: &[u8]| {
    let Some((first, sent)) = input.split_first() else { return };
    let parameters = if first & 1 == 0 { PathParameters::Keep } else { PathParameters::Drop };
    laws::hold(&[b"/", sent].concat(), parameters);
});
