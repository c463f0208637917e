//! What is counted: kind of event, action and notice, the rule they rest on, and how the name was proved.

use crate::decide::{Notice, Ruling, Verdict, VersionId};
use crate::enforce::Action;
use crate::identify::ProofMethod;
use crate::record::bytes::printable;
use crate::record::event::{EventKind, Occurrence};
use crate::record::word;
use hashbrown::Equivalent;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// What was decided of a request, by which rule of which version of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A [`CountedDecision`] that borrows, to look one up without a copy.
#[derive(Clone, Copy, Debug)]
pub struct DecisionRef<'a> {
    pub(in crate::record) kind: EventKind,
    pub(in crate::record) action: Action,
    notice: Option<Notice>,
    version: Option<VersionId>,
    ruling: Option<&'a Ruling<'a>>,
    proof_by: Option<ProofMethod>,
}

impl<'a> DecisionRef<'a> {
    /// What was decided of a request that is to be told of as `kind`.
    pub fn of(occurrence: &Occurrence<'a>, kind: EventKind) -> Self {
        Self::new(kind, occurrence.action, occurrence.verdict, occurrence.proof_by)
    }

    /// What a verdict and the action that followed from it come to.
    pub fn new(
        kind: EventKind,
        action: Action,
        verdict: &'a Verdict<'a>,
        proof_by: Option<ProofMethod>,
    ) -> Self {
        let (notice, version) = (verdict.notice(), verdict.version);
        Self { kind, action, notice, version, ruling: verdict.ruling.as_ref(), proof_by }
    }

    fn line(self) -> Option<u32> {
        self.ruling.and_then(|ruling| ruling.rule.as_ref()).map(|rule| rule.line)
    }

    fn group(self) -> &'a [&'a str] {
        self.ruling.map_or(&[], |ruling| &ruling.group)
    }
}

impl From<&DecisionRef<'_>> for CountedDecision {
    fn from(decision: &DecisionRef<'_>) -> Self {
        let rule = decision.ruling.and_then(|ruling| ruling.rule.as_ref());
        Self {
            kind: decision.kind,
            action: decision.action,
            notice: decision.notice,
            version: decision.version,
            group: decision.group().iter().map(|token| (*token).into()).collect(),
            line: rule.map(|rule| rule.line),
            rule: rule.map(|rule| printable(rule.marked).into()),
            proof_by: decision.proof_by,
        }
    }
}

/// The rest follows from these almost always, as long as a file is in force, so it is compared but not hashed.
fn hash_key<H: Hasher>(key: (EventKind, Action, Option<u32>), state: &mut H) {
    key.hash(state);
}

impl Hash for CountedDecision {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_key((self.kind, self.action, self.line), state);
    }
}

impl Hash for DecisionRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_key((self.kind, self.action, self.line()), state);
    }
}

impl Equivalent<CountedDecision> for DecisionRef<'_> {
    /// The text of the rule is not compared: a version's line has one.
    fn equivalent(&self, other: &CountedDecision) -> bool {
        let group = self.group();
        self.kind == other.kind
            && self.action == other.action
            && self.notice == other.notice
            && self.version == other.version
            && self.line() == other.line
            && self.proof_by == other.proof_by
            && group.len() == other.group.len()
            && group.iter().zip(&other.group).all(|(ours, theirs)| **ours == **theirs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::{Rule, RuleKind};
    use hashbrown::DefaultHashBuilder;
    use std::hash::BuildHasher as _;

    fn ruling(line: u32, text: &[u8]) -> Ruling<'_> {
        let rule = Rule { kind: RuleKind::Disallow, line, text, marked: text, pattern: b"/x", bytes: 2 };
        Ruling { group: vec!["GPTBot", "*"], token: "GPTBot", rule: Some(rule) }
    }

    fn decision<'a>(ruling: Option<&'a Ruling<'a>>) -> DecisionRef<'a> {
        DecisionRef {
            kind: EventKind::Violation,
            action: Action::Refuse,
            notice: Some(Notice::Read),
            version: Some(VersionId::of(b"a")),
            ruling,
            proof_by: None,
        }
    }

    #[test]
    fn a_borrowed_decision_finds_the_owned_one() {
        let (one, two) = (ruling(3, b"Disallow: /caf\xe9"), ruling(4, b"Disallow: /caf\xe9"));
        let (borrowed, state) = (decision(Some(&one)), DefaultHashBuilder::default());
        let owned = CountedDecision::from(&borrowed);
        assert_eq!(state.hash_one(borrowed), state.hash_one(&owned));
        assert!(borrowed.equivalent(&owned));
        assert_eq!(owned.rule.as_deref(), Some("Disallow: /caf\\xE9"));
        assert!(!decision(Some(&two)).equivalent(&owned));
        assert!(!decision(None).equivalent(&owned));
        let signed = DecisionRef { proof_by: Some(ProofMethod::Signature), ..borrowed };
        assert!(!signed.equivalent(&owned) && signed.equivalent(&CountedDecision::from(&signed)));
    }

    #[test]
    fn another_group_is_another_decision() {
        let one = ruling(3, b"Disallow: /x");
        let other = Ruling { group: vec!["GPTBot"], ..one.clone() };
        assert!(!decision(Some(&other)).equivalent(&CountedDecision::from(&decision(Some(&one)))));
    }
}
