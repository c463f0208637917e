//! Subjects and decisions in the words of the database, and the way back.

use crate::decide::{Notice, VersionId};
use crate::identify::{ProofMethod, Purpose};
use crate::record::tally::{CountSubject, CountedDecision, SubjectRef};

/// Between the tokens of a group; no line of a robots.txt holds it.
const BETWEEN: &str = "\n";

/// Site, client, crawler, purpose and proof; nothing is an empty text.
pub(super) type SubjectWords<'a> = [&'a str; 5];

/// Kind, action, notice, version, tokens, rule and method of proof.
pub(super) type DecisionWords<'a> = [&'a str; 7];

pub(super) fn of_subject(subject: SubjectRef<'_>) -> SubjectWords<'_> {
    [
        subject.site,
        subject.client.as_str(),
        subject.crawler.unwrap_or_default(),
        subject.purpose.map_or("", Purpose::as_str),
        subject.proof.as_str(),
    ]
}

/// Calls `with` with the words of a decision and its line, or 0.
pub(super) fn of_decision<T>(
    decision: &CountedDecision,
    with: impl FnOnce(DecisionWords<'_>, u32) -> T,
) -> T {
    let version = decision.version.as_ref().map(VersionId::to_string).unwrap_or_default();
    let words = [
        decision.kind.as_str(),
        decision.action.as_str(),
        decision.notice.map_or("", Notice::as_str),
        &version,
        &decision.group.join(BETWEEN),
        decision.rule.as_deref().unwrap_or_default(),
        decision.proof_by.map_or("", ProofMethod::as_str),
    ];
    with(words, decision.line.unwrap_or_default())
}

/// `None` where a word is not known.
pub(super) fn subject([site, client, crawler, purpose, proof]: SubjectWords<'_>) -> Option<CountSubject> {
    Some(CountSubject {
        site: site.into(),
        client: client.parse().ok()?,
        crawler: non_empty(crawler).map(Into::into),
        purpose: non_empty(purpose).map(str::parse).transpose().ok()?,
        proof: proof.parse().ok()?,
    })
}

/// The same of a decision.
pub(super) fn decision(words: DecisionWords<'_>, line: u32) -> Option<CountedDecision> {
    let [kind, action, notice, version, tokens, rule, proof_by] = words;
    Some(CountedDecision {
        kind: kind.parse().ok()?,
        action: action.parse().ok()?,
        notice: non_empty(notice).map(str::parse).transpose().ok()?,
        version: non_empty(version).map(str::parse).transpose().ok()?,
        group: tokens.split(BETWEEN).filter(|token| !token.is_empty()).map(Into::into).collect(),
        line: Some(line).filter(|line| *line > 0),
        rule: non_empty(rule).map(Into::into),
        proof_by: non_empty(proof_by).map(str::parse).transpose().ok()?,
    })
}

/// Nothing is kept as an empty text.
pub(super) fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enforce::Action;
    use crate::record::event::EventKind;

    #[test]
    fn groups_come_back() {
        for tokens in [&[][..], &["*"], &["GPTBot", "Claude Bot, or so"]] {
            let group = tokens.iter().map(|token| (*token).into()).collect();
            let known = CountedDecision {
                kind: EventKind::Violation,
                action: Action::Refuse,
                notice: None,
                version: None,
                group,
                line: None,
                rule: Some("Disallow: /".into()),
                proof_by: None,
            };
            assert_eq!(of_decision(&known, decision), Some(known));
        }
    }
}
