//! What was counted while the gateway's clock was ahead is in the report.

use crate::place::{ReportPlace, stop};
use crate::support::get;
use robots_gateway::record::timestamp;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn requests_of_a_clock_that_was_ahead_are_reported() {
    let place = ReportPlace::new();
    let Some(gateway) = place.start_at_time("+2h") else { return };
    gateway.send(&get("/robots.txt").by("Readbot/1.0 (+https://bot.example/)"));
    for _ in 0..7 {
        gateway.send(&get("/private/x").by("CCBot/2.0"));
    }
    stop(gateway);
    let report = place.json(&[]);
    assert_eq!(report["crawlers"][0]["violations"], 7, "{report}");
    let names: Vec<_> =
        report["crawlers"].as_array().expect("crawlers").iter().map(|one| &one["crawler"]).collect();
    assert!(names.contains(&&"Readbot".into()), "a read is told of, too: {names:?}");
    let (now, late) = (SystemTime::now(), timestamp(SystemTime::now() + HOUR));
    assert!(report["to"].as_str() > Some(late.as_str()), "{report}");
    for (until, counted) in [(timestamp(now + 3 * HOUR), 1), (timestamp(now + HOUR), 0), ("0s".to_owned(), 0)]
    {
        let report = place.json(&["--until", &until]);
        let violating = report["crawlers"].as_array().expect("crawlers").iter();
        assert_eq!(violating.filter(|one| one["violations"] == 7).count(), counted, "{until}: {report}");
    }
}
