//! What was counted while the gateway's clock was ahead is told, in every format.

use crate::place::{ReportPlace, stop};
use crate::support::get;
use robots_gateway::record::timestamp;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn requests_of_a_clock_that_was_ahead_are_reported_and_told() {
    let place = ReportPlace::new();
    let Some(gateway) = place.start_at_time("+2h") else { return };
    gateway.send(&get("/robots.txt").by("Readbot/1.0 (+https://bot.example/)"));
    for _ in 0..7 {
        gateway.send(&get("/private/x").by("CCBot/2.0"));
    }
    stop(gateway);
    let report = place.json(&[]);
    assert_eq!(report["crawlers"][0]["violations"], 7, "{report}");
    assert_eq!(report["counts_ahead"], 7);
    let names: Vec<_> =
        report["crawlers"].as_array().expect("crawlers").iter().map(|one| &one["crawler"]).collect();
    assert!(names.contains(&&"Readbot".into()), "a read is told of, too: {names:?}");
    let (now, late) = (SystemTime::now(), timestamp(SystemTime::now() + HOUR));
    assert!(report["to"].as_str() > Some(late.as_str()), "{report}");
    let told = "7 requests are dated later than now";
    for (arguments, counted) in [
        (vec![], Some("That is counted here.")),
        (vec!["--until".to_owned(), timestamp(now + 3 * HOUR)], Some("That is counted here.")),
        (vec!["--until".to_owned(), timestamp(now + HOUR)], None),
        (vec!["--until".to_owned(), "0s".to_owned()], None),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let counted = counted.unwrap_or("None of that is counted here");
        for format in ["text", "json", "csv", "html"] {
            let ended = place.report(&[&arguments[..], &["--format", format]].concat()).exits(0);
            let shown = if format == "csv" { ended.stderr } else { ended.stdout };
            let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(told) && words.contains(counted), "{arguments:?} as {format}: {shown}");
        }
    }
    let none = place.json(&["--until", "0s"]);
    assert_eq!((&none["crawlers"], &none["counts_ahead"]), (&serde_json::json!([]), &7.into()));
}
