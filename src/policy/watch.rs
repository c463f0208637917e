//! Notices that a watched file changed, whatever way it was saved.
//!
//! The looks decide: each file is compared with what it looked like when it was last read. They come each second, and
//! what the system tells of a folder only has the next one come at once. So links that are swapped, files that return and
//! file systems that tell nothing need no care of their own.

use super::fetched::Teller;
use super::reload::{Reloader, Trigger};
use crate::config::reading::{self, FileMarks, marks_of};
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

/// How often to look without being told.
const LOOK: Duration = Duration::from_secs(1);

/// How many times as long as the last look took the next one waits: thousands of files are looked at more rarely.
const REST: u32 = 50;

/// The same where something has happened in one of the folders: where that is so all the time, looks take a tenth of it.
const BRIEF_REST: u32 = 10;

/// How long all files must be left alone before they are read.
const QUIET: Duration = Duration::from_millis(100);

/// How often to read again while something could not be read, or a name not be resolved.
const AGAIN: Duration = Duration::from_secs(5);

/// What is told where the system lets us watch no more.
const UNWATCHED: &str = "fs.inotify.max_user_instances or fs.inotify.max_user_watches is reached, so not every file can be \
    watched; changes are found by looking, each second";

/// Watches the files of the policy in force and reloads it when they change, on a thread that ends with
/// the reloader.
pub fn watch(reloader: &Arc<Reloader>) {
    let (nudge, nudges) = sync_channel(1);
    let watch = Watch::new(nudge, reloader);
    let thread = std::thread::Builder::new().name("watch".to_owned());
    if let Err(error) = thread.spawn(move || watch.run(&nudges)) {
        tracing::error!("cannot watch files: {error}; `gatewayctl reload` reads them");
    }
}

/// Folders, with what tells each from another under the same name.
type Folders = BTreeMap<PathBuf, (u64, u64)>;

struct Watch {
    /// What the files looked like before they were last read, and when that was. Empty at first: what changed while the
    /// gateway started is found at the first look.
    read: FileMarks,
    read_at: Instant,
    /// What they looked like at the last look, and since when.
    seen: FileMarks,
    seen_at: Instant,
    /// How often a file system had not answered before the files were last read.
    unanswered: u64,
    /// Has the next look come at once. It also keeps the other end waiting where nothing can be watched.
    nudge: SyncSender<()>,
    watcher: Option<RecommendedWatcher>,
    watched: Folders,
    teller: Teller,
    /// When the folders were last chosen; `None` once other files may be meant.
    listened: Option<Instant>,
    /// How long the last look took.
    took: Duration,
    reloader: Weak<Reloader>,
}

impl Watch {
    fn new(nudge: SyncSender<()>, reloader: &Arc<Reloader>) -> Self {
        Self {
            read: FileMarks::new(),
            read_at: Instant::now(),
            seen: FileMarks::new(),
            seen_at: Instant::now(),
            unanswered: 0,
            nudge,
            watcher: None,
            watched: Folders::new(),
            teller: Teller::default(),
            listened: None,
            took: Duration::ZERO,
            reloader: Arc::downgrade(reloader),
        }
    }

    fn run(mut self, nudges: &Receiver<()>) {
        let mut pause = Duration::ZERO;
        while nudges.recv_timeout(pause) != Err(RecvTimeoutError::Disconnected) {
            let Some(reloader) = self.reloader.upgrade() else { return };
            pause = self.look(&reloader).unwrap_or_else(|| LOOK.max(self.took * REST));
            if self.listened.is_none_or(|at| self.watched.is_empty() && at.elapsed() >= AGAIN) {
                self.listen(&reloader);
            }
            std::thread::sleep((self.took * BRIEF_REST).min(QUIET).min(pause));
        }
    }

    /// Reads the files where one looks different from when it was read last, and all have been left alone. Says when to
    /// look again, where that is soon.
    fn look(&mut self, reloader: &Reloader) -> Option<Duration> {
        let begun = Instant::now();
        let marks = marks_of(reloader.current().files().map(|file| absolute(&file)));
        let now = Instant::now();
        self.took = now - begun;
        if marks != self.seen {
            (self.seen, self.seen_at) = (marks, now);
        }
        let is_due = || now - self.read_at >= AGAIN && self.is_incomplete(reloader);
        if self.seen == self.read && !is_due() {
            return None;
        }
        let wait = QUIET.saturating_sub(now - self.seen_at);
        if !wait.is_zero() {
            return Some(wait);
        }
        self.reload(reloader).then_some(QUIET)
    }

    /// Whether a file system did not answer, a name has no address yet, or an exception has ended.
    fn is_incomplete(&self, reloader: &Reloader) -> bool {
        reading::unanswered() != self.unanswered
            || reloader.current().sites().iter().any(|site| site.origin.has_unresolved())
            || reloader.current().is_outlived(SystemTime::now())
    }

    /// Reads the files, which looked like that a moment ago; `true` where nothing came of it. A panic there is a fault of
    /// ours, and must not end the watching.
    ///
    /// Nothing comes of it where a file is changed meanwhile, or was between the look and the reading: its writer may
    /// have come to half of it.
    fn reload(&mut self, reloader: &Reloader) -> bool {
        self.unanswered = reading::unanswered();
        // Taken before the files are read, so that no later change can pass for this one.
        (self.read, self.read_at, self.listened) = (self.seen.clone(), Instant::now(), None);
        let are_unchanged = || marks_of(self.read.keys().cloned()) == self.read;
        // The hook has reported where.
        let done = catch_unwind(AssertUnwindSafe(|| {
            reloader.reload_if(Trigger::Watch, false, false, &are_unchanged)
        }));
        let is_left = matches!(done, Ok(Err(_)));
        if is_left {
            self.read.clear();
        }
        is_left
    }

    /// Watches every folder that a change of the files would show up in: those above them, and those above where they
    /// lead. What changes elsewhere on the way is found by looking.
    fn listen(&mut self, reloader: &Reloader) {
        let mut folders = Folders::new();
        for file in reloader.current().files().map(|file| absolute(&file)) {
            let owned = file.clone();
            let target = reading::with_timeout(&file, move || owned.canonicalize()).and_then(|target| target);
            for folder in [Some(file), target.ok()].iter().flatten().flat_map(|path| path.ancestors().skip(1))
            {
                if !folders.contains_key(folder)
                    && let Some(metadata) = reading::metadata(folder)
                {
                    folders.insert(folder.to_owned(), (metadata.dev(), metadata.ino()));
                }
            }
        }
        self.listened = Some(Instant::now());
        if folders == self.watched {
            return;
        }
        let nudge = self.nudge.clone();
        let tell = move |event: notify::Result<Event>| {
            // An error means that events were lost: that is one more reason to look.
            if event.map_or(true, |event| may_be_a_save(event.kind)) {
                // One that waits already will do.
                let _ = nudge.try_send(());
            }
        };
        self.watcher = notify::recommended_watcher(tell).ok();
        let is_watched = self.watcher.as_mut().is_some_and(|watcher| {
            // One that may not be read, or has just gone, is left to the looks.
            let watched = |folder: &PathBuf| match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => true,
                Err(error) => !matches!(error.kind, ErrorKind::MaxFilesWatch),
            };
            folders.keys().all(watched)
        });
        let trouble = (!is_watched).then(|| UNWATCHED.to_owned());
        self.teller.tell("watching files", "inotify", trouble.clone());
        reloader.known.lock().unwatched = trouble;
        // With trouble it is tried again.
        self.watched = if is_watched { folders } else { Folders::new() };
        // What happened before there was a watch is found by the next look.
        let _ = self.nudge.try_send(());
    }
}

/// Whether a file in a watched folder may be another one now. Whoever reads one changes nothing, and many do in `/etc`. What
/// is written counts once its writer closes the file, or with the next look: a log is written all the time.
fn may_be_a_save(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Modify(what) => !matches!(what, ModifyKind::Data(_)),
        _ => true,
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::{CurrentPolicy, NoticeHistory, OriginFiles, check};
    use crate::record::Recorder;
    use notify::event::{CreateKind, DataChange, MetadataKind, RenameMode};

    #[test]
    fn what_may_change_a_file_is_a_nudge_and_neither_its_readers_nor_a_log() {
        for (kind, is_nudge) in [
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), true),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), false),
            (EventKind::Access(AccessKind::Open(AccessMode::Read)), false),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), false),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), true),
            (EventKind::Create(CreateKind::File), true),
            (EventKind::Other, true),
        ] {
            assert_eq!(may_be_a_save(kind), is_nudge, "{kind:?}");
        }
    }

    /// A gateway whose files are `robots.txt` and `more.txt` in a folder, and how it is watched.
    struct WatchScene {
        folder: tempfile::TempDir,
        reloader: Arc<Reloader>,
        watch: Watch,
    }

    impl WatchScene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("gateway.toml");
            let site = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = { file = \"robots.txt\", additions = \"more.txt\" }\n";
            std::fs::write(&path, format!("state_dir = \".\"\n{site}")).unwrap();
            std::fs::write(folder.path().join("robots.txt"), "User-agent: *\nDisallow: /old\n").unwrap();
            std::fs::write(folder.path().join("more.txt"), "Sitemap: https://a.example/\n").unwrap();
            let arguments = Arguments { config: Some(path), ..Arguments::default() };
            let config = Config::load(&arguments).unwrap();
            let recorder = Arc::new(Recorder::start(&config.store()).unwrap());
            let (history, origins) =
                (Arc::new(NoticeHistory::open(&config)), Arc::new(OriginFiles::open(&config)));
            let current = Arc::new(CurrentPolicy::new(check(config, SystemTime::now()).unwrap()));
            let reloader =
                Arc::new(Reloader::new(current, arguments, Arc::default(), recorder, history, origins));
            let mut watch = Watch::new(sync_channel(1).0, &reloader);
            watch.read = marks_of(reloader.current().files().map(|file| absolute(&file)));
            Self { folder, reloader, watch }
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.folder.path().join(name), text).unwrap();
        }

        fn look(&mut self) -> Option<Duration> {
            self.watch.look(&self.reloader)
        }

        fn served(&self) -> String {
            self.reloader.current().sites()[0].version().unwrap().to_string()
        }
    }

    impl Drop for WatchScene {
        fn drop(&mut self) {
            self.reloader.recorder.close();
        }
    }

    #[test]
    fn changed_files_are_read_once_all_were_left_alone() {
        let mut scene = WatchScene::new();
        assert_eq!(scene.look(), None);
        let before = scene.served();
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        let wait = scene.look().unwrap();
        assert!(wait <= QUIET && scene.served() == before);
        std::thread::sleep(QUIET / 2);
        scene.write("more.txt", "Sitemap: https://a.ex");
        std::thread::sleep(QUIET / 2);
        assert!(scene.look().is_some());
        assert_eq!(scene.served(), before);
        std::thread::sleep(QUIET);
        assert_eq!(scene.look(), None);
        assert_ne!(scene.served(), before);
    }

    /// A writer may come between the last look at a file and its reading.
    #[test]
    fn a_file_that_has_changed_since_it_was_looked_at_is_not_taken() {
        let mut scene = WatchScene::new();
        let before = scene.served();
        scene.watch.seen = marks_of(scene.watch.read.keys().cloned());
        scene.write("robots.txt", "User-agent: *\nDisall");
        let reloader = Arc::clone(&scene.reloader);
        assert!(scene.watch.reload(&reloader));
        assert_eq!(scene.served(), before);
        assert!(scene.watch.read.is_empty(), "it is looked at again");
    }
}
