//! Questions that cannot be answered, and answers that are empty.

use crate::place::{ReportPlace, stop};
use crate::support::command::ctl;
use crate::support::{Folder, get};

#[test]
fn without_a_store_it_says_where_it_looked() {
    let folder = Folder::new();
    let path = folder.path().to_str().expect("UTF-8");
    let ended = ctl(["report", "--state-dir", path]).exits(2);
    for part in [path, "there is no store", "--state-dir DIR"] {
        assert!(ended.stderr.contains(part), "{ended:#?}");
    }
    folder.write("store.sqlite", "no database at all");
    let ended = ctl(["report", "--state-dir", path]).exits(2);
    assert!(ended.stderr.contains("store.sqlite") && ended.stdout.is_empty(), "{ended:#?}");
}

#[test]
fn bad_times_and_shapes_are_refused_with_a_remedy() {
    let place = ReportPlace::new();
    stop(place.start_with(""));
    for (arguments, part) in [
        (&["--since", "yesterday"][..], "such as `24h`"),
        (&["--until", "2026-02-30"], "such as `24h`"),
        (&["--since", "1h", "--until", "2h"], "would end before it begins"),
        (&["--since", "2999-01-01"], "would end before it begins"),
        (&["--format", "xml"], "possible values"),
        (&["--evidence"], "--crawler"),
        (&["--crawler", "x", "--evidence", "--format", "json"], "plain text"),
        (&["--top", "some"], "--top"),
    ] {
        let ended = place.report(arguments).exits(2);
        assert!(ended.stderr.contains(part), "{arguments:?}: {ended:#?}");
    }
    let ended = ctl(["status", "--format", "csv"]).exits(2);
    assert!(ended.stderr.contains("only a report"), "{ended:#?}");
}

#[test]
fn an_empty_report_says_so_and_which_names_there_are() {
    let place = ReportPlace::new();
    let gateway = place.start_with("");
    gateway.send(&get("/private/").by("GPTBot/1.2"));
    stop(gateway);
    let empty = place.report(&["--crawler", "CCBot"]).exits(0);
    assert!(empty.stdout.starts_with("no crawler was seen\n"), "{empty:#?}");
    assert!(empty.stderr.contains("no crawler `CCBot`"), "{empty:#?}");
    let elsewhere = place.report(&["--site", "example.net"]).exits(0);
    assert!(elsewhere.stderr.contains("only of default"), "{elsewhere:#?}");
    let found = place.report(&["--crawler", "gptbot"]).exits(0);
    assert!(
        found
            .stdout
            .contains("\n1 crawler broke rules that it was not seen to read: GPTBot once (not confirmed)\n"),
        "{found:#?}"
    );
    let before = place.json(&["--since", "2020-01-01", "--until", "2020-01-02"]);
    assert_eq!(
        (&before["from"], &before["to"]),
        (&"2020-01-01T00:00:00.000Z".into(), &"2020-01-02T00:00:00.000Z".into())
    );
    assert_eq!(before["crawlers"], serde_json::json!([]));
    // What is still to come is no part of any report; the window ends where the minute does.
    let begun = std::time::SystemTime::now();
    let to = place.json(&["--until", "2999-01-01"])["to"].as_str().expect("a time").to_owned();
    let latest = robots_gateway::record::timestamp(begun + std::time::Duration::from_secs(120));
    assert!(to > robots_gateway::record::timestamp(begun) && to <= latest, "{to} is not now, {latest}");
    for width in ["60", "80", "120"] {
        fits(&place, width);
    }
}

/// No line is wider than the terminal.
fn fits(place: &ReportPlace, width: &str) {
    for all in [false, true] {
        let mut command = crate::support::command::program(env!("CARGO_BIN_EXE_gatewayctl"));
        command
            .args(["report", "--state-dir", &place.state()])
            .args(all.then_some("--all"))
            .env("COLUMNS", width);
        let ended = crate::support::command::run(command).exits(0);
        let most = width.parse().expect("a number");
        let long: Vec<_> = ended.stdout.lines().skip(1).filter(|line| line.chars().count() > most).collect();
        assert!(long.is_empty(), "{long:#?}");
        // However narrow it is, what was made of the requests is told to whoever asks for all.
        let is_told = ended.stdout.contains("without a counted read, refused");
        assert_eq!(is_told, all, "{ended:#?}");
    }
}
