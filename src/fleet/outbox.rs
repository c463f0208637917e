//! Sending what was counted.

use super::FleetError;
use super::beat::BeatAnswer;
use super::connect::within;
use super::exchange::FleetTask;
use crate::record::{OutboxBatch, OutboxReader, OutboxState};
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// How long batches are sent before the next beat is due.
const AT_ONCE: Duration = Duration::from_millis(500);

impl FleetTask {
    /// Sends what waits after the mark that the database has, for a moment; `true` where there may be more.
    pub(super) async fn send(&mut self, client: &Client, answer: &BeatAnswer) -> Result<bool, FleetError> {
        let outbox = OutboxReader::open(&self.shared.store)?;
        if outbox.differs(answer.mark, answer.piece.as_deref().unwrap_or_default())? {
            self.shared.recorder.begin_anew(&self.beat.store);
            return Err(FleetError::Local(
                "the fleet has counted something else of this store than it holds: it was copied back from elsewhere, and goes \
                 on under a new id"
                    .to_owned(),
            ));
        }
        let (begun, mut mark) = (Instant::now(), answer.mark);
        while begun.elapsed() < AT_ONCE
            && let Some(batch) = outbox.after(mark)?
        {
            let first = batch.first;
            let now = self.take(client, mark, batch).await?;
            if now == mark {
                return Err(FleetError::Local(format!(
                    "the fleet has counted {mark} pieces of this store, where a batch begins with {first}: neither fits the other"
                )));
            }
            mark = now;
        }
        if outbox.is_news(mark)? {
            self.shared.recorder.fleet_has(mark);
        }
        let OutboxState { waiting, since, .. } = outbox.state(mark)?;
        (self.beat.outbox, self.beat.outbox_since) = (waiting, since);
        Ok(begun.elapsed() >= AT_ONCE)
    }

    /// Has the database take a batch, or pass it over where it never will; gives the mark.
    async fn take(&self, client: &Client, mark: i64, batch: OutboxBatch) -> Result<i64, FleetError> {
        let (next, why) = match batch.rows {
            _ if batch.first > mark + 1 => {
                let why =
                    "counts that waited for the fleet found no room in the store, and are missing there";
                (batch.first, why.to_owned())
            }
            None => {
                let why = "counts that waited for the fleet cannot be read, and are missing there";
                (batch.last + 1, why.to_owned())
            }
            Some(mut rows) => {
                for (_, read) in &mut rows.reads {
                    read.as_of = self.shared.gateway.history.lock().stamp_of(read.as_of);
                }
                let rows =
                    serde_json::to_string(&rows).map_err(|error| FleetError::Local(error.to_string()))?;
                let sql = "SELECT robots_gateway.take($1, $2, $3, $4, $5::text::jsonb)";
                let (store, first, last, piece) = (&self.beat.store, &batch.first, &batch.last, &batch.piece);
                match within(client.query_one(sql, &[store, first, last, piece, &rows])).await {
                    Err(error) if error.is_of_data() => {
                        (batch.last + 1, format!("counts are missing in the fleet: {error}"))
                    }
                    taken => return Ok(taken?.try_get(0)?),
                }
            }
        };
        // What is in between is missing, and the database notes that.
        tracing::error!(pieces = next - mark - 1, "{why}");
        let sql = "SELECT robots_gateway.skip($1, $2)";
        Ok(within(client.query_one(sql, &[&self.beat.store, &next])).await?.try_get(0)?)
    }
}
