//! `gatewayctl backup`: whole while a gateway writes, and fit to be put back beside the rows that there are.

use crate::load::{SentLedger, send, send_all};
use crate::place::{ROBOTS, StorePlace, status, stop};
use crate::support::command::{Ended, ctl};
use crate::support::folder::rename_over;
use crate::support::{get, until};
use robots_gateway::record::StoreReader;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn backup(place: &StorePlace, to: &Path, more: &[&str]) -> Ended {
    let state = place.store().parent().expect("a folder").to_str().expect("UTF-8").to_owned();
    ctl([&["backup", to.to_str().expect("UTF-8"), "--state-dir", &state], more].concat())
}

#[test]
fn a_copy_that_is_made_while_the_gateway_writes_is_whole() {
    let place = StorePlace::new();
    let gateway = place.start();
    let first = send(gateway.address(), 1, 500);
    place.settles_at(&first);
    let (address, folder) = (gateway.address(), place.folder.path().to_owned());
    let mut copies: Vec<PathBuf> = Vec::new();
    let mut sent = first.clone();
    std::thread::scope(|scope| {
        let load = scope.spawn(move || send_all(&[address; 2], 2_000));
        while !load.is_finished() && copies.len() < 20 {
            let to = folder.join(format!("copy-{}.sqlite", copies.len()));
            let ended = backup(&place, &to, &["--format", "json"]).exits(0);
            let bytes = std::fs::metadata(&to).expect("the copy").len();
            let told = serde_json::json!({"store": place.store(), "file": to, "bytes": bytes});
            assert_eq!(ended.json(), told);
            copies.push(to);
        }
        sent.add(&load.join().expect("answers"));
    });
    place.settles_at(&sent);
    assert!(copies.len() > 1, "{}", copies.len());
    for copy in &copies {
        // Its tables must agree with each other.
        let counted = SentLedger::stored(&StoreReader::open(copy).expect("a store"));
        first.is_within(&counted);
        counted.is_within(&sent);
        assert_eq!(std::fs::metadata(copy).expect("the copy").permissions().mode() & 0o007, 0);
    }
    let told = backup(&place, &copies[0], &[]).exits(2);
    assert!(told.stderr.contains("there is something already; name a file that does not exist"), "{told:#?}");
    assert!(!told.stderr.contains("the store is broken"), "{told:#?}");
    stop(gateway);
    let last = place.folder.join("last.sqlite");
    let told = backup(&place, &last, &[]).exits(0);
    assert!(told.stdout.starts_with(&format!("wrote {}: ", last.display())), "{told:#?}");
    assert!(SentLedger::stored(&StoreReader::open(&last).expect("a store")) == sent);
    let nowhere = ctl(["backup", "x.sqlite", "--state-dir", "/nowhere"]).exits(2);
    assert!(
        nowhere.stderr.contains("there is no store") && nowhere.stderr.contains("--state-dir"),
        "{nowhere:#?}"
    );
}

#[test]
fn a_copy_that_is_put_back_beside_rows_makes_no_doubt_and_accuses_nobody_too_early() {
    let place = StorePlace::new();
    let robots = place.folder.join("robots.txt");
    rename_over(&robots, "User-agent: *\nAllow: /\n");
    let settings = "notice = \"1h\"\nsettle = \"0s\"";
    let gateway = place.start_with(settings);
    let ask = |gateway: &crate::support::Daemon| gateway.send(&get("/secret").by("Holdbot/1.0")).status;
    gateway.send(&get("/robots.txt").by("Holdbot/1.0"));
    assert_eq!(ask(&gateway), 200);
    until("the read is in the store", || {
        let reads = place.reader().reads(&robots_gateway::record::Filter::default()).ok()?;
        (!reads.is_empty()).then_some(())
    });
    let copy = place.folder.join("copy.sqlite");
    backup(&place, &copy, &[]).exits(0);
    rename_over(&robots, ROBOTS);
    until("the new file is served", || (gateway.send(&get("/robots.txt")).text() == ROBOTS).then_some(()));
    assert_eq!(ask(&gateway), 200, "it may still hold the older one");
    stop(gateway);
    std::fs::copy(&copy, place.store()).expect("the copy put back");
    let gateway = place.start_with(settings);
    let site = status(&gateway)["sites"][0].clone();
    let unknown = site["unknown"].as_array().expect("a list");
    assert!(unknown.len() == 1 && unknown[0]["what"] == "what was served before the gateway", "{site}");
    assert!(site["binds_from"].is_string(), "{site}");
    assert_eq!(ask(&gateway), 200, "the rows say that it may still hold the older one");
    let versions = until("the store knows what is in force", || {
        let versions = place.reader().versions(None).ok()?;
        (versions.last()?.bytes.as_deref()? == ROBOTS.as_bytes()).then_some(versions)
    });
    assert!(
        versions
            .iter()
            .all(|version| version.until.is_some() || version.bytes.as_deref() == Some(ROBOTS.as_bytes()))
    );
    stop(gateway);
}
