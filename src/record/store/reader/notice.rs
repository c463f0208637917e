//! Versions and reads: what fair notice rests on (RFC 9309 §2.4).

use super::{Filter, StoreReader};
use crate::decide::{NoticeTime, RulesId, VersionId};
use crate::record::store::error::StoreError;
use crate::record::store::sqlite::unsigned;
use crate::record::store::words::{self, non_empty};
use crate::record::store::write::ROWS_NOTED;
use crate::record::tally::{CountSubject, ReadKey, SeenRead, instant};
use rusqlite::Row;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// As many readers as a gateway remembers.
const REMEMBERED: usize = 65_536;

/// One stretch of time in which a version was in force at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRecord {
    /// Its row: versions are ordered by it, whatever a clock said.
    pub row: u64,
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
    /// On which host; `(other)` beyond the first 1,000 readers of a crawler and version.
    pub host: Box<str>,
    /// From which network, where nothing proved who it was.
    pub network: Option<Box<str>>,
    /// Which group of the file was the reader's: its token, `*`, or `(none)`. `None` where that was not noted.
    pub chosen: Option<Box<str>>,
    /// Which version.
    pub version: VersionId,
    /// What that said.
    pub rules: RulesId,
    /// When that had come into force.
    pub in_force: SystemTime,
    /// What the policy of the last read was built from.
    pub as_of: NoticeTime,
    /// When the first read under that policy was, on the clock that notice runs by.
    pub at: NoticeTime,
    /// The first read.
    pub first: SystemTime,
    /// The last read.
    pub last: SystemTime,
    /// How many.
    pub count: u64,
}

impl ReadTotal {
    /// Reads that were counted of a log.
    pub(in crate::record) fn of(subject: &Arc<CountSubject>, key: &ReadKey, read: &SeenRead) -> Self {
        Self {
            subject: Arc::clone(subject),
            host: key.host.clone(),
            network: key.network.clone(),
            chosen: key.chosen.clone(),
            version: key.version,
            rules: key.rules,
            in_force: instant(key.in_force),
            as_of: NoticeTime::default(),
            at: NoticeTime::default(),
            first: instant(read.seen.first),
            last: instant(read.seen.last),
            count: read.seen.count,
        }
    }

    /// A read that another member of a fleet saw, in the words of the database. `None` where a word
    /// is not known.
    pub fn of_words(subject: [&str; 5], place: [&str; 3], rules: &str) -> Option<Self> {
        let [version, host, network] = place;
        Some(Self {
            subject: Arc::new(words::subject(subject)?),
            host: host.into(),
            network: non_empty(network).map(Into::into),
            chosen: None,
            version: version.parse().ok()?,
            rules: rules.parse().ok()?,
            in_force: SystemTime::UNIX_EPOCH,
            as_of: NoticeTime::default(),
            at: NoticeTime::default(),
            first: SystemTime::UNIX_EPOCH,
            last: SystemTime::UNIX_EPOCH,
            count: 1,
        })
    }
}

impl StoreReader {
    /// All versions of a site, or of all sites, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn versions(&self, site: Option<&str>) -> Result<Vec<VersionRecord>, StoreError> {
        let sql = "SELECT site, version.sha256, bytes, since, until, id FROM version
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

    /// The latest reads of as many readers as a gateway remembers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn remembered(&self) -> Result<Vec<ReadTotal>, StoreError> {
        let mut reads = self.reads(&Filter::default())?;
        if reads.len() > REMEMBERED {
            reads.sort_by_key(|read| std::cmp::Reverse(read.as_of));
            reads.truncate(REMEMBERED);
        }
        Ok(reads)
    }
}

fn version(row: &Row<'_>) -> Result<VersionRecord, rusqlite::Error> {
    let sha256: Option<[u8; 32]> = row.get_ref(1)?.as_blob()?.try_into().ok();
    let until: i64 = row.get(4)?;
    Ok(VersionRecord {
        row: unsigned(row.get(5)?),
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
    let Ok(version) = row.get_ref(1)?.as_str()?.parse() else { return Ok(None) };
    let Ok(rules) = row.get_ref(8)?.as_str()?.parse() else { return Ok(None) };
    Ok(Some(ReadTotal {
        subject,
        host: row.get(3)?,
        network: non_empty(row.get_ref(4)?.as_str()?).map(Into::into),
        chosen: non_empty(row.get_ref(10)?.as_str()?).map(Into::into),
        version,
        rules,
        in_force: instant(row.get(2)?),
        as_of: NoticeTime(Duration::from_micros(unsigned(row.get(11)?))),
        at: NoticeTime(Duration::from_micros(unsigned(row.get(9)?))),
        first: instant(row.get(5)?),
        last: instant(row.get(6)?),
        count: unsigned(row.get(7)?),
    }))
}
