//! Somebody removes or empties the store's files while it is open: that is noticed and told, a new store is begun, and
//! it knows what is in force and what was before.

use crate::load::send;
use crate::place::{ROBOTS, StorePlace, status, stop};
use crate::support::command::{Ended, ctl};
use crate::support::folder::rename_over;
use crate::support::{Daemon, get, until};

const OLDER: &str = "User-agent: *\nAllow: /\n";

/// A gateway of which crawlers may hold two versions.
fn start(place: &StorePlace) -> Daemon {
    let robots = place.folder.join("robots.txt");
    rename_over(&robots, OLDER);
    let gateway = place.start_with("notice = \"1h\"");
    rename_over(&robots, ROBOTS);
    until("the new file is served", || (gateway.send(&get("/robots.txt")).text() == ROBOTS).then_some(()));
    gateway
}

fn remove(place: &StorePlace, end: &str) {
    let mut path = place.store().into_os_string();
    path.push(end);
    std::fs::remove_file(path).expect("a file of the store");
}

fn report(place: &StorePlace) -> Ended {
    let state = place.store().parent().expect("a folder").to_str().expect("UTF-8").to_owned();
    ctl(["report", "--state-dir", &state, "--format", "json"])
}

/// A new store knows the version in force.
#[track_caller]
fn knows_what_is_in_force(place: &StorePlace) {
    let known = || {
        let reader = robots_gateway::record::StoreReader::open(&place.store()).ok()?;
        let found = reader.versions(None).ok()?;
        let last = found.last()?;
        (last.bytes.as_deref() == Some(ROBOTS.as_bytes()) && last.until.is_none()).then_some(())
    };
    if crate::support::wait::within(crate::support::wait::PATIENCE, known).is_none() {
        let found = place.reader().versions(None);
        panic!("the store knows {:?}", found.map(|found| found.iter().map(|one| one.id).collect::<Vec<_>>()));
    }
}

#[test]
fn a_store_that_is_removed_while_it_is_open_is_told_of_and_begun_with_the_version_in_force() {
    let place = StorePlace::new();
    let gateway = start(&place);
    place.settles_at(&send(gateway.address(), 1, 50));
    for end in ["", "-wal", "-shm"] {
        remove(&place, end);
    }
    let told = until("status tells of it", || {
        let store = status(&gateway)["store"].clone();
        assert!(store["error"].is_null(), "{store}");
        store["incidents"].as_array().and_then(|incidents| Some(incidents.first()?.to_string()))
    });
    assert!(told.contains("removed, emptied or moved away while it was open"), "{told}");
    assert!(
        gateway.log.text().contains("removed, emptied or moved away while it was open"),
        "{}",
        gateway.log.text()
    );
    assert!(gateway.ctl(&["status"]).exits(0).stdout.contains("removed, emptied or moved away"));
    knows_what_is_in_force(&place);
    place.settles_at(&send(gateway.address(), 2, 50));
    stop(gateway);
    stop(place.start_with("notice = \"1h\""));
    knows_what_is_in_force(&place);
}

#[test]
fn a_store_that_was_removed_before_a_start_is_begun_with_the_version_in_force() {
    let place = StorePlace::new();
    stop(start(&place));
    remove(&place, "");
    stop(place.start_with("notice = \"1h\""));
    knows_what_is_in_force(&place);
}

#[test]
fn a_store_that_is_emptied_while_it_is_open_is_begun_anew_and_no_report_is_unclear() {
    let place = StorePlace::new();
    let gateway = start(&place);
    place.settles_at(&send(gateway.address(), 1, 200));
    drop(std::fs::File::create(place.store()).expect("the store"));
    until("status tells of it", || {
        let ended = report(&place);
        let is_clear = ended.code == Some(0)
            || ["the store is broken", "not set up yet"].iter().any(|words| ended.stderr.contains(words));
        assert!(is_clear, "{ended:#?}");
        let store = status(&gateway)["store"].clone();
        store["incidents"][0].as_str().filter(|told| told.contains("emptied")).map(str::to_owned)
    });
    knows_what_is_in_force(&place);
    place.settles_at(&send(gateway.address(), 2, 50));
    report(&place).exits(0);
    stop(gateway);
}
