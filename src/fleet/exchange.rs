//! The one task that speaks with the database, on a thread of its own.

use super::FleetError;
use super::beat::{BeatAnswer, BeatState, Speaker, beat};
use super::connect::{connect_to_schema, within};
use super::membership::FleetShared;
use super::outbox::{self, SentOutbox};
use super::reads::ReadsTaken;
use crate::record::{FleetNews, FleetStanding, OfferedFiles, file_bytes};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;
use tokio_postgres::Client;

/// How often a member says that it lives.
const PULSE: Duration = Duration::from_secs(1);

/// How soon after the last time, where there is news.
const SOONEST: Duration = Duration::from_millis(100);

/// How long to wait before the database is tried again: doubled from the first to the last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// How long a gateway that stops takes to send its last counts and to say that it leaves.
const LAST: Duration = Duration::from_secs(5);

/// How often it is seen to that the database is kept small.
const HOUSE: Duration = Duration::from_secs(3_600);

/// What is known between two beats.
pub(super) struct FleetTask {
    shared: Arc<FleetShared>,
    stopped: watch::Receiver<bool>,
    who: Speaker,
    /// Everything is known up to this stamp.
    applied: u64,
    /// The revision that the database has.
    revision: i64,
    outbox: SentOutbox,
    reads: ReadsTaken,
    /// Since when this process is a member again that was none.
    joined: Option<Instant>,
    has_joined: bool,
    /// Since when others are silent, by their beats.
    silent: HashMap<String, (i64, Instant)>,
    house_due: Instant,
    /// The fault that was told last.
    told: Option<String>,
}

/// What came of a beat.
enum BeatOutcome {
    /// The next one is due in a second.
    Calm,
    /// There is more to say at once.
    GoOn,
}

impl FleetTask {
    pub(super) fn new(shared: Arc<FleetShared>, stopped: watch::Receiver<bool>) -> Self {
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started = i64::try_from(started.as_micros()).unwrap_or(i64::MAX);
        let (name, lease) = (shared.config.name.clone(), shared.config.lease);
        let process = format!("{}-{started}", std::process::id());
        let applied = shared.ledger.stamp();
        Self {
            shared,
            stopped,
            who: Speaker { name, process, started, lease },
            applied,
            revision: -1,
            outbox: SentOutbox::default(),
            reads: ReadsTaken::default(),
            joined: None,
            has_joined: false,
            silent: HashMap::new(),
            house_due: Instant::now() + PULSE * 60,
            told: None,
        }
    }

    pub(super) async fn run(mut self) {
        let (mut pause, longest) = RETRY;
        while !self.is_stopped() {
            let begun = Instant::now();
            let Err(error) = self.session().await else { return };
            self.tell(&error);
            if begun.elapsed() > longest {
                pause = RETRY.0;
            }
            let mut stopped = self.stopped.clone();
            let _ = tokio::time::timeout(pause, stopped.changed()).await;
            pause = (pause * 2).min(longest);
        }
        let last = self.shared.config.clone();
        let _ = tokio::time::timeout(LAST, async {
            let client = connect_to_schema(&last, Arc::default()).await?;
            self.leave(&client).await
        })
        .await;
    }

    fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Tells a fault once, and shows it.
    fn tell(&mut self, error: &FleetError) {
        let text = error.to_string();
        if self.told.as_ref() != Some(&text) {
            tracing::error!("{text}; the site is served as before, and counts wait in the store");
        }
        self.shared.status().0.error = Some(text.clone());
        self.told = Some(text);
    }

    /// Speaks over one connection until it fails, or the gateway stops.
    async fn session(&mut self) -> Result<(), FleetError> {
        let news = Arc::new(tokio::sync::Notify::new());
        let client = connect_to_schema(&self.shared.config, Arc::clone(&news)).await?;
        within(client.batch_execute("LISTEN robots_gateway")).await?;
        let Some(store) = outbox::store_id(&self.shared.store)? else {
            return Err(FleetError::Local("the store is not set up yet".to_owned()));
        };
        self.revision = -1;
        loop {
            let begun = Instant::now();
            let outcome = self.turn(&client, &store).await?;
            if self.told.take().is_some() {
                tracing::info!("the database of the fleet answers again");
            }
            self.shared.status().0.error = None;
            let soonest = begun + SOONEST;
            if matches!(outcome, BeatOutcome::Calm) {
                let mut stopped = self.stopped.clone();
                let shared = Arc::clone(&self.shared);
                tokio::select! {
                    () = tokio::time::sleep(PULSE) => {}
                    () = news.notified() => {}
                    () = shared.standing().wake.notified() => {}
                    _ = stopped.changed() => {}
                }
            }
            if self.is_stopped() {
                return match tokio::time::timeout(LAST, self.leave(&client)).await {
                    Ok(left) => left,
                    Err(_) => Ok(()),
                };
            }
            tokio::time::sleep_until(soonest.into()).await;
        }
    }

    /// One beat, and what follows from it.
    async fn turn(&mut self, client: &Client, store: &str) -> Result<BeatOutcome, FleetError> {
        if outbox::store_id(&self.shared.store)?.as_deref() != Some(store) {
            return Err(FleetError::Local("the store is another one now".to_owned()));
        }
        let asked = FleetStanding::moment();
        let own = self.shared.ledger.own();
        let mut state = BeatState {
            joins: false,
            applied: self.applied,
            generation: 0,
            outbox: self.outbox.waiting,
            outbox_since: self.outbox.since,
        };
        let (mut answer, mut revision) = beat(client, &self.who, store, &own, state, self.revision).await?;
        if answer.stamp < self.applied {
            tracing::warn!(
                "the database of the fleet was set back: all members are asked anew what they serve"
            );
            self.applied = 0;
            state.applied = 0;
            self.doubt();
        }
        if !answer.is_member {
            self.doubt();
            self.joined = Some(Instant::now());
            state.joins = true;
            (answer, revision) = beat(client, &self.who, store, &own, state, self.revision).await?;
        }
        if answer.is_replaced {
            self.doubt();
            return Ok(BeatOutcome::Calm);
        }
        self.revision = answer.revision;
        let is_said = answer.revision == revision;
        let has_learnt = self.learn(client, &answer, own.covers, is_said).await?;
        self.stand(&answer, &own.files, is_said, asked);
        self.expire(client, &answer).await?;
        let shared = Arc::clone(&self.shared);
        let sent = outbox::send(client, &shared.store, store, answer.mark, &*shared.ledger, &shared.recorder);
        self.outbox = sent.await?;
        self.reads.take(client, store, answer.stamp, &*shared.ledger).await?;
        if Instant::now() >= self.house_due {
            self.house_due = Instant::now() + HOUSE;
            within(client.query_one("SELECT robots_gateway.keep_house()", &[])).await?;
        }
        self.show(store, &answer);
        Ok(if has_learnt || self.outbox.has_more { BeatOutcome::GoOn } else { BeatOutcome::Calm })
    }

    /// Nobody is accused until the others are known again.
    fn doubt(&mut self) {
        self.shared.standing().set_joined(false);
        self.has_joined = false;
    }

    /// Notes what is new; `true` where others wait to hear that it is.
    async fn learn(
        &mut self,
        client: &Client,
        answer: &BeatAnswer,
        covers: u64,
        is_said: bool,
    ) -> Result<bool, FleetError> {
        let is_own_news = is_said && answer.changed > self.shared.ledger.stamp();
        if answer.members.is_empty() && !is_own_news {
            self.applied = answer.stamp;
            return Ok(false);
        }
        let mut news = FleetNews {
            stamp: answer.stamp,
            covers: if is_said { covers } else { 0 },
            ..FleetNews::default()
        };
        let mut wanted = Vec::new();
        for member in &answer.members {
            let files = member.files();
            wanted.extend(self.shared.ledger.missing(&files));
            news.members.insert(member.store.clone(), files);
            news.waived.extend(member.waived.iter().cloned());
            if !self.has_joined {
                take_ages(&mut news.replaced_ago, &member.past);
            }
        }
        if !wanted.is_empty() {
            let sql = "SELECT sha256, bytes FROM robots_gateway.robots WHERE sha256 = ANY($1)";
            let wanted: Vec<&str> = wanted.iter().map(|file| &**file).collect();
            for row in within(client.query(sql, &[&wanted])).await? {
                news.files.extend(file_bytes(row.try_get(0)?, row.try_get(1)?));
            }
        }
        if !self.shared.ledger.learn(news) {
            return Err(FleetError::Local(
                "what other members serve cannot be noted in the ledger of the state folder".to_owned(),
            ));
        }
        self.applied = answer.stamp;
        Ok(true)
    }

    /// How far this gateway may go after an answer.
    fn stand(&mut self, answer: &BeatAnswer, files: &OfferedFiles, is_said: bool, asked: Duration) {
        let standing = self.shared.standing();
        let settle = self.shared.config.settle;
        let is_settled = self.joined.is_none_or(|joined| joined.elapsed() >= settle);
        // A little less than others wait, for clocks that do not run alike.
        standing.renew(asked, self.who.lease.mul_f64(0.98));
        if is_said && is_settled && !self.has_joined {
            standing.set_joined(true);
            standing.renew(asked, self.who.lease.mul_f64(0.98));
            self.has_joined = true;
            tracing::info!(name = self.who.name, "this gateway is a member of the fleet");
        }
        let knows = |floor: u64| floor >= answer.changed;
        let is_acknowledged = is_said && answer.floor.is_none_or(knows);
        standing.clear(files, answer.behind.clone(), is_acknowledged);
        if is_acknowledged && standing.may_go_on() {
            let ledger = Arc::clone(&self.shared.ledger);
            // A reload may take its time, and the next beat must not wait for it.
            let _ = std::thread::Builder::new().name("fleet-reload".to_owned()).spawn(move || ledger.go_on());
        }
    }

    /// Whoever was silent for as long as its lease, by the clock of this machine, counts as serving nothing.
    async fn expire(&mut self, client: &Client, answer: &BeatAnswer) -> Result<(), FleetError> {
        let known = std::mem::take(&mut self.silent);
        for (store, beats, lease) in &answer.silent {
            let since = known
                .get(store)
                .filter(|(last, _)| last == beats)
                .map_or_else(Instant::now, |(_, since)| *since);
            let lease = Duration::try_from_secs_f64(*lease).unwrap_or(self.who.lease);
            if since.elapsed() > lease.mul_f64(1.02) {
                tracing::warn!(
                    store,
                    "a member of the fleet was silent for its whole lease: it counts as serving nothing"
                );
                within(client.query_one("SELECT robots_gateway.expire($1, $2)", &[store, beats])).await?;
            }
            self.silent.insert(store.clone(), (*beats, since));
        }
        Ok(())
    }

    fn show(&self, store: &str, answer: &BeatAnswer) {
        let micros =
            |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let now = micros(SystemTime::now());
        let there = Duration::from_micros(u64::try_from(answer.now).unwrap_or_default()).as_secs_f64();
        let since = Duration::from_micros(u64::try_from(self.outbox.since).unwrap_or_default()).as_secs_f64();
        let mut status = self.shared.status();
        store.clone_into(&mut status.0.store);
        (status.0.outbox, status.0.mark) = (self.outbox.waiting, self.outbox.mark);
        status.0.outbox_seconds = if self.outbox.waiting > 0 { (now - since).max(0.0) } else { 0.0 };
        status.0.clock_offset_seconds = now - there;
        status.0.generation = answer.generation;
        status.0.waits_for.clone_from(&answer.behind);
        status.1 = Some(Instant::now());
    }

    /// Sends the last counts, and says that this gateway serves nothing any more.
    async fn leave(&mut self, client: &Client) -> Result<(), FleetError> {
        let shared = Arc::clone(&self.shared);
        if let Some(store) = outbox::store_id(&shared.store)? {
            let sql = "SELECT robots_gateway.mark($1)";
            loop {
                let mark: i64 = within(client.query_one(sql, &[&store])).await?.try_get(0)?;
                let sent =
                    outbox::send(client, &shared.store, &store, mark, &*shared.ledger, &shared.recorder)
                        .await?;
                if !sent.has_more {
                    break;
                }
            }
            let sql = "SELECT robots_gateway.leave($1, $2)";
            within(client.query_one(sql, &[&store, &self.who.process])).await?;
        }
        Ok(())
    }
}

/// Of what several members say, that which was replaced last.
fn take_ages(known: &mut BTreeMap<Box<str>, u64>, said: &BTreeMap<Box<str>, u64>) {
    for (host, ago) in said {
        known.entry(host.clone()).and_modify(|known| *known = (*known).min(*ago)).or_insert(*ago);
    }
}
