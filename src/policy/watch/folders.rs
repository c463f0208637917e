//! The folders that are watched, and why some may not be.

use crate::config::reading;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// Folders that are watched.
pub(super) struct Folders {
    watcher: Option<RecommendedWatcher>,
    events: Sender<Event>,
    watched: BTreeMap<PathBuf, FolderId>,
    trouble: Option<String>,
}

/// EMFILE.
const TOO_MANY_OPEN: i32 = 24;

/// What tells a folder from another under the same name.
type FolderId = (u64, u64);

struct EventForwarder(Sender<Event>);

impl notify::EventHandler for EventForwarder {
    fn handle_event(&mut self, event: notify::Result<Event>) {
        // An error means that events were lost: look at everything, as after an event of any kind.
        let event = event.unwrap_or_else(|_| Event::new(EventKind::Any));
        // Whoever opens a file in one of the folders, and many do in `/etc`, is not our business.
        if super::change(&event).is_some() {
            // The other end is gone only when the gateway stops.
            let _ = self.0.send(event);
        }
    }
}

impl Folders {
    /// None yet; what happens in them will be sent to `events`.
    pub(super) fn new(events: Sender<Event>) -> Self {
        Self { watcher: None, events, watched: BTreeMap::new(), trouble: None }
    }

    /// Why not all of them are watched, where the system lets us watch no more.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Watches `wanted`, and no others any more. A folder that may not be read, or is not there, is left out: what
    /// changes in it is found by looking.
    pub(super) fn watch(&mut self, wanted: &BTreeSet<PathBuf>) {
        self.trouble = None;
        if self.watcher.is_none() {
            match notify::recommended_watcher(EventForwarder(self.events.clone())) {
                Ok(watcher) => self.watcher = Some(watcher),
                Err(error) => {
                    self.trouble = Some(no_watcher(&error));
                    return;
                }
            }
        }
        let gone: Vec<PathBuf> =
            self.watched.keys().filter(|path| !wanted.contains(*path)).cloned().collect();
        for folder in &gone {
            self.forget(folder);
        }
        for folder in wanted {
            self.watch_one(folder);
        }
    }

    fn watch_one(&mut self, folder: &Path) {
        // Watching touches it, on a thread of the watcher that must not be stopped by a dead mount.
        let Some(inode) = inode(folder) else { return self.forget(folder) };
        if self.watched.get(folder).is_some_and(|known| *known != inode) {
            self.forget(folder);
        }
        let Some(watcher) = &mut self.watcher else { return };
        // Watching again what is watched costs little, and mends a watch on a folder that was removed and made anew.
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => drop(self.watched.insert(folder.to_owned(), inode)),
            Err(error) => {
                if matches!(error.kind, ErrorKind::MaxFilesWatch) {
                    self.trouble = Some("fs.inotify.max_user_watches is reached".to_owned());
                }
                tracing::debug!(folder = %folder.display(), "cannot be watched: {error}");
                self.watched.remove(folder);
            }
        }
    }

    fn forget(&mut self, folder: &Path) {
        if self.watched.remove(folder).is_some()
            && let Some(watcher) = &mut self.watcher
        {
            // It may be gone already; then there is nothing to unwatch.
            let _ = watcher.unwatch(folder);
        }
    }
}

fn inode(folder: &Path) -> Option<FolderId> {
    reading::metadata(folder).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The system counts watchers by user, and says so with the error for too many open files.
fn no_watcher(error: &notify::Error) -> String {
    let is_limit = match &error.kind {
        ErrorKind::Io(error) => error.raw_os_error() == Some(TOO_MANY_OPEN),
        _ => false,
    };
    if is_limit { "fs.inotify.max_user_instances is reached".to_owned() } else { error.to_string() }
}
