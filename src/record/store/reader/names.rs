//! Subjects and decisions by their ids.

use super::{Filter, StoreReader};
use crate::record::store::error::{StoreError, StoreErrorKind};
use crate::record::store::words;
use crate::record::tally::{CountSubject, CountedDecision};
use std::collections::HashMap;
use std::sync::Arc;

/// Things by their ids in the store.
pub(super) type ById<T> = HashMap<i64, Arc<T>>;

impl StoreReader {
    /// The subjects that a filter admits.
    pub(super) fn subjects(&self, filter: &Filter) -> Result<ById<CountSubject>, StoreError> {
        let all = self.by_id("SELECT id, site, client, crawler, purpose, proof FROM subject", subject)?;
        Ok(all.into_iter().filter(|(_, subject)| filter.admits(subject)).collect())
    }

    pub(super) fn decisions(&self) -> Result<ById<CountedDecision>, StoreError> {
        self.by_id(
            "SELECT id, kind, action, notice, version, tokens, CAST(line AS TEXT), rule, proof_by FROM decision",
            decision,
        )
    }

    fn by_id<T>(&self, sql: &str, read: impl Fn(&[&str]) -> Option<T>) -> Result<ById<T>, StoreError> {
        let found = self.rows(sql, [], |row| {
            let words = (1..row.as_ref().column_count()).map(|column| Ok(row.get_ref(column)?.as_str()?));
            Ok((row.get::<_, i64>(0)?, read(&words.collect::<rusqlite::Result<Vec<&str>>>()?)))
        })?;
        let known = |(id, value): (i64, Option<T>)| {
            let unknown = || format!("the store holds a word that this program does not know (row {id})");
            let value = value.ok_or_else(|| StoreError::new(StoreErrorKind::Other, unknown()))?;
            Ok((id, Arc::new(value)))
        };
        found.into_iter().map(known).collect()
    }
}

pub(super) fn subject(words: &[&str]) -> Option<CountSubject> {
    let [site, client, crawler, purpose, proof] = *words else { return None };
    Some(CountSubject {
        site: site.into(),
        client: client.parse().ok()?,
        crawler: non_empty(crawler).map(Into::into),
        purpose: non_empty(purpose).map(str::parse).transpose().ok()?,
        proof: proof.parse().ok()?,
    })
}

fn decision(words: &[&str]) -> Option<CountedDecision> {
    let [kind, action, notice, version, tokens, line, rule, proof_by] = *words else { return None };
    Some(CountedDecision {
        kind: kind.parse().ok()?,
        action: action.parse().ok()?,
        notice: non_empty(notice).map(str::parse).transpose().ok()?,
        version: non_empty(version).map(str::parse).transpose().ok()?,
        group: words::group(tokens),
        line: line.parse().ok().filter(|line| *line > 0),
        rule: non_empty(rule).map(Into::into),
        proof_by: non_empty(proof_by).map(str::parse).transpose().ok()?,
    })
}

/// Nothing is kept as an empty text.
pub(super) fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
