//! Subjects and decisions by their ids.

use super::{Filter, StoreReader};
use crate::decide::VersionId;
use crate::identify::Purpose;
use crate::record::store::error::{StoreError, StoreErrorKind};
use crate::record::store::sqlite::fault;
use crate::record::store::words;
use crate::record::tally::{Decision, Subject};
use rusqlite::Row;
use std::collections::HashMap;
use std::sync::Arc;

/// Things by their ids in the store.
pub(super) type ById<T> = HashMap<i64, Arc<T>>;

impl StoreReader {
    /// The subjects that a filter admits.
    pub(super) fn subjects(&self, filter: &Filter) -> Result<ById<Subject>, StoreError> {
        let all = self.by_id("SELECT id, site, client, crawler, purpose, proof FROM subject", subject)?;
        Ok(all.into_iter().filter(|(_, subject)| filter.admits(subject)).collect())
    }

    pub(super) fn decisions(&self) -> Result<ById<Decision>, StoreError> {
        self.by_id("SELECT id, kind, action, notice, version, tokens, line, rule FROM decision", decision)
    }

    fn by_id<T>(
        &self,
        sql: &str,
        read: impl Fn(&Row<'_>) -> Result<Option<T>, rusqlite::Error>,
    ) -> Result<ById<T>, StoreError> {
        let mut statement = self.connection.prepare(sql).map_err(fault)?;
        let mut rows = statement.query([]).map_err(fault)?;
        let mut found = HashMap::new();
        while let Some(row) = rows.next().map_err(fault)? {
            let id = row.get(0).map_err(fault)?;
            let Some(value) = read(row).map_err(fault)? else {
                let message = format!("the store holds a word that this program does not know (row {id})");
                return Err(StoreError::new(StoreErrorKind::Other, message));
            };
            found.insert(id, Arc::new(value));
        }
        Ok(found)
    }
}

fn subject(row: &Row<'_>) -> Result<Option<Subject>, rusqlite::Error> {
    let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let (site, client, crawler, purpose, proof) = (text(1)?, text(2)?, text(3)?, text(4)?, text(5)?);
    let purpose: Option<Purpose> = match optional(purpose) {
        None => None,
        Some(word) => match word.parse() {
            Ok(purpose) => Some(purpose),
            Err(_) => return Ok(None),
        },
    };
    let (Ok(client), Some(proof)) = (client.parse(), words::proof(proof)) else { return Ok(None) };
    Ok(Some(Subject {
        site: site.into(),
        client,
        crawler: optional(crawler).map(Into::into),
        purpose,
        proof,
    }))
}

fn decision(row: &Row<'_>) -> Result<Option<Decision>, rusqlite::Error> {
    let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let (Some(kind), Some(action)) = (words::kind(text(1)?), words::action(text(2)?)) else {
        return Ok(None);
    };
    let (notice, version) = (optional(text(3)?), optional(text(4)?));
    let line: u32 = row.get(6)?;
    let found = Decision {
        kind,
        action,
        notice: notice.and_then(words::notice),
        version: version.and_then(VersionId::parse),
        group: words::group(text(5)?),
        line: (line > 0).then_some(line),
        rule: optional(text(7)?).map(Into::into),
    };
    let is_whole = found.notice.is_some() == notice.is_some() && found.version.is_some() == version.is_some();
    Ok(is_whole.then_some(found))
}

/// Nothing is kept as an empty text.
pub(super) fn optional(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
