//! What is counted: kind of event, action and notice, the rule they rest on, and how the name was proved.

use crate::decide::{Notice, VersionId};
use crate::enforce::Action;
use crate::identify::ProofMethod;
use crate::record::bytes::printable;
use crate::record::event::{EventKind, Occurrence};
use crate::record::word;
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher;

/// What was decided of a request, by which rule of which version of the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CountedDecision {
    /// The kind of event.
    #[serde(with = "word")]
    pub kind: EventKind,
    /// What was done.
    #[serde(with = "word")]
    pub action: Action,
    /// What notice the client had had, where that matters.
    #[serde(with = "word::optional")]
    pub notice: Option<Notice>,
    /// The version in force; `None` for a site without a file.
    #[serde(with = "word::optional")]
    pub version: Option<VersionId>,
    /// The user-agent values of the group (RFC 9309 §2.2.1); empty where no group applied.
    pub group: Vec<Box<str>>,
    /// The line of the rule that matched, from 1.
    pub line: Option<u32>,
    /// That rule as written, with the mark of a generated one; bytes that are not UTF-8 as `\xNN`.
    pub rule: Option<Box<str>>,
    /// By which method the name was confirmed or contradicted.
    #[serde(with = "word::optional")]
    pub proof_by: Option<ProofMethod>,
}

impl CountedDecision {
    /// What was decided of a request that is to be told of as `kind`.
    pub(in crate::record) fn of(occurrence: &Occurrence<'_>, kind: EventKind) -> Self {
        let Occurrence { verdict, action, proof_by, .. } = *occurrence;
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        let group = ruling.into_iter().flat_map(|ruling| ruling.group.tokens()).map(Into::into);
        Self {
            kind,
            action,
            notice: verdict.notice(),
            version: verdict.version,
            group: group.collect(),
            line: rule.map(|rule| rule.line),
            rule: rule.map(|rule| printable(rule.marked).into()),
            proof_by,
        }
    }

    /// What it is found by without being made: 64 bits of a keyed hash. No client has a say in what is hashed. The texts of
    /// group and rule are not among it: they follow from the version, the place of the group in it and the line.
    pub(super) fn key(occurrence: &Occurrence<'_>, kind: EventKind, state: &impl BuildHasher) -> u64 {
        let Occurrence { verdict, action, proof_by, .. } = occurrence;
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.map(|ruling| (ruling.group, ruling.rule.as_ref().map(|rule| rule.line)));
        state.hash_one((kind, action, verdict.notice(), verdict.version, rule, proof_by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Ruling, RulingGroup, VerdictOutcome};
    use crate::record::store::tests::SampleRequest;
    use crate::robots::{ParseLimits, Robots, Rule, RuleKind};
    use hashbrown::DefaultHashBuilder;

    fn ruling<'a>(group: &'a str, line: u32, text: &'a [u8]) -> Ruling<'a> {
        let rule = Rule { kind: RuleKind::Disallow, line, text, marked: text, pattern: b"/x", bytes: 2 };
        Ruling { group: RulingGroup::Name(group), rule: Some(rule) }
    }

    #[test]
    fn what_differs_in_anything_is_another_decision() {
        let state = DefaultHashBuilder::default();
        let sample = SampleRequest::of("GPTBot", "/");
        let of = |ruling: Option<Ruling<'_>>, outcome, proof_by, kind| {
            sample.occur(|occurrence| {
                let verdict = &crate::decide::Verdict { outcome, ruling, ..occurrence.verdict.clone() };
                let occurrence = Occurrence { proof_by, verdict, ..*occurrence };
                let key = CountedDecision::key(&occurrence, kind, &state);
                assert_eq!(CountedDecision::key(&occurrence, kind, &state), key);
                (key, CountedDecision::of(&occurrence, kind))
            })
        };
        let read = VerdictOutcome::Violation(Notice::Read);
        let text = b"Disallow: /caf\xe9";
        let kind = EventKind::Violation;
        let all = [
            of(Some(ruling("GPTBot", 3, text)), read, None, kind),
            of(Some(ruling("GPTBot", 4, text)), read, None, kind),
            of(Some(ruling("*", 3, text)), read, None, kind),
            of(Some(ruling("GPTBot", 3, text)), read, Some(ProofMethod::Signature), kind),
            of(Some(ruling("GPTBot", 3, text)), VerdictOutcome::Violation(Notice::Lapsed), None, kind),
            of(Some(ruling("GPTBot", 3, text)), read, None, EventKind::Pace),
            of(None, read, None, kind),
        ];
        // `A` combines two parts of the file, which name others, too.
        let file = b"User-agent: A\nUser-agent: B\nAllow: /x\n\nUser-agent: A\nAllow: /y\n\nUser-agent: C\n";
        let robots = Robots::parse(file, &ParseLimits::default()).robots;
        let of_file = |token: &str, path: &[u8]| {
            let ruling = Ruling::of(&robots.judge(&[token], true, path)).unwrap();
            of(Some(Ruling { rule: None, ..ruling }), read, None, kind)
        };
        let of_file =
            [("A", &b"/x"[..]), ("A", b"/y"), ("C", b"/x")].map(|(token, path)| of_file(token, path));
        assert_eq!(of_file[0].1.group, ["A".into(), "B".into()]);
        let all: Vec<_> = all.into_iter().chain(of_file).collect();
        assert_eq!(all[0].1.rule.as_deref(), Some("Disallow: /caf\\xE9"));
        for (at, (key, decision)) in all.iter().enumerate() {
            let known = all.iter().position(|(known, _)| known == key);
            let same = all.iter().position(|(_, known)| known == decision);
            assert_eq!((known, same), (Some(at), Some(at)));
        }
    }
}
