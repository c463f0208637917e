//! Taking up what crawlers read at other members.

use super::FleetError;
use super::beat::BeatAnswer;
use super::connect::within;
use super::exchange::FleetTask;
use crate::record::ReadTotal;
use tokio_postgres::{Client, Row};

/// As many as a gateway remembers; the latest where there are more.
const MOST: i64 = 65_536;

impl FleetTask {
    /// Takes up what is new. Transactions that are still under way are waited for: none is passed over.
    pub(super) async fn take_reads(
        &mut self,
        client: &Client,
        answer: &BeatAnswer,
    ) -> Result<(), FleetError> {
        let timeline = answer.stamp >> 32;
        let last: u64 = answer.horizon.parse().unwrap_or_default();
        if self.timeline != timeline || last < self.beat.reads {
            self.beat.reads = 0;
        } else if !answer.has_reads {
            self.beat.reads = last;
            return Ok(());
        }
        let (before, end) = (self.beat.reads.to_string(), &answer.horizon);
        let rows = within(client.query(READS, &[&before, end, &self.beat.store, &MOST])).await?;
        let reads: Vec<(u64, ReadTotal)> =
            rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_, _>>()?;
        // What had come before this gateway asked for the first time has not come late.
        if self.beat.reads > 0 {
            let lags = rows.iter().map(|row| row.try_get(6)).collect::<Result<Vec<f64>, _>>()?;
            let lag = lags.into_iter().reduce(f64::max).map(|lag| lag.max(0.0));
            let mut status = self.shared.status.lock();
            status.0.reads_lag_seconds = lag.or(status.0.reads_lag_seconds);
        }
        if !reads.is_empty() {
            self.shared.gateway.learn_reads(reads);
        }
        (self.beat.reads, self.timeline) = (last, timeline);
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
