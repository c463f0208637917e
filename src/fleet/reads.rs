//! Taking up what crawlers read at other members.

use super::FleetError;
use super::beat::BeatAnswer;
use super::connect::within;
use crate::policy::Reloader;
use crate::record::ReadTotal;
use tokio_postgres::{Client, Row};

/// As many as a gateway remembers; the latest where there are more.
const MOST: i64 = 65_536;

/// Where the news of reads were left off.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadsTaken {
    /// The transaction before which all are known.
    before: u64,
    /// The part of a stamp that changes when a standby is promoted, or a dump restored: transactions are numbered anew then.
    timeline: u64,
    /// How late the latest of those that came last was, in seconds, by the time of day of its member and of the database.
    /// `None` until some came while this gateway ran. Nothing rests on it.
    pub(super) lag: Option<f64>,
}

impl ReadsTaken {
    /// The transaction before which all are known.
    pub(super) const fn before(&self) -> u64 {
        self.before
    }

    /// Takes up what is new. Transactions that are still under way are waited for: none is passed over.
    pub(super) async fn take(
        &mut self,
        client: &Client,
        store: &str,
        answer: &BeatAnswer,
        gateway: &Reloader,
    ) -> Result<(), FleetError> {
        let timeline = answer.stamp >> 32;
        let last: u64 = answer.horizon.parse().unwrap_or_default();
        let is_anew = self.timeline != timeline || last < self.before;
        if is_anew {
            self.before = 0;
        } else if !answer.has_reads {
            self.before = last;
            return Ok(());
        }
        let (before, end) = (self.before.to_string(), &answer.horizon);
        let rows = within(client.query(READS, &[&before, end, &store, &MOST])).await?;
        let reads: Vec<(u64, ReadTotal)> =
            rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_, _>>()?;
        // What had come before this gateway asked for the first time has not come late.
        if self.before > 0 {
            let lags = rows.iter().map(|row| row.try_get(6)).collect::<Result<Vec<f64>, _>>()?;
            self.lag = lags.into_iter().reduce(f64::max).map(|lag| lag.max(0.0)).or(self.lag);
        }
        if !reads.is_empty() {
            gateway.learn_reads(reads);
        }
        (self.before, self.timeline) = (last, timeline);
        Ok(())
    }
}

const READS: &str = "SELECT name::text, version, host, network, rules, stamp,
    extract(epoch FROM clock_timestamp())::float8 - last / 1e6::float8
    FROM robots_gateway.read JOIN robots_gateway.subject ON subject.id = read.subject
    WHERE noted >= $1::text::xid8 AND noted < $2::text::xid8 AND store <> $3 ORDER BY stamp DESC LIMIT $4";

/// `None` where a word is not known: another version of the program wrote it.
fn read(row: &Row) -> Result<Option<(u64, ReadTotal)>, FleetError> {
    let word = |column: usize| row.try_get::<_, &str>(column);
    let stamp: i64 = row.try_get(5)?;
    let stamp = u64::try_from(stamp).unwrap_or_default();
    let read = ReadTotal::of_member(word(0)?, [word(1)?, word(2)?, word(3)?], word(4)?);
    Ok(read.map(|read| (stamp, read)))
}
