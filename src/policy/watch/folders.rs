//! The folders that are watched, why some may not be, and the names on the way to a file: its own, and those of every
//! folder and symbolic link on the way.

use crate::config::reading;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
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

/// How many links are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Every name whose change could make `file`, an absolute path, another file: where `/site/robots.txt` leads
/// through `..data` to `..2024/robots.txt`, that of each of the three, and of the folders `/site` and `/site/..2024`.
pub(super) fn names(file: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut rest = components(file);
    let mut path = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            path.pop();
            continue;
        }
        let next = path.join(&name);
        match std::fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                names.push(next);
                if target.is_absolute() {
                    path = PathBuf::from("/");
                }
                for part in components(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
            _ => {
                names.push(next.clone());
                path = next;
            }
        }
    }
    names
}

fn components(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_on_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("..2024")).unwrap();
        std::fs::write(root.join("..2024/robots.txt"), "").unwrap();
        symlink("..2024", root.join("..data")).unwrap();
        symlink("..data/robots.txt", root.join("robots.txt")).unwrap();
        let found = below(&root, &root.join("robots.txt"));
        let wanted = ["robots.txt", "..data", "..2024", "..2024/robots.txt"];
        assert_eq!(found, wanted.map(|name| root.join(name)));
    }

    /// The names on the way to `file`, but for `root` and what is above it.
    fn below(root: &Path, file: &Path) -> Vec<PathBuf> {
        let mut found = names(file);
        assert!(
            root.ancestors()
                .filter(|above| above.parent().is_some())
                .all(|above| found.contains(&above.into()))
        );
        found.retain(|name| name != root && name.starts_with(root));
        found
    }

    #[test]
    fn a_swapped_folder_is_named_and_so_are_plain_ones() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("releases/7/public")).unwrap();
        symlink(root.join("releases/7"), root.join("current")).unwrap();
        let found = below(&root, &root.join("current/public/robots.txt"));
        let wanted =
            ["current", "releases", "releases/7", "releases/7/public", "releases/7/public/robots.txt"];
        assert_eq!(found, wanted.map(|name| root.join(name)));
    }

    #[test]
    fn a_ring_of_links_comes_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert!(below(&root, &root.join("a")).len() <= MOST_LINKS + 1);
    }
}
