//! Sending what was counted.

use super::FleetError;
use super::connect::within;
use crate::record::{FleetLedger, OutboxReader, Recorder};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// How long batches are sent before the next beat is due.
const AT_ONCE: Duration = Duration::from_millis(500);

/// What became of the outbox.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentOutbox {
    /// How many batches wait.
    pub(super) waiting: i64,
    /// Since when the oldest does, in microseconds.
    pub(super) since: i64,
    /// Up to where the database has all.
    pub(super) mark: i64,
    /// Whether there is more to send at once.
    pub(super) has_more: bool,
}

/// The id of the store; nothing until it is set up.
pub(super) fn store_id(path: &Path) -> Result<Option<String>, FleetError> {
    if !path.exists() {
        return Ok(None);
    }
    Ok(OutboxReader::open(path)?.store()?)
}

/// Sends what waits after `mark`, for a moment.
pub(super) async fn send(
    client: &Client,
    path: &Path,
    store: &str,
    mut mark: i64,
    ledger: &dyn FleetLedger,
    recorder: &Recorder,
) -> Result<SentOutbox, FleetError> {
    let outbox = OutboxReader::open(path)?;
    if mark > outbox.state(mark)?.last {
        recorder.begin_anew();
        return Err(FleetError::Local(
            "the fleet has more of this store than it holds itself: it was copied back from elsewhere, and goes on under a \
             new id"
                .to_owned(),
        ));
    }
    let (begun, sent_from) = (Instant::now(), mark);
    let mut has_more = false;
    while let Some(mut batch) = outbox.after(mark)? {
        if begun.elapsed() > AT_ONCE {
            has_more = true;
            break;
        }
        if batch.first > mark + 1 {
            tracing::error!(
                pieces = batch.first - mark - 1,
                "counts that waited for the fleet found no room in the store, and are missing there"
            );
            let sql = "SELECT robots_gateway.skip($1, $2)";
            mark = within(client.query_one(sql, &[&store, &batch.first])).await?.try_get(0)?;
            continue;
        }
        for (_, (_, _, _, _, sequence)) in &mut batch.rows.reads {
            *sequence = ledger.stamp_of(*sequence);
        }
        let rows = batch.rows.json()?;
        let sql = "SELECT robots_gateway.take($1, $2, $3, $4::text::jsonb)";
        let sent = within(client.query_one(sql, &[&store, &batch.first, &batch.last, &rows])).await?;
        let now: i64 = sent.try_get(0)?;
        if now == mark {
            return Err(FleetError::Schema(format!(
                "the fleet has counted {mark} pieces of this store, where a batch begins with {}: neither fits the other",
                batch.first
            )));
        }
        mark = now;
    }
    if mark > sent_from || outbox.state(0)?.waiting > 0 {
        recorder.fleet_has(mark);
    }
    let state = outbox.state(mark)?;
    Ok(SentOutbox { waiting: state.waiting, since: state.since, mark, has_more })
}
