//! What is on its way to a fleet: the rows of each batch as they were written, until the fleet has taken them.
//!
//! A piece is written in the transaction that writes its batch, so the outbox and the counts never differ. Pieces are
//! sealed into one from time to time, and only what is sealed is sent: the fleet's mark stands at the end of one. What
//! the fleet has taken is kept for a day, since a database that is restored, or a standby that lost its last second, asks
//! for it again.

use super::error::{StoreError, StoreErrorKind};
use super::sqlite::{Sqlite, unsigned};
use crate::record::hexadecimal;
use crate::record::missing::UNCLEAN_END;
use crate::record::tables::Tables;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha2::{Digest as _, Sha256};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// How long what the fleet has taken is kept, in microseconds.
const KEPT: i64 = 24 * 3_600 * 1_000_000;

/// What is sealed at once: more is sealed in several pieces.
const SEALED_AT_ONCE: i64 = 400;

/// The largest piece that is taken for one, unpacked.
const LARGEST: u64 = 256 * 1024 * 1024;

fn packed(rows: &Tables) -> Result<Vec<u8>, StoreError> {
    // Zstandard's compressor, which nothing else uses, would make the program 0.6 MB larger.
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::new(3));
    let text = serde_json::to_string(rows).map_err(unreadable)?;
    packer.write_all(text.as_bytes()).and_then(|()| packer.finish()).map_err(unreadable)
}

fn unpacked(packed: &[u8]) -> Result<Tables, StoreError> {
    let text = ZlibDecoder::new(packed).take(LARGEST);
    serde_json::from_reader(std::io::BufReader::new(text)).map_err(unreadable)
}

/// Whether a fleet is to have what is written.
pub(super) fn is_shared(database: &Sqlite) -> Result<bool, StoreError> {
    Ok(database.number("SELECT value FROM meta WHERE name = 'is_shared'", ())? == 1)
}

/// Says whether the gateway is a member of a fleet. What one that is none any more had not sent is dropped; one that
/// becomes a member sends what is in force.
pub(super) fn share(database: &Sqlite, is_member: bool, now: i64) -> Result<(), StoreError> {
    if is_member {
        // What comes from now on is told from what a store that was copied back held.
        while seal(database, now)? {}
    }
    if is_shared(database)? == is_member {
        return Ok(());
    }
    database.transaction(|| {
        let sql = "INSERT INTO meta (name, value) VALUES ('is_shared', ?1)
                   ON CONFLICT DO UPDATE SET value = excluded.value";
        database.run(sql, [is_member])?;
        if is_member {
            return put_in_force(database, now);
        }
        database.run("DELETE FROM outbox", ()).map(drop)
    })
}

/// Puts a piece in the outbox, within the transaction of its batch.
pub(super) fn put(database: &Sqlite, rows: &Tables, now: i64) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let next = "UPDATE meta SET value = value + 1 WHERE name = 'outbox' RETURNING value";
    let number = database.number(next, ())?;
    let sql = "INSERT INTO outbox (last, first, written, taken, sealed, body) VALUES (?1, ?1, ?2, 0, 0, ?3)";
    database.run(sql, (number, now, packed(rows)?)).map(drop)
}

/// Makes one of the pieces that came since the last time; `true` where there was anything to seal.
pub(super) fn seal(database: &Sqlite, now: i64) -> Result<bool, StoreError> {
    database.transaction(|| {
        let all = "SELECT first, body FROM outbox WHERE sealed = 0 AND first <
                   (SELECT min(first) FROM outbox WHERE sealed = 0) + ?1 ORDER BY first";
        let pieces = database.rows(all, [SEALED_AT_ONCE], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some(first) = pieces.first().map(|(first, _): &(i64, Vec<u8>)| *first) else { return Ok(false) };
        let mut end = first.saturating_add(SEALED_AT_ONCE);
        let mut sum = Tables::default();
        for (number, body) in pieces {
            match unpacked(&body) {
                Ok(rows) => sum.add(rows),
                Err(error) if number == first => {
                    // The fleet knows by its number that it is missing.
                    tracing::error!("{error}; what was counted then is missing in the fleet");
                    database.run("DELETE FROM outbox WHERE sealed = 0 AND first = ?1", [first])?;
                    return Ok(true);
                }
                // It is the first of the next ones.
                Err(_) => {
                    end = number;
                    break;
                }
            }
        }
        sum.missing.extend(database.missing_because(UNCLEAN_END)?);
        let open = "SELECT max(last) FROM outbox WHERE sealed = 0 AND first >= ?1 AND first < ?2";
        let last = database.value(open, [first, end])?.unwrap_or(first);
        database.run("DELETE FROM outbox WHERE sealed = 0 AND first >= ?1 AND first < ?2", [first, end])?;
        let sql =
            "INSERT INTO outbox (last, first, written, taken, sealed, body) VALUES (?1, ?2, ?3, 0, 1, ?4)";
        database.run(sql, (last, first, now, packed(&sum.summed())?))?;
        Ok(true)
    })
}

/// The fleet has taken everything up to `mark`.
pub(super) fn taken(database: &Sqlite, mark: i64, now: i64) -> Result<(), StoreError> {
    let sql = "UPDATE outbox SET taken = ?2 WHERE last <= ?1 AND sealed = 1 AND taken = 0";
    database.run(sql, [mark, now]).map(drop)
}

/// Removes what nobody will ask for again, and the oldest of what takes more than `most` bytes.
pub(super) fn prune(database: &Sqlite, most: u64, now: i64) -> Result<(), StoreError> {
    if !is_shared(database)? {
        return Ok(());
    }
    let old = "DELETE FROM outbox WHERE taken > 0 AND taken < ?1";
    database.run(old, [now.saturating_sub(KEPT)])?;
    if unsigned(database.number("SELECT sum(length(body)) FROM outbox", ())?) > most {
        // What the fleet has taken goes first. What it has not it will know to be missing by the numbers.
        let oldest = "DELETE FROM outbox WHERE last IN
                      (SELECT last FROM outbox WHERE sealed = 1 ORDER BY taken = 0, last LIMIT 100)";
        let gone = database.run(oldest, ())?;
        tracing::warn!(
            pieces = gone,
            "the outbox of the fleet is full: its oldest counts are removed, and will be missing in the fleet"
        );
    }
    Ok(())
}

/// Has the store `known` be another one for the fleet, with what was written since `opened`. Nothing happens where it is
/// one already.
///
/// A store that is copied back from a backup counts on under numbers that the fleet has seen already, with other counts.
/// What came since it was opened the fleet cannot have, and is sent under another id. Of what was there before nobody
/// knows: it is left out, and told.
pub(super) fn begin_anew(database: &Sqlite, known: &str, opened: i64, now: i64) -> Result<(), StoreError> {
    database.transaction(|| {
        let id = database.value("SELECT value FROM meta WHERE name = 'store_id'", ())?;
        if id.is_none_or(|id: i64| format!("{id:016x}") != known) {
            return Ok(());
        }
        database.run("DELETE FROM outbox WHERE taken > 0", ())?;
        let left = database.run("DELETE FROM outbox WHERE written <= ?1", [opened])?;
        if left > 0 {
            tracing::error!(
                pieces = left,
                "the store was copied back from elsewhere: what it held and had not sent is missing in the fleet, \
                 which may have it from the store that it was copied from"
            );
        }
        let before = database.value::<i64>("SELECT min(first) - 1 FROM outbox HAVING count(*) > 0", ())?;
        if let Some(before) = before {
            database.run("UPDATE outbox SET first = first - ?1, last = last - ?1", [before])?;
        }
        let last = database.number("SELECT coalesce(max(last), 0) FROM outbox", ())?;
        database.run("UPDATE meta SET value = ?1 WHERE name = 'outbox'", [last])?;
        database.run("UPDATE meta SET value = abs(random() / 2) WHERE name = 'store_id'", ())?;
        put_in_force(database, now)
    })
}

/// Puts what is in force in the outbox: to a fleet that never had it, that is news.
fn put_in_force(database: &Sqlite, now: i64) -> Result<(), StoreError> {
    let sql = "SELECT site, lower(hex(sha256)), since, until FROM version WHERE until = 0";
    let versions = database.rows(sql, (), |row| row.try_into())?;
    let mut rows = Tables { versions, ..Tables::default() };
    for (_, sha256, ..) in &rows.versions {
        let sql = "SELECT bytes FROM robots WHERE lower(hex(sha256)) = ?1";
        let bytes = database.value::<Vec<u8>>(sql, [sha256])?;
        rows.robots.extend(bytes.map(|bytes| (sha256.clone(), STANDARD.encode(bytes))));
    }
    put(database, &rows, now)
}

fn unreadable(error: impl std::fmt::Display) -> StoreError {
    StoreError::new(StoreErrorKind::Other, format!("a piece of the fleet's outbox cannot be read: {error}"))
}

/// How long a reader waits for a writer that is just starting.
const PATIENCE: Duration = Duration::from_millis(500);

/// The outbox of a store.
#[derive(Debug)]
pub struct OutboxReader(Sqlite);

/// What is sent at once.
#[derive(Clone, Debug)]
pub struct OutboxBatch {
    /// The number of its first piece.
    pub first: i64,
    /// The number of its last piece.
    pub last: i64,
    /// What tells it from one of another store with the same numbers.
    pub piece: String,
    /// Its rows; `None` where they cannot be read.
    pub rows: Option<Tables>,
}

/// What of an outbox is after a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxState {
    /// The number of the last piece there ever was.
    pub last: i64,
    /// How many batches wait, the one counted that is not sealed yet.
    pub waiting: i64,
    /// When the oldest of them was written, in microseconds; 0 where none waits.
    pub since: i64,
}

impl OutboxReader {
    /// Opens the outbox of the store in the file `path`.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Sqlite::open_to_read(path, PATIENCE).map(Self)
    }

    /// What tells this store from every other one; `None` of one that is not set up yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn store(&self) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE name = 'store_id'";
        Ok(self.0.value(sql, ())?.map(|id: i64| format!("{id:016x}")))
    }

    /// What waits after `mark`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn state(&self, mark: i64) -> Result<OutboxState, StoreError> {
        let last = self.0.number("SELECT value FROM meta WHERE name = 'outbox'", ())?;
        let sql = "SELECT count(*) FILTER (WHERE sealed = 1) + (count(*) FILTER (WHERE sealed = 0) > 0),
                   coalesce(min(written), 0) FROM outbox WHERE last > ?1";
        let found = self
            .0
            .rows(sql, [mark], |row| Ok(OutboxState { last, waiting: row.get(0)?, since: row.get(1)? }))?;
        Ok(found.first().copied().unwrap_or_default())
    }

    /// The next batch after `mark`; `None` where nothing is sealed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn after(&self, mark: i64) -> Result<Option<OutboxBatch>, StoreError> {
        let sql = "SELECT first, last, written, body FROM outbox WHERE sealed = 1 AND last > ?1 ORDER BY last LIMIT 1";
        let found = self.0.rows(sql, [mark], |row| row.try_into())?;
        let batch = |row: &PieceRow| {
            let rows = unpacked(&row.3).inspect_err(|error| tracing::error!("{error}")).ok();
            OutboxBatch { first: row.0, last: row.1, piece: piece(row), rows }
        };
        Ok(found.first().map(batch))
    }

    /// Whether the fleet has counted something else under the numbers up to `mark`, where it had `last_piece` last: then
    /// this store was copied back from elsewhere. What is not kept any more cannot be compared.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn differs(&self, mark: i64, last_piece: &str) -> Result<bool, StoreError> {
        if mark > self.state(mark)?.last {
            return Ok(true);
        }
        let sql = "SELECT first, last, written, body, sealed FROM outbox WHERE first <= ?1 AND last >= ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let found: PieceRow = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let is_end = row.get::<_, bool>(4)? && found.1 == mark;
            Ok(!is_end || !last_piece.is_empty() && piece(&found) != last_piece)
        };
        Ok(self.0.rows(sql, [mark], read)?.first().copied().unwrap_or(false))
    }

    /// Whether something up to `mark` is not noted as taken yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_news(&self, mark: i64) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) > 0 FROM outbox WHERE sealed = 1 AND taken = 0 AND last <= ?1";
        Ok(self.0.value(sql, [mark])?.unwrap_or(false))
    }
}

/// First and last number, when it was written, and the body.
type PieceRow = (i64, i64, i64, Vec<u8>);

fn piece((first, last, written, body): &PieceRow) -> String {
    let mut digest = Sha256::new();
    for number in [first, last, written] {
        digest.update(number.to_be_bytes());
    }
    digest.update(body);
    hexadecimal(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::super::open::StoreFile;
    use super::super::tests::StoreFolder;
    use super::*;
    use crate::record::missing::{Missing, MissingWhat, NOT_WRITTEN};

    fn store(folder: &StoreFolder) -> Sqlite {
        StoreFile::new(folder.store()).open(false).unwrap().database
    }

    fn count(database: &Sqlite, count: u64, now: i64) {
        let mut rows = Tables::default();
        rows.missing.push(Missing::new(MissingWhat::Details, NOT_WRITTEN, (0, 1), Some(count)));
        put(database, &rows, now).unwrap();
        seal(database, now).unwrap();
    }

    #[test]
    fn what_a_store_counts_after_it_was_copied_back_is_sent_under_another_id() {
        let folder = StoreFolder::new();
        let database = store(&folder);
        share(&database, true, 0).unwrap();
        for number in 1..=3 {
            count(&database, number, 10);
        }
        taken(&database, 2, 11).unwrap();
        // It was copied back here, and opened at 20. The fleet has the third piece from the store that it was copied from.
        for number in 4..=5 {
            count(&database, number, 30);
        }
        let outbox = OutboxReader::open(&folder.store()).unwrap();
        let batch = outbox.after(3).unwrap().unwrap();
        assert_eq!((outbox.differs(4, &batch.piece), outbox.differs(4, "another")), (Ok(false), Ok(true)));
        assert_eq!(
            (outbox.differs(6, ""), outbox.differs(0, ""), outbox.differs(5, "")),
            (Ok(true), Ok(false), Ok(false))
        );
        let id = outbox.store().unwrap().unwrap();
        begin_anew(&database, &id, 20, 40).unwrap();
        let anew = outbox.store().unwrap().unwrap();
        assert_ne!(anew, id);
        let sent = |after: i64| {
            outbox
                .after(after)
                .unwrap()
                .map(|batch| (batch.first, batch.last, batch.rows.unwrap().missing[0].count.unwrap()))
        };
        assert_eq!((sent(0), sent(1), sent(2)), (Some((1, 1, 4)), Some((2, 2, 5)), None));
        // It is said again until the member has another id.
        begin_anew(&database, &id, 20, 40).unwrap();
        assert_eq!(outbox.store().unwrap().unwrap(), anew);
    }

    #[test]
    fn a_gateway_that_becomes_a_member_sends_what_is_in_force() {
        let folder = StoreFolder::new();
        let database = store(&folder);
        for (site, until) in [("a", 5), ("b", 0)] {
            database
                .run("INSERT INTO robots (sha256, bytes) VALUES (x'AB', x'78') ON CONFLICT DO NOTHING", ())
                .unwrap();
            let sql = "INSERT INTO version (site, sha256, since, until) VALUES (?1, x'AB', 1, ?2)";
            database.run(sql, (site, until)).unwrap();
        }
        share(&database, true, 7).unwrap();
        seal(&database, 8).unwrap();
        let rows = OutboxReader::open(&folder.store()).unwrap().after(0).unwrap().unwrap().rows.unwrap();
        assert_eq!(rows.versions, [("b".into(), "ab".into(), 1, 0)]);
        assert_eq!(rows.robots["ab"], "eA==");
    }
}
