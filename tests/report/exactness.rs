//! Every request is told of, once: by crawler, proof, rule, action and target.

use crate::dice::Dice;
use crate::ledger::{ReportLedger, SentLoad, send_all, send_one};
use crate::place::{ReportPlace, stop};
use crate::support::Client;
use crate::support::wait::{PATIENCE, within};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Waits until the report of a running gateway says what was sent.
#[track_caller]
fn settles_at(place: &ReportPlace, sent: &ReportLedger) {
    let mut last = ReportLedger::default();
    let settled = within(PATIENCE, || {
        last = ReportLedger::told(&place.json(&[]));
        (last == *sent).then_some(())
    });
    if settled.is_none() {
        last.says(sent);
    }
}

fn is_exact(senders: usize, each: u64) {
    let place = ReportPlace::new();
    let gateway = place.start();
    let begun = Instant::now();
    let sent = send_all(&vec![gateway.address(); senders], each);
    println!("{} requests in {:.1?}", sent.requests(), begun.elapsed());
    settles_at(&place, &sent);
    stop(gateway);
    settles_at(&place, &sent);
    let report = place.json(&[]);
    assert_eq!((&report["counts_lost"], &report["details_dropped"]), (&0.into(), &0.into()));
}

#[test]
fn six_thousand_requests_are_told_exactly() {
    is_exact(3, 2_000);
}

/// `cargo test --release --test report -- --ignored million --nocapture`
#[test]
#[ignore = "takes minutes; run it with --release"]
fn a_million_requests_are_told_exactly() {
    is_exact(8, 125_000);
}

#[test]
fn a_restart_changes_nothing_that_is_told() {
    let place = ReportPlace::new();
    let mut sent = ReportLedger::default();
    for _ in 0..3 {
        let gateway = place.start();
        sent.add(&send_all(&[gateway.address(); 2], 300));
        // At once, while the last counts still wait in memory.
        stop(gateway);
        ReportLedger::told(&place.json(&[])).says(&sent);
    }
}

#[test]
fn two_gateways_of_an_upgrade_are_told_as_one() {
    let place = ReportPlace::new();
    let old = place.start();
    let mut sent = send_all(&[old.address(); 2], 200);
    let new = place.start();
    sent.add(&send_all(&[old.address(), new.address(), old.address(), new.address()], 500));
    stop(old);
    sent.add(&send_all(&[new.address(); 2], 200));
    stop(new);
    ReportLedger::told(&place.json(&[])).says(&sent);
}

#[test]
fn stores_of_two_places_add_up() {
    let places = [ReportPlace::new(), ReportPlace::new()];
    let mut sent = ReportLedger::default();
    for place in &places {
        let gateway = place.start();
        sent.add(&send_all(&[gateway.address()], 400));
        stop(gateway);
    }
    let [one, two] = &places;
    ReportLedger::told(&one.json(&["--state-dir", &two.state()])).says(&sent);
    let twice = one.json(&["--state-dir", &one.state(), "--state-dir", &two.state()]);
    // A store that is named twice counts once.
    ReportLedger::told(&twice).says(&sent);
}

#[test]
fn a_kill_costs_a_second_at_most_and_counts_nothing_twice() {
    let place = ReportPlace::new();
    // What the gateways so far are known to have counted.
    let (mut known, mut dice, mut missing) = (ReportLedger::default(), Dice(11), Vec::new());
    for kill in 0..4 {
        let mut gateway = place.start();
        let (address, diary) = (gateway.address(), Mutex::new(Vec::<SentLoad>::new()));
        let mut death = Instant::now();
        std::thread::scope(|scope| {
            for number in 0..3 {
                let (diary, mut dice) = (&diary, Dice(kill * 10 + number));
                scope.spawn(move || {
                    let mut client = Client::to(address);
                    loop {
                        let sent = send_one(&mut client, &mut dice);
                        let is_gone = sent.status.is_none();
                        diary.lock().expect("a diary").push(sent);
                        if is_gone {
                            return;
                        }
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(1_200 + dice.below(900)));
            death = Instant::now();
            gateway.signal("KILL");
            gateway.ends_within(Duration::from_secs(10));
        });
        let (mut surely, mut perhaps) = (known.clone(), known.clone());
        for sent in &*diary.lock().expect("a diary") {
            perhaps.note(sent);
            if sent.status.is_some() && sent.at + Duration::from_secs(1) < death {
                surely.note(sent);
            }
        }
        let told = ReportLedger::told(&place.json(&[]));
        told.is_within(&perhaps);
        surely.is_within(&told);
        missing.push(perhaps.requests() - told.requests());
        known = told;
    }
    println!("requests of the last second that were missing after each kill: {missing:?}");
}
