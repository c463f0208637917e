//! One batch, one transaction.
//!
//! A batch carries the name of its process and a number. Both are written with it, so a batch whose commit
//! was reported as failed, and had not, is skipped when it comes again. Ids of subjects and decisions are
//! looked up in every transaction: another process may have removed them in between.

mod details;

use super::database::{Database, SqlValue, integer, transaction};
use super::error::StoreError;
use super::losses::{self, NotedLoss};
use super::outbox::{self, ExportedRows, RowId, path_counts};
use super::{schema, unseen, words};
use crate::decide::VersionId;
use crate::identify::{ProofMethod, Purpose};
use crate::record::bytes::printable;
use crate::record::tally::{
    CountBatch, CountSubject, CountedDecision, DAY, HOUR, InForce, PathCounts, PathDays, SeenInstants,
    SubjectCounts, SubjectRef, start_of,
};
use SqlValue::{Blob, Integer, Text};
use sha2::{Digest as _, Sha256};

/// Targets of a subject and day that are kept by name.
const PATHS_PER_DAY: i64 = 1_000;

/// Made-up names of a day that are kept, and how many of them just for having come first. The others deserve it: they
/// came from several networks, or over time.
const STRANGERS_PER_DAY: i64 = 1_000;
const FIRST_STRANGERS_PER_DAY: i64 = 500;

/// The host or target that stands for all that found no room.
pub const OTHER: &str = "(other)";

/// Adds the counts of a target of a subject and day.
pub(super) const ADD_PATH: &str =
    "INSERT INTO path (subject, day, target, allowed, violations, stale, variants, spoofed, refused)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
     ON CONFLICT DO UPDATE SET allowed = allowed + excluded.allowed,
     violations = violations + excluded.violations, stale = stale + excluded.stale,
     variants = variants + excluded.variants, spoofed = spoofed + excluded.spoofed,
     refused = refused + excluded.refused";

/// Adds bytes that a subject was sent.
pub(super) const ADD_SENT: &str = "INSERT INTO sent (span, start, subject, bytes) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes";

/// The last entry of the ledger of versions.
pub(super) const LEDGER_ENTRY: &str = "ledger_entry";

/// What tells a batch from every other.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchId<'a> {
    pub(super) process: &'a str,
    pub(super) sequence: i64,
}

/// Writes a batch, unless it is written already. `now` is in microseconds.
pub(super) fn write<D: Database>(
    database: &mut D,
    batch: &CountBatch,
    id: BatchId<'_>,
    now: i64,
) -> Result<(), StoreError> {
    transaction(database, |database| {
        schema::version(database)?;
        let last = database.number("SELECT sequence FROM writer WHERE process = ?1", &[Text(id.process)])?;
        if last.is_some_and(|last| last >= id.sequence) {
            return Ok(());
        }
        database.run(
            "INSERT INTO writer (process, sequence, written, is_open) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT DO UPDATE SET sequence = excluded.sequence, written = excluded.written",
            &[Text(id.process), Integer(id.sequence), Integer(now)],
        )?;
        unseen::note(database, &batch.unseen)?;
        if batch.ledger_entry > 0 {
            database.run(
                "INSERT INTO meta (name, value) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                &[Text(LEDGER_ENTRY), integer(batch.ledger_entry)],
            )?;
        }
        let shared = outbox::wanted(database)?;
        let mut writing = Writing { database, now, shared };
        for version in &batch.versions {
            writing.version(version)?;
        }
        for (subject, account) in &batch.accounts {
            writing.account(subject, account)?;
        }
        let (missing, hour) = (batch.losses(), (start_of(now, HOUR), HOUR));
        for (lost, count) in [
            (NotedLoss::Details, missing.details_dropped),
            (NotedLoss::Reads, missing.reads_lost),
            (NotedLoss::Requests, missing.counts_lost),
        ] {
            losses::add(writing.database, lost, hour, count)?;
            if let Some(shared) = writing.shared.as_mut().filter(|_| count > 0) {
                shared.losses.push(((hour.0, hour.1, <&str>::from(lost).into()), count));
            }
        }
        let Writing { database, shared: Some(mut shared), .. } = writing else { return Ok(()) };
        shared.unseen = batch.unseen.iter().map(outbox::unseen_row).collect();
        outbox::put(database, &shared, now)
    })
}

struct Writing<'a, D> {
    database: &'a mut D,
    now: i64,
    /// What is written, where a fleet is to have it, too.
    shared: Option<ExportedRows>,
}

/// A subject in this store, and what it is called in every one.
#[derive(Clone, Debug)]
struct SubjectRow {
    id: i64,
    name: Option<RowId>,
}

impl<D: Database> Writing<'_, D> {
    /// A version that is in force already, as another process knows, is no news, and so is a former one to a store that
    /// knows the site: that one is for a store that was just begun, and comes before the one in force.
    fn version(&mut self, version: &InForce) -> Result<(), StoreError> {
        let digest = version.bytes.as_ref().map(Sha256::digest);
        let digest = digest.as_ref().map_or(&[][..], |digest| digest.as_slice());
        let (site, since, until) = (Text(&version.site), Integer(version.since), Integer(version.until));
        let known = self.database.number(
            "SELECT 1 FROM version WHERE site = ?1 AND until = 0 AND (sha256 = ?2 OR ?3 > 0)",
            &[site, Blob(digest), until],
        )?;
        if known.is_some() {
            return Ok(());
        }
        if let Some(bytes) = &version.bytes {
            self.database.run(
                "INSERT INTO robots (sha256, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                &[Blob(digest), Blob(bytes)],
            )?;
        }
        self.database
            .run("UPDATE version SET until = max(since, ?2) WHERE site = ?1 AND until = 0", &[site, since])?;
        self.database.run(
            "INSERT INTO version (site, sha256, since, until) VALUES (?1, ?2, ?3, ?4)",
            &[site, Blob(digest), since, until],
        )?;
        if let Some(shared) = &mut self.shared {
            shared.version(version, digest);
        }
        Ok(())
    }

    fn account(&mut self, subject: &CountSubject, account: &SubjectCounts) -> Result<(), StoreError> {
        let today =
            account.presence.iter().map(|(day, _)| *day).max().unwrap_or_else(|| start_of(self.now, DAY));
        let has_room = account.is_known || self.has_room_for(subject, account.is_deserving, today)?;
        let named = if has_room { subject.borrowed() } else { subject.borrowed().nameless() };
        let who = SubjectRow {
            id: self.subject(named)?,
            name: self.shared.as_mut().map(|all| all.subject_of(named)),
        };
        let id = who.id;
        for (day, seen) in &account.presence {
            self.presence(id, *day, *seen)?;
        }
        if let Some((shared, name)) = self.shared.as_mut().zip(who.name.as_ref()) {
            shared.counts(name, account);
        }
        for (decision, uses) in &account.decisions {
            let decision = self.decision(decision)?;
            for (period, count) in &uses.periods {
                self.database.run(
                    "INSERT INTO rollup (span, start, subject, decision, count) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT DO UPDATE SET count = count + excluded.count",
                    &[
                        Integer(period.span),
                        Integer(period.start),
                        Integer(id),
                        Integer(decision),
                        integer(*count),
                    ],
                )?;
            }
        }
        for (period, bytes) in &account.sent {
            self.database.run(
                ADD_SENT,
                &[Integer(period.span), Integer(period.start), Integer(id), integer(*bytes)],
            )?;
        }
        for (target, days) in &account.paths {
            self.paths(&who, &printable(target), days)?;
        }
        self.paths(&who, OTHER, &account.other_paths)?;
        account.events.iter().try_for_each(|event| self.sample(id, event))?;
        account.reads.iter().try_for_each(|(key, read)| self.read(&who, key, *read))
    }

    /// Whether a made-up name is kept by name today.
    fn has_room_for(&mut self, subject: &CountSubject, deserves: bool, day: i64) -> Result<bool, StoreError> {
        let Some(name) = subject.crawler.as_deref() else { return Ok(true) };
        let values = [Integer(day), Text(name)];
        let known = self.database.number("SELECT 1 FROM stranger WHERE day = ?1 AND name = ?2", &values)?;
        if known.is_some() {
            return Ok(true);
        }
        let count = self.database.number("SELECT count(*) FROM stranger WHERE day = ?1", &[Integer(day)])?;
        let places = if deserves { STRANGERS_PER_DAY } else { FIRST_STRANGERS_PER_DAY };
        if count.unwrap_or_default() >= places {
            return Ok(false);
        }
        self.database.run("INSERT INTO stranger (day, name) VALUES (?1, ?2)", &values)?;
        Ok(true)
    }

    /// The id of a subject, marked as used today: what nothing uses for long may go.
    fn subject(&mut self, subject: SubjectRef<'_>) -> Result<i64, StoreError> {
        let key = [
            Text(subject.site),
            Text(subject.client.as_str()),
            Text(subject.crawler.unwrap_or_default()),
            Text(subject.purpose.map_or("", Purpose::as_str)),
            Text(subject.proof.as_str()),
            Integer(start_of(self.now, DAY)),
        ];
        let known = self.database.number(
            "SELECT id FROM subject WHERE site = ?1 AND client = ?2 AND crawler = ?3 AND purpose = ?4
             AND proof = ?5 AND used >= ?6",
            &key,
        )?;
        if let Some(id) = known {
            return Ok(id);
        }
        let id = self.database.number(
            "INSERT INTO subject (site, client, crawler, purpose, proof, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id",
            &key,
        )?;
        Ok(id.unwrap_or_default())
    }

    fn decision(&mut self, decision: &CountedDecision) -> Result<i64, StoreError> {
        let version = decision.version.as_ref().map(VersionId::to_string).unwrap_or_default();
        let tokens = words::of_group(&decision.group);
        let key = [
            Text(&version),
            Integer(decision.line.map_or(0, i64::from)),
            Text(decision.kind.as_str()),
            Text(decision.action.as_str()),
            Text(decision.notice.map_or("", crate::decide::Notice::as_str)),
            Text(&tokens),
            Text(decision.rule.as_deref().unwrap_or_default()),
            Text(decision.proof_by.map_or("", ProofMethod::as_str)),
            Integer(start_of(self.now, DAY)),
        ];
        let known = self.database.number(
            "SELECT id FROM decision WHERE version = ?1 AND line = ?2 AND kind = ?3 AND action = ?4
             AND notice = ?5 AND tokens = ?6 AND rule = ?7 AND proof_by = ?8 AND used >= ?9",
            &key,
        )?;
        if let Some(id) = known {
            return Ok(id);
        }
        let id = self.database.number(
            "INSERT INTO decision (version, line, kind, action, notice, tokens, rule, proof_by, used)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT DO UPDATE SET used = excluded.used RETURNING id",
            &key,
        )?;
        Ok(id.unwrap_or_default())
    }

    fn presence(&mut self, subject: i64, day: i64, seen: SeenInstants) -> Result<(), StoreError> {
        self.database.run(
            "INSERT INTO presence (day, subject, first, last) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)",
            &[Integer(day), Integer(subject), Integer(seen.first), Integer(seen.last)],
        )?;
        Ok(())
    }

    fn paths(&mut self, who: &SubjectRow, target: &str, days: &PathDays) -> Result<(), StoreError> {
        for (day, counts) in days {
            let mut kept = target;
            if !self.add_path(who.id, *day, target, counts)? {
                let places = if target == OTHER { 0 } else { PATHS_PER_DAY };
                if !self.has_place(who.id, *day, places)? {
                    kept = OTHER;
                }
                self.new_path(who.id, *day, kept, counts)?;
            }
            if let Some((shared, name)) = self.shared.as_mut().zip(who.name.clone()) {
                shared.paths.push(((*day, name, kept.into()), path_counts(counts)));
            }
        }
        Ok(())
    }

    /// Adds to a target that the day has already; `false` when it has not.
    fn add_path(
        &mut self,
        subject: i64,
        day: i64,
        target: &str,
        counts: &PathCounts,
    ) -> Result<bool, StoreError> {
        let changed = self.database.run(
            "UPDATE path SET allowed = allowed + ?4, violations = violations + ?5, stale = stale + ?6,
             variants = variants + ?7, spoofed = spoofed + ?8, refused = refused + ?9
             WHERE subject = ?1 AND day = ?2 AND target = ?3",
            &path_values(subject, day, target, counts),
        )?;
        Ok(changed > 0)
    }

    /// Takes one of the day's `places`, if one is left. The day is noted in any case.
    fn has_place(&mut self, subject: i64, day: i64, places: i64) -> Result<bool, StoreError> {
        let day_of = [Integer(day), Integer(subject)];
        self.database.run(
            "INSERT INTO path_day (day, subject, targets) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING",
            &day_of,
        )?;
        let values = [Integer(day), Integer(subject), Integer(places)];
        let taken = self.database.run(
            "UPDATE path_day SET targets = targets + 1 WHERE day = ?1 AND subject = ?2 AND targets < ?3",
            &values,
        )?;
        Ok(taken > 0)
    }

    fn new_path(
        &mut self,
        subject: i64,
        day: i64,
        target: &str,
        counts: &PathCounts,
    ) -> Result<(), StoreError> {
        self.database.run(ADD_PATH, &path_values(subject, day, target, counts))?;
        Ok(())
    }
}

fn path_values<'a>(subject: i64, day: i64, target: &'a str, counts: &PathCounts) -> [SqlValue<'a>; 9] {
    [
        Integer(subject),
        Integer(day),
        Text(target),
        integer(counts.allowed),
        integer(counts.violations),
        integer(counts.stale),
        integer(counts.variants),
        integer(counts.spoofed),
        integer(counts.refused),
    ]
}
