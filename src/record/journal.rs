//! The journal: events as JSON lines, written by one thread behind a bounded queue.
//!
//! [`Journal::record`] never waits. When the queue is full the event's line is dropped and counted; when
//! the disk refuses a batch its lines are counted as dropped too, and the next batch tries again. A journal
//! that cannot be opened is a disk that refuses: the site is served all the same.

use super::event::Event;
use super::rotation::RotatedFile;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many events may wait for the disk: a few seconds of a heavy crawl.
const QUEUE: usize = 16_384;

/// How many octets of lines may wait: targets and headers can be long.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// How many octets of lines are gathered before they are written.
const BATCH_BYTES: usize = 256 * 1024;

/// How long the writer gathers lines before it writes them. Under load a wake-up and a write for each line would
/// cost more than judging; 20 ms is no wait for a reader, and the queue has room for far more.
const GATHERING: Duration = Duration::from_millis(20);

/// How long closing waits for a disk, or for a reader of standard output, that has stopped.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Where the journal goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalTarget {
    /// A file, rotated by size.
    File(PathBuf),
    /// Standard output.
    Stdout,
}

/// How the journal is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// What it is called in messages.
    pub name: &'static str,
    /// Where it goes.
    pub target: JournalTarget,
    /// Size in bytes at which a file is rotated.
    pub max_bytes: u64,
    /// How many old files are kept.
    pub keep: usize,
}

/// Why there can be no journal at all.
#[derive(Debug)]
pub struct JournalError(io::Error);

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("cannot start the journal's thread")
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// What the journal is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalStatus {
    /// Events waiting to be written.
    pub queue: usize,
    /// How many may wait.
    pub capacity: usize,
    /// Events whose line was not written.
    pub details_dropped: u64,
}

#[derive(Debug, Default)]
struct Counters {
    queued: AtomicUsize,
    queued_bytes: AtomicUsize,
    dropped: AtomicU64,
    may_rotate: AtomicBool,
}

impl Counters {
    fn written_or_lost(&self, count: usize, bytes: usize) {
        self.queued.fetch_sub(count, Ordering::Relaxed);
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn lose(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// The writing end; the thread behind it ends when this is closed.
#[derive(Debug)]
pub struct Journal {
    name: &'static str,
    queue: Mutex<Option<SyncSender<Vec<u8>>>>,
    counters: Arc<Counters>,
    done: Mutex<Receiver<()>>,
}

impl Journal {
    /// Opens the journal and starts its writer. Where the file cannot be opened, that is logged, and tried
    /// again with every batch.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(options: &JournalOptions) -> Result<Self, JournalError> {
        let (sender, receiver) = sync_channel(QUEUE);
        let (finished, done) = channel();
        let counters = Arc::new(Counters::default());
        let mut writer =
            Writer { options: options.clone(), sink: None, counters: Arc::clone(&counters), failing: false };
        if let Err(error) = writer.reopened() {
            writer.complain(&error);
        }
        std::thread::Builder::new()
            .name(options.name.to_owned())
            .spawn(move || {
                writer.run(&receiver);
                // Nobody waits any more when closing took too long.
                let _ = finished.send(());
            })
            .map_err(JournalError)?;
        Ok(Self { name: options.name, queue: Mutex::new(Some(sender)), counters, done: Mutex::new(done) })
    }

    /// Hands an event to the writer, or counts it as dropped. Never waits for a disk.
    pub fn record(&self, event: Event) {
        self.write(event.into_line());
    }

    /// Hands a line to the writer, its newline included, or counts it as dropped. Never waits for a disk.
    pub(super) fn write(&self, line: Vec<u8>) {
        let bytes = line.len();
        self.counters.queued.fetch_add(1, Ordering::Relaxed);
        let waiting = self.counters.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = waiting.saturating_add(bytes) <= QUEUE_BYTES;
        let sent = has_room && queue.as_ref().is_some_and(|sender| sender.try_send(line).is_ok());
        if !sent {
            self.counters.written_or_lost(1, bytes);
            self.counters.lose(1);
        }
    }

    /// Says whether this process may rotate the file. Of two gateways that write one journal, as during an
    /// upgrade, only one may; the other follows. Until it is said, nothing is rotated.
    pub fn set_rotating(&self, may_rotate: bool) {
        self.counters.may_rotate.store(may_rotate, Ordering::Relaxed);
    }

    /// What the journal is doing now.
    #[must_use]
    pub fn status(&self) -> JournalStatus {
        JournalStatus {
            queue: self.counters.queued.load(Ordering::Relaxed),
            capacity: QUEUE,
            details_dropped: self.counters.dropped.load(Ordering::Relaxed),
        }
    }

    /// Writes what is waiting and ends the writer, or gives it up after two seconds. Later events
    /// are counted as dropped.
    pub fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if done.recv_timeout(CLOSE_PATIENCE).is_err() {
            let lost = self.counters.queued.load(Ordering::Relaxed);
            tracing::error!(lost, "the {} could not be written to its end", self.name);
        }
    }
}

impl JournalTarget {
    fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Stdout => Path::new("-"),
        }
    }
}

enum Sink {
    File(RotatedFile),
    Stdout,
}

impl Sink {
    fn open(options: &JournalOptions) -> io::Result<Self> {
        let JournalTarget::File(path) = &options.target else { return Ok(Self::Stdout) };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        RotatedFile::open(path, options.max_bytes, options.keep).map(Self::File)
    }

    /// How many of the lines were written, and what stopped the others.
    fn append(&mut self, lines: &[u8], may_rotate: bool) -> (usize, io::Result<()>) {
        match self {
            Self::File(file) => file.append(lines, may_rotate),
            Self::Stdout => {
                let mut output = io::stdout().lock();
                match output.write_all(lines).and_then(|()| output.flush()) {
                    Ok(()) => (usize::MAX, Ok(())),
                    error => (0, error),
                }
            }
        }
    }
}

struct Writer {
    options: JournalOptions,
    sink: Option<Sink>,
    counters: Arc<Counters>,
    failing: bool,
}

impl Writer {
    fn run(mut self, queue: &Receiver<Vec<u8>>) {
        let mut lines = Vec::with_capacity(BATCH_BYTES);
        let mut has_more = false;
        while let Ok(first) = queue.recv() {
            // Whoever records an event while nobody waits for it need not wake anybody.
            if !has_more {
                std::thread::sleep(GATHERING);
            }
            let mut count = 1;
            lines.extend_from_slice(&first);
            has_more = true;
            while has_more && lines.len() < BATCH_BYTES {
                match queue.try_recv() {
                    Ok(line) => {
                        lines.extend_from_slice(&line);
                        count += 1;
                    }
                    Err(_) => has_more = false,
                }
            }
            self.write(&lines, count);
            lines.clear();
        }
    }

    fn write(&mut self, lines: &[u8], count: usize) {
        let may_rotate = self.counters.may_rotate.load(Ordering::Relaxed);
        let (written, result) = match self.reopened() {
            Ok(sink) => sink.append(lines, may_rotate),
            Err(error) => (0, Err(error)),
        };
        self.counters.written_or_lost(count, lines.len());
        match result {
            Ok(()) if self.failing => {
                self.failing = false;
                let name = self.options.name;
                tracing::info!(path = %self.options.target.path().display(), "the {name} is written again");
            }
            Ok(()) => {}
            Err(error) => {
                self.counters.lose(count.saturating_sub(written));
                self.sink = None;
                self.complain(&error);
            }
        }
    }

    fn reopened(&mut self) -> io::Result<&mut Sink> {
        match &mut self.sink {
            Some(sink) => Ok(sink),
            empty => Ok(empty.insert(Sink::open(&self.options)?)),
        }
    }

    /// Says once that the journal fails, until it has been written again.
    fn complain(&mut self, error: &io::Error) {
        if !self.failing {
            self.failing = true;
            tracing::error!(
                path = %self.options.target.path().display(),
                "cannot write the {}: {error}; its lines are counted as dropped until it can be written",
                self.options.name
            );
        }
    }
}
