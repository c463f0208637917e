//! A gateway that is killed at any moment: at most the last second is missing, and nothing is counted twice.

use crate::dice::Dice;
use crate::load::{Diary, SentLedger};
use crate::place::{StorePlace, stop};
use crate::support::folder::rename_over;
use crate::support::get;
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

/// How often a reload is interrupted.
const TRIES: u64 = 100;

/// A crawler that read the file before the change holds that one, wherever between reading the next one, writing its row,
/// serving it and ending the row of the former one the gateway was killed.
#[test]
fn a_kill_at_any_step_of_a_reload_has_nobody_refused_or_accused_by_a_version_that_it_did_not_know() {
    let place = StorePlace::new();
    let file = place.folder.join("robots.txt");
    let robots = |number: u64| format!("User-agent: *\nDisallow: /page{number}\n");
    rename_over(&file, robots(0));
    let (mut dice, mut gateway) = (Dice(11), place.start_with("notice = \"1h\"\nsettle = \"0s\""));
    let send = |gateway: &crate::support::Daemon, target: &str| gateway.send(&get(target).by("Killbot/1.0"));
    let mut was_served = 0;
    for number in 1..=TRIES {
        assert_eq!(send(&gateway, "/robots.txt").text(), robots(number - 1));
        rename_over(&file, robots(number));
        gateway.signal("HUP");
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        was_served +=
            u64::from(number % 4 == 0 && gateway.send(&get("/robots.txt")).text() == robots(number));
        gateway.signal("KILL");
        gateway.ends_within(Duration::from_secs(10));
        gateway = place.start_with("notice = \"1h\"\nsettle = \"0s\"");
        let status = send(&gateway, &format!("/page{number}")).status;
        assert_eq!(status, 200, "killed the {number}th time: it may hold the version before");
    }
    println!("of {} that were looked at, {was_served} were killed when the new file was served", TRIES / 4);
    stop(gateway);
}
