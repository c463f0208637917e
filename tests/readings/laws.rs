//! Laws that hold for the readings of every target. `fuzz/fuzz_targets/target.rs` tries them, too.

use robots_gateway::request::target::{PathParameters, RequestTarget};

/// Bounds of `docs/limits.md`: 64 paths, with the query as it is and decoded, and 16 KiB of them.
const MOST: usize = 2 * 64;
const MOST_BYTES: usize = 16 * 1024;

/// Panics where `sent` breaks one.
pub(crate) fn hold(sent: &[u8], parameters: PathParameters) {
    let target = RequestTarget::new(sent, parameters);
    let judged = target.judged();
    assert_eq!(RequestTarget::new(judged, parameters).judged(), judged, "what is judged is judged as it is");
    let readings: Vec<&[u8]> = target.readings().collect();
    assert!(
        readings.len() <= MOST && readings.iter().map(|reading| reading.len()).sum::<usize>() <= MOST_BYTES
    );
    let is_new = |(at, reading): (usize, &&[u8])| {
        *reading != judged && !readings.iter().take(at).any(|other| other == reading)
    };
    assert!(readings.iter().enumerate().all(is_new), "each once");
    let _ = (target.is_robots_txt(), target.is_acme_challenge());
    // A query is decoded once more and then left alone, so with one there is more to read in a reading.
    let has_query = |target: &[u8]| target.iter().any(|byte| matches!(byte, b'?' | b'#'));
    if target.has_more_readings() || has_query(sent) || readings.iter().any(|reading| has_query(reading)) {
        return;
    }
    for reading in &readings {
        let again = RequestTarget::new(reading, parameters);
        assert_eq!(again.judged(), *reading, "no dot segment is left");
        assert!(
            again.readings().all(|other| other == judged || readings.contains(&other)),
            "nothing new is in a reading"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Random, target};

    /// Bytes that mean something in a path, and some that do not.
    const BYTES: &[u8] = b"//..\\%%25fFcCdD3e6;?=&ab0\xff\x00";

    #[test]
    fn they_hold_for_tricks_and_for_noise() {
        let mut random = Random::new(3);
        for number in 0..20_000 {
            let sent = if number % 2 == 0 {
                target(&mut random).into_bytes()
            } else {
                let length = random.below(40);
                std::iter::once(b'/').chain((0..length).map(|_| BYTES[random.below(BYTES.len())])).collect()
            };
            for parameters in [PathParameters::Keep, PathParameters::Drop] {
                hold(&sent, parameters);
            }
        }
    }
}
