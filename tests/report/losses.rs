//! What could not be recorded is told, and weakens what is said of others.

use crate::place::{Place, stop};
use crate::support::get;
use robots_gateway::record::STORE_FILE;
use rusqlite::Connection;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Adds what a gateway notes when its memory has no room for a disk that does not answer.
fn lose(place: &Place, kind: &str, count: u32, ago: Duration) {
    let at = (SystemTime::now() - ago).duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let hour = i64::try_from(at - at % 3_600).expect("a time");
    let store = Connection::open(place.folder.join("state").join(STORE_FILE)).expect("a store");
    store
        .execute("INSERT INTO loss (start, span, kind, count) VALUES (?1, 3600, ?2, ?3)", (hour, kind, count))
        .expect("a row");
}

#[test]
fn losses_are_told_and_nobody_is_said_to_have_read_nothing() {
    let place = Place::new();
    let gateway = place.start_with("");
    gateway.send(&get("/private/").by("CCBot/2.0"));
    stop(gateway);
    let conduct = |place: &Place| place.json(&[])["crawlers"][0]["conduct"].clone();
    assert_eq!(conduct(&place), "no-read-seen");
    lose(&place, "counts", 1_234, Duration::ZERO);
    let report = place.json(&[]);
    assert_eq!((&report["counts_lost"], &report["details_dropped"]), (&1_234.into(), &0.into()));
    assert_eq!(conduct(&place), "no-read-seen", "counts are no reads");
    // Long before the window, but the record of a read may have been among them.
    lose(&place, "details", 7, Duration::from_secs(40 * 86_400));
    assert_eq!(place.json(&[])["details_dropped"], 0);
    assert_eq!(conduct(&place), "unknown");
    lose(&place, "details", 9, Duration::ZERO);
    assert_eq!(place.json(&[])["details_dropped"], 9);
    let text = place.report(&[]).exits(0).stdout;
    assert!(text.contains("1,234 requests are missing from the counts"), "{text}");
    assert!(text.contains("9 details (targets, events, reads) were not recorded"), "{text}");
    let csv = place.report(&["--format", "csv"]).exits(0);
    assert!(csv.stderr.contains("1,234 requests are missing") && !csv.stdout.contains("missing"), "{csv:#?}");
    let case = place.report(&["--crawler", "CCBot", "--evidence"]).exits(0).stdout;
    let words = case.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the true counts are higher"), "{case}");
}
