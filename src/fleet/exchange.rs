//! The one task that speaks with the database, on a thread of its own.

mod beside;
mod generation;

use super::FleetError;
use super::beat::{BEAT, Beat, BeatAnswer, beat, revision};
use super::connect::{connect_to_schema, within};
use super::membership::FleetShared;
use crate::decide::NoticeTime;
use crate::policy::{FleetDoubt, FleetNews};
use crate::record::{OutboxReader, PastRows, file_bytes, micros, uptime, whole_micros};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Statement};

/// How often a member says that it lives.
const PULSE: Duration = Duration::from_secs(1);

/// How soon after the last time, where there is news of its own.
const SOONEST: Duration = Duration::from_millis(100);

/// How long to wait before the database is tried again: doubled from the first to the last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// How long a gateway that stops takes to send its last counts and to say that it leaves.
const LAST: Duration = Duration::from_secs(5);

/// How often it is seen to that the database is kept small.
const HOUSE: Duration = Duration::from_secs(3_600);

/// How many beats a database may forget that was killed: they are not written at once.
const FORGOTTEN_BEATS: i64 = 5;

/// What a process says that another one speaks for.
const REPLACED: &str =
    "another process with this state folder is the member of the fleet now; this one counts no violations";

/// A reload that is under way, and why a generation is not taken.
type FleetReload = JoinHandle<Result<(), String>>;

/// What is known between two beats.
pub(super) struct FleetTask {
    pub(super) shared: Arc<FleetShared>,
    stopped: watch::Receiver<bool>,
    /// What is said next, or was said last.
    pub(super) beat: Beat,
    /// The revision that the database has.
    revision: i64,
    /// The part of a stamp that changes when a standby is promoted, or a dump restored: transactions are numbered anew then.
    pub(super) timeline: u64,
    /// The number of the last beat, as the database counts them.
    beats: i64,
    /// A reload that is under way: for which generation, or 0 for what waited.
    reloading: Option<(i64, FleetReload)>,
    /// A generation that was refused: which one, why, and when.
    refused_generation: Option<(i64, String, Instant)>,
    /// Since when this process is a member again that was none.
    joined: Option<Instant>,
    /// Since when others are silent, by their beats.
    silent: HashMap<String, (i64, Instant)>,
    house_due: Instant,
}

impl FleetTask {
    pub(super) fn new(shared: Arc<FleetShared>, stopped: watch::Receiver<bool>) -> Self {
        let beat = Beat {
            name: shared.config.name.clone(),
            process: format!("{}-{}", std::process::id(), micros(SystemTime::now())),
            started: whole_micros(shared.gateway.current().clock.now().0),
            version: env!("CARGO_PKG_VERSION"),
            lease: shared.config.lease.as_secs_f64(),
            applied: shared.gateway.history.lock().own.stamp(),
            ..Beat::default()
        };
        Self {
            shared,
            stopped,
            beat,
            revision: -1,
            timeline: 0,
            beats: 0,
            reloading: None,
            refused_generation: None,
            joined: None,
            silent: HashMap::new(),
            house_due: Instant::now() + PULSE * 60,
        }
    }

    pub(super) async fn run(mut self) {
        let mut stopped = self.stopped.clone();
        let end = async {
            let _ = stopped.changed().await;
            tokio::time::sleep(LAST).await;
        };
        tokio::select! {
            () = self.speak() => {}
            () = end => {}
        }
    }

    /// Speaks until the gateway stops, and has sent its last counts, or has tried to once more.
    async fn speak(&mut self) {
        let ((mut pause, longest), mut stopped) = (RETRY, self.stopped.clone());
        loop {
            let (begun, was_stopped) = (Instant::now(), *self.stopped.borrow());
            let Err(error) = self.session().await else { return };
            self.shared.gateway.standing.set_cut_off(true);
            self.tell(&error);
            if was_stopped {
                return;
            }
            if begun.elapsed() > longest {
                pause = RETRY.0;
            }
            let _ = tokio::time::timeout(pause, stopped.changed()).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Tells a fault once, and shows it.
    fn tell(&self, error: &FleetError) {
        let text = Some(error.to_string());
        let told = std::mem::replace(&mut self.shared.status.lock().0.error, text.clone());
        if told != text {
            tracing::error!("{error}; the site is served as before, and counts wait in the store");
        }
    }

    fn store_id(&self) -> Result<String, FleetError> {
        let store = OutboxReader::open(&self.shared.store)?.store()?;
        store.ok_or_else(|| FleetError::Local("the store is not set up yet".to_owned()))
    }

    /// Speaks over one connection until it fails, or the gateway stops.
    async fn session(&mut self) -> Result<(), FleetError> {
        self.beat.store = self.store_id()?;
        let client = connect_to_schema(&self.shared.config).await?;
        let question = within(client.prepare(BEAT)).await?;
        self.revision = -1;
        self.shared.gateway.standing.set_cut_off(false);
        loop {
            let (begun, is_last) = (Instant::now(), *self.stopped.borrow());
            let (has_more, fault) = self.turn((&client, &question)).await?;
            if let Some(fault) = fault {
                self.tell(&fault);
            } else if self.shared.status.lock().0.error.take().is_some() {
                tracing::info!("the database of the fleet answers again");
            }
            if is_last && !has_more {
                let sql = "SELECT robots_gateway.leave($1, $2)";
                let (store, process) = (&self.beat.store, &self.beat.process);
                return within(client.query_one(sql, &[store, process])).await.map(drop);
            }
            if !has_more {
                let mut stopped = self.stopped.clone();
                tokio::select! {
                    () = tokio::time::sleep_until((begun + PULSE).into()) => {}
                    () = self.shared.gateway.standing.wake.notified() => {}
                    _ = stopped.changed() => {}
                }
            }
            tokio::time::sleep_until((begun + SOONEST).into()).await;
        }
    }

    /// One beat, and what follows from it: whether there is more to say at once, and what could not be done and is tried again
    /// at the next one.
    async fn turn(
        &mut self,
        (client, question): (&Client, &Statement),
    ) -> Result<(bool, Option<FleetError>), FleetError> {
        if self.store_id()? != self.beat.store {
            return Err(FleetError::Local("the store is another one now".to_owned()));
        }
        self.end_reload().await;
        let asked = uptime();
        self.prepare();
        let mut answer = beat((client, question), &self.beat).await?;
        let is_set_back = answer.stamp < self.beat.applied
            || answer.is_member && !answer.is_replaced && answer.beats + FORGOTTEN_BEATS < self.beats;
        self.beats = answer.beats;
        if is_set_back || !answer.is_member {
            if is_set_back {
                tracing::warn!(
                    "the database of the fleet was restored from an earlier state: all members are asked again what they serve"
                );
                (self.beat.reads, self.beat.applied) = (0, 0);
            }
            self.doubt();
            self.beat.joins = true;
            return Ok((true, None));
        }
        if answer.is_replaced {
            self.doubt();
            return Ok((false, Some(FleetError::Local(REPLACED.to_owned()))));
        }
        self.show(&answer);
        self.revision = answer.revision;
        let is_said = answer.revision == self.beat.revision;
        // Who cannot learn at the moment is not waited for less: the others hear of it by what is acknowledged.
        let (has_learnt, fault) = match self.learn(client, &mut answer, is_said).await {
            Err(fault @ FleetError::Local(_)) => (false, Some(fault)),
            news => (news?, None),
        };
        self.beat.joins = false;
        if fault.is_none() {
            self.stand(&answer, is_said, asked);
        }
        self.follow(&mut answer);
        let (has_more, first) = self.exchange(client, &answer).await?;
        let fault = first.or(fault);
        Ok((fault.is_none() && (has_learnt || has_more), fault))
    }

    /// Puts together what there is to say.
    fn prepare(&mut self) {
        let (gateway, taken) = (&self.shared.gateway, self.taken_generation());
        let (beat, mut own) = (&mut self.beat, gateway.word());
        beat.revision = revision(&own.rows, &own.waived);
        // Rows and files are larger than all the rest, and known where nothing has changed.
        if !beat.joins && beat.revision == self.revision {
            own.rows = PastRows::default();
        }
        let robots = gateway.history.lock().bytes(&own.rows);
        beat.robots = robots.into_iter().map(|(name, bytes)| (name, STANDARD.encode(bytes))).collect();
        (beat.generation, beat.taken) = (gateway.applied_generation(), taken);
        own.error = self.refused_generation.as_ref().map(|(_, why, _)| why.clone()).or(own.error);
        beat.own = own;
    }

    /// Nobody is accused until the others are known again.
    fn doubt(&mut self) {
        self.shared.gateway.standing.join();
        self.joined = Some(Instant::now());
    }

    /// Notes what is new; `true` where others wait to hear that it is.
    async fn learn(
        &mut self,
        client: &Client,
        answer: &mut BeatAnswer,
        is_said: bool,
    ) -> Result<bool, FleetError> {
        // Stamps that a database had given before it was set back are forgotten with what comes now.
        let is_own_news =
            self.beat.joins || is_said && answer.changed > self.shared.gateway.history.lock().own.stamp();
        if answer.members.is_empty() && !is_own_news {
            self.beat.applied = answer.stamp;
            return Ok(false);
        }
        let mut news = FleetNews {
            stamp: answer.stamp,
            is_own: is_own_news,
            covers: if is_said { self.beat.own.covers } else { NoticeTime::default() },
            ..FleetNews::default()
        };
        let joins = self.shared.gateway.standing.doubt() == Some(FleetDoubt::Joining);
        let mut wanted = BTreeSet::new();
        for mut member in std::mem::take(&mut answer.members) {
            let notice = Duration::try_from_secs_f64(member.notice).unwrap_or_default();
            news.waived.append(&mut member.waived);
            let (store, rows) = (member.store.clone(), member.rows());
            wanted.extend(self.shared.gateway.history.lock().missing(&rows));
            let is_known = joins && !rows.0.is_empty();
            news.known_for = news.known_for.into_iter().chain(is_known.then_some(notice)).min();
            news.members.insert(store, rows);
        }
        if !wanted.is_empty() {
            let sql = "SELECT sha256, bytes FROM robots_gateway.robots WHERE sha256 = ANY($1)";
            let wanted: Vec<&str> = wanted.iter().map(|file| &**file).collect();
            for row in within(client.query(sql, &[&wanted])).await? {
                news.files.extend(file_bytes(row.try_get(0)?, row.try_get(1)?));
            }
        }
        self.beat.is_deaf = !self.shared.gateway.learn(news);
        if self.beat.is_deaf {
            // Nobody is accused here before the others need not wait for this gateway any more.
            self.doubt();
            return Err(FleetError::Local(
                "cannot write to the state folder what other members serve, so no violations are counted here until it \
                 can be written"
                    .to_owned(),
            ));
        }
        self.beat.applied = answer.stamp;
        Ok(true)
    }

    /// How far this gateway may go after an answer.
    fn stand(&mut self, answer: &BeatAnswer, is_said: bool, asked: Duration) {
        let gateway = Arc::clone(&self.shared.gateway);
        let (standing, settle) = (&gateway.standing, *self.shared.config.settle);
        let is_settled = self.joined.is_none_or(|joined| joined.elapsed() >= settle);
        let joins = standing.doubt() == Some(FleetDoubt::Joining);
        if !joins || is_said && is_settled {
            // A little less than others wait, for clocks that do not run alike.
            standing.renew(asked, self.shared.config.lease.mul_f64(0.98));
        }
        if joins && is_said && is_settled {
            tracing::info!(name = self.shared.config.name, "this gateway is a member of the fleet");
        }
        let knows = |floor: u64| floor >= answer.changed;
        let is_acknowledged = is_said && answer.floor.is_none_or(knows);
        standing.acknowledge(self.beat.own.opened, answer.behind.clone(), is_acknowledged);
        if is_acknowledged && self.reloading.is_none() && gateway.may_go_on() {
            self.reload(0, move || {
                gateway.go_on();
                Ok(())
            });
        }
    }
}
