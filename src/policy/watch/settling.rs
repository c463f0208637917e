//! When to look at files that are being changed: each has its own moment, and the last one counts.

use super::QUIET;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long to gather events that belong together, as those of a symlink swap do.
const GATHER: Duration = Duration::from_millis(5);

/// How long one file's unfinished save may hold up another's finished one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Files that were touched, and when each may be read.
#[derive(Debug, Default)]
pub(super) struct ChangedFiles {
    ready: BTreeMap<PathBuf, Instant>,
    since: Option<Instant>,
}

/// How finished the change of a file is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileChange {
    /// It was put in place whole, or its writer has closed it.
    Finished,
    /// It is being written, or has gone and may be about to return.
    UnderWay,
}

impl ChangedFiles {
    /// Notes a change of `paths`.
    pub(super) fn note(
        &mut self,
        change: FileChange,
        paths: impl IntoIterator<Item = PathBuf>,
        now: Instant,
    ) {
        let wait = match change {
            FileChange::Finished => GATHER,
            FileChange::UnderWay => QUIET,
        };
        for path in paths {
            self.since.get_or_insert(now);
            self.ready.insert(path, now + wait);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// When everything that was touched may be read.
    pub(super) fn due(&self) -> Option<Instant> {
        let last = self.ready.values().max().copied()?;
        let latest = self.since.map_or(last, |since| since + PATIENCE);
        Some(last.min(latest))
    }

    /// Whether that moment has come; then nothing is unsettled any more.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due().is_some_and(|due| now >= due);
        if is_due {
            *self = Self::default();
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> [PathBuf; 1] {
        [PathBuf::from(name)]
    }

    #[test]
    fn one_files_finished_save_waits_for_anothers_unfinished_one() {
        let (mut settling, start) = (ChangedFiles::default(), Instant::now());
        settling.note(FileChange::UnderWay, path("/a"), start);
        settling.note(FileChange::Finished, path("/b"), start + Duration::from_millis(10));
        assert!(!settling.take_due(start + Duration::from_millis(50)));
        settling.note(FileChange::Finished, path("/a"), start + Duration::from_millis(60));
        assert!(settling.take_due(start + Duration::from_millis(70)));
        assert!(settling.is_empty());
    }

    #[test]
    fn a_writer_that_never_rests_holds_nothing_up_for_ever() {
        let (mut settling, start) = (ChangedFiles::default(), Instant::now());
        for step in 0..400 {
            settling.note(FileChange::UnderWay, path("/a"), start + QUIET * step / 2);
        }
        assert!(settling.take_due(start + PATIENCE));
    }

    #[test]
    fn nothing_is_due_where_nothing_was_touched() {
        let mut settling = ChangedFiles::default();
        settling.note(FileChange::Finished, [], Instant::now());
        assert!(settling.is_empty() && settling.due().is_none());
        assert!(!settling.take_due(Instant::now() + PATIENCE));
    }
}
