//! Filling a store through the real writer, without a gateway: for names that no header yields, and for long
//! times.

use robots_gateway::decide::{
    Notice, Ruling, RulingGroup, Verdict, VerdictOutcome, VerdictReason, VersionId,
};
use robots_gateway::enforce::{Action, Mode};
use robots_gateway::identify::{Basis, ClientKind, Identity, Proof};
use robots_gateway::record::{AddressDetail, Event, EventKind, Occurrence, Recorder, StoreOptions};
use robots_gateway::request::{RequestFacts, Scheme};
use robots_gateway::robots::{Rule, RuleKind};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) const DAY: Duration = Duration::from_secs(86_400);

pub(crate) fn writer(path: PathBuf) -> Recorder {
    let options = StoreOptions { path, retention: DAY * 400, max_bytes: 1 << 30, is_shared: false };
    Recorder::start(&options).expect("a writer")
}

pub(crate) fn crawler(name: &str) -> Identity {
    Identity {
        client: ClientKind::Crawler,
        crawler: Some(name.into()),
        purpose: None,
        tokens: Arc::new([]),
        star: true,
        basis: Basis::Catalogue,
    }
}

/// Records one violation through the real writer.
pub(crate) fn record(recorder: &Recorder, identity: &Identity, number: usize, target: &str, at: SystemTime) {
    let rules: [&[u8]; 4] = [b"Disallow: /a", b"Disallow: /b", b"Disallow: /c", b"Disallow: /section"];
    let line = u32::try_from(number % 4).expect("small");
    let rule = Rule {
        kind: RuleKind::Disallow,
        line: line + 2,
        text: rules[number % 4],
        marked: rules[number % 4],
        pattern: b"/",
        bytes: 1,
    };
    let ruling = Some(Ruling { group: RulingGroup::Name("*"), rule: Some(rule) });
    let notice = if number.is_multiple_of(3) { Notice::Lapsed } else { Notice::Read };
    let (outcome, version) = (VerdictOutcome::Violation(notice), Some(VersionId::of(b"a")));
    let verdict = Verdict { outcome, reason: VerdictReason::Rule, ruling, version };
    let facts = RequestFacts {
        scheme: Scheme::Http,
        method: "GET",
        host: Cow::Borrowed("example.org"),
        target: Cow::Borrowed(target.as_bytes()),
        user_agent: None,
        address: None,
    };
    let occurrence = Occurrence {
        facts: &facts,
        identity,
        proof: Proof::Unchecked,
        proof_by: None,
        verdict: &verdict,
        mode: Mode::Enforce,
        action: Action::Refuse,
        site: "example.org",
        now: at,
        request_id: "1",
        addresses: AddressDetail::Full,
        gateway: None,
        bytes: 0,
    };
    if let Some(wanted) = recorder.count(&occurrence, EventKind::Violation) {
        recorder.keep(wanted, Event::new(&occurrence).line(None));
    }
}
