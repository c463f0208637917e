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
use crate::record::missing::{Missing, MissingWhat, NOT_WRITTEN};
use crate::record::network::NetworkId;
use crate::record::tables::{ReadKey, ReadSum, Tables};
use crate::record::tally::{
    CountBatch, CountSubject, DAY, HOUR, InForce, PathCounts, SubjectCounts, begins, start_of,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
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
    shared: Option<Tables>,
    networks: &'a mut NetworkShares,
    /// Subjects and days whose named targets all have violations.
    full: HashSet<(i64, i64)>,
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
        let missing = missing(part, start_of(self.now, HOUR)).collect();
        self.put(Tables { missing, ..Tables::default() })
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
        for (decision, uses) in &account.decisions {
            let what = rows.decision(decision);
            let row = |(start, count): &(i64, u64)| ((span, *start, name.clone(), what.clone()), *count);
            rows.rollups.extend(uses.periods.iter().map(row));
        }
        rows.sent =
            account.sent.iter().map(|(start, bytes)| ((span, *start, name.clone()), *bytes)).collect();
        let is_confirmed = subject.proof == Proof::Confirmed;
        let of = |network| Some(network).filter(|_| !is_confirmed);
        for (target, network, day, counts) in targets(account) {
            let kept = self.kept_target(id, of(network), target, day, counts)?;
            rows.paths.push(((day, name.clone(), kept), *counts));
        }
        let mut reads = Vec::new();
        for (key, read) in &account.reads {
            let has_room = self.has_room_for_reader(id, is_confirmed, key, read)?;
            let key = if has_room { key.clone() } else { key.clone().of_any_host() };
            // At once: the next one is to find it.
            self.database.add_read(id, &key, read)?;
            reads.push(((name.clone(), key), *read));
        }
        self.put(rows)?;
        if let Some(shared) = &mut self.shared {
            shared.reads.extend(reads);
        }
        account.events.iter().try_for_each(|event| self.sample(id, of(event.network), event))
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
        let (network, day) = (Some(network).filter(|_| !is_confirmed), start_of(read.seen.first, DAY));
        let detail = StoredDetail { network, day, bytes: host.len() + chosen.len(), is_violation: true };
        let has_room = self.has_room(&detail)?;
        if has_room {
            self.networks.take(&detail);
        }
        Ok(has_room)
    }
}

/// The targets of an account by day, violations first: one that was written may give up its place to them.
fn targets(account: &SubjectCounts) -> Vec<(Cow<'_, str>, NetworkId, i64, &PathCounts)> {
    let named = account.paths.iter().flat_map(|(target, uses)| {
        uses.days.iter().map(move |(day, counts)| (shown(target), uses.network, *day, counts))
    });
    let rest = account.other_paths.iter();
    let rest = rest.map(|(day, counts)| (Cow::Borrowed(OTHER), NetworkId::NONE, *day, counts));
    let mut all: Vec<_> = named.chain(rest).collect();
    all.sort_by_key(|(.., counts)| counts.violations == 0);
    all
}

/// What a batch lacks; what found no room is of an `hour`.
fn missing(batch: &CountBatch, hour: i64) -> impl Iterator<Item = Missing> {
    let lost = batch.losses();
    let counted = [(MissingWhat::Details, lost.details_dropped), (MissingWhat::Requests, lost.counts_lost)];
    let of_hour = move |(what, count)| {
        let when = (begins(hour), begins(hour + HOUR));
        (count > 0).then(|| Missing::new(what, NOT_WRITTEN, when, Some(count)))
    };
    batch.missing.iter().cloned().chain(counted.into_iter().filter_map(of_hour))
}
