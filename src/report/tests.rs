//! Reports of stores that were filled through the real writer.

mod losses;
mod pace;
mod targets;
mod words;

use super::*;
use crate::decide::{
    Notice, NoticeTime, Read, RobotsVersion, Ruling, RulingGroup, Verdict, VerdictOutcome, VerdictReason,
    VersionId,
};
use crate::enforce::{Action, Mode};
use crate::identify::{Basis, Catalogue, ClientKind, Identity, Proof};
use crate::record::{
    AddressDetail, CompleteRead, Event, EventKind, Occurrence, ReaderId, Recorder, STORE_FILE, StoreOptions,
};
use crate::request::{RequestFacts, Scheme};
use crate::robots::{Rule, RuleKind};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

const DAY: Duration = Duration::from_secs(86_400);
const ROBOTS: &[u8] =
    b"User-agent: *\nDisallow: /x\nCrawl-delay: 5\n\nUser-agent: Slowbot\nCrawl-delay: 30\n";

struct ReportScene {
    folder: tempfile::TempDir,
    recorder: Recorder,
}

/// A Tuesday noon that is long over: only what a test does is in the store.
fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_014_400)
}

fn identity(client: ClientKind, name: &str) -> Identity {
    let (crawler, tokens) = (Some(name.into()), Arc::new([]));
    Identity { client, crawler, purpose: None, tokens, star: true, basis: Basis::Catalogue }
}

/// What fair notice makes of a read is not the report's affair.
fn some_read() -> Read {
    Read {
        rules: RobotsVersion::allowing_everything().rules,
        as_of: NoticeTime::default(),
        at: NoticeTime::default(),
    }
}

impl ReportScene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(STORE_FILE);
        let recorder = Recorder::start(&StoreOptions {
            path,
            retention: DAY * 900,
            max_bytes: 1 << 30,
            is_shared: false,
        })
        .unwrap();
        recorder.in_force("a", Some(ROBOTS), noon());
        Self { folder, recorder }
    }

    fn request(&self, who: &Identity, proof: Proof, target: &str, outcome: VerdictOutcome, at: SystemTime) {
        self.request_by((ROBOTS, 2), who, proof, target, outcome, at);
    }

    /// The same by the rule in this line of this version.
    fn request_by(
        &self,
        (version, line): (&[u8], u32),
        who: &Identity,
        proof: Proof,
        target: &str,
        outcome: VerdictOutcome,
        at: SystemTime,
    ) {
        let rule = Rule {
            kind: RuleKind::Disallow,
            line,
            text: b"Disallow: /x",
            marked: b"Disallow: /x",
            pattern: b"/x",
            bytes: 2,
        };
        let ruling = Some(Ruling { group: RulingGroup::Name("*"), rule: Some(rule) });
        let version = Some(VersionId::of(version));
        self.count(
            who,
            proof,
            target,
            (&Verdict { outcome, reason: VerdictReason::Rule, ruling, version }, Action::Forward),
            at,
        );
    }

    /// A request that is answered 429.
    fn slowed(&self, who: &Identity, at: SystemTime) {
        let (outcome, version) = (VerdictOutcome::Allow, Some(VersionId::of(ROBOTS)));
        let verdict = Verdict { outcome, reason: VerdictReason::CrawlDelay, ruling: None, version };
        self.count(who, Proof::Unchecked, "/y", (&verdict, Action::Refuse), at);
    }

    fn count(
        &self,
        who: &Identity,
        proof: Proof,
        target: &str,
        (verdict, action): (&Verdict<'_>, Action),
        at: SystemTime,
    ) {
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("a"),
            target: Cow::Borrowed(target.as_bytes()),
            user_agent: None,
            address: None,
        };
        let occurrence = Occurrence {
            facts: &facts,
            identity: who,
            proof,
            proof_by: None,
            verdict,
            mode: Mode::Audit,
            action,
            site: "a",
            now: at,
            request_id: "1",
            addresses: AddressDetail::Full,
            gateway: None,
            bytes: 0,
        };
        if let Some(wanted) = self.recorder.count(&occurrence, EventKind::of(verdict, proof)) {
            self.recorder.keep(wanted, Event::new(&occurrence).line(None));
        }
    }

    fn read(&self, who: &Identity, proof: Proof, at: SystemTime) {
        let reader = ReaderId::new("a", who, proof, "198.51.100.7".parse().ok());
        self.recorder.read(&CompleteRead {
            site: "a".into(),
            identity: Arc::new(who.clone()),
            reader: reader.clone().into_owned(),
            version: VersionId::of(ROBOTS),
            chosen: "*".into(),
            in_force: noon(),
            time: at,
            read: some_read(),
            addresses: AddressDetail::Full,
        });
    }

    fn stores(&self) -> Vec<StoreReader> {
        self.recorder.flush();
        vec![StoreReader::open(&self.folder.path().join(STORE_FILE)).unwrap()]
    }

    fn report(&self, question: &ReportQuestion) -> Report {
        Report::of(&self.stores(), question).unwrap()
    }
}

fn question() -> ReportQuestion {
    let (from, to) = (noon(), noon() + DAY);
    ReportQuestion {
        from,
        to,
        now: None,
        site: None,
        crawler: None,
        purpose: None,
        top: Some(3),
        known: Catalogue::default(),
    }
}

fn entry<'a>(report: &'a Report, name: &str, proof: Proof) -> &'a ReportEntry {
    report.crawlers.iter().find(|entry| entry.subject.name() == name && entry.subject.proof == proof).unwrap()
}

#[test]
fn borrowed_names_and_others_stay_out_of_headline_and_totals() {
    let scene = ReportScene::new();
    let (bot, tool) = (identity(ClientKind::Crawler, "Onebot"), identity(ClientKind::Tool, "curl"));
    let (read, lapsed) = (VerdictOutcome::Violation(Notice::Read), VerdictOutcome::Violation(Notice::Lapsed));
    scene.read(&bot, Proof::Contradicted, noon());
    for number in 0..5 {
        let at = noon() + Duration::from_secs(number);
        scene.request(&bot, Proof::Contradicted, "/x", read, at);
        scene.request(&tool, Proof::Unchecked, "/x", lapsed, at);
        scene.request(&bot, Proof::Confirmed, "/y", VerdictOutcome::Allow, at);
    }
    let report = scene.report(&question());
    let summary = &report.summary;
    assert_eq!(report.headline, "the only crawler that was seen broke no rule");
    assert_eq!((summary.crawlers, summary.requests, summary.violations), (1, 5, 0));
    assert_eq!(entry(&report, "Onebot", Proof::Contradicted).conduct, Conduct::Unknown);
    assert_eq!(entry(&report, "Onebot", Proof::Confirmed).conduct, Conduct::Obeyed);
    assert_eq!(entry(&report, "curl", Proof::Unchecked).conduct, Conduct::NoReadSeen);
    assert!(report.notes[0].starts_with("5 requests came under 1 borrowed name;"), "{:?}", report.notes);
}

#[test]
fn a_read_before_its_proof_keeps_a_crawler_from_looking_unread() {
    let scene = ReportScene::new();
    let lapsed = VerdictOutcome::Violation(Notice::Lapsed);
    let (bot, other) = (identity(ClientKind::Crawler, "Onebot"), identity(ClientKind::Crawler, "Twobot"));
    scene.read(&bot, Proof::Unchecked, noon());
    scene.request(&bot, Proof::Confirmed, "/x", lapsed, noon());
    scene.request(&other, Proof::Confirmed, "/x", lapsed, noon());
    let report = scene.report(&question());
    let one = entry(&report, "Onebot", Proof::Confirmed);
    assert_eq!((one.conduct, one.reads, one.kin_read), (Conduct::Unknown, 0, Some(noon())));
    assert_eq!(entry(&report, "Twobot", Proof::Confirmed).conduct, Conduct::NoReadSeen);
    let unproved = entry(&report, "Onebot", Proof::Unchecked);
    assert_eq!((unproved.conduct, unproved.reads, unproved.requests), (Conduct::Unknown, 1, 0));
    assert_eq!(
        report.headline,
        "1 of 2 crawlers broke rules that it was not seen to read: Twobot once (confirmed); 1 more broke rules that it \
         may or may not have read"
    );
}

#[test]
fn a_read_after_the_window_neither_excuses_nor_convicts() {
    let scene = ReportScene::new();
    let (late, both) = (identity(ClientKind::Crawler, "Latebot"), identity(ClientKind::Crawler, "Bothbot"));
    let after = noon() + DAY * 3;
    scene.read(&both, Proof::Unchecked, noon());
    for bot in [&late, &both] {
        scene.request(bot, Proof::Unchecked, "/x", VerdictOutcome::Violation(Notice::Lapsed), noon());
        scene.read(bot, Proof::Unchecked, after);
    }
    // Under another proof it is the same name's, and would excuse.
    scene.read(&late, Proof::Confirmed, after);
    let report = scene.report(&question());
    let found = entry(&report, "Latebot", Proof::Unchecked);
    assert_eq!((found.conduct, found.reads, found.last_read), (Conduct::NoReadSeen, 0, None));
    assert_eq!((found.kin_read, found.last_seen), (None, Some(after)), "last seen is of all that is kept");
    let found = entry(&report, "Bothbot", Proof::Unchecked);
    assert_eq!((found.conduct, found.reads, found.last_read), (Conduct::Unknown, 2, Some(after)));
    let whole = scene.report(&ReportQuestion { to: after + DAY, ..question() });
    assert_eq!(entry(&whole, "Latebot", Proof::Unchecked).conduct, Conduct::Unknown);
}

#[test]
fn a_case_holds_what_was_seen_and_nobody_elses() {
    let scene = ReportScene::new();
    let (bot, other) = (identity(ClientKind::Crawler, "Onebot"), identity(ClientKind::Crawler, "Twobot"));
    scene.read(&bot, Proof::Unchecked, noon());
    for who in [&bot, &other] {
        scene.request(who, Proof::Unchecked, "/x", VerdictOutcome::Violation(Notice::Read), noon() + DAY / 2);
    }
    let asked = ReportQuestion { crawler: Some("ONEBOT".to_owned()), ..question() };
    let case = CrawlerCase::of(&scene.stores(), &asked).unwrap();
    assert_eq!(case.report.crawlers.len(), 1);
    assert_eq!(case.report.crawlers[0].conduct, Conduct::Ignored);
    assert_eq!(case.samples.len(), 1);
    assert_eq!(case.versions.len(), 1);
    let headline = case.report.headline;
    assert_eq!(headline, "1 crawler broke rules it had read: Onebot once (not confirmed)");
}

#[test]
fn numbers_are_set_in_thousands() {
    let told: Vec<_> = [0, 999, 1_000, 1_234_567].into_iter().map(grouped).collect();
    assert_eq!(told, ["0", "999", "1,000", "1,234,567"]);
}
