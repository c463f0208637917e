//! What is done beside versions: counts, reads, members that are silent, and order in the database.

use super::{BeatAnswer, FleetError, FleetTask, HOUSE, within};
use crate::record::instant;
use std::time::{Duration, Instant, SystemTime};
use tokio_postgres::Client;

impl FleetTask {
    /// All that is not versions; whether there is more to send at once. A fault of one of these keeps neither the others nor the next beat from being done, as
    /// long as the database answers.
    pub(super) async fn exchange(
        &mut self,
        client: &Client,
        answer: &BeatAnswer,
    ) -> Result<(bool, Option<FleetError>), FleetError> {
        let expired = self.expire(client, answer).await;
        let mut has_more = false;
        let sent = self.send(client, answer).await.map(|more| has_more = more);
        let read = self.take_reads(client, answer).await;
        let mut kept = Ok(());
        if Instant::now() >= self.house_due {
            self.house_due = Instant::now() + HOUSE;
            kept = within(client.query_one("SELECT robots_gateway.keep_house()", &[])).await.map(drop);
        }
        let mut first = None;
        for fault in [expired, sent, read, kept].into_iter().filter_map(Result::err) {
            if client.is_closed() || matches!(fault, FleetError::Silent(_)) {
                return Err(fault);
            }
            first.get_or_insert(fault);
        }
        Ok((has_more, first))
    }

    /// Nobody waits for a member that was silent for as long as its lease, by the clock of this machine; what it served counts
    /// until its notice is over.
    async fn expire(&mut self, client: &Client, answer: &BeatAnswer) -> Result<(), FleetError> {
        let known = std::mem::take(&mut self.silent);
        for (store, beats, wait, is_gone) in &answer.silent {
            let since = known
                .get(store)
                .filter(|(last, _)| last == beats)
                .map_or_else(Instant::now, |(_, since)| *since);
            let wait = Duration::try_from_secs_f64(*wait).unwrap_or(*self.shared.config.lease);
            if since.elapsed() > wait.mul_f64(1.02) {
                if !is_gone {
                    tracing::warn!(
                        store,
                        "a member of the fleet was silent for its whole lease, so the others no longer wait for it"
                    );
                }
                within(client.query_one("SELECT robots_gateway.expire($1, $2)", &[store, beats])).await?;
            }
            self.silent.insert(store.clone(), (*beats, since));
        }
        Ok(())
    }

    pub(super) fn show(&self, answer: &BeatAnswer) {
        let (now, waiting) = (SystemTime::now(), self.beat.outbox);
        let waits_for = now.duration_since(instant(self.beat.outbox_since)).unwrap_or_default();
        let ahead = now.duration_since(instant(answer.now)).map(|ahead| ahead.as_secs_f64());
        let mut status = self.shared.status.lock();
        self.beat.store.clone_into(&mut status.0.store);
        (status.0.outbox, status.0.mark) = (waiting, answer.mark);
        status.0.outbox_seconds = if waiting > 0 { waits_for.as_secs_f64() } else { 0.0 };
        status.0.clock_offset_seconds = ahead.unwrap_or_else(|behind| -behind.duration().as_secs_f64());
        status.0.generation = answer.generation;
        status.0.waits_for.clone_from(&answer.behind);
        status.1 = Some(Instant::now());
    }
}
