//! What found no room, and what it takes from what is said of others.

use super::*;

/// Whoever asks for more targets than memory has room for makes nobody else one of whom nothing is known.
#[test]
fn a_flood_of_targets_does_not_hide_that_no_read_was_seen() {
    let scene = ReportScene::new();
    let (flood, other) =
        (identity(ClientKind::Crawler, "Floodbot"), identity(ClientKind::Crawler, "Otherbot"));
    for number in 0..100_000 {
        scene.request(&flood, Proof::Unchecked, &format!("/{number}"), VerdictOutcome::Allow, noon());
    }
    scene.request(&other, Proof::Unchecked, "/x", VerdictOutcome::Violation(Notice::Lapsed), noon());
    let report = scene.report(&question());
    let missing = scene.stores()[0].missing(&report.window()).unwrap();
    let [details] = &missing[..] else { panic!("{missing:?}") };
    assert!(details.what == MissingWhat::Details && details.count > Some(0), "{details:?}");
    let conduct = |name: &str| {
        report
            .crawlers
            .iter()
            .find(|entry| entry.subject.name() == name)
            .map(|entry| (entry.conduct, entry.requests))
    };
    assert_eq!(conduct("Otherbot"), Some((Conduct::NoReadSeen, 1)));
    assert_eq!(conduct("Floodbot"), Some((Conduct::Obeyed, 100_000)));
    assert_eq!(report.reads, Reads::Complete);
}
