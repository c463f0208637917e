//! The one writer: several times a second it takes what was counted and writes it, in one transaction.
//!
//! A batch that could not be written is kept as it is, with its number, until it is: only so can it be told
//! from a new one should its commit have happened after all. What is counted meanwhile waits in the tally.

mod ending;
mod opening;
mod telling;

pub use telling::{CrawlerCounts, StoreStatus};

use super::StoreOptions;
use super::clock::StoreClock;
use super::error::{StoreError, StoreErrorKind};
use super::housekeeping;
use super::open::StoreFile;
use super::outbox;
use super::processes::{self, WriterFile};
use super::shares::NetworkShares;
use super::sqlite::Sqlite;
use super::write::write;
use crate::record::missing::Missing;
use crate::record::tally::{CountBatch, Tally, micros};
use parking_lot::Mutex;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use telling::add_by_crawler;

/// How often the tally is emptied. A process that is killed loses this much, and what is being written.
const INTERVAL: Duration = Duration::from_millis(250);

/// How much time of an interval housekeeping may take.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// How often what came together for the fleet is sealed: all that is sent at once.
const SEALED_EVERY: Duration = Duration::from_secs(10);

/// The part of the store's size that the outbox of a fleet may take.
const OUTBOX_PART: u64 = 4;

/// How often it looks for something to do.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);

/// What the writer can be asked for.
#[derive(Debug)]
pub(in crate::record) enum Message {
    /// Write now, and say when that was tried.
    Flush(SyncSender<()>),
    /// The fleet has everything up to this piece of the outbox.
    Taken(i64),
    /// The fleet has counted something else under the numbers of the store with this id.
    BeginAnew(String),
    /// Write what there is, and end.
    Stop,
}

/// What the writer shows of itself while it runs.
#[derive(Debug, Default)]
pub(in crate::record) struct ShownState {
    pub(in crate::record) status: Mutex<StoreStatus>,
    /// Requests by crawler since the start.
    pub(in crate::record) by_crawler: Mutex<CrawlerCounts>,
    /// Whether a store was begun, and what is in force is to be noted in it.
    pub(in crate::record) begun: AtomicBool,
}

/// The writer's state between two intervals.
#[derive(Debug)]
pub(in crate::record) struct StoreWriter {
    source: StoreFile,
    database: Option<Sqlite>,
    options: StoreOptions,
    process: String,
    /// The number of the batch in `frozen`, or of the last one written.
    sequence: i64,
    frozen: Vec<CountBatch>,
    /// When all was counted that is written, or in `frozen`, in microseconds.
    taken: i64,
    /// What tells others that this process lives.
    file: WriterFile,
    /// What networks have taken today under names that are not confirmed.
    shares: NetworkShares,
    /// What batches that are written lacked.
    lacked: Vec<Missing>,
    pub(in crate::record) shown: Arc<ShownState>,
    clock: StoreClock,
    /// Whether another file stood in the place of the store, an empty one, or none, since it was opened.
    is_replaced: bool,
    /// Whether the database said that it is corrupt: a full check tells.
    is_corrupt: bool,
    housekeeping_due: Instant,
    /// Whether it failed the last time.
    housekeeping_fails: bool,
    /// When the fleet's outbox is sealed next.
    seal_due: Instant,
    /// When the store was opened, in microseconds.
    opened: i64,
}

impl StoreWriter {
    /// A writer that has opened its store, if that can be opened.
    pub(in crate::record) fn new(source: StoreFile, options: StoreOptions) -> Self {
        let path = options.path.display().to_string();
        // Two containers may share a folder and a process id.
        let process = format!("{}-{:016x}", std::process::id(), RandomState::new().hash_one(&path));
        let mut writer = Self {
            source,
            database: None,
            file: WriterFile::new(&options.path, &process),
            clock: StoreClock::new(&process),
            process,
            sequence: 0,
            frozen: Vec::new(),
            taken: micros(SystemTime::now()),
            shares: NetworkShares::new(options.max_bytes),
            lacked: Vec::new(),
            shown: Arc::default(),
            is_replaced: false,
            is_corrupt: false,
            housekeeping_due: Instant::now(),
            housekeeping_fails: false,
            seal_due: Instant::now() + SEALED_EVERY,
            opened: 0,
            options,
        };
        writer.with_status(|status| status.path = path);
        if let Err(error) = writer.reopen() {
            writer.fail(&error);
        }
        writer
    }

    /// Takes what was counted and writes it, if that can be written now.
    pub(in crate::record) fn write_turn(&mut self, tally: &Tally) {
        match self.write_all(tally) {
            Ok(()) => {
                self.recover();
                let kept = self.run_housekeeping().and_then(|()| self.keep_outbox(false));
                self.note_housekeeping(kept);
            }
            Err(error) => self.fail(&error),
        }
        self.show_losses(tally);
    }

    /// Writes the batch that waits, and then what was counted meanwhile.
    fn write_all(&mut self, tally: &Tally) -> Result<(), StoreError> {
        self.open()?;
        self.write_frozen()?;
        self.taken = micros(SystemTime::now());
        self.frozen = tally.take();
        self.sequence += i64::from(!self.frozen.is_empty());
        add_by_crawler(&mut self.shown.by_crawler.lock(), &self.frozen);
        self.write_frozen()
    }

    fn write_frozen(&mut self) -> Result<(), StoreError> {
        let Some(database) = self.database.as_ref().filter(|_| !self.frozen.is_empty()) else {
            return Ok(());
        };
        write(database, &self.frozen, (&self.process, self.sequence), self.taken, &mut self.shares)?;
        for missing in self.frozen.drain(..).flat_map(|part| part.room.missing) {
            missing.add_to(&mut self.lacked);
        }
        Ok(())
    }

    /// Folds and removes for a moment, if there is anything to fold or remove.
    fn run_housekeeping(&mut self) -> Result<(), StoreError> {
        let Some(database) = &self.database else { return Ok(()) };
        let begun = Instant::now();
        let is_due = begun >= self.housekeeping_due;
        if is_due {
            self.note_ends(database)?;
            self.clock.go_on(database, micros(SystemTime::now()))?;
            processes::note_written(database, &self.process, self.taken)?;
        }
        loop {
            let has_more = if is_due {
                housekeeping::step(database, &self.options, self.clock.time)?
            } else {
                housekeeping::shrink(database, self.options.max_bytes, self.clock.time)?
            };
            if !has_more && is_due {
                self.housekeeping_due = begun + HOUSEKEEPING_INTERVAL;
            }
            if !has_more || begun.elapsed() >= HOUSEKEEPING {
                break;
            }
        }
        self.show_clock();
        self.show_size()
    }

    /// Seals what came together for the fleet, where it is time or `now`.
    fn keep_outbox(&mut self, now: bool) -> Result<(), StoreError> {
        let Some(database) = self.database.as_ref().filter(|_| self.options.is_shared) else { return Ok(()) };
        if now || Instant::now() >= self.seal_due {
            self.seal_due = Instant::now() + SEALED_EVERY;
            while outbox::seal(database, self.taken)? {}
            outbox::prune(database, self.options.max_bytes / OUTBOX_PART, self.taken)?;
        }
        Ok(())
    }

    /// Starts its thread.
    ///
    /// # Errors
    /// When the system gives none.
    pub(in crate::record) fn start(self, tally: Arc<Tally>) -> io::Result<(Sender<Message>, JoinHandle<()>)> {
        let (sender, messages) = channel();
        let thread = std::thread::Builder::new().name("store".to_owned());
        Ok((sender, thread.spawn(move || self.run(&tally, &messages))?))
    }

    fn run(mut self, tally: &Tally, messages: &Receiver<Message>) {
        let mut due = Instant::now() + INTERVAL;
        loop {
            let message = messages.recv_timeout(due.saturating_duration_since(Instant::now()));
            if matches!(message, Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected)) {
                return self.end(tally);
            }
            due = Instant::now() + INTERVAL;
            // The hook reports the panic. The batch is kept, and the database opened anew.
            if catch_unwind(AssertUnwindSafe(|| self.write_turn(tally))).is_err() {
                let error = StoreError::new(StoreErrorKind::Other, "a fault of the writer, please report it");
                self.fail(&error);
            }
            let noted = match (message, &self.database) {
                (Ok(Message::Flush(done)), _) => {
                    // Whoever asked may have stopped waiting.
                    let _ = done.try_send(());
                    Ok(())
                }
                (Ok(Message::Taken(mark)), Some(database)) => outbox::taken(database, mark, self.taken),
                (Ok(Message::BeginAnew(store)), Some(database)) => {
                    outbox::begin_anew(database, &store, self.opened, self.taken)
                }
                _ => Ok(()),
            };
            if let Err(error) = noted {
                tracing::debug!("what the fleet has taken cannot be noted: {error}");
            }
        }
    }
}

#[cfg(test)]
mod tests;
