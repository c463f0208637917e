//! What the report says in words, and of whom.

use super::*;
use crate::record::OTHER_CRAWLERS;

const READ: VerdictOutcome = VerdictOutcome::Violation(Notice::Read);
const LAPSED: VerdictOutcome = VerdictOutcome::Violation(Notice::Lapsed);

fn bot(name: &str) -> Identity {
    identity(ClientKind::Crawler, name)
}

impl ReportScene {
    fn requests(&self, name: &str, proof: Proof, outcome: VerdictOutcome, count: u64) {
        for number in 0..count {
            self.request(&bot(name), proof, "/x", outcome, noon() + Duration::from_secs(60 + number));
        }
    }

    fn headline(&self) -> String {
        self.report(&question()).headline
    }
}

#[test]
fn a_name_in_another_case_is_the_same_crawler() {
    let scene = ReportScene::new();
    scene.read(&bot("FooBot"), Proof::Unchecked, noon());
    scene.requests("FOOBOT", Proof::Unchecked, LAPSED, 3);
    scene.requests("foobot", Proof::Confirmed, VerdictOutcome::Allow, 1);
    let report = scene.report(&question());
    let one = entry(&report, "FOOBOT", Proof::Unchecked);
    assert_eq!((one.reads, one.violations, one.conduct), (1, 3, Conduct::Unknown), "as most wrote it");
    assert_eq!((report.crawlers.len(), report.summary.crawlers), (2, 1));
    assert_eq!(
        report.headline,
        "1 crawler broke rules that it may or may not have read: FOOBOT 3 times (none confirmed)"
    );
}

#[test]
fn a_read_that_does_not_count_is_a_read_all_the_same() {
    let scene = ReportScene::new();
    scene.read(&bot("Onebot"), Proof::Unchecked, noon());
    scene.requests("Onebot", Proof::Unchecked, LAPSED, 2);
    let report = scene.report(&question());
    let page = html::page(&question(), &report, &[], &html::Frame::default()).unwrap();
    assert!(page.contains("2 without a counted read; the notice was over"), "{page}");
    assert!(!page.contains("not seen to read") && !page.contains("no read was seen"), "{page}");
    let headline = report.headline;
    assert_eq!(
        headline,
        "1 crawler broke rules that it may or may not have read: Onebot 2 times (none confirmed)"
    );
    scene.requests("Twobot", Proof::Unchecked, LAPSED, 1);
    assert_eq!(
        scene.headline(),
        "1 of 2 crawlers broke rules that it was not seen to read: Twobot once (not confirmed); 1 more broke rules that it \
         may or may not have read"
    );
}

#[test]
fn nobody_who_broke_rules_is_left_out() {
    let scene = ReportScene::new();
    scene.requests("Readbot", Proof::Confirmed, READ, 3);
    scene.requests("Readbot", Proof::Unchecked, READ, 1);
    for name in ["Twobot", "Threebot"] {
        scene.read(&bot(name), Proof::Unchecked, noon());
        scene.requests(name, Proof::Unchecked, LAPSED, 9);
    }
    scene.requests("Fourbot", Proof::Unchecked, LAPSED, 1);
    scene.requests("Goodbot", Proof::Unchecked, VerdictOutcome::Allow, 1);
    assert_eq!(
        scene.headline(),
        "1 of 5 crawlers broke rules it had read: Readbot 4 times (3 confirmed); 1 more broke rules that it \
         was not seen to read; 2 more broke rules that they may or may not have read"
    );
}

#[test]
fn the_rest_of_many_names_is_no_crawler() {
    let scene = ReportScene::new();
    scene.requests("Readbot", Proof::Confirmed, READ, 1);
    scene.requests(OTHER_CRAWLERS, Proof::Unchecked, READ, 50);
    let report = scene.report(&question());
    let summary = &report.summary;
    assert_eq!(
        report.headline,
        "1 crawler broke rules it had read: Readbot once (confirmed); and others beyond 1,000 names a day broke \
         rules 50 times"
    );
    assert_eq!((summary.crawlers, summary.violating, summary.violations), (1, 1, 51));
    let scene = ReportScene::new();
    scene.requests("Goodbot", Proof::Unchecked, VerdictOutcome::Allow, 1);
    scene.requests(OTHER_CRAWLERS, Proof::Unchecked, VerdictOutcome::Allow, 1);
    let all_good =
        "the only crawler that was seen broke no rule; and others beyond 1,000 names a day broke none";
    assert_eq!(scene.headline(), all_good);
}

#[test]
fn who_only_read_is_not_said_to_have_obeyed() {
    let scene = ReportScene::new();
    scene.read(&bot("Readbot"), Proof::Unchecked, noon());
    let report = scene.report(&question());
    assert_eq!(entry(&report, "Readbot", Proof::Unchecked).conduct, Conduct::Unknown);
    assert_eq!((report.summary.crawlers, &*scene.headline()), (0, "no request of a crawler was judged"));
    scene.requests("Onebot", Proof::Unchecked, VerdictOutcome::Allow, 1);
    assert_eq!(scene.headline(), "the only crawler that was seen broke no rule");
}

#[test]
fn refusals_of_what_is_no_violation_are_told() {
    let scene = ReportScene::new();
    let ruling = Some(Ruling { group: RulingGroup::Name("*"), rule: None });
    let version = Some(VersionId::of(ROBOTS));
    for outcome in [VerdictOutcome::Stale(Notice::Waived), VerdictOutcome::Variant] {
        let verdict = Verdict { outcome, reason: VerdictReason::Rule, ruling, version };
        scene.count(&bot("Onebot"), Proof::Unchecked, "/x", (&verdict, Action::Refuse), noon());
    }
    assert_eq!(
        scene.headline(),
        "1 request of 1 crawler was disallowed, and does not count as a violation yet: a former version allows the page, \
         and you had the rules bind at once; 2 requests were refused"
    );
    let mut replayed = Report { is_replay: true, ..scene.report(&question()) };
    replayed.sum_up();
    assert!(replayed.headline.ends_with("; 2 requests would be refused"));
}

#[test]
fn borrowed_names_are_last_and_nothing_is_said_of_their_conduct() {
    let scene = ReportScene::new();
    scene.requests("Spoofed", Proof::Contradicted, READ, 9);
    scene.requests("Quiet", Proof::Contradicted, VerdictOutcome::Allow, 1);
    scene.requests("Onebot", Proof::Unchecked, VerdictOutcome::Allow, 1);
    let report = scene.report(&question());
    let told: Vec<_> = report.crawlers.iter().map(|entry| (entry.subject.name(), entry.conduct)).collect();
    let unknown = Conduct::Unknown;
    assert_eq!(told, [("Onebot", Conduct::Obeyed), ("Spoofed", unknown), ("Quiet", unknown)]);
    assert!(report.notes[0].starts_with("10 requests came under 2 borrowed names; they do not count"));
    let of_one = ReportQuestion { crawler: Some("quiet".to_owned()), ..question() };
    let notes = scene.report(&of_one).notes;
    assert_eq!(notes, ["1 request came under 1 borrowed name; it does not count against those names."]);
}

#[test]
fn a_site_is_asked_for_in_any_case() {
    let scene = ReportScene::new();
    scene.read(&bot("Onebot"), Proof::Unchecked, noon());
    scene.requests("Onebot", Proof::Unchecked, READ, 1);
    let asked = ReportQuestion { site: Some("A".to_owned()), ..question() };
    let case = CrawlerCase::of(&scene.stores(), &asked).unwrap();
    assert_eq!((case.report.crawlers.len(), case.versions.len(), case.samples.len()), (1, 1, 1));
    assert_eq!(case.report.crawlers[0].reads, 1);
}

#[test]
fn versions_of_two_stores_are_told_once() {
    let (one, two) = (ReportScene::new(), ReportScene::new());
    two.recorder.in_force("a", Some(b"User-agent: *\nAllow: /\n"), noon() + DAY / 4);
    for scene in [&one, &two] {
        scene.read(&bot("Onebot"), Proof::Unchecked, noon());
        scene.requests("Onebot", Proof::Unchecked, READ, 1);
    }
    let stores: Vec<_> = [&one, &two].into_iter().flat_map(ReportScene::stores).collect();
    let case = CrawlerCase::of(&stores, &question()).unwrap();
    let ids: Vec<_> = case.versions.iter().map(|version| version.id).collect();
    let allowing = VersionId::of(b"User-agent: *\nAllow: /\n");
    assert_eq!(ids, [Some(VersionId::of(ROBOTS)), Some(allowing)]);
    assert_eq!(case.report.crawlers[0].reads_of[0].sum.seen.count, 2);
}

#[test]
fn the_title_is_the_answer_in_a_line() {
    let scene = ReportScene::new();
    let title = || scene.report(&question()).title;
    scene.requests("Goodbot", Proof::Unchecked, VerdictOutcome::Allow, 1);
    assert_eq!(title(), None);
    scene.requests("Readbot", Proof::Confirmed, READ, 1_200);
    assert_eq!(title().as_deref(), Some("1 of 2 crawlers broke your rules: 1,200 requests, none refused"));
    let mut replayed = Report { is_replay: true, ..scene.report(&question()) };
    replayed.sum_up();
    assert_eq!(replayed.title.as_deref(), Some("1 of 2 crawlers broke your rules: 1,200 requests"));
    scene.requests(OTHER_CRAWLERS, Proof::Unchecked, READ, 50);
    assert_eq!(title(), None);
}

#[test]
fn the_time_before_is_told_where_the_store_reaches_back() {
    let scene = ReportScene::new();
    let who = bot("Onebot");
    let at = |hours: u32, minute: u64| noon() - DAY / 24 * hours + Duration::from_secs(60 * minute);
    for number in 0..6 {
        scene.request(&who, Proof::Unchecked, "/x", READ, at(4, number));
        scene.request(&who, Proof::Unchecked, "/y", VerdictOutcome::Allow, at(1, number));
    }
    scene.request(&who, Proof::Unchecked, "/x", READ, at(1, 9));
    let hours = |from: u32| ReportQuestion { from: at(from, 0), to: noon(), ..question() };
    let report = scene.report(&hours(2));
    let before = report.before.as_ref().expect("a time before");
    let counts = CountsBefore { requests: 6, violations: 6, refused: 0 };
    assert_eq!((before.to - Duration::from_secs(7_200), before.to), (before.from, report.from));
    assert_eq!((before.all, before.crawlers.get("onebot")), (counts, Some(&counts)));
    let change = |now, before_it| before.change(now, before_it, &report.window());
    assert_eq!((change(7, 6), change(1, 6)), ("+17\u{a0}%".to_owned(), "\u{2212}83\u{a0}%".to_owned()));
    assert_eq!((change(6, 6), change(60, 6)), ("as before".to_owned(), "10 times".to_owned()));
    assert_eq!(change(6, 0), "none before");
    assert_eq!(scene.report(&hours(4)).before, None, "the store begins within the time before");
}
