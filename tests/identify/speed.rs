//! Speed against woothee in the same run. Absolute times belong to the bench;
//! the ratio is asserted here, in optimised builds only.

use super::corpus::{CorpusRecord, identifier, percent, records};
use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::Identifier;
use std::hint::black_box;
use std::time::Instant;
use woothee::parser::Parser;

/// The median time of `act` over the headers, in nanoseconds; each is run
/// several times and its best run counts, which is what noise leaves alone.
fn median(headers: &[&str], mut act: impl FnMut(&str)) -> u128 {
    let mut times: Vec<u128> = headers
        .iter()
        .map(|header| {
            let run = || {
                let start = Instant::now();
                for _ in 0..8 {
                    act(black_box(header));
                }
                start.elapsed().as_nanos() / 8
            };
            std::iter::repeat_with(run).take(4).min().unwrap_or_default()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn sample(records: &[CorpusRecord]) -> Vec<&str> {
    records.iter().step_by(records.len() / 1000).map(CorpusRecord::user_agent).collect()
}

/// A reload compiles everything anew, and has 200 ms for it.
#[test]
fn the_bundled_knowledge_compiles_quickly() {
    let start = Instant::now();
    let knowledge = bundled();
    let read = start.elapsed();
    let identifier = Identifier::new(knowledge).expect("compiles");
    let compiled = start.elapsed();
    println!(
        "bundled: read in {read:?}, compiled after {compiled:?}, {} KiB",
        identifier.automaton_bytes() / 1024
    );
    assert!(identifier.automaton_bytes() < 16 << 20);
    assert!(cfg!(debug_assertions) || compiled.as_millis() < 200);
}

#[test]
fn at_least_twice_as_fast_as_woothee() {
    let (Some(browsers), Some(bots)) = (records("browsers.jsonl"), records("bots.jsonl")) else { return };
    if cfg!(debug_assertions) {
        println!("skipped: an unoptimised build says nothing about speed");
        return;
    }
    let (identifier, woothee) = (identifier(), Parser::new());
    for (kind, headers) in [("browsers", sample(&browsers)), ("crawlers", sample(&bots))] {
        let ours = median(&headers, |header| {
            black_box(identifier.recognise_cold(Some(header.as_bytes())));
        });
        let miss = median(&headers, |header| {
            black_box(identifier.recognise_uncached(Some(header.as_bytes())));
        });
        let cached = median(&headers, |header| {
            black_box(identifier.recognise(Some(header.as_bytes())));
        });
        let theirs = median(&headers, |header| {
            black_box(woothee.parse(header));
        });
        println!(
            "{kind}: own rules {ours} ns, whole miss {miss} ns, cached {cached} ns, woothee {theirs} ns (medians)"
        );
        println!(
            "{kind}: own rules {:.0} % of woothee, whole miss {:.0} %",
            percent(usize::try_from(ours).expect("small"), usize::try_from(theirs).expect("small")),
            percent(usize::try_from(miss).expect("small"), usize::try_from(theirs).expect("small")),
        );
        assert!(ours * 2 <= theirs && miss * 2 <= theirs * 3 && cached * 4 <= theirs);
    }
}
