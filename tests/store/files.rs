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

/// A new store knows the version that may still be held, and the one in force, beside what the origin had before.
#[track_caller]
fn knows_both(place: &StorePlace) {
    let versions = || {
        let reader = robots_gateway::record::StoreReader::open(&place.store()).ok()?;
        let found = reader.versions(None).ok()?;
        let bytes: Vec<_> = found.iter().filter_map(|version| version.bytes.as_deref()).collect();
        bytes.ends_with(&[OLDER.as_bytes(), ROBOTS.as_bytes()]).then_some(found)
    };
    let Some(found) = crate::support::wait::within(crate::support::wait::PATIENCE, versions) else {
        let found = place.reader().versions(None);
        panic!("the store knows {:?}", found.map(|found| found.iter().map(|one| one.id).collect::<Vec<_>>()));
    };
    let [.., older, newer] = &found[..] else { panic!("two versions") };
    assert!(older.from < newer.from && newer.until.is_none(), "{found:?}");
    let until = older.until.expect("it was replaced");
    let apart = until.max(newer.from).duration_since(until.min(newer.from)).expect("a span");
    assert!(apart.as_millis() < 100, "{found:?}");
}

#[test]
fn a_store_that_is_removed_while_it_is_open_is_told_of_and_begun_with_its_versions() {
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
    knows_both(&place);
    place.settles_at(&send(gateway.address(), 2, 50));
    stop(gateway);
    stop(place.start_with("notice = \"1h\""));
    knows_both(&place);
}

#[test]
fn a_store_that_was_removed_before_a_start_is_begun_with_its_versions() {
    let place = StorePlace::new();
    stop(start(&place));
    remove(&place, "");
    stop(place.start_with("notice = \"1h\""));
    knows_both(&place);
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
    knows_both(&place);
    place.settles_at(&send(gateway.address(), 2, 50));
    report(&place).exits(0);
    stop(gateway);
}
