//! Rows of the tables, as the writer adds counts to them and as an import does.

use super::error::StoreError;
use super::outbox::ReadRow;
use super::sqlite::{Sqlite, integer};
use super::words::{DecisionWords, SubjectWords};

impl Sqlite {
    /// The id of a subject, marked as used on a day: what nothing uses for long may go.
    pub(super) fn subject(&self, words: SubjectWords<'_>, day: i64) -> Result<i64, StoreError> {
        let [site, client, crawler, purpose, proof] = words;
        let key = (site, client, crawler, purpose, proof, day);
        let known = self.value(
            "SELECT id FROM subject WHERE site = ?1 AND client = ?2 AND crawler = ?3 AND purpose = ?4
             AND proof = ?5 AND used >= ?6",
            key,
        )?;
        if let Some(id) = known {
            return Ok(id);
        }
        self.number(
            "INSERT INTO subject (site, client, crawler, purpose, proof, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id",
            key,
        )
    }

    /// The same of a decision.
    pub(super) fn decision(&self, words: DecisionWords<'_>, line: u32, day: i64) -> Result<i64, StoreError> {
        let [kind, action, notice, version, tokens, rule, proof_by] = words;
        let key = (version, line, kind, action, notice, tokens, rule, proof_by, day);
        let known = self.value(
            "SELECT id FROM decision WHERE version = ?1 AND line = ?2 AND kind = ?3 AND action = ?4
             AND notice = ?5 AND tokens = ?6 AND rule = ?7 AND proof_by = ?8 AND used >= ?9",
            key,
        )?;
        if let Some(id) = known {
            return Ok(id);
        }
        self.number(
            "INSERT INTO decision (version, line, kind, action, notice, tokens, rule, proof_by, used)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id",
            key,
        )
    }

    pub(super) fn add_rollup(
        &self,
        (span, start): (i64, i64),
        subject: i64,
        decision: i64,
        count: u64,
    ) -> Result<usize, StoreError> {
        self.run(
            "INSERT INTO rollup (span, start, subject, decision, count) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO UPDATE SET count = count + excluded.count",
            (span, start, subject, decision, integer(count)),
        )
    }

    pub(super) fn add_sent(
        &self,
        (span, start): (i64, i64),
        subject: i64,
        bytes: u64,
    ) -> Result<usize, StoreError> {
        self.run(
            "INSERT INTO sent (span, start, subject, bytes) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
            [span, start, subject, integer(bytes)],
        )
    }

    pub(super) fn add_presence(
        &self,
        day: i64,
        subject: i64,
        (first, last): (i64, i64),
    ) -> Result<usize, StoreError> {
        self.run(
            "INSERT INTO presence (day, subject, first, last) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)",
            [day, subject, first, last],
        )
    }

    /// Adds the counts of a target of a subject and day.
    pub(super) fn add_path(
        &self,
        subject: i64,
        day: i64,
        target: &str,
        counts: [u64; 6],
    ) -> Result<usize, StoreError> {
        let [allowed, violations, stale, variants, spoofed, refused] = counts.map(integer);
        self.run(
            "INSERT INTO path (subject, day, target, allowed, violations, stale, variants, spoofed, refused)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET allowed = allowed + excluded.allowed,
             violations = violations + excluded.violations, stale = stale + excluded.stale,
             variants = variants + excluded.variants, spoofed = spoofed + excluded.spoofed,
             refused = refused + excluded.refused",
            (subject, day, target, allowed, violations, stale, variants, spoofed, refused),
        )
    }

    /// Adds reads of a subject, whose name in the row is not looked at. One under a policy that was built
    /// later, at `as_of`, counts from then on, at `at`; of those before it the first does.
    pub(super) fn add_read(
        &self,
        subject: i64,
        (reader, read): &ReadRow,
        (as_of, at): (u64, i64),
    ) -> Result<usize, StoreError> {
        let ((_, version, in_force, host, network, chosen), (rules, first, last, count, _)) = (reader, read);
        let (count, as_of) = (integer(*count), integer(as_of));
        self.run(
            "INSERT INTO read (subject, version, in_force, host, network, chosen, rules, first, last, count, as_of,
             at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last),
             count = count + excluded.count, rules = excluded.rules,
             at = CASE WHEN as_of = excluded.as_of THEN min(at, excluded.at)
             WHEN as_of < excluded.as_of THEN excluded.at ELSE at END,
             as_of = max(as_of, excluded.as_of)",
            (subject, version, in_force, host, network, chosen, rules, first, last, count, as_of, at),
        )
    }
}
