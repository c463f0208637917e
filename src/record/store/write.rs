//! One batch, one transaction.
//!
//! A batch carries the name of its process and a number. Both are written with it, so a batch whose commit
//! was reported as failed, and had not, is skipped when it comes again. Ids of subjects and decisions are
//! looked up in every transaction: another process may have removed them in between.

mod details;

use super::error::StoreError;
use super::outbox;
use super::schema;
use super::shares::{NetworkShares, StoredDetail};
use super::sqlite::{Sqlite, integer};
use crate::identify::Proof;
use crate::record::bytes::shown;
use crate::record::hexadecimal;
use crate::record::tables::{OTHER_PATHS, ReadKey, ReadSum, Tables};
use crate::record::tally::{CountBatch, CountSubject, DAY, InForce, SubjectCounts, start_of};
use crate::request::address::Network;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Made-up names of a day that are kept. One network brings a few of them at most.
const STRANGERS_PER_DAY: i64 = 1_000;

/// Readers of a subject and version that are kept by host and network.
const READERS_PER_VERSION: i64 = 1_000;

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
    // Of a batch that cannot be written nothing is in the store.
    let mut taken = networks.clone();
    taken.begin(now);
    database.transaction(|| {
        schema::version(database)?;
        let last = "SELECT sequence FROM writer WHERE process = ?1";
        if database.value(last, [process])?.is_some_and(|last: i64| last >= sequence) {
            return Ok(());
        }
        database.run(
            "INSERT INTO writer (process, sequence, written) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET sequence = excluded.sequence, written = excluded.written",
            (process, sequence, now),
        )?;
        let shared = outbox::is_shared(database)?.then(Tables::default);
        let networks = &mut taken;
        let mut writing = Writing { database, now, shared, networks, bytes: 0, is_measured_for: 0 };
        batch.iter().try_for_each(|part| writing.part(part))?;
        writing.shared.map_or(Ok(()), |shared| outbox::put(database, &shared, now))
    })?;
    *networks = taken;
    Ok(())
}

struct Writing<'a> {
    database: &'a Sqlite,
    now: i64,
    /// What is written, where a fleet is to have it, too.
    shared: Option<Tables>,
    networks: &'a mut NetworkShares,
    /// How large the store and its log were when they were measured last, and for how many more details that holds.
    bytes: u64,
    is_measured_for: u32,
}

impl Writing<'_> {
    fn part(&mut self, part: &CountBatch) -> Result<(), StoreError> {
        if part.rows_noted > 0 {
            self.database.run(
                "INSERT INTO meta (name, value) VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET value = max(value, excluded.value)",
                (ROWS_NOTED, integer(part.rows_noted)),
            )?;
        }
        part.versions.iter().try_for_each(|version| self.version(version))?;
        let (length, accounts) = (part.length, &part.accounts);
        accounts.iter().try_for_each(|(subject, account)| self.account(subject, account, length))?;
        self.put(Tables { missing: part.room.missing.clone(), ..Tables::default() })
    }

    /// Writes rows, and has a fleet have them where it is to have any.
    fn put(&mut self, rows: Tables) -> Result<(), StoreError> {
        self.database.apply(&rows, start_of(self.now, DAY))?;
        if let Some(shared) = &mut self.shared {
            shared.add(rows);
        }
        Ok(())
    }

    /// Notes a version, unless it is in force already: another process may have said so before.
    fn version(&mut self, version: &InForce) -> Result<(), StoreError> {
        let InForce { site, bytes, since } = version;
        let digest = bytes.as_ref().map(|bytes| Sha256::digest(bytes).to_vec()).unwrap_or_default();
        let known = "SELECT 1 FROM version WHERE site = ?1 AND until = 0 AND sha256 = ?2";
        if self.database.value::<i64>(known, (site, &digest))?.is_some() {
            return Ok(());
        }
        let replaced = "UPDATE version SET until = max(since, ?2) WHERE site = ?1 AND until = 0";
        self.database.run(replaced, (site, since))?;
        let sql = "INSERT INTO version (site, sha256, since, until) VALUES (?1, ?2, ?3, 0)";
        self.database.run(sql, (site, &digest, since))?;
        let sha256: Box<str> = hexadecimal(&digest).into();
        let robots = bytes.as_ref().map(|bytes| (sha256.clone(), STANDARD.encode(bytes)));
        let (robots, versions) = (robots.into_iter().collect(), vec![(site.clone(), sha256, *since, 0)]);
        self.put(Tables { versions, robots, ..Tables::default() })
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
        let named = subject.borrowed();
        let named = CountSubject::from(&if has_room { named } else { named.nameless() });
        let id = self.database.id_of("subject", &named, start_of(self.now, DAY))?;
        let mut rows = Tables::default();
        let name = rows.subject(&named);
        let seen = account.presence.iter().map(|(day, seen)| ((*day, name.clone()), (seen.first, seen.last)));
        rows.presence = seen.collect();
        for uses in account.decisions.values() {
            let what = rows.decision(&uses.decision);
            let row = |(start, count): &(i64, u64)| ((span, *start, name.clone(), what.clone()), *count);
            rows.rollups.extend(uses.periods.iter().map(row));
        }
        rows.sent =
            account.sent.iter().map(|(start, bytes)| ((span, *start, name.clone()), *bytes)).collect();
        let is_confirmed = subject.proof == Proof::Confirmed;
        for (target, uses) in &account.paths {
            let target = shown(target);
            for (day, counts) in &uses.days {
                let (day, bytes, is_violation) = (*day, target.len(), counts.violations > 0);
                let detail = StoredDetail { network: uses.network, is_confirmed, day, bytes, is_violation };
                let kept = if self.keeps_target(id, &target, &detail)? { &*target } else { OTHER_PATHS };
                rows.paths.push(((day, name.clone(), kept.into()), *counts));
            }
        }
        self.put(rows)?;
        for (key, read) in &account.reads {
            let has_room = self.has_room_for_reader(id, is_confirmed, key, read)?;
            let key = if has_room { key.clone() } else { key.clone().of_any_host() };
            // At once: the next one is to find it.
            let mut rows = Tables::default();
            let name = rows.subject(&named);
            rows.reads.push(((name, key), *read));
            self.put(rows)?;
        }
        account.events.iter().try_for_each(|event| self.sample(id, is_confirmed, event))
    }

    /// Whether a made-up name is kept by name today.
    fn has_room_for(
        &mut self,
        subject: &CountSubject,
        network: Option<Network>,
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

    /// Whether reads of a reader are kept by its host and network.
    fn has_room_for_reader(
        &mut self,
        subject: i64,
        is_confirmed: bool,
        ReadKey { version, in_force, host, network, chosen }: &ReadKey,
        read: &ReadSum,
    ) -> Result<bool, StoreError> {
        let version = version.to_string();
        let (network, chosen) =
            (network.as_deref().unwrap_or_default(), chosen.as_deref().unwrap_or_default());
        let known = "SELECT 1 FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3 AND host = ?4
                     AND network = ?5 AND chosen = ?6";
        let key = (subject, &version, in_force, host, network, chosen);
        if self.database.value::<i64>(known, key)?.is_some() {
            return Ok(true);
        }
        let readers = "SELECT count(*) FROM read WHERE subject = ?1 AND version = ?2 AND in_force = ?3";
        if self.database.number(readers, (subject, &version, in_force))? >= READERS_PER_VERSION {
            return Ok(false);
        }
        let (day, bytes) = (start_of(read.seen.first, DAY), host.len() + chosen.len());
        let detail = StoredDetail { network, is_confirmed, day, bytes, is_violation: true };
        let has_room = self.has_room(&detail)?;
        if has_room {
            self.networks.take(&detail);
        }
        Ok(has_room)
    }
}
