//! How far a log has been read, for a person who waits: on a terminal only, on standard error.

use crate::report::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How often it is drawn, in a second.
const RATE: u8 = 8;

/// A bar with the rate and the time left or, of what has no known length, the rate alone.
pub(in crate::ctl) struct LogProgress {
    bar: ProgressBar,
    bytes: Arc<AtomicU64>,
    started: Instant,
    is_hidden: bool,
}

impl LogProgress {
    /// The progress of reading `logs`, of which `bytes` bytes have been read, compressed as they may be.
    pub(in crate::ctl) fn new(logs: &[PathBuf], bytes: &Arc<AtomicU64>) -> Self {
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
        Self { bar, bytes: Arc::clone(bytes), started: Instant::now(), is_hidden }
    }

    /// So many lines have been judged.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is no larger than a count"
    )]
    pub(in crate::ctl) fn at(&mut self, lines: u64) {
        if self.is_hidden {
            return;
        }
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let rate = (lines as f64 / seconds) as u64;
        self.bar.set_message(format!("{} lines, {} a second", grouped(lines), grouped(rate)));
        self.bar.set_position(self.bytes.load(Ordering::Relaxed));
    }

    /// Takes the bar away: the report follows.
    pub(in crate::ctl) fn done(&self) {
        self.bar.finish_and_clear();
    }
}
