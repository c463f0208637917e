//! A store that cannot be written: proxying goes on, what waits is written later, and what is lost is told.

use crate::load::{send, send_all};
use crate::place::{StorePlace, fails_with, recovers, status, stop};
use crate::support::agents::GPTBOT;
use crate::support::{Folder, get, until};
use robots_gateway::record::UNCLEAN_END;
use rusqlite::Connection;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Holds the store's lock, as a backup or a person with a shell may.
fn lock(place: &StorePlace) -> Connection {
    let connection = Connection::open(place.store()).expect("the store");
    connection.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    connection
}

#[test]
fn a_locked_store_stops_nothing_and_costs_nothing() {
    let place = StorePlace::new();
    let gateway = place.start();
    let mut sent = send(gateway.address(), 1, 200);
    let begun = Instant::now();
    sent.add(&send_all(&[gateway.address(); 2], 3_000));
    let free = begun.elapsed();
    let held = lock(&place);
    let begun = Instant::now();
    sent.add(&send_all(&[gateway.address(); 2], 3_000));
    println!("6,000 requests: {free:.2?} with a free store, {:.2?} with a locked one", begun.elapsed());
    fails_with(&gateway, "locked");
    drop(held);
    recovers(&gateway);
    place.settles_at(&sent);
    assert_eq!(status(&gateway)["counts_lost"], 0);
    stop(gateway);
}

/// `cargo test --release --test store -- --ignored throughput --nocapture`
#[test]
#[ignore = "measures for a minute; run it with --release"]
fn throughput_is_the_same_with_a_store_that_cannot_be_written() {
    const REQUESTS: u64 = 10_000;
    let place = StorePlace::alone();
    let gateway = place.start();
    let mut sent = send_all(&[gateway.address(); 2], REQUESTS);
    let (mut free, mut locked) = (Duration::ZERO, Duration::ZERO);
    // By turns, so that whatever else the machine does slows both.
    for round in 0..10 {
        let held = (round % 2 == 1).then(|| lock(&place));
        let begun = Instant::now();
        sent.add(&send_all(&[gateway.address(); 2], REQUESTS));
        let time = if held.is_some() { &mut locked } else { &mut free };
        *time += begun.elapsed();
        drop(held);
        recovers(&gateway);
    }
    place.settles_at(&sent);
    let ratio = free.as_secs_f64() / locked.as_secs_f64();
    println!(
        "{free:.2?} with a free store, {locked:.2?} with a locked one: {:.1} % of the throughput",
        ratio * 100.0
    );
    assert!(ratio > 0.95, "{ratio}");
    stop(gateway);
}

/// The log has the number; the next report, and the next gateway, tell of which time counts may be missing.
#[test]
fn what_a_locked_store_does_not_take_at_a_stop_is_told_as_missing_with_its_time() {
    let place = StorePlace::new();
    let mut gateway = place.start();
    let before = send(gateway.address(), 1, 50);
    place.settles_at(&before);
    let held = lock(&place);
    send(gateway.address(), 2, 100);
    let begun = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(20)), Some(0));
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    let said = gateway.log.text();
    assert!(said.contains("\"counts_lost\":100") && said.contains("these requests are lost"), "{said}");
    drop(held);
    assert_eq!(place.missing(), [(UNCLEAN_END.to_owned(), None)]);
    let gateway = place.start();
    place.settles_at(&before);
    assert_eq!(place.missing(), [(UNCLEAN_END.to_owned(), None)]);
    stop(gateway);
    place.settles_at(&before);
    assert_eq!(place.missing(), [(UNCLEAN_END.to_owned(), None)]);
}

/// The same of a full disk.
#[test]
fn a_gateway_that_stops_on_a_full_disk_says_what_is_lost() {
    let Some(disk) = SmallDisk::new() else { return };
    let place = StorePlace::new().with_state(disk.state());
    let journal = place.folder.join("journal.jsonl");
    let journal = format!("journal = \"{}\"", journal.display());
    let mut gateway = place.start_with(&journal);
    let before = send(gateway.address(), 1, 50);
    place.settles_at(&before);
    disk.fill();
    send(gateway.address(), 2, 100);
    fails_with(&gateway, "full");
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(20)), Some(0));
    let said = gateway.log.text();
    let lost = said.lines().find(|line| line.contains("these requests are lost")).expect("it is said");
    let lost: Value = serde_json::from_str(lost).expect("JSON");
    let lost = lost["counts_lost"].as_u64().expect("a number");
    disk.empty();
    assert_eq!(place.counted().sum() + lost, 150, "{said}");
    assert_eq!(place.missing(), [(UNCLEAN_END.to_owned(), None)]);
    let gateway = place.start_with(&journal);
    until("it is told", || {
        let ends = status(&gateway)["store"]["incidents"].as_array().map_or(0, Vec::len);
        (ends == 1).then_some(())
    });
    let told = gateway.ctl(&["status"]).stdout;
    assert!(told.contains("a gateway ended without writing its last counts"), "{told}");
    assert_eq!(place.missing(), [(UNCLEAN_END.to_owned(), None)]);
    stop(gateway);
}

#[test]
fn what_is_no_database_is_set_aside_and_told() {
    let place = StorePlace::new();
    stop(place.start());
    let garbage = b"no database at all".repeat(100);
    std::fs::write(place.store(), &garbage).expect("the store");
    let gateway = place.start();
    let sent = send(gateway.address(), 1, 100);
    let status = status(&gateway);
    let told = status["store"]["incidents"][0].as_str().expect("it was set aside");
    let aside =
        told.split([',', ' ']).find(|word| word.contains("store.sqlite.corrupt-")).expect("where it went");
    assert_eq!(std::fs::read(aside).expect("the file set aside"), garbage);
    assert!(gateway.log.text().contains("was set aside as"), "{}", gateway.log.text());
    place.settles_at(&sent);
    stop(gateway);
}

#[test]
fn the_store_of_a_later_program_is_left_alone_and_the_site_is_served() {
    let place = StorePlace::new();
    let gateway = place.start();
    let mut sent = send(gateway.address(), 1, 50);
    stop(gateway);
    let later = Connection::open(place.store()).expect("the store");
    later.pragma_update(None, "user_version", 99).expect("a version");
    let gateway = place.start();
    sent.add(&send(gateway.address(), 2, 50));
    fails_with(&gateway, "schema 99");
    later.pragma_update(None, "user_version", 1).expect("a version");
    recovers(&gateway);
    place.settles_at(&sent);
    stop(gateway);
}

#[test]
fn a_store_that_is_taken_away_is_begun_anew() {
    let place = StorePlace::new();
    let gateway = place.start();
    let before = send(gateway.address(), 1, 50);
    place.settles_at(&before);
    for part in ["", "-wal", "-shm"] {
        let mut path = place.store().into_os_string();
        path.push(part);
        let _ = std::fs::remove_file(path);
    }
    let after = send(gateway.address(), 2, 50);
    place.settles_at(&after);
    stop(gateway);
}

/// A file system of its own, of one mebibyte; `None` where this user may not have one.
pub(crate) struct SmallDisk(Folder);

impl SmallDisk {
    pub(crate) fn new() -> Option<Self> {
        let folder = Folder::new();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            println!("skipped: this user cannot mount a file system");
        }
        mounted.then_some(Self(folder))
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// Takes so much of it.
    pub(crate) fn take(&self, bytes: usize) {
        std::fs::write(self.0.join("ballast"), vec![0; bytes]).expect("room");
    }

    fn fill(&self) {
        std::fs::create_dir_all(self.state()).expect("a state folder");
        let written = std::fs::write(self.0.join("ballast"), vec![0; 2 << 20]);
        assert!(written.is_err(), "the disk is not full");
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("ballast")).expect("the ballast");
    }

    fn remount(&self, how: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{how}")]).arg(self.0.path());
        mount.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: what a failed test left running may still hold it.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_disk_stops_nothing_and_the_counts_come_when_there_is_room() {
    let Some(disk) = SmallDisk::new() else { return };
    let place = StorePlace::new().with_state(disk.state());
    let gateway = place.start();
    let mut sent = send(gateway.address(), 1, 100);
    place.settles_at(&sent);
    disk.fill();
    sent.add(&send(gateway.address(), 2, 400));
    fails_with(&gateway, "full");
    let status = status(&gateway);
    assert!(status["details_dropped"].as_u64() > Some(0), "journal lines were lost: {status}");
    assert!(gateway.log.text().contains("cannot write the store"), "{}", gateway.log.text());
    disk.empty();
    recovers(&gateway);
    place.settles_at(&sent);
    stop(gateway);
}

/// A full disk takes a part of what is written to it, and that part is taken back.
#[test]
fn the_lines_that_a_full_disk_did_not_take_are_told_to_the_line() {
    let Some(disk) = SmallDisk::new() else { return };
    let place = StorePlace::new();
    let journal = disk.0.join("journal.jsonl");
    let gateway = place.start_with(&format!("journal = \"{}\"", journal.display()));
    let mut asked = 0;
    // Whole lines, also one that only lacks its end.
    let whole = |text: &str| text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
    for room in [100_000, 37_000, 5_000] {
        let written = std::fs::read_to_string(&journal).unwrap_or_default().len();
        disk.take((1 << 20) - written - room);
        let mut client = gateway.client();
        for _ in 0..400 {
            asked += 1;
            assert_eq!(client.send(&get(format!("/secret/{asked}")).by(GPTBOT)).status, 403);
        }
        until("every line is in the journal or told as lost", || {
            let told = status(&gateway);
            let (queue, lost) = (told["queue"].as_u64()?, told["details_dropped"].as_u64()?);
            let written = whole(&std::fs::read_to_string(&journal).ok()?) as u64;
            println!("{asked} events: {written} lines and {lost} lost, {queue} waiting");
            (queue == 0 && written + lost == asked && lost > 0).then_some(())
        });
        disk.take(0);
    }
    stop(gateway);
}

#[test]
fn a_gateway_that_starts_on_a_full_disk_serves() {
    let Some(disk) = SmallDisk::new() else { return };
    disk.fill();
    let place = StorePlace::new().with_state(disk.state());
    let gateway = place.start();
    let sent = send(gateway.address(), 1, 100);
    until("status tells why", || status(&gateway)["store"]["error"].as_str().map(drop));
    disk.empty();
    recovers(&gateway);
    place.settles_at(&sent);
    stop(gateway);
}

#[test]
fn a_state_folder_that_becomes_read_only_stops_nothing() {
    let Some(disk) = SmallDisk::new() else { return };
    let place = StorePlace::new().with_state(disk.state());
    stop(place.start());
    // A file system with files open for writing cannot be made read-only, so the gateway starts on it.
    let journal = place.folder.join("journal.jsonl");
    if !disk.remount("ro") {
        println!("skipped: this file system cannot be made read-only");
        return;
    }
    let gateway = place.start_with(&format!("journal = \"{}\"", journal.display()));
    let sent = send(gateway.address(), 1, 100);
    until("status tells why", || status(&gateway)["store"]["error"].as_str().map(drop));
    assert!(disk.remount("rw"));
    recovers(&gateway);
    place.settles_at(&sent);
    stop(gateway);
}
