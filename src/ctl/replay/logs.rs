//! Reading access logs: one thread reads them, as many as there are processors judge, and the caller adds up.
//!
//! Chunks go round the workers in turn, and their parts come back in the same turn, so everything is added up
//! in the order of the log and nothing has to wait in a heap. The queues are short: memory does not depend on
//! which of them is the slowest.

use crate::ctl::VerbFailure;
use crate::ctl::access_log::{Chunk, LogChunks, LogSource};
use crate::report::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::Instant;

/// Chunks that wait for one worker, and parts that wait to be added up.
const WAITING: usize = 2;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// Logs that can be read.
pub(in crate::ctl) struct OpenLogs {
    sources: Vec<LogSource>,
    progress: LogProgress,
}

impl OpenLogs {
    /// Opens all logs before any of them is read: a misspelt name is told at once.
    pub(in crate::ctl) fn open(logs: &[PathBuf]) -> Result<Self, VerbFailure> {
        let read = Arc::new(AtomicU64::new(0));
        let sources = logs.iter().map(|path| {
            LogSource::open(path, &read)
                .map_err(|error| VerbFailure(format!("{}: cannot be read: {error}", path.display())))
        });
        Ok(Self { sources: sources.collect::<Result<_, _>>()?, progress: LogProgress::new(logs, read) })
    }

    /// Reads all chunks, has each made into a part, and hands the parts on in order. `add` says how many lines there
    /// were so far. To `follow` is to wait at the end of the last log until `stop`.
    ///
    /// # Errors
    /// What `add` fails with. The logs may then still be read, until they end or are stopped.
    pub(in crate::ctl) fn each_part<P: Send>(
        self,
        follow: bool,
        stop: &AtomicBool,
        workers: Vec<impl FnMut(&Chunk) -> P + Send>,
        mut add: impl FnMut(P) -> io::Result<u64>,
    ) -> io::Result<()> {
        let mut progress = self.progress;
        let mut chunks = LogChunks::new(self.sources, follow, stop);
        std::thread::scope(|scope| {
            // Buffers come back to be filled again.
            let (used, free) = channel::<Vec<u8>>();
            let mut queues = Vec::new();
            let mut parts = Vec::new();
            for mut work in workers {
                let (queue, waiting) = sync_channel::<Chunk>(WAITING);
                let (done, part) = sync_channel::<P>(WAITING);
                let used = used.clone();
                queues.push(queue);
                parts.push(part);
                scope.spawn(move || {
                    for chunk in waiting {
                        if done.send(work(&chunk)).is_err() {
                            break;
                        }
                        // The reader has ended when nobody wants it.
                        let _ = used.send(chunk.bytes);
                    }
                });
            }
            let reader = scope.spawn(move || distribute(&mut chunks, &queues, &free));
            let added = collect(&parts, &mut |part| {
                progress.at(add(part)?);
                Ok(())
            });
            // Workers and reader end when nobody takes their parts.
            drop(parts);
            let read = reader.join().map_err(|_| io::Error::other("the reader came to grief"));
            added.and(read)
        })?;
        progress.bar.finish_and_clear();
        Ok(())
    }
}

/// One for each processor.
pub(in crate::ctl) fn worker_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Gives each worker a chunk in turn, to the end of the logs.
fn distribute(chunks: &mut LogChunks<'_>, queues: &[SyncSender<Chunk>], free: &Receiver<Vec<u8>>) {
    for queue in queues.iter().cycle() {
        let buffer = free.try_recv().unwrap_or_default();
        let Some(chunk) = chunks.next(buffer) else { break };
        if queue.send(chunk).is_err() {
            break;
        }
    }
}

fn collect<P>(parts: &[Receiver<P>], add: &mut impl FnMut(P) -> io::Result<()>) -> io::Result<()> {
    for part in parts.iter().cycle() {
        match part.recv() {
            Ok(part) => add(part)?,
            // The worker whose turn it is has no more chunks, so no other has.
            Err(_) => break,
        }
    }
    Ok(())
}

/// How far the logs have been read, for a person who waits: on a terminal only, on standard error. With the time left,
/// or the rate alone of what has no known length.
struct LogProgress {
    bar: ProgressBar,
    bytes: Arc<AtomicU64>,
    started: Instant,
    is_hidden: bool,
}

impl LogProgress {
    /// The progress of reading `logs`, of which `bytes` bytes have been read, compressed as they may be.
    fn new(logs: &[PathBuf], bytes: Arc<AtomicU64>) -> Self {
        let length = |path: &PathBuf| {
            let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
            file.filter(|_| path != Path::new("-")).map(|file| file.len())
        };
        let total: Option<u64> = logs.iter().map(length).sum();
        let target = ProgressDrawTarget::stderr_with_hz(RATE);
        let is_hidden = target.is_hidden();
        let (bar, template) = match total {
            Some(total) => (ProgressBar::new(total), "{wide_bar} {percent:>3} %  {msg}  {eta} left"),
            None => (ProgressBar::no_length(), "{spinner} {msg}"),
        };
        bar.set_draw_target(target);
        // The template is this program's own, and a fault in it shows as the default style.
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { bar, bytes, started: Instant::now(), is_hidden }
    }

    /// So many lines have been judged.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is no larger than a count"
    )]
    fn at(&mut self, lines: u64) {
        if self.is_hidden {
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let rate = (lines as f64 / seconds) as u64;
        self.bar.set_message(format!("{} lines, {} a second", grouped(lines), grouped(rate)));
        self.bar.set_position(self.bytes.load(Ordering::Relaxed));
    }
}
