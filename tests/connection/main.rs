//! The whole loop of a connection, from what a client sends to what it and an origin are sent: random and mutated messages,
//! one or several in a row, in pieces. `ROBOTS_GATEWAY_SEED` chooses others.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

#[path = "../differential/messages.rs"]
mod messages;
mod stage;
mod wire;

use messages::{Random, message};
use stage::ConnectionStage;

/// What these messages have beside those that readers are compared by.
const MORE: [&[u8]; 6] = [
    b"User-Agent: GPTBot/1.2\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"X-Forwarded-For: 192.0.2.7\r\n",
    b"Via: 1.1 a, 1.1 b\r\n",
    b"TE: trailers\r\n",
];

fn client(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=random.below(3) {
        let mut next = message(random);
        if let Some(end) = next.windows(2).position(|two| two == b"\r\n") {
            let more = random.of(&MORE);
            next.splice(end + 2..end + 2, more.iter().copied());
        }
        bytes.extend_from_slice(&next);
    }
    if random.below(8) == 0 {
        bytes.truncate(random.below(bytes.len()));
    }
    bytes
}

#[test]
fn whatever_a_client_sends_answers_and_requests_are_well_formed() {
    let folder = tempfile::tempdir().expect("a folder");
    let stage = ConnectionStage::set(folder.path());
    let seed = std::env::var("ROBOTS_GATEWAY_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut random = Random(seed.unwrap_or(0x9e37_79b9_7f4a_7c15));
    let (mut answered, mut forwarded, mut refused) = (0, 0, 0);
    for _ in 0..5_000 {
        let bytes = client(&mut random);
        let piece = [1, 7, 100, usize::MAX][random.below(4)];
        let played = stage.play(random.below(14), piece, &bytes);
        answered += played.answers.whole;
        forwarded += played.forwarded;
        refused += played.answers.refused;
    }
    println!("{answered} answers, {refused} of them refusals; {forwarded} requests at the origin");
    assert!(answered > 3_000 && forwarded > 1_000 && refused > 100);
}
