//! A store of robots-gateway 0.1, as an upgrade finds it.

use crate::disks::SmallDisk;
use crate::load::send;
use crate::place::{StorePlace, status, stop};
use crate::support::{get, until};
use robots_gateway::record::{EventKind, Filter, Window};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What version 0.1 wrote; its head says of what.
const OLD: &str = include_str!("schema-1.sql");

/// Requests by crawler, target and kind, as that gateway's log tells them.
const REQUESTS: [(&str, EventKind, u64); 8] = [
    ("CCBot", EventKind::Stale, 1),
    ("CCBot", EventKind::Violation, 1),
    ("Fixturebot", EventKind::Violation, 1),
    ("GPTBot", EventKind::Allowed, 1),
    ("GPTBot", EventKind::Stale, 1),
    ("GPTBot", EventKind::Variant, 1),
    ("GPTBot", EventKind::Violation, 5),
    ("curl", EventKind::Violation, 1),
];

/// The counts are of a fixed day; no test is to depend on how long ago that is.
const FOR_EVER: &str = "retention = \"36500d\"";

fn old_store(place: &StorePlace) {
    let path = place.store();
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a state folder");
    Connection::open(path).expect("a store").execute_batch(OLD).expect("the store of 0.1");
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn requests(place: &StorePlace) -> u64 {
    let reader = place.reader();
    let window = reader.span().expect("readable").expect("not empty");
    let totals = reader.totals(&window, &Filter::default()).expect("readable");
    totals.iter().map(|total| total.count).sum()
}

/// All that a store says of its form.
fn form(store: &Connection) -> (i64, Vec<String>) {
    let version = store.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
    let mut statement = store.prepare("SELECT sql FROM sqlite_master ORDER BY name").expect("a query");
    let tables = statement.query_map([], |row| row.get(0)).expect("tables");
    (version, tables.filter_map(|sql| sql.expect("a table")).collect())
}

#[test]
fn a_store_of_0_1_is_taken_up_whole_and_a_copy_for_the_way_back_is_kept() {
    let place = StorePlace::new();
    old_store(&place);
    let gateway = place.start_with(FOR_EVER);
    let reader = place.reader();
    let window = reader.span().expect("readable").expect("not empty");
    let mut counted: Vec<(String, EventKind, u64)> = Vec::new();
    for total in reader.totals(&window, &Filter::default()).expect("readable") {
        let name = total.subject.crawler.as_deref().expect("a name").to_owned();
        match counted.iter_mut().find(|(crawler, kind, _)| (crawler, *kind) == (&name, total.decision.kind)) {
            Some((_, _, sum)) => *sum += total.count,
            None => counted.push((name, total.decision.kind, total.count)),
        }
    }
    counted.sort_by(|one, two| (&one.0, one.1.as_str()).cmp(&(&two.0, two.1.as_str())));
    let counted: Vec<_> = counted.iter().map(|(name, kind, sum)| (name.as_str(), *kind, *sum)).collect();
    assert_eq!(counted, REQUESTS);
    let ever = Window { from: UNIX_EPOCH, ..window };
    let losses = reader.losses(&ever).expect("readable");
    assert_eq!((losses.counts_lost, losses.details_dropped), (40, 2), "what was lost before is still told");
    assert_eq!(reader.reads(&Filter::default()).expect("readable").len(), 3);
    let old = reader.versions(Some("example.org")).expect("readable");
    assert_eq!(old.iter().filter(|version| version.bytes.is_some()).count(), 2);
    drop(reader);

    send(gateway.address(), 1, 60);
    until("new counts come on top of the old", || (requests(&place) == 12 + 60).then_some(()));
    assert!(status(&gateway)["store"]["error"].is_null());
    let kept = beside(&place.store(), ".schema-1");
    let said = gateway.log.text();
    assert!(said.contains("schema 1 to 2") && said.contains(&kept.display().to_string()), "{said}");
    stop(gateway);

    // What 0.1 would find if the copy were put in the store's place.
    let original = Connection::open_in_memory().expect("a database");
    original.execute_batch(OLD).expect("the store of 0.1");
    let kept = Connection::open(kept).expect("the copy");
    assert_eq!(form(&kept), form(&original));
    let sum = |store: &Connection| -> i64 {
        store.query_row("SELECT sum(count) FROM rollup", [], |row| row.get(0)).expect("counts")
    };
    assert_eq!((sum(&kept), sum(&original)), (12, 12));
    let check: String = kept.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(check, "ok");
}

#[test]
fn the_copy_of_a_second_upgrade_leaves_that_of_the_first_alone() {
    let place = StorePlace::new();
    old_store(&place);
    let kept = beside(&place.store(), ".schema-1");
    std::fs::write(&kept, "of the first upgrade").expect("a file");
    stop(place.start_with(FOR_EVER));
    assert_eq!(std::fs::read(&kept).expect("a file"), b"of the first upgrade");
    let folder = std::fs::read_dir(place.store().parent().expect("a folder")).expect("a folder");
    let names: Vec<_> = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    assert!(names.iter().any(|name| name.starts_with("store.sqlite.schema-1-2")), "{names:?}");
}

#[test]
fn without_room_for_a_copy_the_store_is_taken_up_all_the_same() {
    let Some(disk) = SmallDisk::new() else { return };
    let place = StorePlace::new().with_state(disk.state());
    old_store(&place);
    // Of a mebibyte the store takes a tenth; a copy and as much again do not fit into what is left.
    disk.take(800 << 10);
    let gateway = place.start_with(&format!("journal = \"-\"\n{FOR_EVER}"));
    assert_eq!(requests(&place), 12);
    let said = gateway.log.text();
    assert!(said.contains("no copy was kept") && said.contains("too little room"), "{said}");
    assert!(!beside(&place.store(), ".schema-1").exists());
    assert!(!beside(&place.store(), ".schema-1.part").exists());
    stop(gateway);
}

/// What version 0.1 served goes on to bind whoever could read it then; a day of doubt after each upgrade would be new.
#[test]
fn what_0_1_served_still_binds_and_what_replaces_it_does_not_yet() {
    for (path, expected) in [(None, 403), (Some("/something/new/"), 200)] {
        let place = StorePlace::new();
        old_store(&place);
        let store = Connection::open(place.store()).expect("a store");
        let sql = "SELECT bytes FROM version JOIN robots ON robots.sha256 = version.sha256
                   WHERE site = 'example.org' AND until = 0";
        let served: Vec<u8> = store.query_row(sql, [], |row| row.get(0)).expect("a version in force");
        drop(store);
        let served = String::from_utf8(served).expect("UTF-8");
        let disallowed =
            served.lines().find_map(|line| line.strip_prefix("Disallow: ")).expect("a rule").to_owned();
        let robots = path.map_or(served, |path| format!("User-agent: *\nDisallow: {path}\n"));
        place.folder.write("robots.txt", robots);
        let robots = place.folder.join("robots.txt");
        let sites = format!("[[sites]]\nhosts = [\"example.org\"]\nrobots = \"{}\"", robots.display());
        let gateway = place.start_sites("notice = \"1h\"", &sites);
        let target = path.unwrap_or(&disallowed);
        let request = get(target).for_host("example.org").by("Upgradebot/1.0 (+https://bot.example/)");
        assert_eq!(gateway.send(&request).status, expected, "{target}");
        stop(gateway);
    }
}
