//! What the gateway records through: counts to the tally, events worth keeping, reads and versions.
//!
//! Nothing here waits for a disk or fails. How it gets to the store is the writer's business.

use super::event::{AddressDetail, EventKind, Occurrence};
use super::reads::ReaderId;
use super::rows::whole_micros;
use super::store::{CrawlerCounts, Message, ShownState, StoreFile, StoreOptions, StoreStatus, StoreWriter};
use super::tables::{ReadKey, ReadSum};
use super::tally::{
    CountedDecision, FullEvent, InForce, SeenInstants, SubjectRef, Tally, is_known, micros, network,
};
use crate::decide::{NoticeTime, Read, VersionId};
use crate::identify::{Identity, Proof};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// How long [`Recorder::flush`] waits at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// Records what happens, in memory at once and in the store soon after.
#[derive(Debug)]
pub struct Recorder {
    tally: Arc<Tally>,
    shown: Arc<ShownState>,
    messages: Sender<Message>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// A complete read of robots.txt.
#[derive(Debug)]
pub struct CompleteRead {
    /// Of which site.
    pub site: Box<str>,
    /// Who read.
    pub identity: Arc<Identity>,
    /// Whom it counts for.
    pub reader: ReaderId<'static>,
    /// Which version.
    pub version: VersionId,
    /// Which of its groups was the reader's.
    pub chosen: Box<str>,
    /// When that came into force.
    pub in_force: SystemTime,
    /// When it was read.
    pub time: SystemTime,
    /// What fair notice makes of it; what replaces the version later did not come before this read.
    pub read: Read,
    /// How much of an address may be kept.
    pub addresses: AddressDetail,
}

impl Recorder {
    /// Opens the store and starts its writer. A store that cannot be opened is asked for again; until then
    /// counts wait in memory, and [`Self::status`] says why.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(options: &StoreOptions) -> io::Result<Self> {
        let tally = Arc::new(Tally::default());
        let writer = StoreWriter::new(StoreFile::new(options.path.clone()), options.clone());
        let shown = Arc::clone(&writer.shown);
        let (messages, thread) = writer.start(Arc::clone(&tally))?;
        Ok(Self { tally, shown, messages, writer: Mutex::new(Some(thread)) })
    }

    /// Counts one judged request as an event of `kind`. A few events of a kind are wanted in full: hand such a one to
    /// [`Self::keep`] when its request is over.
    #[must_use = "an event that is wanted in full is kept by `keep`"]
    pub fn count(&self, occurrence: &Occurrence<'_>, kind: EventKind) -> Option<FullEvent> {
        let subject = SubjectRef::of(occurrence.site, occurrence.identity, occurrence.proof);
        let is_wanted = self.tally.shard(subject).count(occurrence, kind);
        is_wanted.then(|| FullEvent {
            subject: (&subject).into(),
            is_known: is_known(occurrence.identity),
            decision: CountedDecision::of(occurrence, kind),
            at: micros(occurrence.now),
            line: Box::default(),
            network: occurrence.facts.address.map(network),
        })
    }

    /// Adds the bytes of the body that a counted request, which came at `time`, was answered with.
    pub fn sent(&self, site: &str, identity: &Identity, proof: Proof, time: SystemTime, bytes: u64) {
        let subject = SubjectRef::of(site, identity, proof);
        self.tally.shard(subject).sent(subject, is_known(identity), micros(time), bytes);
    }

    /// Keeps an event in full: its line of the journal.
    pub fn keep(&self, wanted: FullEvent, line: String) {
        let mut shard = self.tally.shard(wanted.subject.borrowed());
        shard.keep(FullEvent { line: line.into(), ..wanted });
    }

    /// Notes a complete read of robots.txt.
    pub fn read(&self, read: &CompleteRead) {
        let subject = SubjectRef::of(&read.site, &read.identity, read.reader.proof);
        let network = read.reader.network.filter(|_| read.addresses != AddressDetail::None);
        let key = ReadKey {
            version: read.version,
            in_force: micros(read.in_force),
            host: (*read.reader.host).into(),
            network: network.map(|network| network.to_string().into()),
            chosen: Some(read.chosen.clone()),
        };
        let sum = ReadSum::of(read.read, SeenInstants::once(micros(read.time)));
        self.tally.shard(subject).read(subject, is_known(&read.identity), key, sum);
    }

    /// Notes which file is in force at a site, and since when; without bytes for a site without one. To say
    /// again what is in force already changes nothing.
    pub fn in_force(&self, site: &str, bytes: Option<&[u8]>, since: SystemTime) {
        let (site, bytes) = (site.into(), bytes.map(Arc::from));
        self.tally.common().in_force(InForce { site, bytes, since: micros(since) });
    }

    /// Notes that someone else, such as a cache in front of the gateway, may answer requests for a site's robots.txt, and
    /// what shows it: then a crawler that was not seen to read it may have read it all the same.
    pub fn reads_go_unseen(&self, site: &str, reason: &'static str, at: SystemTime) {
        self.tally.reads_go_unseen(site, reason, micros(at));
    }

    /// The name that came in the last day in place of those of a site's visitors.
    pub fn stand_in(&self, site: &str, now: SystemTime) -> Option<&'static str> {
        self.tally.unseen.stand_in(site, micros(now).saturating_sub(24 * 3_600 * 1_000_000))
    }

    /// Notes when rows of what is served were written last. The store remembers it, so that rows that are lost, or older
    /// ones, are told from a first start.
    pub fn set_rows_noted(&self, noted: NoticeTime) {
        let mut common = self.tally.common();
        common.rows_noted = common.rows_noted.max(whole_micros(noted.0));
    }

    /// Whether a store was begun since this was asked last: it does not know yet what is in force.
    pub fn has_begun_a_store(&self) -> bool {
        self.shown.begun.swap(false, Ordering::Relaxed)
    }

    /// Notes that the fleet has everything up to this piece of the outbox.
    pub fn fleet_has(&self, mark: i64) {
        // What is not noted is noted with what the fleet has next.
        let _ = self.messages.send(Message::Taken(mark));
    }

    /// Has the store with this id be another one for the fleet, which has counted something else under its numbers.
    pub fn begin_anew(&self, store: &str) {
        let _ = self.messages.send(Message::BeginAnew(store.to_owned()));
    }

    /// What the store is doing.
    pub fn status(&self) -> StoreStatus {
        self.shown.status.lock().clone()
    }

    /// Requests of crawlers of the catalogue since the start, as of a second ago.
    pub fn by_crawler(&self) -> CrawlerCounts {
        self.shown.by_crawler.lock().clone()
    }

    /// Waits until all that was recorded is written, or writing it has failed once.
    pub fn flush(&self) {
        self.flush_within(PATIENCE);
    }

    /// The same, for no longer than `patience`.
    pub fn flush_within(&self, patience: Duration) {
        let (done, waiting) = sync_channel(1);
        if self.messages.send(Message::Flush(done)).is_ok() {
            // Nothing comes from a writer that has ended, or that waits for a disk.
            let _ = waiting.recv_timeout(patience);
        }
    }

    /// Writes what waits and ends the writer. Later counts are not written.
    pub fn close(&self) {
        // The writer has ended already when it does not listen.
        let _ = self.messages.send(Message::Stop);
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            // It has no way to fail but a panic, which its own hook has reported.
            let _ = writer.join();
        }
    }
}
