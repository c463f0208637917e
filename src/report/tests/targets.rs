//! Which targets and which rules are told of.

use super::*;

#[test]
fn targets_beyond_the_top_are_told_together() {
    let scene = ReportScene::new();
    let bot = identity(ClientKind::Crawler, "Onebot");
    for number in 0..10 {
        for _ in 0..=number {
            scene.request(&bot, Proof::Unchecked, &format!("/{number}"), VerdictOutcome::Allow, noon());
        }
    }
    let report = scene.report(&question());
    let paths = &entry(&report, "Onebot", Proof::Unchecked).paths;
    let told: Vec<_> = paths.iter().map(|path| (path.target.as_str(), path.count)).collect();
    assert_eq!(told, [("/9", 10), ("/8", 9), ("/7", 8), ("(other)", 28)]);
    let untold = scene.report(&ReportQuestion { top: None, ..question() });
    let untold = entry(&untold, "Onebot", Proof::Unchecked);
    assert_eq!((untold.requests, untold.paths.len()), (55, 0), "nobody tells any, so that none is read");
}

#[test]
fn targets_are_told_by_violations_and_then_by_requests() {
    let scene = ReportScene::new();
    let bot = identity(ClientKind::Crawler, "Onebot");
    for (target, allowed, violations) in [("/much", 9, 0), ("/some", 5, 0), ("/worst", 0, 3), ("/x", 4, 1)] {
        for _ in 0..allowed {
            scene.request(&bot, Proof::Unchecked, target, VerdictOutcome::Allow, noon());
        }
        for _ in 0..violations {
            scene.request(&bot, Proof::Unchecked, target, VerdictOutcome::Violation(Notice::Lapsed), noon());
        }
    }
    let told = |top| -> Vec<(String, u64, u64)> {
        let report = scene.report(&ReportQuestion { top: Some(top), ..question() });
        let paths = entry(&report, "Onebot", Proof::Unchecked).paths.iter();
        paths.map(|path| (path.target.clone(), path.violations, path.count)).collect()
    };
    let list = |list: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
        list.iter().map(|(target, violations, all)| ((*target).to_owned(), *violations, *all)).collect()
    };
    assert_eq!(told(10), list(&[("/worst", 3, 3), ("/x", 1, 5), ("/much", 0, 9), ("/some", 0, 5)]));
    assert_eq!(
        told(2),
        list(&[("/worst", 3, 3), ("/x", 1, 5), ("(other)", 0, 14)]),
        "the store cuts the same way"
    );
}

#[test]
fn a_rule_has_one_row_over_its_versions() {
    let scene = ReportScene::new();
    let bot = identity(ClientKind::Crawler, "Onebot");
    let edited = [b"# a comment\n", ROBOTS].concat();
    let lapsed = VerdictOutcome::Violation(Notice::Lapsed);
    for (version, line, hour, count) in [(ROBOTS, 2, 1, 5), (&edited[..], 3, 2, 2), (&edited[..], 3, 3, 1)] {
        for _ in 0..count {
            let at = noon() + Duration::from_secs(hour * 3_600);
            scene.request_by((version, line), &bot, Proof::Unchecked, "/x", lapsed, at);
        }
    }
    // Another way to meet it is another row.
    scene.request(&bot, Proof::Unchecked, "/x", VerdictOutcome::Violation(Notice::Read), noon());
    let report = scene.report(&question());
    let rules = &entry(&report, "Onebot", Proof::Unchecked).rules;
    let (old, new) = (Some(VersionId::of(ROBOTS)), Some(VersionId::of(&edited)));
    assert_eq!((rules.len(), rules[0].count, rules[1].count), (2, 8, 1), "{rules:?}");
    assert_eq!((rules[0].decision.version, rules[0].decision.line), (new, Some(3)), "the newer one");
    let versions = [
        RuleVersion { version: new, line: Some(3), count: 3 },
        RuleVersion { version: old, line: Some(2), count: 5 },
    ];
    assert_eq!(rules[0].versions, versions);
}
