//! The whole loop of a connection: whatever a client sends, what it and the origin are sent is well formed.
//!
//! The first byte says which answer the origin begins with, the second one in pieces of how many bytes the rest is sent, or
//! 0 for all at once.

#![no_main]

#[path = "../../tests/connection/stage.rs"]
mod stage;
#[path = "../../tests/connection/wire.rs"]
mod wire;

use libfuzzer_sys::fuzz_target;
use stage::ConnectionStage;

thread_local! {
    static STAGE: ConnectionStage = {
        let folder = std::env::temp_dir().join(format!("robots-gateway-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        ConnectionStage::set(&folder)
    };
}

fuzz_target!(|input: &[u8]| {
    let Some(([first, piece], bytes)) = input.split_first_chunk() else { return };
    let piece = if *piece == 0 { usize::MAX } else { usize::from(*piece) };
    STAGE.with(|stage| stage.play(usize::from(*first), piece, bytes));
});
