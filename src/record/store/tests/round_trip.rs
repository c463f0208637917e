//! What is recorded through the real writer is what the reader tells.

use super::*;

#[test]
fn what_is_recorded_is_what_is_read() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for number in 0..600_u64 {
        let at = noon() + Duration::from_secs(number);
        let (crawler, outcome) = match number % 3 {
            0 => ("GPTBot", VerdictOutcome::Allow),
            1 => ("GPTBot", VerdictOutcome::Violation(Notice::Read)),
            _ => ("bingbot", VerdictOutcome::Stale(Notice::Pending)),
        };
        SampleRequest { outcome, at, ..SampleRequest::of(crawler, &format!("/{}", number % 7)) }
            .record(&recorder);
    }
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = everything(&reader);
    assert_eq!((window.from, window.to), (noon(), noon() + Duration::from_secs(600)));
    let all = reader.counts(&window, &Filter::default()).unwrap();
    let of =
        |crawler: &str| all.iter().find(|(subject, _)| subject.crawler.as_deref() == Some(crawler)).unwrap();
    let count = |crawler: &str, kind: EventKind| of(crawler).1.requests(|decision| decision.kind == kind);
    assert_eq!((count("GPTBot", EventKind::Allowed), count("GPTBot", EventKind::Violation)), (200, 200));
    let decisions = all.values().map(|activity| activity.decisions.len()).sum::<usize>();
    assert_eq!((count("bingbot", EventKind::Stale), decisions), (200, 3));
    let (subject, gptbot) = of("GPTBot");
    let violation = gptbot.decisions.keys().find(|decision| decision.kind == EventKind::Violation).unwrap();
    assert_eq!(
        **violation,
        crate::record::CountedDecision {
            kind: EventKind::Violation,
            action: Action::Refuse,
            notice: Some(Notice::Read),
            version: Some(VersionId::of(b"a")),
            group: vec!["*".into()],
            line: Some(2),
            rule: Some("Disallow: /".into()),
            proof_by: None,
        }
    );
    assert_eq!(&*subject.site, "example.org");
}

#[test]
fn a_time_and_a_filter_narrow_what_is_read() {
    let folder = StoreFolder::new();
    let recorder = Recorder::start(&folder.options()).unwrap();
    for minute in 0..10 {
        for crawler in ["GPTBot", "bingbot"] {
            let at = noon() + Duration::from_secs(minute * 60 + 30);
            SampleRequest { at, ..SampleRequest::of(crawler, "/x") }.record(&recorder);
        }
    }
    recorder.close();
    let reader = StoreReader::open(&folder.store()).unwrap();
    let window = reader.window(noon() + Duration::from_secs(90), noon() + Duration::from_secs(241)).unwrap();
    assert_eq!(window.from, noon() + Duration::from_secs(60));
    assert_eq!(window.to, noon() + Duration::from_secs(300));
    let filter =
        Filter { crawler: Some("gptbot".to_owned()), site: Some("example.org".to_owned()), purpose: None };
    let all = reader.counts(&window, &filter).unwrap();
    assert_eq!((all.len(), requests(&reader, &window)), (1, 8));
    let stretches = all.values().flat_map(|activity| &activity.stretches);
    let starts = stretches.map(|stretch| (stretch.start % 3_600, stretch.length, stretch.requests));
    assert_eq!(starts.collect::<Vec<_>>(), [60, 120, 180, 240].map(|start| (start, 60, 1)));
    let elsewhere = Filter { site: Some("example.com".to_owned()), ..Filter::default() };
    assert!(reader.counts(&window, &elsewhere).unwrap().is_empty());
}
