//! One batch, one transaction.
//!
//! A batch carries the name of its process and a number. Both are written with it, so a batch whose commit
//! was reported as failed, and had not, is skipped when it comes again. Ids of subjects and decisions are
//! looked up in every transaction: another process may have removed them in between.

mod details;

use super::error::StoreError;
use super::outbox::{self, ExportedRows, ReadRow, RowId, word};
use super::shares::{NetworkShares, StoredDetail};
use super::sqlite::{Sqlite, integer};
use super::{schema, words};
use crate::identify::Proof;
use crate::record::bytes::printable;
use crate::record::hexadecimal;
use crate::record::missing::{Missing, MissingWhat, NOT_WRITTEN};
use crate::record::network::NetworkId;
use crate::record::tally::{
    CountBatch, CountSubject, CountedDecision, DAY, HOUR, InForce, ReadKey, SeenInstants, SeenRead,
    SubjectCounts, begins, start_of,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;

/// Made-up names of a day that are kept. One network brings a few of them at most.
const STRANGERS_PER_DAY: i64 = 1_000;

/// Readers of a subject and version that are kept by host and network.
const READERS_PER_VERSION: i64 = 1_000;

/// The host or target that stands for all that found no room.
pub const OTHER: &str = "(other)";

/// When rows of what is served were written last, on the clock that notice runs by, in microseconds.
pub(super) const ROWS_NOTED: &str = "rows_noted";

/// Writes a batch of a process under its number, unless it is written already. `now` is in microseconds.
pub(super) fn write(
    database: &Sqlite,
    batch: &[CountBatch],
    (process, sequence): (&str, i64),
    now: i64,
    networks: &mut NetworkShares,
) -> Result<(), StoreError> {
    networks.begin(now);
    let before = networks.clone();
    let written = write_once(database, batch, (process, sequence), now, networks);
    if written.is_err() {
        // Nothing of it is in the store.
        *networks = before;
    }
    written
}

fn write_once(
    database: &Sqlite,
    batch: &[CountBatch],
    (process, sequence): (&str, i64),
    now: i64,
    networks: &mut NetworkShares,
) -> Result<(), StoreError> {
    database.transaction(|| {
        schema::version(database)?;
        let last = "SELECT sequence FROM writer WHERE process = ?1";
        if database.value(last, [process])?.is_some_and(|last: i64| last >= sequence) {
            return Ok(());
        }
        database.run(
            "INSERT INTO writer (process, sequence, written, is_open) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT DO UPDATE SET sequence = excluded.sequence, written = excluded.written",
            (process, sequence, now),
        )?;
        let shared = outbox::wanted(database)?;
        let full = HashSet::new();
        let mut writing = Writing { database, now, shared, networks, full, bytes: 0, is_measured_for: 0 };
        batch.iter().try_for_each(|part| writing.part(part))?;
        writing.shared.map_or(Ok(()), |shared| outbox::put(database, &shared, now))
    })
}

struct Writing<'a> {
    database: &'a Sqlite,
    now: i64,
    /// What is written, where a fleet is to have it, too.
    shared: Option<ExportedRows>,
    networks: &'a mut NetworkShares,
    /// Subjects and days whose named targets all have violations.
    full: HashSet<(i64, i64)>,
    /// How large the store and its log were when they were measured last, and for how many more details that holds.
    bytes: u64,
    is_measured_for: u32,
}

/// A subject in this store, and what it is called in every one.
#[derive(Clone, Debug)]
struct SubjectRow {
    id: i64,
    name: Option<RowId>,
}

impl Writing<'_> {
    /// Has a fleet have a row of a subject, where it is to have any.
    fn share(&mut self, who: &SubjectRow, row: impl FnOnce(&mut ExportedRows, RowId)) {
        if let Some((shared, name)) = self.shared.as_mut().zip(who.name.clone()) {
            row(shared, name);
        }
    }

    fn part(&mut self, part: &CountBatch) -> Result<(), StoreError> {
        if part.rows_noted > 0 {
            self.database.run(
                "INSERT INTO meta (name, value) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                (ROWS_NOTED, integer(part.rows_noted)),
            )?;
        }
        part.versions.iter().try_for_each(|version| self.version(version))?;
        part.accounts
            .iter()
            .try_for_each(|(subject, account)| self.account(subject, account, part.length))?;
        self.missing(part)
    }

    /// Notes a version, unless it is in force already: another process may have said so before.
    fn version(&mut self, version: &InForce) -> Result<(), StoreError> {
        let InForce { site, bytes, since } = version;
        let digest = bytes.as_ref().map(|bytes| Sha256::digest(bytes).to_vec()).unwrap_or_default();
        let known = "SELECT 1 FROM version WHERE site = ?1 AND until = 0 AND sha256 = ?2";
        if self.database.value::<i64>(known, (site, &digest))?.is_some() {
            return Ok(());
        }
        if let Some(bytes) = bytes {
            let sql = "INSERT INTO robots (sha256, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            self.database.run(sql, (&digest, bytes))?;
        }
        let replaced = "UPDATE version SET until = max(since, ?2) WHERE site = ?1 AND until = 0";
        self.database.run(replaced, (site, since))?;
        let sql = "INSERT INTO version (site, sha256, since, until) VALUES (?1, ?2, ?3, 0)";
        self.database.run(sql, (site, &digest, since))?;
        if let Some(shared) = &mut self.shared {
            let sha256: Box<str> = hexadecimal(&digest).into();
            shared.robots.extend(bytes.as_ref().map(|bytes| (sha256.clone(), STANDARD.encode(bytes))));
            shared.versions.push((word(site), sha256, *since, 0));
        }
        Ok(())
    }

    /// `span` is how long the periods of the batch are.
    fn account(
        &mut self,
        subject: &CountSubject,
        account: &SubjectCounts,
        span: i64,
    ) -> Result<(), StoreError> {
        let days = account.presence.iter().map(|(day, _)| *day);
        let today = days.max().unwrap_or_else(|| start_of(self.now, DAY));
        let has_room = account.is_known || self.has_room_for(subject, account.network, today)?;
        let named = if has_room { subject.borrowed() } else { subject.borrowed().nameless() };
        let named = words::of_subject(named);
        let id = self.database.subject(named, start_of(self.now, DAY))?;
        let who = SubjectRow { id, name: self.shared.as_mut().map(|rows| rows.subject(named)) };
        for (day, seen) in &account.presence {
            let seen = (seen.first, seen.last);
            self.database.add_presence(*day, id, seen)?;
            self.share(&who, |rows, name| rows.presence.push(((*day, name), seen)));
        }
        for (decision, uses) in &account.decisions {
            let id = self.decision(decision)?;
            for (start, count) in &uses.periods {
                self.database.add_rollup((span, *start), who.id, id, *count)?;
            }
            self.share(&who, |rows, name| {
                let what = words::of_decision(decision, |words, line| rows.decision(words, line));
                let row = |(start, count): &(i64, u64)| ((span, *start, name.clone(), what.clone()), *count);
                rows.rollups.extend(uses.periods.iter().map(row));
            });
        }
        for (start, bytes) in &account.sent {
            self.database.add_sent((span, *start), id, *bytes)?;
            self.share(&who, |rows, name| rows.sent.push(((span, *start, name), *bytes)));
        }
        let is_confirmed = subject.proof == Proof::Confirmed;
        let of = |network| Some(network).filter(|_| !is_confirmed);
        for (target, uses) in &account.paths {
            self.paths(&who, of(uses.network), &printable(target), &uses.days)?;
        }
        self.paths(&who, None, OTHER, &account.other_paths)?;
        account.events.iter().try_for_each(|event| self.sample(id, of(event.network), event))?;
        account.reads.iter().try_for_each(|(key, read)| self.read(&who, is_confirmed, key, *read))
    }

    /// Whether a made-up name is kept by name today.
    fn has_room_for(
        &mut self,
        subject: &CountSubject,
        network: NetworkId,
        day: i64,
    ) -> Result<bool, StoreError> {
        let Some(name) = subject.crawler.as_deref() else { return Ok(true) };
        let known = "SELECT 1 FROM stranger WHERE day = ?1 AND name = ?2";
        if self.database.value::<i64>(known, (day, name))?.is_some() {
            return Ok(true);
        }
        let count = "SELECT count(*) FROM stranger WHERE day = ?1";
        if self.database.number(count, [day])? >= STRANGERS_PER_DAY || !self.networks.takes_name(network, day)
        {
            return Ok(false);
        }
        self.database.run("INSERT INTO stranger (day, name) VALUES (?1, ?2)", (day, name))?;
        Ok(true)
    }

    /// The id of a decision, marked as used today.
    fn decision(&self, decision: &CountedDecision) -> Result<i64, StoreError> {
        let today = start_of(self.now, DAY);
        words::of_decision(decision, |words, line| self.database.decision(words, line, today))
    }

    fn missing(&mut self, batch: &CountBatch) -> Result<(), StoreError> {
        let (lost, hour) = (batch.losses(), start_of(self.now, HOUR));
        let of_hour = |(what, count)| {
            let when = (begins(hour), begins(hour + HOUR));
            (count > 0).then(|| Missing::new(what, NOT_WRITTEN, when, Some(count)))
        };
        let counted =
            [(MissingWhat::Details, lost.details_dropped), (MissingWhat::Requests, lost.counts_lost)];
        for missing in batch.missing.iter().cloned().chain(counted.into_iter().filter_map(of_hour)) {
            self.database.add_missing(&missing)?;
            if let Some(shared) = &mut self.shared {
                shared.missing.push(missing);
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        who: &SubjectRow,
        is_confirmed: bool,
        key: &ReadKey,
        read: SeenRead,
    ) -> Result<(), StoreError> {
        let (version, rules) = (key.version.to_string().into(), key.rules.to_string().into());
        let (network, chosen) =
            (key.network.clone().unwrap_or_default(), key.chosen.clone().unwrap_or_default());
        let reader =
            (who.name.clone().unwrap_or_default(), version, key.in_force, key.host.clone(), network, chosen);
        let SeenInstants { first, last, count } = read.seen;
        let mut row = (reader, (rules, first, last, count, key.as_of));
        if !self.has_room_for_reader(who.id, is_confirmed, &row)? {
            (row.0.3, row.0.4) = (OTHER.into(), Box::default());
        }
        self.database.add_read(who.id, &row, (key.as_of, read.at))?;
        self.share(who, |rows, _| {
            row.0.5 = word(&row.0.5);
            rows.reads.push(row);
        });
        Ok(())
    }

    /// Whether reads of a reader are kept by its host and network.
    fn has_room_for_reader(
        &mut self,
        subject: i64,
        is_confirmed: bool,
        (reader, (_, first, ..)): &ReadRow,
    ) -> Result<bool, StoreError> {
        let (_, version, in_force, host, network, chosen) = reader;
        let known = "SELECT 1 FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3 AND host = ?4
                     AND network = ?5 AND chosen = ?6";
        let key = (subject, version, in_force, host, network, chosen);
        if self.database.value::<i64>(known, key)?.is_some() {
            return Ok(true);
        }
        let readers = "SELECT count(*) FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3";
        if self.database.number(readers, (subject, version, in_force))? >= READERS_PER_VERSION {
            return Ok(false);
        }
        let (network, day) = (Some(&**network).filter(|_| !is_confirmed), start_of(*first, DAY));
        let detail = StoredDetail { network, day, bytes: host.len() + chosen.len(), is_violation: true };
        let has_room = self.has_room(&detail)?;
        if has_room {
            self.networks.take(&detail);
        }
        Ok(has_room)
    }
}
