//! What could not be recorded is told, and weakens what is said of others.

use crate::place::{ReportPlace, stop};
use crate::support::{get, until};
use robots_gateway::record::STORE_FILE;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Adds what a gateway notes when its memory has no room for a disk that does not answer.
fn lose(place: &ReportPlace, what: &str, count: u32, ago: Duration) {
    let at = (SystemTime::now() - ago).duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let hour = i64::try_from((at - at % 3_600) * 1_000_000).expect("a time");
    let store = Connection::open(place.folder.join("state").join(STORE_FILE)).expect("a store");
    store
        .execute(
            "INSERT INTO missing VALUES (?2, 'not-written', '', ?1, ?1 + 3600000000, ?3)",
            (hour, what, count),
        )
        .expect("a row");
}

#[test]
fn losses_are_told_and_only_lost_reads_keep_one_from_being_said_to_have_read_nothing() {
    let place = ReportPlace::new();
    let gateway = place.start_with("");
    gateway.send(&get("/private/").by("CCBot/2.0"));
    stop(gateway);
    let conduct = |place: &ReportPlace| place.json(&[])["crawlers"][0]["conduct"].clone();
    assert_eq!(conduct(&place), "no-read-seen");
    lose(&place, "requests", 1_234, Duration::ZERO);
    let report = place.json(&[]);
    assert_eq!((&report["counts_lost"], &report["details_dropped"]), (&1_234.into(), &0.into()));
    lose(&place, "details", 9, Duration::ZERO);
    assert_eq!(place.json(&[])["details_dropped"], 9);
    assert_eq!(conduct(&place), "no-read-seen", "counts and targets are no reads");
    let text = place.report(&[]).exits(0).stdout;
    assert!(text.contains("1,234 requests are missing from the counts"), "{text}");
    assert!(text.contains("9 details (targets, events) were not recorded"), "{text}");
    let csv = place.report(&["--format", "csv"]).exits(0);
    assert!(csv.stderr.contains("1,234 requests are missing") && !csv.stdout.contains("missing"), "{csv:#?}");
    let case = place.report(&["--crawler", "CCBot", "--evidence"]).exits(0).stdout;
    let words = case.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the true counts are higher"), "{case}");

    let site = place.json(&[])["crawlers"][0]["site"].as_str().expect("a site").to_owned();
    unseen(&place, "another", Duration::ZERO);
    assert_eq!((conduct(&place), &place.json(&[])["reads"]), ("no-read-seen".into(), &"partial".into()));
    unseen(&place, &site, Duration::from_secs(40 * 86_400));
    assert_eq!(conduct(&place), "no-read-seen", "no copy is used for so long");
    unseen(&place, &site, Duration::from_secs(3_600));
    assert_eq!(conduct(&place), "unknown");
    let text = place.report(&[]).exits(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("some reads at {site} were not recorded")), "{text}");
}

/// Adds what a gateway notes where the memory had no room for reads.
fn unseen(place: &ReportPlace, site: &str, ago: Duration) {
    let at = (SystemTime::now() - ago).duration_since(UNIX_EPOCH).expect("after 1970").as_micros();
    let at = i64::try_from(at).expect("a time");
    let store = Connection::open(place.folder.join("state").join(STORE_FILE)).expect("a store");
    store
        .execute("INSERT INTO missing VALUES ('reads', 'not-written', ?1, ?2, ?2, 1)", (site, at))
        .expect("a row");
}

/// What the size cap took is missing in every format of the report.
#[test]
fn what_the_size_cap_took_is_told_in_every_format() {
    let place = ReportPlace::new();
    stop(place.start());
    // More than the cap in rows that it does not take, and before that a day with requests of many crawlers.
    let day = SystemTime::now() - Duration::from_secs(3 * 86_400);
    let day = i64::try_from(day.duration_since(UNIX_EPOCH).expect("after 1970").as_secs()).expect("a time");
    let store = Connection::open(place.folder.join("state").join(STORE_FILE)).expect("a store");
    store
        .execute_batch(&format!(
            "BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 15500)
             INSERT INTO stranger SELECT {}, i || printf('%.1000c', 'x') FROM n;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
             INSERT INTO rollup (span, start, subject, decision, count)
             SELECT 3600, {}, i, 1, 600 FROM n;
             COMMIT;",
            day + 2 * 86_400,
            day - day % 3_600
        ))
        .expect("rows");
    drop(store);
    let gateway = place.start_with("store_max_size = \"16MiB\"");
    until("the size cap took them", || {
        let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        (status["store"]["counts_removed"] == 18_000_000).then_some(())
    });
    let status = gateway.ctl(&["status"]).stdout;
    assert!(status.contains("18000000 requests were removed from the store"), "{status}");
    stop(gateway);
    let since = ["--since", "7d"];
    let report = place.json(&since);
    assert_eq!(report["counts_lost"], 18_000_000, "{report}");
    assert_eq!(report["losses"][0]["reason"], "size-cap");
    assert_eq!(place.json(&["--since", "1h"])["counts_lost"], 0, "of the last hour all is there");
    let told = "18,000,000 requests are missing from the counts: the store was at its size cap";
    let formats = [&[][..], &["--format", "csv"], &["--format", "html"]];
    for format in formats {
        let ended = place.report(&[&since, format].concat()).exits(0);
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains(told), "{format:?}: {ended:#?}");
    }
}

/// Before the next gateway has started, and after: in every format.
#[test]
fn what_a_killed_gateway_may_not_have_written_is_told_in_every_format() {
    let place = ReportPlace::new();
    let mut gateway = place.start_with("");
    gateway.send(&get("/private/").by("CCBot/2.0"));
    until("it is counted", || (place.json(&[])["crawlers"][0]["violations"] == 1).then_some(()));
    assert_eq!(place.json(&[])["losses"], json!([]));
    gateway.signal("KILL");
    gateway.ends_within(Duration::from_secs(10));
    let told = "A gateway ended without writing what it had counted last";
    let is_told = || {
        let report = place.json(&[]);
        assert_eq!(
            (&report["losses"][0]["reason"], &report["losses"][0]["count"]),
            (&"unclean-end".into(), &Value::Null)
        );
        assert!(report["notes"].to_string().contains(told), "{report}");
        assert_eq!(report["crawlers"][0]["conduct"], "unknown", "its read may be among what was not written");
        for format in ["table", "csv", "html"] {
            let ended = place.report(&["--format", format]).exits(0);
            assert!(
                format!("{}{}", ended.stdout, ended.stderr).contains("A gateway ended without"),
                "{format}: {ended:#?}"
            );
        }
    };
    is_told();
    stop(place.start_with(""));
    is_told();
}

/// Nobody is told that a crawler read nothing, and of which time counts may be missing: before the next start, and after.
#[test]
fn what_a_locked_store_did_not_take_at_a_stop_is_told_with_its_time() {
    let place = ReportPlace::new();
    let gateway = place.start_with("");
    let store = Connection::open(place.folder.join("state").join(STORE_FILE)).expect("a store");
    store.busy_timeout(Duration::from_secs(5)).expect("a timeout");
    store.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    for _ in 0..50 {
        gateway.send(&get("/private/").by("CCBot/2.0"));
    }
    stop(gateway);
    drop(store);
    let is_told = || {
        let report = place.json(&[]);
        assert_eq!(report["losses"].as_array().map(Vec::len), Some(1), "{report}");
        let loss = &report["losses"][0];
        assert_eq!((&loss["reason"], &loss["count"]), (&"unclean-end".into(), &Value::Null), "{report}");
        assert!(loss["from"].as_str() < loss["to"].as_str(), "{report}");
        assert_eq!((&report["reads"], &report["crawlers"]), (&"partial".into(), &json!([])), "{report}");
    };
    is_told();
    stop(place.start_with(""));
    is_told();
}
