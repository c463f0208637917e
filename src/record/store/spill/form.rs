//! Batches as lines of JSON, and back: strictly, so that what is not as it was written is not counted.
//!
//! The first line names the process; a batch is a line, and so is each of its accounts; the last line is the SHA-256 of
//! all lines before. Words are those of the database.

use crate::decide::{RulesId, VersionId};
use crate::identify::{ClientKind, Proof, Purpose};
use crate::record::network::NetworkId;
use crate::record::tally::{
    CountBatch, CountSubject, CountedDecision, InForce, KeptEvent, Losses, PathCounts, PathDays, ReadKey,
    RollUpPeriod, SeenInstants, SeenRead, SubjectCounts, Uses,
};
use crate::record::unseen::Unseen;
use crate::record::word;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

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
    Account(Box<AccountLine<'a>>),
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
    versions: Vec<(Cow<'a, str>, Option<RawBytes<'a>>, i64, i64)>,
    unseen: Vec<(Cow<'a, str>, Cow<'a, str>, i64)>,
    ledger_entry: u64,
    details_dropped: u64,
    reads_lost: u64,
    counts_lost: u64,
}

/// Bytes: as text where they are UTF-8, so nearly always.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RawBytes<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

/// A period by its length and its start, and a count.
type Count = (i64, i64, u64);

/// A day and its counts: allowed, violations, stale, variants, spoofed and refused.
type Day = (i64, [u64; 6]);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountLine<'a> {
    site: Cow<'a, str>,
    #[serde(with = "word")]
    client: ClientKind,
    crawler: Option<Cow<'a, str>>,
    #[serde(with = "word::optional")]
    purpose: Option<Purpose>,
    #[serde(with = "word")]
    proof: Proof,
    is_known: bool,
    is_deserving: bool,
    /// Days, with the first and the last instant.
    presence: Vec<(i64, i64, i64)>,
    decisions: Vec<(Cow<'a, CountedDecision>, Vec<Count>)>,
    paths: Vec<(RawBytes<'a>, Vec<Day>)>,
    other_paths: Vec<Day>,
    events: Vec<(Cow<'a, CountedDecision>, i64, RawBytes<'a>, i64)>,
    reads: Vec<ReadLine<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadLine<'a> {
    #[serde(with = "word")]
    version: VersionId,
    #[serde(with = "word")]
    rules: RulesId,
    in_force: i64,
    sequence: u64,
    host: Cow<'a, str>,
    network: Option<Cow<'a, str>>,
    first: i64,
    last: i64,
    count: u64,
    at: i64,
}

impl<'a> From<&'a [u8]> for RawBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(|_| Self::Bytes(bytes.into()), |text| Self::Text(text.into()))
    }
}

impl RawBytes<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl<'a> BatchLine<'a> {
    pub(super) fn of(batch: &'a CountBatch, sequence: i64, detail: Detail) -> Self {
        let versions = batch.versions.iter().map(|version| {
            let bytes = version.bytes.as_deref().map(RawBytes::from);
            ((&*version.site).into(), bytes, version.since, version.until)
        });
        let unseen =
            batch.unseen.iter().map(|unseen| ((&*unseen.site).into(), (&*unseen.reason).into(), unseen.at));
        let Losses { details_dropped, reads_lost, counts_lost } = batch.losses();
        let left_out = match detail {
            Detail::Full => 0,
            Detail::Counts => batch.accounts.values().map(details).sum(),
        };
        Self {
            sequence,
            versions: versions.collect(),
            unseen: unseen.collect(),
            ledger_entry: batch.ledger_entry,
            details_dropped: details_dropped.saturating_add(left_out),
            reads_lost,
            counts_lost,
        }
    }

    pub(super) fn begin(self, batch: &mut CountBatch) {
        let versions = self.versions.into_iter().map(|(site, bytes, since, until)| {
            let bytes = bytes.map(|bytes| Arc::from(bytes.bytes()));
            InForce { site: site.into(), bytes, since, until }
        });
        batch.versions = versions.collect();
        let unseen = self.unseen.into_iter().map(|(site, reason, at)| Unseen {
            site: site.into(),
            reason: Cow::Owned(reason.into_owned()),
            at,
        });
        batch.unseen = unseen.collect();
        batch.ledger_entry = self.ledger_entry;
        let Self { details_dropped, reads_lost, counts_lost, .. } = self;
        batch.lose(Losses { details_dropped, reads_lost, counts_lost });
    }
}

/// How many requests and events the details are of that [`Detail::Counts`] leaves out.
fn details(account: &SubjectCounts) -> u64 {
    let targets = account.paths.values().flatten().map(|(_, counts)| counts.requests()).sum::<u64>();
    targets.saturating_add(account.events.len() as u64)
}

impl<'a> AccountLine<'a> {
    pub(super) fn of(subject: &'a CountSubject, account: &'a SubjectCounts, detail: Detail) -> Self {
        let is_full = detail == Detail::Full;
        let paths = account.paths.iter().filter(|_| is_full);
        let rest = account.paths.values().filter(|_| !is_full).chain([&account.other_paths]).flatten();
        let decisions = account.decisions.iter().map(|(decision, uses)| {
            let periods = uses.periods.iter().map(|(period, count)| (period.span, period.start, *count));
            (Cow::Borrowed(decision), periods.collect())
        });
        let events = account.events.iter().filter(|_| is_full).map(|kept| {
            (Cow::Borrowed(&kept.decision), kept.at, RawBytes::from(&*kept.line), kept.network.number())
        });
        Self {
            site: (&*subject.site).into(),
            client: subject.client,
            crawler: subject.crawler.as_deref().map(Into::into),
            purpose: subject.purpose,
            proof: subject.proof,
            is_known: account.is_known,
            is_deserving: account.is_deserving,
            presence: account.presence.iter().map(|(day, seen)| (*day, seen.first, seen.last)).collect(),
            decisions: decisions.collect(),
            paths: paths
                .map(|(target, days)| (RawBytes::from(&**target), days.iter().map(day).collect()))
                .collect(),
            other_paths: rest.map(day).collect(),
            events: events.collect(),
            reads: account.reads.iter().map(|(key, read)| ReadLine::of(key, *read)).collect(),
        }
    }

    pub(super) fn into_account(self) -> (CountSubject, SubjectCounts) {
        let subject = CountSubject {
            site: self.site.into(),
            client: self.client,
            crawler: self.crawler.map(Into::into),
            purpose: self.purpose,
            proof: self.proof,
        };
        let presence =
            self.presence.into_iter().map(|(day, first, last)| (day, SeenInstants { first, last, count: 0 }));
        let mut account = SubjectCounts::default();
        (account.is_known, account.is_deserving) = (self.is_known, self.is_deserving);
        (account.presence, account.other_paths) = (presence.collect(), path_days(&self.other_paths));
        for (decision, periods) in self.decisions {
            let periods =
                periods.into_iter().map(|(span, start, count)| (RollUpPeriod { span, start }, count));
            let mut uses = Uses::default();
            uses.periods = periods.collect();
            account.decisions.insert(decision.into_owned(), uses);
        }
        for (target, days) in &self.paths {
            account.paths.insert(target.bytes().into(), path_days(days));
        }
        for (decision, at, line, network) in self.events {
            let (decision, network) = (decision.into_owned(), NetworkId::of_number(network));
            account.events.push(KeptEvent { decision, at, line: line.bytes().into(), network });
        }
        for read in self.reads {
            let (key, read) = read.into_read();
            account.reads.insert(key, read);
        }
        (subject, account)
    }
}

fn day((day, counts): &(i64, PathCounts)) -> Day {
    let PathCounts { allowed, violations, stale, variants, spoofed, refused } = *counts;
    (*day, [allowed, violations, stale, variants, spoofed, refused])
}

fn path_days(days: &[Day]) -> PathDays {
    let of = |(day, counts): &Day| {
        let [allowed, violations, stale, variants, spoofed, refused] = *counts;
        (*day, PathCounts { allowed, violations, stale, variants, spoofed, refused })
    };
    days.iter().map(of).collect()
}

impl<'a> ReadLine<'a> {
    fn of(key: &'a ReadKey, read: SeenRead) -> Self {
        Self {
            version: key.version,
            rules: key.rules,
            in_force: key.in_force,
            sequence: key.sequence,
            host: (&*key.host).into(),
            network: key.network.as_deref().map(Into::into),
            first: read.seen.first,
            last: read.seen.last,
            count: read.seen.count,
            at: read.at,
        }
    }

    fn into_read(self) -> (ReadKey, SeenRead) {
        let key = ReadKey {
            version: self.version,
            rules: self.rules,
            in_force: self.in_force,
            sequence: self.sequence,
            host: self.host.into(),
            network: self.network.map(Into::into),
        };
        let seen = SeenInstants { first: self.first, last: self.last, count: self.count };
        (key, SeenRead { seen, at: self.at })
    }
}

impl SpillLine<'_> {
    pub(super) fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, self)?;
        to.write_all(b"\n")
    }
}
