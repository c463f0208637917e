//! From what was counted to the rows that a fleet gets.

use super::rows::{ExportedRows, RowId, word};
use crate::decide::{Notice, VersionId};
use crate::identify::{ProofMethod, Purpose};
use crate::record::hexadecimal;
use crate::record::store::words;
use crate::record::tally::{CountedDecision, InForce, SubjectCounts, SubjectRef};
use crate::record::unseen::Unseen;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Where and when reads may have gone unseen.
pub(in crate::record::store) fn unseen_row(unseen: &Unseen) -> ((Box<str>, Box<str>), (i64, i64)) {
    ((word(&unseen.site), word(&unseen.reason)), (unseen.at, unseen.at))
}

impl ExportedRows {
    pub(in crate::record::store) fn subject_of(&mut self, subject: SubjectRef<'_>) -> RowId {
        self.subject([
            subject.site,
            subject.client.as_str(),
            subject.crawler.unwrap_or_default(),
            subject.purpose.map_or("", Purpose::as_str),
            subject.proof.as_str(),
        ])
    }

    /// When a subject was seen, and what was decided of it how often.
    pub(in crate::record::store) fn counts(&mut self, name: &RowId, account: &SubjectCounts) {
        let presence = account.presence.iter();
        self.presence.extend(presence.map(|(day, seen)| ((*day, name.clone()), (seen.first, seen.last))));
        let sent = account.sent.iter();
        self.sent.extend(sent.map(|(period, bytes)| ((period.span, period.start, name.clone()), *bytes)));
        for (decision, uses) in &account.decisions {
            let what = self.decision_of(decision);
            let counts = uses.periods.iter();
            let row = |(period, count): &(_, u64)| key(period, name, &what, *count);
            self.rollups.extend(counts.map(row));
        }
    }

    fn decision_of(&mut self, decision: &CountedDecision) -> RowId {
        let version = decision.version.as_ref().map(VersionId::to_string).unwrap_or_default();
        let words = [
            decision.kind.as_str(),
            decision.action.as_str(),
            decision.notice.map_or("", Notice::as_str),
            &version,
            &words::of_group(&decision.group),
            decision.rule.as_deref().unwrap_or_default(),
            decision.proof_by.map_or("", ProofMethod::as_str),
        ];
        self.decision(words, decision.line.unwrap_or_default())
    }

    /// A version that came into force.
    pub(in crate::record::store) fn version(&mut self, version: &InForce, digest: &[u8]) {
        let digest: Box<str> = hexadecimal(digest).into();
        self.versions.push((word(&version.site), digest.clone(), version.since, version.until));
        if let Some(bytes) = &version.bytes {
            self.robots.insert(digest, STANDARD.encode(bytes));
        }
    }
}

fn key(
    period: &crate::record::tally::RollUpPeriod,
    name: &RowId,
    what: &RowId,
    count: u64,
) -> super::RollupRow {
    ((period.span, period.start, name.clone(), what.clone()), count)
}
