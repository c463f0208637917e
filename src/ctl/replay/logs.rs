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
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;

/// Chunks that wait for one worker, and parts that wait to be added up.
const WAITING: usize = 2;

/// How often the progress is drawn, in a second.
const RATE: u8 = 8;

/// Logs that can be read.
pub(in crate::ctl) struct OpenLogs {
    sources: Vec<LogSource>,
    progress: ProgressBar,
}

impl OpenLogs {
    /// Opens all logs before any of them is read: a misspelt name is told at once.
    pub(in crate::ctl) fn open(logs: &[PathBuf]) -> Result<Self, VerbFailure> {
        let progress = progress(logs);
        let sources = logs.iter().map(|path| {
            LogSource::open(path, &progress)
                .map_err(|error| VerbFailure(format!("{}: cannot be read: {error}", path.display())))
        });
        Ok(Self { sources: sources.collect::<Result<_, _>>()?, progress })
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
        let Self { sources, progress } = self;
        let chunks = LogChunks::new(sources, follow, stop);
        std::thread::scope(|scope| {
            let (mut queues, mut parts) = (Vec::new(), Vec::new());
            for mut work in workers {
                let (queue, waiting) = sync_channel::<Chunk>(WAITING);
                let (done, part) = sync_channel::<P>(WAITING);
                queues.push(queue);
                parts.push(part);
                // Sending fails when nobody takes the parts any more. That ends the worker, and then the reader.
                scope.spawn(move || waiting.into_iter().try_for_each(|chunk| done.send(work(&chunk))));
            }
            let reader = scope.spawn(move || {
                queues.iter().cycle().zip(chunks).try_for_each(|(queue, chunk)| queue.send(chunk)).is_ok()
            });
            // When the worker whose turn it is has no more chunks, no other has.
            let in_turn = parts.iter().cycle().map_while(|part| part.recv().ok());
            let added = in_turn.map(&mut add).try_for_each(|lines| {
                show_lines(&progress, lines?);
                Ok(())
            });
            drop(parts);
            let read = reader.join().map(drop).map_err(|_| io::Error::other("the reader came to grief"));
            added.and(read)
        })?;
        progress.finish_and_clear();
        Ok(())
    }
}

/// One for each processor.
pub(in crate::ctl) fn worker_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How far the logs have been read, for a person who waits: on a terminal only, on standard error. With the time left,
/// or the rate alone of what has no known length.
fn progress(logs: &[PathBuf]) -> ProgressBar {
    let length = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        file.filter(|_| path != Path::new("-")).map(|file| file.len())
    };
    let total: Option<u64> = logs.iter().map(length).sum();
    let template = match total {
        Some(_) => "{wide_bar} {percent:>3} %  {msg}  {eta} left",
        None => "{spinner} {msg}",
    };
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(RATE));
    // The template is this program's own, and a fault in it shows as the default style.
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// So many lines have been judged.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is no larger than a count"
)]
fn show_lines(progress: &ProgressBar, lines: u64) {
    if !progress.is_hidden() {
        let rate = (lines as f64 / progress.elapsed().as_secs_f64().max(0.001)) as u64;
        progress.set_message(format!("{} lines, {} a second", grouped(lines), grouped(rate)));
    }
}
