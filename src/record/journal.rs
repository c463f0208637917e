//! The journal: events as JSON lines, written by one thread behind a bounded buffer.
//!
//! [`Journal::record`] never waits. When the buffer is full, or its sender has had its lines for now, the event's line is
//! dropped and counted; when the disk refuses a batch its lines are counted as dropped too, and the next batch tries again. A journal
//! that cannot be opened is a disk that refuses: the site is served all the same.

use super::files::make_folder;
use super::lines::{LineQueue, QueueRoom};
use super::rate::{JournalRate, LineSender, RateTable};
use super::rotation::RotatedFile;
use crate::identify::{Identity, Proof};
use parking_lot::Mutex;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How many events may wait for the disk: a few seconds of a heavy crawl.
const QUEUE: usize = 16_384;

/// How many bytes of lines may wait: targets and headers can be long.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// How many bytes of lines are written at once: so many lines at most are counted as dropped for the sake of one.
const BATCH_BYTES: u64 = 256 * 1024;

/// A buffer that has grown beyond this, while the disk stood still, is given back. Lines of [`GATHERING`] take far less.
const USUAL_BYTES: usize = 1024 * 1024;

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
    /// How many lines one sender may have; `None` bounds nobody.
    pub rate: Option<JournalRate>,
}

/// Why there can be no journal at all.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the journal's thread")]
pub struct JournalError(#[source] io::Error);

/// What the journal is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalStatus {
    /// Events waiting to be written.
    pub queue: usize,
    /// How many may wait.
    pub capacity: usize,
    /// Events whose line was not written.
    pub details_dropped: u64,
    /// Those of them that were more than their sender may have.
    pub beyond_rate: u64,
}

#[derive(Debug)]
struct SharedJournal {
    lines: LineQueue,
    dropped: AtomicU64,
    may_rotate: AtomicBool,
}

impl SharedJournal {
    fn lose(&self, count: usize) {
        self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// The writing end; the thread behind it ends when this is closed.
#[derive(Debug)]
pub struct Journal {
    name: &'static str,
    shared: Arc<SharedJournal>,
    rates: Option<RateTable>,
    beyond_rate: AtomicU64,
    done: Mutex<Receiver<()>>,
}

impl Journal {
    /// Opens the journal and starts its writer. Where the file cannot be opened, that is logged, and tried
    /// again with every batch.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(options: &JournalOptions) -> Result<Self, JournalError> {
        let (finished, done) = channel();
        let lines = LineQueue::new(QueueRoom { lines: QUEUE, bytes: QUEUE_BYTES });
        let shared =
            Arc::new(SharedJournal { lines, dropped: AtomicU64::new(0), may_rotate: AtomicBool::new(false) });
        let mut writer = JournalWriter {
            options: options.clone(),
            sink: None,
            shared: Arc::clone(&shared),
            failing: false,
        };
        std::thread::Builder::new()
            .name(options.name.to_owned())
            .spawn(move || {
                // Not before: the file may lie on a mount that hangs, and the site is served all the same.
                if let Err(error) = writer.reopened() {
                    writer.complain(&error);
                }
                writer.run();
                // Nobody waits any more when closing took too long.
                let _ = finished.send(());
            })
            .map_err(JournalError)?;
        Ok(Self {
            name: options.name,
            shared,
            rates: options.rate.map(RateTable::new),
            beyond_rate: AtomicU64::new(0),
            done: Mutex::new(done),
        })
    }

    /// Whether an event of this client may have a line `now`, by the machine's uptime; one that may not is counted as dropped. It is asked before the
    /// line is put together, which is half of what judging costs.
    pub fn admits(&self, identity: &Identity, proof: Proof, address: Option<IpAddr>, now: Duration) -> bool {
        let sender = LineSender::new(identity, proof, address);
        if self.rates.as_ref().is_none_or(|rates| rates.admits(sender, now)) {
            return true;
        }
        if self.beyond_rate.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                sender = sender.name(),
                "a sender exceeds `journal_rate`: its further lines are left out of the {}; counts stay exact, and \
                 `gatewayctl status` says how many were left out",
                self.name
            );
        }
        false
    }

    /// Hands a line to the writer, its newline included, or counts it as dropped. Never waits for a disk.
    pub fn record(&self, line: &str) {
        if !self.shared.lines.append(line.as_bytes()) {
            self.shared.lose(1);
        }
    }

    /// Says whether this process may rotate the file. Of two gateways that write one journal, as during an
    /// upgrade, only one may; the other follows. Until it is said, nothing is rotated.
    pub fn set_rotating(&self, may_rotate: bool) {
        self.shared.may_rotate.store(may_rotate, Ordering::Relaxed);
    }

    /// What the journal is doing now.
    pub fn status(&self) -> JournalStatus {
        let beyond_rate = self.beyond_rate.load(Ordering::Relaxed);
        JournalStatus {
            queue: self.shared.lines.len(),
            capacity: QUEUE,
            details_dropped: self.shared.dropped.load(Ordering::Relaxed).saturating_add(beyond_rate),
            beyond_rate,
        }
    }

    /// Writes what is waiting and ends the writer, or gives it up after two seconds. Later events
    /// are counted as dropped.
    pub fn close(&self) {
        self.shared.lines.close();
        let done = self.done.lock();
        if done.recv_timeout(CLOSE_PATIENCE).is_err() {
            let lost = self.shared.lines.len();
            tracing::error!(lost, "the last lines of the {} could not be written", self.name);
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
            make_folder(folder)?;
        }
        RotatedFile::open(path, options.max_bytes, options.keep).map(Self::File)
    }

    fn append(&mut self, lines: &[u8], may_rotate: bool) -> io::Result<()> {
        match self {
            Self::File(file) => file.append(lines, may_rotate),
            Self::Stdout => {
                let mut output = io::stdout().lock();
                output.write_all(lines).and_then(|()| output.flush())
            }
        }
    }
}

/// As many of the first lines as have room, but one at least.
fn first_lines(lines: &[u8], room: u64) -> (&[u8], &[u8]) {
    let room = usize::try_from(room).unwrap_or(usize::MAX).min(lines.len());
    let within = lines.get(..room).unwrap_or_default();
    let end = memchr::memrchr(b'\n', within).or_else(|| memchr::memchr(b'\n', lines));
    lines.split_at(end.map_or(lines.len(), |end| end + 1))
}

struct JournalWriter {
    options: JournalOptions,
    sink: Option<Sink>,
    shared: Arc<SharedJournal>,
    failing: bool,
}

impl JournalWriter {
    fn run(mut self) {
        let mut empty = Vec::new();
        while let Some(mut lines) = self.shared.lines.take(empty, GATHERING) {
            let mut rest = lines.as_slice();
            while !rest.is_empty() {
                let (piece, after) = first_lines(rest, BATCH_BYTES.min(self.options.max_bytes));
                self.write(piece);
                rest = after;
            }
            lines.clear();
            empty = if lines.capacity() > USUAL_BYTES { Vec::new() } else { lines };
        }
    }

    fn write(&mut self, lines: &[u8]) {
        let may_rotate = self.shared.may_rotate.load(Ordering::Relaxed);
        let result = self.reopened().and_then(|sink| sink.append(lines, may_rotate));
        let count = memchr::memchr_iter(b'\n', lines).count();
        self.shared.lines.release(count, lines.len());
        match result {
            Ok(()) if self.failing => {
                self.failing = false;
                let name = self.options.name;
                tracing::info!(path = %self.options.target.path().display(), "the {name} is written again");
            }
            Ok(()) => {}
            Err(error) => {
                self.shared.lose(count);
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
