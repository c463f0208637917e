//! The fields of an event that are the same in all lines of one client under one rule.
//!
//! Each thread remembers a few sets of them as they are written: a crawler that is refused a thousand times breaks the
//! same few rules. Nothing depends on what is remembered but the time it takes.

use super::event::{EventKind, Occurrence};
use super::json::{JsonLine, key};
use super::tally::{CountSubject, CountedDecision, DecisionRef, SubjectRef};
use crate::decide::{Notice, VerdictReason};
use crate::enforce::Mode;
use crate::identify::{ProofMethod, Purpose};
use crate::robots::Rule;
use hashbrown::Equivalent as _;
use std::cell::RefCell;

/// How many sets a thread remembers. Two that want one place take turns.
const REMEMBERED: usize = 32;

/// The longest that is remembered, in bytes: a rule may be as long as a file.
const LONGEST: usize = 4_096;

/// Fields as they are written, each with a comma before it, and what they follow from.
#[derive(Debug)]
pub(super) struct CachedFields {
    subject: CountSubject,
    decision: CountedDecision,
    mode: Mode,
    reason: VerdictReason,
    token: Option<Box<str>>,
    rule: Option<Box<[u8]>>,
    /// All parts, one after the other.
    bytes: Vec<u8>,
    /// Where the second part begins, the third, and the fourth.
    cuts: [usize; 3],
}

/// Where the fields are remembered.
fn place(occurrence: &Occurrence<'_>) -> usize {
    let name = occurrence.identity.crawler.as_deref().unwrap_or_default().as_bytes();
    let line = occurrence
        .verdict
        .ruling
        .as_ref()
        .and_then(|ruling| ruling.rule.as_ref())
        .map_or(0, |rule| rule.line);
    (name.len() + usize::from(name.first().copied().unwrap_or(0)) + line as usize) % REMEMBERED
}

/// Calls `write` with the phrases of an occurrence.
pub(super) fn with<T>(
    kind: EventKind,
    occurrence: &Occurrence<'_>,
    write: impl FnOnce(&CachedFields) -> T,
) -> T {
    thread_local! {
        static KNOWN: RefCell<[Option<CachedFields>; REMEMBERED]> = const { RefCell::new([const { None }; REMEMBERED]) };
    }
    KNOWN.with_borrow_mut(|known| {
        let place = known.get_mut(place(occurrence));
        if let Some(Some(phrases)) = &place
            && phrases.fit(kind, occurrence)
        {
            return write(phrases);
        }
        let phrases = CachedFields::new(kind, occurrence);
        let written = write(&phrases);
        if let Some(place) = place.filter(|_| phrases.bytes.len() <= LONGEST) {
            *place = Some(phrases);
        }
        written
    })
}

fn subject<'a>(occurrence: &Occurrence<'a>) -> SubjectRef<'a> {
    SubjectRef::new(occurrence.site, occurrence.identity, occurrence.proof)
}

impl CachedFields {
    fn new(kind: EventKind, occurrence: &Occurrence<'_>) -> Self {
        let Occurrence { identity, proof, proof_by, verdict, mode, action, site, .. } = *occurrence;
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        let token = ruling.map(|ruling| ruling.token);
        let mut line = JsonLine::default();
        line.word(key!("event"), kind.as_str());
        line.text(key!("site"), site);
        line.word(key!("mode"), mode.as_str());
        line.word(key!("action"), action.as_str());
        line.null(key!("status"));
        let client = line.len();
        line.word(key!("client"), identity.client.as_str());
        line.optional(key!("crawler"), identity.crawler.as_deref(), JsonLine::text);
        line.optional(key!("purpose"), identity.purpose.map(Purpose::as_str), JsonLine::word);
        line.optional(key!("token"), token, JsonLine::text);
        line.word(key!("proof"), proof.as_str());
        line.optional(key!("proof_by"), proof_by.map(ProofMethod::as_str), JsonLine::word);
        let group = line.len();
        line.texts(key!("group"), ruling.map_or(&[], |ruling| &ruling.group));
        line.optional(key!("line"), rule.map(|rule| rule.line), JsonLine::number);
        line.optional(key!("source"), rule.and_then(Rule::source), JsonLine::text);
        line.optional(key!("rule"), rule.map(|rule| rule.text), JsonLine::bytes);
        line.word(key!("reason"), verdict.reason.as_str());
        line.optional(key!("robots_version"), verdict.version, JsonLine::version);
        line.optional(key!("notice"), verdict.notice().map(Notice::as_str), JsonLine::word);
        let cut = line.len();
        line.null(key!("cut"));
        Self {
            subject: (&subject(occurrence)).into(),
            decision: (&DecisionRef::of(occurrence, kind)).into(),
            mode,
            reason: verdict.reason,
            token: token.map(Into::into),
            rule: rule.map(|rule| rule.marked.into()),
            bytes: line.into_bytes(),
            cuts: [client, group, cut],
        }
    }

    /// Whether an occurrence has all of it in common.
    fn fit(&self, kind: EventKind, occurrence: &Occurrence<'_>) -> bool {
        let ruling = occurrence.verdict.ruling.as_ref();
        self.mode == occurrence.mode
            && self.reason == occurrence.verdict.reason
            && DecisionRef::of(occurrence, kind).equivalent(&self.decision)
            && subject(occurrence).equivalent(&self.subject)
            && self.token.as_deref() == ruling.map(|ruling| ruling.token)
            && self.rule.as_deref() == ruling.and_then(|ruling| ruling.rule.as_ref()).map(|rule| rule.marked)
    }

    /// `event` to `action`, and the key of `status`.
    pub(super) fn outcome(&self) -> &[u8] {
        let [client, ..] = self.cuts;
        self.bytes.get(..client - "null".len()).unwrap_or_default()
    }

    /// `client` to `proof_by`.
    pub(super) fn client(&self) -> &[u8] {
        let [client, group, _] = self.cuts;
        self.bytes.get(client..group).unwrap_or_default()
    }

    /// `group` to `notice`.
    pub(super) fn ruling(&self) -> &[u8] {
        let [_, group, cut] = self.cuts;
        self.bytes.get(group..cut).unwrap_or_default()
    }

    /// The same, and `cut` of null.
    pub(super) fn ruling_of_whole_fields(&self) -> &[u8] {
        let [_, group, _] = self.cuts;
        self.bytes.get(group..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Ruling, Verdict, VerdictOutcome};
    use crate::enforce::Action;
    use crate::identify::{Basis, ClientKind, Identity, Proof};
    use crate::record::event::{AddressDetail, Event};
    use crate::request::{RequestFacts, Scheme};
    use crate::robots::RuleKind;
    use std::borrow::Cow;
    use std::sync::Arc;
    use std::time::SystemTime;

    /// The line of a request that differs from others in the given texts.
    fn line(crawler: &str, site: &str, [token, group, rule]: [&str; 3], outcome: VerdictOutcome) -> String {
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("h"),
            target: Cow::Borrowed(b"/"),
            user_agent: None,
            address: None,
        };
        let (crawler, tokens) = (Some(crawler.into()), Arc::new([]));
        let client = ClientKind::Crawler;
        let identity =
            Identity { client, crawler, purpose: None, tokens, star: true, basis: Basis::Catalogue };
        let text = rule.as_bytes();
        let rule =
            Some(Rule { kind: RuleKind::Disallow, line: 3, text, marked: text, pattern: b"/", bytes: 1 });
        let ruling = Some(Ruling { group: vec![group], token, rule });
        let verdict = Verdict { outcome, reason: VerdictReason::Rule, ruling, version: None };
        let event = Event::new(&Occurrence {
            facts: &facts,
            identity: &identity,
            proof: Proof::Unchecked,
            proof_by: None,
            verdict: &verdict,
            mode: Mode::Enforce,
            action: Action::Refuse,
            site,
            now: SystemTime::UNIX_EPOCH,
            request_id: "1",
            addresses: AddressDetail::Full,
            gateway: None,
        });
        String::from_utf8(event.line(None)).unwrap()
    }

    #[test]
    fn what_is_remembered_is_told_of_nobody_else() {
        let long = "Disallow: /".to_owned() + &"x".repeat(LONGEST);
        let outcomes = [
            VerdictOutcome::Violation(Notice::Read),
            VerdictOutcome::Violation(Notice::Lapsed),
            VerdictOutcome::Variant,
        ];
        for _ in 0..2 {
            for outcome in outcomes {
                for [crawler, site] in [["a", "s"], ["b", "s"], ["a", "t"]] {
                    for texts in [
                        ["*", "*", "Disallow: /"],
                        ["a", "*", "Disallow: /"],
                        ["*", "a", "Disallow: /"],
                        ["*", "*", "Disallow: /*"],
                        ["*", "*", &long],
                    ] {
                        let told: serde_json::Value =
                            serde_json::from_str(&line(crawler, site, texts, outcome)).unwrap();
                        assert_eq!((&told["crawler"], &told["site"]), (&crawler.into(), &site.into()));
                        let [token, group, rule] = texts;
                        assert_eq!((&told["token"], &told["group"][0]), (&token.into(), &group.into()));
                        assert_eq!(told["rule"], rule);
                        let is_violation = matches!(outcome, VerdictOutcome::Violation(_));
                        assert_eq!(told["event"], if is_violation { "violation" } else { "variant" });
                        let notice = match outcome {
                            VerdictOutcome::Violation(notice) => Some(notice.as_str()),
                            _ => None,
                        };
                        assert_eq!(told["notice"].as_str(), notice);
                    }
                }
            }
        }
    }
}
