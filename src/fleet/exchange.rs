//! The one task that speaks with the database, on a thread of its own.

mod beside;
mod generation;
mod turn;

use super::FleetError;
use super::beat::{BEAT, Beat, BeatAnswer, Speaker, beat, revision};
use super::connect::{connect_to_schema, within};
use super::membership::FleetShared;
use super::outbox::{self, FleetMark, RefusedBatch, SentOutbox};
use super::reads::ReadsTaken;
use crate::decide::NoticeTime;
use crate::policy::{FleetDoubt, FleetNews, OfferedFiles, OwnFiles, SaidRows, UnlearntNews};
use crate::record::{file_bytes, uptime};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;
use tokio_postgres::{Client, Statement};
use turn::ReloadTurn;

/// How often a member says that it lives.
const PULSE: Duration = Duration::from_secs(1);

/// How often while it waits for what the others say.
const WAITING: Duration = Duration::from_millis(500);

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
    refused: RefusedBatch,
    reads: ReadsTaken,
    /// The number of the last beat, as the database counts them.
    beats: i64,
    /// Whether what the others serve cannot be noted.
    is_deaf: bool,
    /// Whether a thread is at work that reloads.
    is_reloading: Arc<AtomicBool>,
    refused_generation: Arc<Mutex<Option<generation::RefusedGeneration>>>,
    /// Since when this process is a member again that was none.
    joined: Option<Instant>,
    /// Since when others are silent, by their beats.
    silent: HashMap<String, (i64, Instant)>,
    house_due: Instant,
    /// The fault that was told last.
    told: Option<String>,
}

impl FleetTask {
    pub(super) fn new(shared: Arc<FleetShared>, stopped: watch::Receiver<bool>) -> Self {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (name, lease) = (shared.config.name.clone(), shared.config.lease);
        let process = format!("{}-{}", std::process::id(), time.as_micros());
        let started = i64::try_from(shared.gateway.time()).unwrap_or(i64::MAX);
        let applied = shared.gateway.stamp();
        Self {
            shared,
            stopped,
            who: Speaker { name, process, started, lease },
            applied,
            revision: -1,
            outbox: SentOutbox::default(),
            refused: RefusedBatch::default(),
            reads: ReadsTaken::default(),
            beats: 0,
            is_deaf: false,
            is_reloading: Arc::default(),
            refused_generation: Arc::default(),
            joined: None,
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
            self.shared.standing().set_cut_off(true);
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
            let client = connect_to_schema(&last).await?;
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
        let Some(store) = outbox::store_id(&self.shared.store)? else {
            return Err(FleetError::Local("the store is not set up yet".to_owned()));
        };
        let client = connect_to_schema(&self.shared.config).await?;
        let question = within(client.prepare(BEAT)).await?;
        self.revision = -1;
        self.shared.standing().set_cut_off(false);
        loop {
            let begun = Instant::now();
            let (has_more, fault) = self.turn((&client, &question), &store).await?;
            if let Some(fault) = fault {
                self.tell(&fault);
            } else {
                if self.told.take().is_some() {
                    tracing::info!("the database of the fleet answers again");
                }
                self.shared.status().0.error = None;
            }
            let shared = Arc::clone(&self.shared);
            let pause = if shared.standing().has_wanted() { WAITING } else { PULSE };
            if !has_more {
                let mut stopped = self.stopped.clone();
                tokio::select! {
                    () = tokio::time::sleep_until((begun + pause).into()) => {}
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
            tokio::time::sleep_until((begun + SOONEST).into()).await;
        }
    }

    /// One beat, and what follows from it: whether there is more to say at once, and what could not be done and is tried again
    /// at the next one.
    async fn turn(
        &mut self,
        (client, question): (&Client, &Statement),
        store: &str,
    ) -> Result<(bool, Option<FleetError>), FleetError> {
        if outbox::store_id(&self.shared.store)?.as_deref() != Some(store) {
            return Err(FleetError::Local("the store is another one now".to_owned()));
        }
        let asked = uptime();
        let mut own = self.shared.gateway.own();
        own.error = self.refused_generation().map(|(_, why, _)| why).or(own.error);
        let (who, rows) = (self.who.clone(), own.rows());
        let mut said = self.said(&who, store, &own, &rows);
        let gateway = Arc::clone(&self.shared.gateway);
        let bytes = || gateway.bytes();
        let mut answer = beat((client, question), &mut said, self.revision, bytes).await?;
        let is_set_back = answer.stamp < self.applied
            || answer.is_member && !answer.is_replaced && answer.beats + FORGOTTEN_BEATS < self.beats;
        if is_set_back || !answer.is_member {
            if is_set_back {
                tracing::warn!(
                    "the database of the fleet was restored from an earlier state: all members are asked again what they serve"
                );
                self.reads = ReadsTaken::default();
                (self.applied, said.applied) = (0, 0);
            }
            self.doubt();
            said.joins = true;
            answer = beat((client, question), &mut said, self.revision, bytes).await?;
        }
        self.beats = answer.beats;
        if answer.is_replaced {
            self.doubt();
            return Ok((false, Some(FleetError::Local(REPLACED.to_owned()))));
        }
        self.show(store, &answer);
        self.revision = answer.revision;
        let is_said = answer.revision == said.revision;
        let news = self.learn(client, &mut answer, own.covers, is_said, is_set_back).await;
        // Who cannot learn at the moment is not waited for less: the others hear of it by what is acknowledged.
        let (has_learnt, fault) = match news {
            Err(fault @ FleetError::Local(_)) => (false, Some(fault)),
            news => (news?, None),
        };
        // While a reload is under way nothing is noted, and the next beat asks again.
        if fault.is_none() && self.applied == answer.stamp {
            self.stand(&answer, &own.files, is_said, asked);
        }
        self.follow(&mut answer);
        let fault = self.exchange(client, store, &answer).await?.or(fault);
        let has_more = fault.is_none() && (has_learnt || self.outbox.has_more);
        Ok((has_more, fault))
    }

    /// What there is to say.
    fn said<'a>(&self, who: &'a Speaker, store: &'a str, own: &'a OwnFiles, rows: &'a SaidRows) -> Beat<'a> {
        Beat {
            store,
            name: &who.name,
            process: &who.process,
            started: who.started,
            version: env!("CARGO_PKG_VERSION"),
            lease: who.lease.as_secs_f64(),
            joins: false,
            applied: self.applied,
            is_deaf: self.is_deaf,
            generation: self.shared.gateway.applied_generation(),
            taken: self.taken_generation(),
            reads: self.reads.before().to_string(),
            error: own.error.as_deref(),
            outbox: self.outbox.waiting,
            outbox_since: self.outbox.since,
            revision: revision(rows, &own.waived),
            rows,
            notice: own.notice.as_secs_f64(),
            waived: &own.waived,
            serving: &own.serving,
            robots: BTreeMap::new(),
        }
    }

    /// Nobody is accused until the others are known again.
    fn doubt(&mut self) {
        self.shared.standing().leave();
        self.joined = Some(Instant::now());
    }

    /// Notes what is new; `true` where others wait to hear that it is.
    async fn learn(
        &mut self,
        client: &Client,
        answer: &mut BeatAnswer,
        covers: NoticeTime,
        is_said: bool,
        is_set_back: bool,
    ) -> Result<bool, FleetError> {
        // Stamps that were given before are forgotten with what comes now.
        let is_own_news = is_set_back || is_said && answer.changed > self.shared.gateway.stamp();
        if answer.members.is_empty() && !is_own_news {
            self.applied = answer.stamp;
            return Ok(false);
        }
        let mut news = FleetNews {
            stamp: answer.stamp,
            is_own: is_own_news,
            covers: if is_said { covers } else { NoticeTime::default() },
            ..FleetNews::default()
        };
        let joins = self.shared.standing().doubt() == Some(FleetDoubt::Joining);
        let mut wanted = BTreeSet::new();
        for member in &mut answer.members {
            let rows = member.take_rows();
            wanted.extend(self.shared.gateway.missing(&rows));
            let notice = Duration::try_from_secs_f64(member.notice).unwrap_or_default();
            let is_known = joins && !rows.is_empty();
            news.known_for = news.known_for.into_iter().chain(is_known.then_some(notice)).min();
            news.waived.append(&mut member.waived);
            news.members.insert(member.store.clone(), rows);
        }
        news.files = self.files(client, wanted).await?;
        match self.shared.gateway.learn(news) {
            Ok(()) => self.is_deaf = false,
            // It is learnt with the next beat.
            Err(UnlearntNews::Busy) => return Ok(false),
            Err(UnlearntNews::Faulty) => {
                // Nobody is accused here before the others need not wait for this gateway any more.
                self.doubt();
                self.is_deaf = true;
                return Err(FleetError::Local(
                    "cannot write to the state folder what other members serve, so no violations are counted here until it \
                     can be written"
                        .to_owned(),
                ));
            }
        }
        self.applied = answer.stamp;
        Ok(true)
    }

    /// The bytes of files. Where all change to one file, whoever is about to serve it has it.
    async fn files(
        &self,
        client: &Client,
        mut wanted: BTreeSet<Box<str>>,
    ) -> Result<Vec<Vec<u8>>, FleetError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.shared.gateway.bytes();
        let mut files: Vec<Vec<u8>> = wanted.iter().filter_map(|file| own.get(file).cloned()).collect();
        wanted.retain(|file| !own.contains_key(file));
        if !wanted.is_empty() {
            let sql = "SELECT sha256, bytes FROM robots_gateway.robots WHERE sha256 = ANY($1)";
            let wanted: Vec<&str> = wanted.iter().map(|file| &**file).collect();
            for row in within(client.query(sql, &[&wanted])).await? {
                files.extend(file_bytes(row.try_get(0)?, row.try_get(1)?));
            }
        }
        Ok(files)
    }

    /// How far this gateway may go after an answer.
    fn stand(&mut self, answer: &BeatAnswer, files: &OfferedFiles, is_said: bool, asked: Duration) {
        let standing = self.shared.standing();
        let settle = self.shared.config.settle;
        let is_settled = self.joined.is_none_or(|joined| joined.elapsed() >= settle);
        let joins = standing.doubt() == Some(FleetDoubt::Joining);
        if !joins || is_said && is_settled {
            // A little less than others wait, for clocks that do not run alike.
            standing.renew(asked, self.who.lease.mul_f64(0.98));
        }
        if joins && is_said && is_settled {
            tracing::info!(name = self.who.name, "this gateway is a member of the fleet");
        }
        let knows = |floor: u64| floor >= answer.changed;
        let is_acknowledged = is_said && answer.floor.is_none_or(knows);
        standing.acknowledge(files, answer.behind.clone(), is_acknowledged);
        if is_acknowledged
            && standing.may_go_on()
            && let Some(turn) = ReloadTurn::take(&self.is_reloading)
        {
            let gateway = Arc::clone(&self.shared.gateway);
            // A reload may take its time, and the next beat must not wait for it.
            turn.spawn(move || gateway.go_on());
        }
    }
}
