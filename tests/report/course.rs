//! The chart of the page, over times that the store has folded.

use crate::fill::{DAY, crawler, record, writer};
use crate::support::Folder;
use robots_gateway::identify::Catalogue;
use robots_gateway::record::{STORE_FILE, StoreReader};
use robots_gateway::report::{CourseGrid, Report, ReportQuestion, ViolationTimeline};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const HOUR: Duration = Duration::from_secs(3_600);

/// Midnight, twenty days ago: long enough for a store to keep days only.
fn midnight() -> SystemTime {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    UNIX_EPOCH + Duration::from_secs(now - now % 86_400) - DAY * 20
}

/// A store with 30 violations at ten in the morning of that day, as it is kept once it is folded.
fn folded(folder: &Folder) -> StoreReader {
    let path = folder.join(STORE_FILE);
    let fill = writer(path.clone());
    for number in 0..30 {
        let at = midnight() + Duration::from_secs(36_000 + number * 60);
        record(&fill, &crawler("GPTBot"), 0, "/section", at);
    }
    fill.close();
    // A writer that starts tidies up first.
    let tidier = writer(path.clone());
    let begun = Instant::now();
    let reader = loop {
        let reader = StoreReader::open(&path).expect("a store");
        let window = reader.window(midnight() + HOUR, midnight() + HOUR * 2).expect("a window");
        if window.to == midnight() + DAY {
            break reader;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the store was not folded");
        std::thread::sleep(Duration::from_millis(20));
    };
    tidier.close();
    reader
}

#[test]
fn a_bar_covers_the_time_that_its_count_speaks_of() {
    let folder = Folder::new();
    let stores = [folded(&folder)];
    for (from, to) in [(Duration::ZERO, DAY), (Duration::from_secs(36_000), Duration::from_secs(39_600))] {
        let (from, to) = (midnight() + from, midnight() + to);
        let question = ReportQuestion {
            from,
            to,
            now: None,
            site: None,
            crawler: None,
            purpose: None,
            top: Some(9),
            known: Catalogue::default(),
        };
        let report = Report::of(&stores, &question).expect("a report");
        assert_eq!((report.from, report.to), (midnight(), midnight() + DAY));
        let course = ViolationTimeline::of(&report, CourseGrid::of(&report, 48), 5);
        let starts: Vec<SystemTime> = course.grid.starts().collect();
        assert_eq!((Duration::from_secs(course.grid.step), starts), (DAY, vec![midnight()]));
        assert_eq!(course.curves[0].counts, [30]);
    }
    let question = ReportQuestion {
        from: midnight() - DAY * 3,
        to: midnight() + DAY * 2,
        now: None,
        site: None,
        crawler: None,
        purpose: None,
        top: Some(9),
        known: Catalogue::default(),
    };
    let report = Report::of(&stores, &question).expect("a report");
    let course = ViolationTimeline::of(&report, CourseGrid::of(&report, 48), 5);
    assert_eq!(course.curves[0].counts, [0, 0, 0, 30, 0]);
}
