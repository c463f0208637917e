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
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How many events may wait for the disk: a few seconds of a heavy crawl.
const QUEUE: usize = 16_384;

/// How many bytes of lines may wait: targets and headers can be long.
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// How many bytes of lines are written at once: so many lines at most are counted as dropped for the sake of one.
const BATCH_BYTES: u64 = 256 * 1024;

/// How long the writer gathers lines before it writes them. Under load, a wake-up and a write for each line would cost more
/// than judging. With 20 ms the writer took 15 ns of processor time for each refusal, with 100 ms it takes 5 ns.
const GATHERING: Duration = Duration::from_millis(100);

/// How long closing waits for a disk, or for a reader of standard output, that has stopped.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// How the journal is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// What it is called in messages.
    pub name: &'static str,
    /// The file that it goes to, rotated by size; `None` is standard output.
    pub file: Option<PathBuf>,
    /// Size in bytes at which a file is rotated.
    pub max_bytes: u64,
    /// How many old files are kept.
    pub keep: usize,
    /// How many lines one sender may have; `None` bounds nobody.
    pub rate: Option<JournalRate>,
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
    /// Those of them that were more than their sender may have.
    pub beyond_rate: u64,
}

/// The writing end; the thread behind it ends when this is closed.
#[derive(Debug)]
pub struct Journal {
    name: &'static str,
    lines: Arc<LineQueue>,
    may_rotate: Arc<AtomicBool>,
    rates: Option<RateTable>,
    beyond_rate: AtomicU64,
}

impl Journal {
    /// Opens the journal and starts its writer. Where the file cannot be opened, that is logged, and tried
    /// again with every batch.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(options: &JournalOptions) -> io::Result<Self> {
        let lines = Arc::new(LineQueue::new(QueueRoom { lines: QUEUE, bytes: QUEUE_BYTES }));
        let may_rotate = Arc::new(AtomicBool::new(false));
        let writer = JournalWriter {
            options: options.clone(),
            file: None,
            lines: Arc::clone(&lines),
            may_rotate: Arc::clone(&may_rotate),
            failing: false,
        };
        let thread = std::thread::Builder::new().name(options.name.to_owned());
        thread
            .spawn(move || writer.run())
            .map_err(|error| io::Error::other(format!("cannot start the journal's thread: {error}")))?;
        let rates = options.rate.map(RateTable::new);
        Ok(Self { name: options.name, lines, may_rotate, rates, beyond_rate: AtomicU64::new(0) })
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
        self.lines.append(line.as_bytes());
    }

    /// Says whether this process may rotate the file. Of two gateways that write one journal, as during an
    /// upgrade, only one may; the other follows. Until it is said, nothing is rotated.
    pub fn set_rotating(&self, may_rotate: bool) {
        self.may_rotate.store(may_rotate, Ordering::Relaxed);
    }

    /// What the journal is doing now.
    pub fn status(&self) -> JournalStatus {
        let (beyond_rate, (queue, lost)) = (self.beyond_rate.load(Ordering::Relaxed), self.lines.count());
        let details_dropped = lost.saturating_add(beyond_rate);
        JournalStatus { queue, capacity: QUEUE, details_dropped, beyond_rate }
    }

    /// Writes what is waiting and ends the writer, or gives it up after two seconds. Later events
    /// are counted as dropped.
    pub fn close(&self) {
        let lost = self.lines.close(CLOSE_PATIENCE);
        if lost > 0 {
            tracing::error!(lost, "the last lines of the {} could not be written", self.name);
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
    file: Option<RotatedFile>,
    lines: Arc<LineQueue>,
    may_rotate: Arc<AtomicBool>,
    failing: bool,
}

impl JournalWriter {
    fn run(mut self) {
        // Not before: the file may lie on a mount that hangs, and the site is served all the same.
        self.write(b"");
        while let Some(lines) = self.lines.take(GATHERING) {
            let mut rest = lines.as_slice();
            while !rest.is_empty() {
                let (piece, after) = first_lines(rest, BATCH_BYTES.min(self.options.max_bytes));
                self.write(piece);
                rest = after;
            }
        }
    }

    /// Writes lines, or counts them as dropped. That the journal fails is said once, until it has been written again.
    fn write(&mut self, lines: &[u8]) {
        let result = self.append(lines);
        let count = memchr::memchr_iter(b'\n', lines).count();
        self.lines
            .release(QueueRoom { lines: count, bytes: lines.len() }, if result.is_err() { count } else { 0 });
        let was_failing = std::mem::replace(&mut self.failing, result.is_err());
        let (name, path) =
            (self.options.name, self.options.file.as_deref().unwrap_or_else(|| Path::new("-")));
        match result {
            Ok(()) if was_failing => {
                tracing::info!(path = %path.display(), "the {name} is written again");
            }
            Err(error) if !was_failing => tracing::error!(
                path = %path.display(),
                "cannot write the {name}: {error}; its lines are counted as dropped until it can be written"
            ),
            _ => {}
        }
        if self.failing {
            self.file = None;
        }
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let Some(path) = &self.options.file else {
            let mut output = io::stdout().lock();
            return output.write_all(lines).and_then(|()| output.flush());
        };
        let file = match &mut self.file {
            Some(file) => file,
            empty => {
                path.parent().map_or(Ok(()), make_folder)?;
                empty.insert(RotatedFile::open(path, self.options.max_bytes, self.options.keep)?)
            }
        };
        file.append(lines, self.may_rotate.load(Ordering::Relaxed))
    }
}
