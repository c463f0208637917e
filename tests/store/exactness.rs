//! Every request is counted, once: under load, across restarts and with two gateways at once.

use crate::load::send_all;
use crate::place::{StorePlace, status, stop};
use std::time::Instant;

fn counts_exactly(senders: usize, each: u64) {
    let place = StorePlace::new();
    let gateway = place.start();
    let begun = Instant::now();
    let sent = send_all(&vec![gateway.address(); senders], each);
    println!("{} requests in {:.1?}", sent.sum(), begun.elapsed());
    place.settles_at(&sent);
    let status = status(&gateway);
    assert_eq!((&status["counts_lost"], &status["details_dropped"]), (&0.into(), &0.into()), "{status}");
    stop(gateway);
    place.settles_at(&sent);
}

#[test]
fn fifty_thousand_requests_of_fifty_crawlers_are_counted_exactly() {
    counts_exactly(4, 12_500);
}

/// `cargo test --release --test store -- --ignored million --nocapture`
#[test]
#[ignore = "takes minutes; run it with --release"]
fn a_million_requests_of_fifty_crawlers_are_counted_exactly() {
    counts_exactly(8, 125_000);
}

#[test]
fn a_restart_loses_nothing_and_counts_nothing_twice() {
    let place = StorePlace::new();
    let mut sent = crate::load::SentLedger::default();
    for _ in 0..4 {
        let gateway = place.start();
        sent.add(&send_all(&[gateway.address(); 2], 400));
        // At once, while the last counts still wait in memory.
        stop(gateway);
        assert_eq!(place.counted(), sent, "{}", place.counted().difference(&sent));
    }
}

#[test]
fn two_gateways_of_an_upgrade_share_one_store() {
    let place = StorePlace::new();
    let old = place.start();
    let mut sent = send_all(&[old.address(); 2], 300);
    let new = place.start();
    sent.add(&send_all(&[old.address(), new.address(), old.address(), new.address()], 1_000));
    stop(old);
    sent.add(&send_all(&[new.address(); 2], 300));
    for field in ["counts_lost", "details_dropped"] {
        assert_eq!(status(&new)[field], 0);
    }
    stop(new);
    assert_eq!(place.counted(), sent, "{}", place.counted().difference(&sent));
}
