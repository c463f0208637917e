//! Versions and reads: what fair notice rests on (RFC 9309 §2.4).

use super::{Filter, StoreReader};
use crate::decide::{NoticeTime, Read, VersionId};
use crate::record::store::error::StoreError;
use crate::record::store::sqlite::unsigned;
use crate::record::store::write::ROWS_NOTED;
use crate::record::tables::{ReadKey, ReadSum};
use crate::record::tally::{CountSubject, SeenInstants, instant};
use rusqlite::Row;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One stretch of time in which a version was in force at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRecord {
    /// The site.
    pub site: Box<str>,
    /// SHA-256 of the file; `None` for a site without one.
    pub sha256: Option<[u8; 32]>,
    /// What the digest begins with: the version's name.
    pub id: Option<VersionId>,
    /// The file; `None` for a site without one, and where the size cap has removed it.
    pub bytes: Option<Arc<[u8]>>,
    /// When it came into force.
    pub from: SystemTime,
    /// When another took its place; `None` while it is in force.
    pub until: Option<SystemTime>,
}

/// What one reader read of one version, since that came into force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadTotal {
    /// Who.
    pub subject: Arc<CountSubject>,
    /// What, and where.
    pub key: ReadKey,
    /// When, and how often.
    pub sum: ReadSum,
}

impl ReadTotal {
    /// What fair notice makes of it: the first read under the policy of the last one.
    pub fn read(&self) -> Read {
        let time = |micros| NoticeTime(Duration::from_micros(micros));
        let ReadSum { rules, as_of, at, .. } = self.sum;
        Read { rules, as_of: time(as_of), at: time(unsigned(at)) }
    }

    /// A read that another member of a fleet saw: of whom, as JSON, of which version on which host and from which network,
    /// and what that said. `None` where a word is not known.
    pub fn of_member(subject: &str, [version, host, network]: [&str; 3], rules: &str) -> Option<Self> {
        let (version, rules) = (version.parse().ok()?, rules.parse().ok()?);
        let network = Some(network).filter(|network| !network.is_empty()).map(Into::into);
        let key = ReadKey { version, in_force: 0, host: host.into(), network, chosen: None };
        let sum = ReadSum { rules, seen: SeenInstants { first: 0, last: 0, count: 1 }, as_of: 0, at: 0 };
        Some(Self { subject: Arc::new(serde_json::from_str(subject).ok()?), key, sum })
    }
}

impl StoreReader {
    /// All versions of a site, or of all sites, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn versions(&self, site: Option<&str>) -> Result<Vec<VersionRecord>, StoreError> {
        let sql = "SELECT site, version.sha256, bytes, since, until FROM version
                   LEFT JOIN robots ON robots.sha256 = version.sha256 ORDER BY since, id";
        let mut found = self.database.rows(sql, (), version)?;
        found.retain(|version| site.is_none_or(|site| site.eq_ignore_ascii_case(&version.site)));
        Ok(found)
    }

    /// All reads, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn reads(&self, filter: &Filter) -> Result<Vec<ReadTotal>, StoreError> {
        let sql =
            "SELECT subject, version, in_force, host, network, first, last, count, rules, at, chosen, as_of
                   FROM read ORDER BY first, in_force";
        Ok(self.of_subjects(&self.subjects(filter)?, sql, (), read)?.into_iter().flatten().collect())
    }

    /// When rows of what is served were written last, as far as the store knows; `None` where none were.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn rows_noted(&self) -> Result<Option<NoticeTime>, StoreError> {
        let found = self.database.value("SELECT value FROM meta WHERE name = ?1", [ROWS_NOTED])?;
        Ok(found.map(|micros| NoticeTime(Duration::from_micros(unsigned(micros)))))
    }
}

fn version(row: &Row<'_>) -> Result<VersionRecord, rusqlite::Error> {
    let sha256: Option<[u8; 32]> = row.get_ref(1)?.as_blob()?.try_into().ok();
    let until: i64 = row.get(4)?;
    Ok(VersionRecord {
        site: row.get(0)?,
        sha256,
        id: sha256.map(VersionId::of_digest),
        bytes: row.get(2)?,
        from: instant(row.get(3)?),
        until: (until > 0).then(|| instant(until)),
    })
}

/// `None` for a version that has no name, or says nothing that has one, which nothing writes.
fn read(subject: Arc<CountSubject>, row: &Row<'_>) -> Result<Option<ReadTotal>, rusqlite::Error> {
    let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let word = |column| text(column).map(|text| Some(text).filter(|text| !text.is_empty()).map(Into::into));
    let (Ok(version), Ok(rules)) = (text(1)?.parse(), text(8)?.parse()) else { return Ok(None) };
    let key =
        ReadKey { version, in_force: row.get(2)?, host: row.get(3)?, network: word(4)?, chosen: word(10)? };
    let seen = SeenInstants { first: row.get(5)?, last: row.get(6)?, count: unsigned(row.get(7)?) };
    let sum = ReadSum { rules, seen, as_of: unsigned(row.get(11)?), at: row.get(9)? };
    Ok(Some(ReadTotal { subject, key, sum }))
}
