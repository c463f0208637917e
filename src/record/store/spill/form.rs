//! Batches as lines of JSON, and back: strictly, so that what is not as it was written is not counted.
//!
//! The first line names the process; a batch is a line, and so is each of its accounts; the last line is the SHA-256 of
//! all lines before. Words are those of the database.

use crate::record::tally::{CountBatch, CountSubject, InForce, Losses, SubjectCounts};
use crate::record::unseen::Unseen;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;

/// How much of a batch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    Full,
    /// Without targets and events: counts and reads take a small part of the room.
    Counts,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SpillLine<'a> {
    Process(ProcessLine<'a>),
    Batch(BatchLine<'a>),
    Account(Cow<'a, CountSubject>, Cow<'a, SubjectCounts>),
    Sha256(Cow<'a, str>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessLine<'a> {
    pub(super) form: u32,
    pub(super) process: Cow<'a, str>,
    /// When it was written, in microseconds.
    pub(super) at: i64,
    /// Whether the process counted nothing after that.
    pub(super) is_all: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchLine<'a> {
    pub(super) sequence: i64,
    versions: Cow<'a, [InForce]>,
    unseen: Cow<'a, [Unseen]>,
    ledger_entry: u64,
    losses: Losses,
}

impl<'a> BatchLine<'a> {
    pub(super) fn of(batch: &'a CountBatch, sequence: i64, detail: Detail) -> Self {
        let mut losses = batch.losses();
        if detail == Detail::Counts {
            let left_out: u64 = batch.accounts.values().map(details).sum();
            losses.details_dropped = losses.details_dropped.saturating_add(left_out);
        }
        let (versions, unseen) = ((&*batch.versions).into(), (&*batch.unseen).into());
        Self { sequence, versions, unseen, ledger_entry: batch.ledger_entry, losses }
    }

    /// A batch begins with all but its accounts.
    pub(super) fn begin(self, batch: &mut CountBatch) {
        (batch.versions, batch.unseen) = (self.versions.into_owned(), self.unseen.into_owned());
        batch.ledger_entry = self.ledger_entry;
        batch.lose(self.losses);
    }
}

/// How many requests and events [`Detail::Counts`] leaves out the details of.
fn details(account: &SubjectCounts) -> u64 {
    let targets = account.paths.values().flatten().map(|(_, counts)| counts.requests()).sum::<u64>();
    targets.saturating_add(account.events.len() as u64)
}

impl<'a> SpillLine<'a> {
    pub(super) fn of_account(subject: &'a CountSubject, account: &'a SubjectCounts, detail: Detail) -> Self {
        let account = match detail {
            Detail::Full => Cow::Borrowed(account),
            Detail::Counts => Cow::Owned(account.without_details()),
        };
        Self::Account(Cow::Borrowed(subject), account)
    }

    pub(super) fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, self)?;
        to.write_all(b"\n")
    }
}
