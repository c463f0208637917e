//! When things happened, and how fast.

use super::*;

#[test]
fn the_first_and_the_last_violation_have_their_times() {
    let scene = ReportScene::new();
    let (bot, tame) = (identity(ClientKind::Crawler, "Onebot"), identity(ClientKind::Crawler, "Tamebot"));
    let at = |seconds: u64| noon() + Duration::from_secs(seconds);
    let lapsed = VerdictOutcome::Violation(Notice::Lapsed);
    for (seconds, outcome) in [
        (5, VerdictOutcome::Allow),
        (62, lapsed),
        (700, lapsed),
        (7_205, lapsed),
        (9_000, VerdictOutcome::Allow),
    ] {
        scene.request(&bot, Proof::Unchecked, "/x", outcome, at(seconds));
    }
    scene.request(&tame, Proof::Unchecked, "/y", VerdictOutcome::Allow, at(5));
    let report = scene.report(&question());
    let times = |name| {
        let entry = entry(&report, name, Proof::Unchecked);
        (entry.first_violation, entry.last_violation)
    };
    // By the minute, as counts are kept.
    assert_eq!(times("Onebot"), (Some(at(60)), Some(at(7_200))));
    assert_eq!(times("Tamebot"), (None, None));
    let early = ReportScene::new();
    early.request(&bot, Proof::Unchecked, "/x", lapsed, at(17));
    let report = early.report(&question());
    let only = entry(&report, "Onebot", Proof::Unchecked);
    assert_eq!((only.first_violation, only.last_violation), (only.first_seen, only.first_seen));
}

#[test]
fn the_pace_is_told_beside_what_was_asked_for() {
    let scene = ReportScene::new();
    for name in ["Slowbot", "Anybot"] {
        for number in 0..120 {
            let at = noon() + Duration::from_secs(number * 2);
            scene.request(
                &identity(ClientKind::Crawler, name),
                Proof::Unchecked,
                "/y",
                VerdictOutcome::Allow,
                at,
            );
        }
    }
    let report = scene.report(&question());
    for (name, declared) in [("Slowbot", 30.0), ("Anybot", 5.0)] {
        let delay = entry(&report, name, Proof::Unchecked).crawl_delay;
        assert_eq!(delay.declared, Some(declared), "{name}");
        assert!((1.9..2.1).contains(&delay.observed.unwrap()), "{delay:?}");
    }
    let before = ReportQuestion { from: noon() - DAY * 3, to: noon() - DAY * 2, ..question() };
    assert!(scene.report(&before).crawlers.is_empty());
}

#[test]
fn answers_429_are_part_of_the_pace_of_their_minute() {
    let scene = ReportScene::new();
    let bot = identity(ClientKind::Crawler, "Anybot");
    for at in 0..35 {
        let at = noon() + Duration::from_secs(at);
        scene.request(&bot, Proof::Unchecked, "/y", VerdictOutcome::Allow, at);
        scene.slowed(&bot, at);
    }
    let report = scene.report(&question());
    let found = entry(&report, "Anybot", Proof::Unchecked);
    assert_eq!((found.slowed, found.crawl_delay.per_minute.map(|counts| counts.most)), (35, Some(70.0)));
}

#[test]
fn answers_429_are_no_refusals_before_as_now() {
    let scene = ReportScene::new();
    let bot = identity(ClientKind::Crawler, "Anybot");
    let hour = Duration::from_secs(3_600);
    for at in [noon() - hour, noon()] {
        scene.request(&bot, Proof::Unchecked, "/y", VerdictOutcome::Allow, at);
        scene.slowed(&bot, at + Duration::from_secs(600));
    }
    let report = scene.report(&ReportQuestion { to: noon() + hour, ..question() });
    let before = report.before.clone().unwrap().all;
    let now = &report.summary;
    assert_eq!((before.requests, before.refused), (2, 0));
    assert_eq!((now.requests, now.refused), (2, 0));
}

#[test]
fn the_pace_over_several_stores_is_that_of_one_crawler() {
    let scenes = [ReportScene::new(), ReportScene::new(), ReportScene::new()];
    let bot = identity(ClientKind::Crawler, "Anybot");
    for number in 0..180 {
        let at = noon() + Duration::from_secs(number * 10);
        // A balancer in front of three gateways gives each of them every third request.
        let scene = &scenes[usize::try_from(number % 3).unwrap()];
        scene.request(&bot, Proof::Unchecked, "/y", VerdictOutcome::Allow, at);
    }
    let stores: Vec<StoreReader> = scenes.iter().flat_map(ReportScene::stores).collect();
    let report = Report::of(&stores, &question()).unwrap();
    let delay = entry(&report, "Anybot", Proof::Unchecked).crawl_delay;
    assert!((9.9..10.1).contains(&delay.observed.unwrap()), "{delay:?}");
}

#[test]
fn the_course_adds_up_to_the_violations() {
    let scene = ReportScene::new();
    for number in 0..40_u64 {
        let bot = identity(ClientKind::Crawler, &format!("Bot{}", number % 4));
        let at = noon() + Duration::from_secs(number * number * 30);
        for _ in 0..=number % 4 {
            scene.request(&bot, Proof::Unchecked, "/x", VerdictOutcome::Violation(Notice::Lapsed), at);
        }
        scene.request(&bot, Proof::Contradicted, "/x", VerdictOutcome::Violation(Notice::Lapsed), at);
        scene.request(&bot, Proof::Unchecked, "/y", VerdictOutcome::Allow, at);
    }
    let report = scene.report(&question());
    for stretches in [2, 10, 48, 300] {
        let course = ViolationTimeline::of(&report, CourseGrid::of(&report, stretches), 2);
        let count = course.grid.starts().count();
        assert!(count as u64 <= stretches, "{count} of {stretches}");
        let names: Vec<_> = course.curves.iter().map(|curve| curve.crawler.as_deref()).collect();
        assert_eq!(names, [Some("Bot3"), Some("Bot2"), None]);
        assert!(course.curves.iter().all(|curve| curve.counts.len() == count));
        let sums: Vec<u64> = course.curves.iter().map(|curve| curve.counts.iter().sum()).collect();
        assert_eq!((sums.as_slice(), report.summary.violations), (&[40, 30, 30][..], 100));
    }
}
