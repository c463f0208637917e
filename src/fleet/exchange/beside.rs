//! What is done beside versions: counts, reads, members that are silent, and order in the database.

use super::{BeatAnswer, FleetError, FleetTask, HOUSE, outbox, within};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio_postgres::Client;

impl FleetTask {
    /// All that is not versions. A fault of one of these keeps neither the others nor the next beat from being done, as
    /// long as the database answers.
    pub(super) async fn exchange(
        &mut self,
        client: &Client,
        store: &str,
        answer: &BeatAnswer,
    ) -> Result<Option<FleetError>, FleetError> {
        let shared = Arc::clone(&self.shared);
        let expired = self.expire(client, answer).await;
        let sent = outbox::send(client, &shared, store, answer).await;
        let sent = sent.map(|sent| self.outbox = sent);
        let read = self.reads.take(client, store, answer, &shared.gateway).await;
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
        Ok(first)
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
            let wait = Duration::try_from_secs_f64(*wait).unwrap_or(self.shared.config.lease);
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

    pub(super) fn show(&self, store: &str, answer: &BeatAnswer) {
        let seconds =
            |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let now = seconds(SystemTime::now());
        let there = Duration::from_micros(u64::try_from(answer.now).unwrap_or_default()).as_secs_f64();
        let since = Duration::from_micros(u64::try_from(self.outbox.since).unwrap_or_default()).as_secs_f64();
        let mut status = self.shared.status.lock();
        store.clone_into(&mut status.0.store);
        (status.0.outbox, status.0.mark) = (self.outbox.waiting, self.outbox.mark);
        status.0.outbox_seconds = if self.outbox.waiting > 0 { (now - since).max(0.0) } else { 0.0 };
        status.0.clock_offset_seconds = now - there;
        status.0.reads_lag_seconds = self.reads.lag;
        status.0.generation = answer.generation;
        status.0.waits_for.clone_from(&answer.behind);
        status.1 = Some(Instant::now());
    }
}
