//! Notices that a watched file changed, whatever way it was saved.
//!
//! Folders are watched, not files: a rename into place, a symlink swap, a deletion and a return all show
//! up there, while a watch on a file follows the old inode into oblivion. What an event *says* is only
//! used to choose when to look: a finished save at once, an unfinished one when its writer closes it or
//! after [`QUIET`]. What to do is decided by reading the files and comparing contents.

use super::reload::{Reloader, Trigger};
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long a file must be left alone before an unfinished save is taken for finished.
const QUIET: Duration = Duration::from_millis(100);

/// How long to gather events that belong together, as those of a symlink swap do.
const GATHER: Duration = Duration::from_millis(5);

/// How often to look without being told: some file systems report nothing, and a watched folder may
/// itself have been replaced.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Why files cannot be watched.
#[derive(Debug)]
pub struct WatchError(notify::Error);

impl fmt::Display for WatchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("cannot watch files for changes")
    }
}

impl std::error::Error for WatchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Watches the files of the policy in force and reloads it when they change, on a thread that ends with
/// the reloader.
///
/// # Errors
/// When the system offers no way to watch, or no thread can be started.
pub fn watch(reloader: &Arc<Reloader>) -> Result<(), WatchError> {
    let (sender, events) = channel();
    let watcher = notify::recommended_watcher(Forward(sender)).map_err(WatchError)?;
    let (folders, marks) = (BTreeSet::new(), Vec::new());
    let mut watch = Watch { watcher, folders, marks, reloader: Arc::downgrade(reloader) };
    watch.arm();
    std::thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || watch.run(&events))
        .map_err(|error| WatchError(notify::Error::io(error)))?;
    Ok(())
}

struct Forward(Sender<Event>);

impl notify::EventHandler for Forward {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        // An error means that events were lost: look at everything, as after an event of any kind.
        let event = event.unwrap_or_else(|_| Event::new(EventKind::Any));
        // The other end is gone only when the gateway stops.
        let _ = self.0.send(event);
    }
}

/// When to look at the files after an event.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Never,
    Soon,
    Quiet,
}

fn when(event: &Event) -> When {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Create(CreateKind::Folder)
        | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => When::Soon,
        EventKind::Access(_) => When::Never,
        // A new file is empty until its writer has written; a removed one may be about to return.
        _ => When::Quiet,
    }
}

struct Watch {
    watcher: RecommendedWatcher,
    folders: BTreeSet<PathBuf>,
    /// What the files looked like before they were last read. Empty at first: what changed while the
    /// gateway started is found at the first look.
    marks: Vec<Mark>,
    reloader: Weak<Reloader>,
}

/// What tells a changed file from an unchanged one without reading it; `None` for a missing one.
type Mark = Option<(u64, u64, i64, i64)>;

fn mark(path: &Path) -> Mark {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

impl Watch {
    fn run(mut self, events: &Receiver<Event>) {
        loop {
            let wake = match events.recv_timeout(LOOK_AGAIN) {
                Ok(event) => self.settled(event, events),
                Err(RecvTimeoutError::Timeout) => self.differs(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let Some(reloader) = self.reloader.upgrade() else { return };
            if wake {
                // Taken before the files are read, so that no later change can pass for this one.
                self.marks = self.files().iter().map(|file| mark(file)).collect();
                reloader.reload(Trigger::Watch, false);
            }
            drop(reloader);
            self.arm();
        }
    }

    /// Gathers what follows `first` until it is time to look. `false` when nothing concerns us.
    fn settled(&self, first: Event, events: &Receiver<Event>) -> bool {
        let files = self.files();
        let mut deadline: Option<Instant> = None;
        let mut next = Some(first);
        loop {
            if let Some(event) = next.take() {
                deadline = match (concern(&event, &files), when(&event)) {
                    (Concern::None, _) | (_, When::Never) => deadline,
                    (Concern::Own, When::Soon) => Some(Instant::now() + GATHER),
                    (Concern::Own, When::Quiet) => Some(Instant::now() + QUIET),
                    // A busy folder must not put off for ever what concerns us.
                    (Concern::Perhaps, When::Soon) => Some(earlier(deadline, GATHER)),
                    (Concern::Perhaps, When::Quiet) => deadline.or_else(|| Some(earlier(None, QUIET))),
                };
            }
            let Some(end) = deadline else { return false };
            match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(event) => next = Some(event),
                Err(_) => return true,
            }
        }
    }

    /// Whether any file looks different, where nothing told us.
    fn differs(&self) -> bool {
        !self.files().iter().map(|file| mark(file)).eq(self.marks.iter().copied())
    }

    fn files(&self) -> Vec<PathBuf> {
        let policy = self.reloader.upgrade().map(|reloader| reloader.current());
        policy.map_or_else(Vec::new, |policy| policy.config.files().map(absolute).collect())
    }

    /// Watches every folder that a change of our files would show up in: the file's own and, where a
    /// symlink leads elsewhere, the one that holds the file it ends at.
    fn arm(&mut self) {
        let mut wanted = BTreeSet::new();
        for file in self.files() {
            let target = std::fs::canonicalize(&file).ok();
            for path in [Some(file), target].into_iter().flatten() {
                wanted.extend(path.parent().map(Path::to_owned));
            }
        }
        for gone in self.folders.difference(&wanted) {
            // Its folder may be gone already; then there is nothing to unwatch.
            let _ = self.watcher.unwatch(gone);
        }
        // Watching again what is watched already costs nothing, and mends a watch on a replaced folder.
        self.folders = wanted
            .into_iter()
            .filter(|folder| self.watcher.watch(folder, RecursiveMode::NonRecursive).is_ok())
            .collect();
    }
}

/// `wait` from now, or `deadline` if that comes first.
fn earlier(deadline: Option<Instant>, wait: Duration) -> Instant {
    let end = Instant::now() + wait;
    deadline.map_or(end, |deadline| deadline.min(end))
}

/// How an event may concern us.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Concern {
    /// It names a file of ours, or all of them.
    Own,
    /// It names what may be, or may have been, a link on the way to one.
    Perhaps,
    /// It names another file: a folder holds many, a journal perhaps.
    None,
}

fn concern(event: &Event, files: &[PathBuf]) -> Concern {
    let own = |path: &PathBuf| files.iter().any(|file| file.file_name() == path.file_name());
    let link = |path: &PathBuf| path.is_symlink() || path.is_dir() || !path.exists();
    if event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(own) {
        Concern::Own
    } else if event.paths.iter().any(link) {
        Concern::Perhaps
    } else {
        Concern::None
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_save_is_looked_at_soon_and_an_unfinished_one_when_quiet() {
        let kind = |kind| when(&Event::new(kind));
        assert_eq!(kind(EventKind::Access(AccessKind::Close(AccessMode::Write))), When::Soon);
        assert_eq!(kind(EventKind::Modify(ModifyKind::Name(RenameMode::To))), When::Soon);
        assert_eq!(kind(EventKind::Modify(ModifyKind::Name(RenameMode::From))), When::Quiet);
        assert_eq!(kind(EventKind::Modify(ModifyKind::Any)), When::Quiet);
        assert_eq!(kind(EventKind::Create(CreateKind::File)), When::Quiet);
        assert_eq!(kind(EventKind::Remove(notify::event::RemoveKind::File)), When::Quiet);
        assert_eq!(kind(EventKind::Access(AccessKind::Open(AccessMode::Read))), When::Never);
        assert_eq!(kind(EventKind::Any), When::Quiet);
    }

    #[test]
    fn names_that_are_neither_ours_nor_links_do_not_concern_us() {
        let files = [PathBuf::from("/etc/site/robots.txt")];
        let event = |path: &str| Event::new(EventKind::Any).add_path(PathBuf::from(path));
        assert_eq!(concern(&event("/etc/site/robots.txt"), &files), Concern::Own);
        assert_eq!(concern(&Event::new(EventKind::Any), &files), Concern::Own);
        assert_eq!(concern(&event("/nowhere/..data"), &files), Concern::Perhaps);
        assert_eq!(concern(&event("/proc/self/status"), &files), Concern::None);
    }
}
