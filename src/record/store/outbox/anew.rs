//! A store that becomes another one for the fleet, or is new to it.
//!
//! A store that is copied back from a backup counts on under numbers that the fleet has seen already, with other counts.
//! It goes on under another id then. What came since it was opened the fleet cannot have, and is sent under the new one.
//! Of what was there before nobody knows: it is left out, and told.

use super::super::database::{Database, SqlValue, transaction};
use super::super::error::StoreError;
use super::{ExportedRows, put, unreadable};
use SqlValue::{Integer, Text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Has the store `known` be another one for the fleet, with what was written since `opened`. Nothing happens where it is
/// one already.
pub(in crate::record::store) fn begin_anew<D: Database>(
    database: &mut D,
    known: &str,
    opened: i64,
    now: i64,
) -> Result<(), StoreError> {
    transaction(database, |database| {
        let id = database.number("SELECT value FROM meta WHERE name = 'store_id'", &[])?;
        if id.is_none_or(|id| format!("{id:016x}") != known) {
            return Ok(());
        }
        database.run("DELETE FROM outbox WHERE taken > 0", &[])?;
        let left = database.run("DELETE FROM outbox WHERE written <= ?1", &[Integer(opened)])?;
        if left > 0 {
            tracing::error!(
                pieces = left,
                "the store was copied back from elsewhere: what it held and had not sent is missing in the fleet, \
                 which may have it from the store that it was copied from"
            );
        }
        let before = database.number("SELECT min(first) - 1 FROM outbox HAVING count(*) > 0", &[])?;
        if let Some(before) = before {
            database.run("UPDATE outbox SET first = first - ?1, last = last - ?1", &[Integer(before)])?;
        }
        let last = database.number("SELECT coalesce(max(last), 0) FROM outbox", &[])?.unwrap_or_default();
        database.run("UPDATE meta SET value = ?1 WHERE name = 'outbox'", &[Integer(last)])?;
        database.run("UPDATE meta SET value = abs(random() / 2) WHERE name = 'store_id'", &[])?;
        put_in_force(database, now)
    })
}

/// Puts what is in force in the outbox: to a fleet that never had it, that is news.
pub(super) fn put_in_force<D: Database>(database: &mut D, now: i64) -> Result<(), StoreError> {
    let sql = "SELECT CAST(json_array(site, lower(hex(sha256)), since, until) AS BLOB) FROM version WHERE until = 0";
    let mut rows = ExportedRows::default();
    for version in database.bodies(sql, &[])? {
        rows.versions.push(serde_json::from_slice(&version).map_err(unreadable)?);
    }
    for (_, sha256, ..) in &rows.versions {
        let sql = "SELECT bytes FROM robots WHERE lower(hex(sha256)) = ?1";
        let bytes = database.bodies(sql, &[Text(sha256)])?;
        rows.robots.extend(bytes.first().map(|bytes| (sha256.clone(), STANDARD.encode(bytes))));
    }
    put(database, &rows, now)
}

#[cfg(test)]
mod tests {
    use super::super::super::open::{DatabaseSource as _, StoreFile};
    use super::super::super::sqlite::Sqlite;
    use super::super::super::tests::StoreFolder;
    use super::super::{OutboxReader, seal, share, taken};
    use super::*;

    fn store(folder: &StoreFolder) -> Sqlite {
        StoreFile::new(folder.store()).open(false).unwrap().database
    }

    fn count(database: &mut Sqlite, count: u64, now: i64) {
        let mut rows = ExportedRows::default();
        rows.losses.push(((0, 3_600, "details".into()), count));
        put(database, &rows, now).unwrap();
        seal(database, now).unwrap();
    }

    #[test]
    fn what_a_store_counts_after_it_was_copied_back_is_sent_under_another_id() {
        let folder = StoreFolder::new();
        let mut database = store(&folder);
        share(&mut database, true, 0).unwrap();
        for number in 1..=3 {
            count(&mut database, number, 10);
        }
        taken(&mut database, 2, 11).unwrap();
        // It was copied back here, and opened at 20. The fleet has the third piece from the store that it was copied from.
        for number in 4..=5 {
            count(&mut database, number, 30);
        }
        let outbox = OutboxReader::open(&folder.store()).unwrap();
        let batch = outbox.after(3).unwrap().unwrap();
        assert_eq!((outbox.differs(4, &batch.piece), outbox.differs(4, "another")), (Ok(false), Ok(true)));
        assert_eq!(
            (outbox.differs(6, ""), outbox.differs(0, ""), outbox.differs(5, "")),
            (Ok(true), Ok(false), Ok(false))
        );
        let id = outbox.store().unwrap().unwrap();
        begin_anew(&mut database, &id, 20, 40).unwrap();
        let anew = outbox.store().unwrap().unwrap();
        assert_ne!(anew, id);
        let sent = |after: i64| {
            outbox
                .after(after)
                .unwrap()
                .map(|batch| (batch.first, batch.last, batch.rows.unwrap().losses[0].1))
        };
        assert_eq!((sent(0), sent(1), sent(2)), (Some((1, 1, 4)), Some((2, 2, 5)), None));
        // It is said again until the member has another id.
        begin_anew(&mut database, &id, 20, 40).unwrap();
        assert_eq!(outbox.store().unwrap().unwrap(), anew);
    }

    #[test]
    fn a_gateway_that_becomes_a_member_sends_what_is_in_force() {
        let folder = StoreFolder::new();
        let mut database = store(&folder);
        for (site, until) in [("a", 5), ("b", 0)] {
            let values = [Text(site), Integer(until)];
            database
                .run("INSERT INTO robots (sha256, bytes) VALUES (x'AB', x'78') ON CONFLICT DO NOTHING", &[])
                .unwrap();
            let sql = "INSERT INTO version (site, sha256, since, until) VALUES (?1, x'AB', 1, ?2)";
            database.run(sql, &values).unwrap();
        }
        share(&mut database, true, 7).unwrap();
        seal(&mut database, 8).unwrap();
        let rows = OutboxReader::open(&folder.store()).unwrap().after(0).unwrap().unwrap().rows.unwrap();
        assert_eq!(rows.versions, [("b".into(), "ab".into(), 1, 0)]);
        assert_eq!(rows.robots["ab"], "eA==");
    }
}
