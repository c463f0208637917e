//! The journal: events as JSON lines, written by one thread behind a bounded queue.
//!
//! [`Journal::record`] never waits. When the queue is full the event's line is dropped and counted; when
//! the disk refuses a batch its lines are counted as dropped too, and the next batch tries again.

use super::event::Event;
use super::rotation::RotatedFile;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How many events may wait for the disk: a few seconds of a heavy crawl.
const QUEUE: usize = 16_384;

/// How many bytes of lines are gathered before they are written.
const BATCH_BYTES: usize = 256 * 1024;

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
    /// Where it goes.
    pub target: JournalTarget,
    /// Size in bytes at which a file is rotated.
    pub max_bytes: u64,
    /// How many old files are kept.
    pub keep: usize,
}

/// Why the journal could not be opened.
#[derive(Debug)]
pub struct JournalError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: cannot open the journal", self.path.display())
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// What the journal is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalStatus {
    /// Events waiting to be written.
    pub queue: usize,
    /// Events whose line was not written.
    pub details_dropped: u64,
}

#[derive(Debug, Default)]
struct Counters {
    queued: AtomicUsize,
    dropped: AtomicU64,
}

/// The writing end; the thread behind it ends when this is closed.
#[derive(Debug)]
pub struct Journal {
    queue: Mutex<Option<SyncSender<Event>>>,
    counters: Arc<Counters>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Opens the journal and starts its writer.
    ///
    /// # Errors
    /// When the file cannot be opened, or no thread can be started.
    pub fn open(options: &JournalOptions) -> Result<Self, JournalError> {
        let error = |source| JournalError { path: options.target.path().to_owned(), source };
        let sink = Sink::open(options).map_err(error)?;
        let (sender, receiver) = sync_channel(QUEUE);
        let counters = Arc::new(Counters::default());
        let writer = Writer {
            options: options.clone(),
            sink: Some(sink),
            counters: Arc::clone(&counters),
            failing: false,
        };
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writer.run(&receiver))
            .map_err(error)?;
        Ok(Self { queue: Mutex::new(Some(sender)), counters, writer: Mutex::new(Some(thread)) })
    }

    /// Hands an event to the writer, or counts it as dropped. Never waits for a disk.
    pub fn record(&self, event: Event) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.counters.queued.fetch_add(1, Ordering::Relaxed);
        let sent = queue.as_ref().is_some_and(|sender| sender.try_send(event).is_ok());
        if !sent {
            self.counters.queued.fetch_sub(1, Ordering::Relaxed);
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the journal is doing now.
    #[must_use]
    pub fn status(&self) -> JournalStatus {
        JournalStatus {
            queue: self.counters.queued.load(Ordering::Relaxed),
            details_dropped: self.counters.dropped.load(Ordering::Relaxed),
        }
    }

    /// Writes what is waiting and ends the writer. Later events are counted as dropped.
    pub fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // The writer has no way to fail but a panic, which its own hook has reported.
            let _ = writer.join();
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
        match &options.target {
            JournalTarget::File(path) => {
                RotatedFile::open(path, options.max_bytes, options.keep).map(Self::File)
            }
            JournalTarget::Stdout => Ok(Self::Stdout),
        }
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.append(lines),
            Self::Stdout => {
                let mut output = io::stdout().lock();
                output.write_all(lines)?;
                output.flush()
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
    fn run(mut self, events: &Receiver<Event>) {
        let mut lines = Vec::with_capacity(BATCH_BYTES);
        while let Ok(first) = events.recv() {
            let mut count = 1;
            lines.extend_from_slice(&first.line());
            while lines.len() < BATCH_BYTES
                && let Ok(event) = events.try_recv()
            {
                lines.extend_from_slice(&event.line());
                count += 1;
            }
            self.write(&lines, count);
            lines.clear();
        }
    }

    fn write(&mut self, lines: &[u8], count: usize) {
        let result = self.reopened().and_then(|sink| sink.append(lines));
        self.counters.queued.fetch_sub(count, Ordering::Relaxed);
        match result {
            Ok(()) if self.failing => {
                self.failing = false;
                tracing::info!(journal = %self.options.target.path().display(), "the journal is written again");
            }
            Ok(()) => {}
            Err(error) => self.lose(&error, count),
        }
    }

    fn reopened(&mut self) -> io::Result<&mut Sink> {
        match &mut self.sink {
            Some(sink) => Ok(sink),
            empty => Ok(empty.insert(Sink::open(&self.options)?)),
        }
    }

    fn lose(&mut self, error: &io::Error, count: usize) {
        self.sink = None;
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.counters.dropped.fetch_add(count, Ordering::Relaxed);
        if !self.failing {
            self.failing = true;
            tracing::error!(
                journal = %self.options.target.path().display(),
                "cannot write the journal: {error}; events are counted as dropped until it can be written"
            );
        }
    }
}
