//! Sending what was counted.

use super::FleetError;
use super::beat::BeatAnswer;
use super::connect::within;
use super::membership::FleetShared;
use crate::policy::Reloader;
use crate::record::{OutboxBatch, OutboxReader};
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

/// Sends what waits after the mark that the database has, for a moment.
pub(super) async fn send(
    client: &Client,
    shared: &FleetShared,
    store: &str,
    answer: &BeatAnswer,
) -> Result<SentOutbox, FleetError> {
    let outbox = OutboxReader::open(&shared.store)?;
    if outbox.differs(answer.mark, answer.piece.as_deref().unwrap_or_default())? {
        shared.recorder.begin_anew(store);
        return Err(FleetError::Local(
            "the fleet has counted something else of this store than it holds: it was copied back from elsewhere, and goes \
             on under a new id"
                .to_owned(),
        ));
    }
    let (begun, mut mark) = (Instant::now(), answer.mark);
    let mut has_more = false;
    while let Some(mut batch) = outbox.after(mark)? {
        if begun.elapsed() > AT_ONCE {
            has_more = true;
            break;
        }
        let now = take(client, store, mark, &mut batch, &shared.gateway).await?;
        if now == mark {
            return Err(FleetError::Schema(format!(
                "the fleet has counted {mark} pieces of this store, where a batch begins with {}: neither fits the other",
                batch.first
            )));
        }
        mark = now;
    }
    if mark > answer.mark {
        shared.recorder.fleet_has(mark);
    }
    let state = outbox.state(mark)?;
    Ok(SentOutbox { waiting: state.waiting, since: state.since, mark, has_more })
}

/// Has the database take a batch, or pass it over where it never will; gives the mark.
async fn take(
    client: &Client,
    store: &str,
    mark: i64,
    batch: &mut OutboxBatch,
    gateway: &Reloader,
) -> Result<i64, FleetError> {
    if batch.first > mark + 1 {
        let why = "counts that waited for the fleet found no room in the store, and are missing there";
        return skip(client, store, mark, batch.first, why).await;
    }
    let Some(rows) = &mut batch.rows else {
        let why = "counts that waited for the fleet cannot be read, and are missing there";
        return skip(client, store, mark, batch.last + 1, why).await;
    };
    for (_, read) in &mut rows.reads {
        read.as_of = gateway.history().stamp_of(read.as_of);
    }
    let rows = serde_json::to_string(rows).map_err(|error| FleetError::Local(error.to_string()))?;
    let sql = "SELECT robots_gateway.take($1, $2, $3, $4, $5::text::jsonb)";
    let taken =
        within(client.query_one(sql, &[&store, &batch.first, &batch.last, &batch.piece, &rows])).await;
    match taken {
        Err(error) if error.is_of_data() => {
            let why = format!("counts are missing in the fleet: {error}");
            skip(client, store, mark, batch.last + 1, &why).await
        }
        taken => Ok(taken?.try_get(0)?),
    }
}

/// Moves the mark on to before `next`: what is in between is missing, and the database notes that.
async fn skip(client: &Client, store: &str, mark: i64, next: i64, why: &str) -> Result<i64, FleetError> {
    tracing::error!(pieces = next - mark - 1, "{why}");
    let sql = "SELECT robots_gateway.skip($1, $2)";
    Ok(within(client.query_one(sql, &[&store, &next])).await?.try_get(0)?)
}
