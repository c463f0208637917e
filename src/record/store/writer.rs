//! The one writer: several times a second it takes what was counted and writes it, in one transaction.
//!
//! A batch that could not be written is kept as it is, with its number, until it is: only so can it be told
//! from a new one should its commit have happened after all. What is counted meanwhile adds up beside it.

use super::StoreOptions;
use super::database::{Database as _, Value};
use super::error::{StoreError, StoreErrorKind};
use super::housekeeping::{self, COUNTS_REMOVED, DETAILS_REMOVED, Step};
use super::open::{Opened, Source};
use super::reader::Removed;
use super::write::{BatchId, write};
use crate::record::event::timestamp;
use crate::record::tally::{Batch, Losses, Strangers, Tally, WAITING, micros};
use serde::Serialize;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How often the tally is emptied. A process that is killed loses this much, and what is being written.
const INTERVAL: Duration = Duration::from_millis(250);

/// How much time of an interval housekeeping may take.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// How often it looks for something to do.
const HOUSEKEEPING_INTERVAL: Duration = Duration::from_secs(60);

/// How long a gateway that stops tries to write its last counts.
const LAST_TRIES: Duration = Duration::from_secs(3);

/// How often an operator is told that the store is at its cap.
const REMINDER: Duration = Duration::from_secs(24 * 3_600);

/// What the store is doing; part of the answer of `gatewayctl status`, so its field names are public API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreStatus {
    /// Its file.
    pub path: String,
    /// Why it cannot be written, while it cannot.
    pub error: Option<String>,
    /// Since when.
    pub failing_since: Option<String>,
    /// Size of the database, in octets.
    pub bytes: u64,
    /// Events, targets and readers that found no room.
    pub details_dropped: u64,
    /// Requests that are missing from the counts.
    pub counts_lost: u64,
    /// Details that the size cap took.
    pub details_removed: u64,
    /// Requests whose counts the size cap took.
    pub counts_removed: u64,
    /// Broken stores that were set aside since the start.
    pub set_aside: Vec<String>,
}

/// What the writer can be asked for.
#[derive(Debug)]
pub(in crate::record) enum Message {
    /// Write now, and say when that was tried.
    Flush(SyncSender<()>),
    /// Write what there is, and end.
    Stop,
}

/// The writer's state between two intervals.
#[derive(Debug)]
pub(in crate::record) struct Writer<S: Source> {
    source: S,
    database: Option<S::Database>,
    options: StoreOptions,
    process: String,
    /// The number of the batch in `frozen`, or of the last one written.
    sequence: i64,
    frozen: Option<Batch>,
    next: Batch,
    /// Made-up names that were seen lately.
    strangers: Strangers,
    /// Losses of batches that are written.
    written_losses: Losses,
    status: Arc<Mutex<StoreStatus>>,
    /// Whether the store must be checked in full when it is next opened.
    is_suspect: bool,
    housekeeping_due: Instant,
    reminder_due: Instant,
}

impl<S: Source> Writer<S> {
    /// A writer that has opened its store, if that can be opened.
    pub(in crate::record) fn new(source: S, options: StoreOptions) -> Self {
        let (now, pid) = (SystemTime::now(), std::process::id());
        // Two containers may share a folder, a process id and an instant.
        let salt = RandomState::new().hash_one(pid);
        let path = options.path.display().to_string();
        let mut writer = Self {
            source,
            database: None,
            options,
            process: format!("{pid}-{}-{salt:016x}", micros(now)),
            sequence: 0,
            frozen: None,
            next: Batch::new(WAITING),
            strangers: Strangers::default(),
            written_losses: Losses::default(),
            status: Arc::new(Mutex::new(StoreStatus { path, ..StoreStatus::default() })),
            is_suspect: false,
            housekeeping_due: Instant::now(),
            reminder_due: Instant::now(),
        };
        if let Err(error) = writer.open() {
            writer.fail(&error);
        }
        writer
    }

    pub(in crate::record) fn status(&self) -> Arc<Mutex<StoreStatus>> {
        Arc::clone(&self.status)
    }

    /// Takes what was counted and writes it, if that can be written now.
    pub(in crate::record) fn turn(&mut self, tally: &Tally) {
        self.next.merge(tally.take());
        let written = self.write_all();
        match &written {
            Ok(()) => self.recover(),
            Err(error) => self.fail(error),
        }
        if written.is_ok()
            && let Err(error) = self.keep_house()
        {
            self.fail(&error);
        }
        self.show_losses();
    }

    /// Writes the batch that waits, and then the one that has come together meanwhile.
    fn write_all(&mut self) -> Result<(), StoreError> {
        self.open()?;
        while self.freeze() {
            let (Some(database), Some(batch)) = (&mut self.database, &self.frozen) else { return Ok(()) };
            let id = BatchId { process: &self.process, sequence: self.sequence };
            write(database, batch, id, micros(SystemTime::now()))?;
            self.written_losses = self.written_losses.plus(batch.losses());
            self.frozen = None;
        }
        Ok(())
    }

    /// Whether there is a batch to write, under a number of its own.
    fn freeze(&mut self) -> bool {
        if self.frozen.is_none() && !self.next.is_empty() {
            self.sequence += 1;
            let mut batch = self.next.take();
            self.strangers.weigh(&mut batch);
            self.frozen = Some(batch);
        }
        self.frozen.is_some()
    }

    /// Opens the store if it is not open, or not the one in its place any more.
    fn open(&mut self) -> Result<(), StoreError> {
        if self.database.is_some() && self.source.is_in_place() {
            return Ok(());
        }
        self.database = None;
        let Opened { database, set_aside } = self.source.open(self.is_suspect)?;
        self.database = Some(database);
        self.is_suspect = false;
        if let Some(aside) = set_aside {
            let aside = aside.display().to_string();
            tracing::error!(
                store = %self.options.path.display(),
                "the store was broken; it was set aside as {aside}, and a new one was begun"
            );
            self.with_status(|status| status.set_aside.push(aside));
        }
        Ok(())
    }

    fn fail(&mut self, error: &StoreError) {
        self.is_suspect |= error.kind() == StoreErrorKind::Corrupt;
        if !matches!(error.kind(), StoreErrorKind::Busy | StoreErrorKind::Full) {
            self.database = None;
        }
        let message = error.to_string();
        let is_news = self.with_status(|status| {
            let is_news = status.error.is_none();
            status.failing_since.get_or_insert_with(|| timestamp(SystemTime::now()));
            status.error = Some(message.clone());
            is_news
        });
        if is_news {
            tracing::error!(
                store = %self.options.path.display(),
                "cannot write the store: {message}; counts wait in memory until it can be written"
            );
        }
    }

    fn recover(&self) {
        let was_failing = self.with_status(|status| {
            status.error = None;
            status.failing_since.take().is_some()
        });
        if was_failing {
            tracing::info!(store = %self.options.path.display(), "the store is written again");
        }
    }

    fn show_losses(&self) {
        let waiting = self.frozen.as_ref().map(Batch::losses).unwrap_or_default();
        let losses = self.written_losses.plus(waiting).plus(self.next.losses());
        let has_begun = self.with_status(|status| {
            let has_begun = status.counts_lost == 0 && losses.counts_lost > 0;
            status.details_dropped = losses.details_dropped;
            status.counts_lost = losses.counts_lost;
            has_begun
        });
        if has_begun {
            tracing::error!(
                "the memory for counts is full while the store cannot be written: counts are lost"
            );
        }
    }

    /// Folds and removes for a moment, if there is anything to fold or remove.
    fn keep_house(&mut self) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        let (keep, now) = (self.options.keep(), micros(SystemTime::now()));
        let begun = Instant::now();
        let is_due = begun >= self.housekeeping_due;
        loop {
            let step = if is_due {
                housekeeping::step(database, keep, now)?
            } else {
                housekeeping::shrink(database, keep.max_bytes, now)?
            };
            if step == Step::Done && is_due {
                self.housekeeping_due = begun + HOUSEKEEPING_INTERVAL;
            }
            if step == Step::Done || begun.elapsed() >= HOUSEKEEPING {
                break;
            }
        }
        self.show_size()
    }

    fn show_size(&mut self) -> Result<(), StoreError> {
        let Some(database) = &mut self.database else { return Ok(()) };
        let pages = database.number("PRAGMA page_count", &[])?.unwrap_or_default();
        let size = database.number("PRAGMA page_size", &[])?.unwrap_or_default();
        let mut counter = |name| {
            let value = database.number("SELECT value FROM meta WHERE name = ?1", &[Value::Text(name)])?;
            Ok(u64::try_from(value.unwrap_or_default()).unwrap_or_default())
        };
        let removed = Removed { details: counter(DETAILS_REMOVED)?, counts: counter(COUNTS_REMOVED)? };
        let is_more = self.with_status(|status| {
            let is_more = removed.details > status.details_removed || removed.counts > status.counts_removed;
            status.bytes = u64::try_from(pages.saturating_mul(size)).unwrap_or_default();
            status.details_removed = removed.details;
            status.counts_removed = removed.counts;
            is_more
        });
        if is_more && Instant::now() >= self.reminder_due {
            self.reminder_due = Instant::now() + REMINDER;
            tracing::warn!(
                details_removed = removed.details,
                counts_removed = removed.counts,
                "the store is at its size cap: the oldest details go, and then the oldest counts"
            );
        }
        Ok(())
    }

    fn with_status<T>(&self, change: impl FnOnce(&mut StoreStatus) -> T) -> T {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes the last counts, for a while; what is left then is lost.
    fn end(mut self, tally: &Tally) {
        let deadline = Instant::now() + LAST_TRIES;
        self.turn(tally);
        while (self.frozen.is_some() || !self.next.is_empty()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
            self.turn(tally);
        }
        let lost = self.frozen.as_ref().map_or(0, Batch::requests) + self.next.requests();
        if lost > 0 {
            tracing::error!(counts_lost = lost, "stopped while the store could not be written");
        }
        if let Some(database) = self.database.take() {
            self.source.close(database);
        }
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
            if catch_unwind(AssertUnwindSafe(|| self.turn(tally))).is_err() {
                let error = StoreError::new(StoreErrorKind::Other, "a fault of the writer, please report it");
                self.fail(&error);
            }
            if let Ok(Message::Flush(done)) = message {
                // Whoever asked may have stopped waiting.
                let _ = done.try_send(());
            }
        }
    }
}

/// Starts the thread of a writer.
///
/// # Errors
/// When the system gives no thread.
pub(in crate::record) fn spawn<S>(
    writer: Writer<S>,
    tally: Arc<Tally>,
) -> io::Result<(Sender<Message>, JoinHandle<()>)>
where
    S: Source + Send + 'static,
    S::Database: Send,
{
    let (sender, messages) = channel();
    let thread =
        std::thread::Builder::new().name("store".to_owned()).spawn(move || writer.run(&tally, &messages))?;
    Ok((sender, thread))
}

#[cfg(test)]
mod tests;
