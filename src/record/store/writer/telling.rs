//! What the writer tells of itself: its status, and the log's lines where that changes.

use super::super::error::{StoreError, StoreErrorKind};
use super::StoreWriter;
use crate::record::event::timestamp;
use crate::record::missing::{Missing, MissingWhat, SIZE_CAP};
use crate::record::tally::{CountBatch, Tally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// What the store is doing; part of the answer of `gatewayctl status`, so its field names are public API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreStatus {
    /// Its file.
    pub path: String,
    /// Why it cannot be written, while it cannot.
    pub error: Option<String>,
    /// Since when.
    pub failing_since: Option<String>,
    /// Size of the database, in bytes.
    pub bytes: u64,
    /// Events and targets that found no room.
    pub details_dropped: u64,
    /// Reads of robots.txt that found none.
    pub reads_lost: u64,
    /// Requests that are missing from the counts.
    pub counts_lost: u64,
    /// Details that the size cap took.
    pub details_removed: u64,
    /// Requests whose counts the size cap took.
    pub counts_removed: u64,
    /// Why the time of day is not gone by when what is old is removed, while that is so.
    pub clock_doubt: Option<String>,
    /// What befell the store since the start, the latest first: when, and what. Broken stores that were set aside, files
    /// that were replaced, and gateways that ended without writing what they had counted last.
    pub incidents: Vec<String>,
}

/// Requests by crawler, by what the rules said, and by what was done. Only names of the catalogue are counted, so there are
/// as many as it has.
pub type CrawlerCounts = BTreeMap<(Box<str>, &'static str, &'static str), u64>;

/// Adds what a batch counted. A borrowed name is not its bearer's.
pub(super) fn add_by_crawler(counts: &mut CrawlerCounts, batch: &[CountBatch]) {
    for (subject, account) in batch.iter().flat_map(|part| &part.accounts) {
        // Only what the catalogue knows has a purpose.
        let is_its_own = subject.purpose.is_some() && !subject.is_borrowed();
        let Some(name) = subject.crawler.as_ref().filter(|_| is_its_own) else { continue };
        for uses in account.decisions.values() {
            let (verdict, action) = (uses.decision.kind.as_str(), uses.decision.action.as_str());
            let count: u64 = uses.periods.iter().map(|(_, count)| count).sum();
            *counts.entry((name.clone(), verdict, action)).or_default() += count;
        }
    }
}

impl StoreWriter {
    pub(super) fn fail(&mut self, error: &StoreError) {
        self.is_corrupt |= error.kind() == StoreErrorKind::Corrupt;
        if !matches!(error.kind(), StoreErrorKind::Busy | StoreErrorKind::Full) {
            self.database = None;
        }
        let message = error.to_string();
        let is_news = self.with_status(|status| {
            let is_news = status.error.is_none();
            status.failing_since.get_or_insert_with(|| timestamp(SystemTime::now()));
            status.error = Some(message.clone());
            is_news
        });
        if is_news {
            tracing::error!(
                store = %self.options.path.display(),
                "cannot write the store: {message}; counts wait in memory until it can be written"
            );
        }
    }

    pub(super) fn recover(&self) {
        let was_failing = self.with_status(|status| {
            status.error = None;
            status.failing_since.take().is_some()
        });
        if was_failing {
            tracing::info!(store = %self.options.path.display(), "the store is written again");
        }
    }

    /// What keeps the store small failed, or works again: counts are written all the same.
    pub(super) fn note_housekeeping(&mut self, kept: Result<(), StoreError>) {
        let was_failing = std::mem::replace(&mut self.housekeeping_fails, kept.is_err());
        let Err(error) = kept else { return };
        if error.kind() == StoreErrorKind::Corrupt {
            (self.is_corrupt, self.database) = (true, None);
        }
        if !was_failing {
            tracing::error!(
                store = %self.options.path.display(),
                "the store is written, but removing old data fails: {error}; trying again"
            );
        }
    }

    pub(super) fn show_losses(&self, tally: &Tally) {
        let waiting = tally.missing();
        let sum = |what| {
            let frozen = self.frozen.iter().flat_map(|part| &part.room.missing);
            Missing::sum(self.lacked.iter().chain(frozen).chain(&waiting), what)
        };
        let has_begun = self.with_status(|status| {
            let lost = std::mem::replace(&mut status.counts_lost, sum(MissingWhat::Requests));
            status.details_dropped = sum(MissingWhat::Details);
            status.reads_lost = sum(MissingWhat::Reads);
            lost == 0 && status.counts_lost > 0
        });
        if has_begun {
            tracing::error!(
                "the memory for counts is full while the store cannot be written: counts are lost"
            );
        }
    }

    pub(super) fn show_clock(&self) {
        let doubt = &self.clock.doubt;
        let was = self.with_status(|status| std::mem::replace(&mut status.clock_doubt, doubt.clone()));
        match (was, doubt) {
            (None, Some(doubt)) => tracing::warn!("{doubt}"),
            (Some(_), None) => tracing::info!("the clock is right again: old data is removed by it"),
            _ => {}
        }
    }

    pub(super) fn show_size(&mut self) -> Result<(), StoreError> {
        let Some(database) = &self.database else { return Ok(()) };
        let bytes = database.bytes()?;
        let taken = database.missing_because(SIZE_CAP)?;
        let [details_removed, counts_removed] =
            [MissingWhat::Details, MissingWhat::Requests].map(|what| Missing::sum(&taken, what));
        let is_news = self.with_status(|status| {
            let before = status.details_removed + status.counts_removed;
            (status.bytes, status.details_removed, status.counts_removed) =
                (bytes, details_removed, counts_removed);
            before == 0 && details_removed + counts_removed > 0
        });
        if is_news {
            tracing::warn!(
                details_removed,
                counts_removed,
                "the store is at its size cap: the oldest details go, and then the oldest counts"
            );
        }
        Ok(())
    }

    pub(super) fn with_status<T>(&self, change: impl FnOnce(&mut StoreStatus) -> T) -> T {
        change(&mut self.shown.status.lock())
    }
}
