//! A gateway that is killed at any moment: at most the last second is missing, and nothing is counted twice.

use crate::dice::Dice;
use crate::load::{Diary, SentLedger};
use crate::place::{StorePlace, stop};
use std::time::{Duration, Instant, SystemTime};

const KILLS: u64 = 12;

#[test]
fn a_kill_costs_a_second_at_most() {
    let place = StorePlace::alone();
    // What the gateways so far are known to have counted.
    let (mut known, mut dice) = (SentLedger::default(), Dice(7));
    let mut missing = Vec::new();
    for kill in 0..KILLS {
        let mut gateway = place.start();
        let (address, diary) = (gateway.address(), Diary::default());
        let (mut death, mut killed) = (Instant::now(), SystemTime::now());
        std::thread::scope(|scope| {
            for sender in 0..3 {
                let diary = &diary;
                scope.spawn(move || diary.send_until_gone(address, kill * 10 + sender));
            }
            std::thread::sleep(Duration::from_millis(400 + dice.below(1_600)));
            (death, killed) = (Instant::now(), SystemTime::now());
            gateway.signal("KILL");
            gateway.ends_within(Duration::from_secs(10));
        });
        let ends = place.unclean_ends(killed);
        let is_told = ends.iter().any(|(since, until)| {
            (killed - Duration::from_secs(2)..killed + Duration::from_secs(2)).contains(since)
                && *until >= killed
        });
        assert!(is_told, "killed at {killed:?}, told {ends:?}");
        let (mut surely, mut perhaps) = (known.clone(), known.clone());
        surely.add(&diary.at_least(death));
        perhaps.add(&diary.at_most());
        let counted = place.counted();
        counted.is_within(&perhaps);
        surely.is_within(&counted);
        missing.push(perhaps.sum() - counted.sum());
        known = counted;
    }
    stop(place.start());
    assert_eq!(place.unclean_ends(SystemTime::UNIX_EPOCH).len() as u64, KILLS, "each is told, and no other");
    println!("requests of the last second that were missing after each kill: {missing:?}");
}
