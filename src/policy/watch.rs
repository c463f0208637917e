//! Notices that a watched file changed, whatever way it was saved.
//!
//! The looks decide: each file is compared with what it looked like when it was last read. They come each second, and
//! what the system tells of a folder only has the next one come at once. So links that are swapped, files that return and
//! file systems that tell nothing need no care of their own.

use super::Policy;
use super::fetched::Teller;
use super::reload::{ReloadError, Reloader, Trigger};
use crate::config::reading::{self, FileMarks, marks_of};
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
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

/// How long to gather events that belong together, as those of a symlink swap do.
const GATHER: Duration = Duration::from_millis(5);

/// How long a file must be left alone before it is read, unless its writer is known to have finished.
const QUIET: Duration = Duration::from_millis(100);

/// How long a file that is never left alone holds up the others.
const PATIENCE: Duration = Duration::from_secs(10);

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
    /// What they looked like at the last look, and since when they have.
    seen: FileMarks,
    rested_since: Instant,
    /// Since when there is a change that was not read, because files were not left alone.
    restless_since: Option<Instant>,
    /// How often a file system had not answered before the files were last read.
    unanswered: u64,
    /// Has the next look come at once. It also keeps the other end waiting where nothing can be watched.
    nudge: SyncSender<()>,
    /// Files that were put in place whole, or closed by their writer, since the last look.
    finished: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// `None` where not all folders can be watched.
    watcher: Option<RecommendedWatcher>,
    watched: Folders,
    teller: Teller,
    /// When the folders were last chosen; `None` once other files, or other folders of the same names, may be meant.
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
            rested_since: Instant::now(),
            restless_since: None,
            unanswered: 0,
            nudge,
            finished: Arc::default(),
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
            std::thread::sleep(GATHER.max(self.took * BRIEF_REST).min(QUIET));
            let Some(reloader) = self.reloader.upgrade() else { return };
            pause = self.look(&reloader).unwrap_or_else(|| LOOK.max(self.took * REST));
            if self.listened.is_none_or(|at| self.watcher.is_none() && at.elapsed() >= AGAIN) {
                self.listen(&reloader);
            }
        }
    }

    /// Reads the files where one looks different from when it was read last, and all that do have been left alone. Says
    /// when to look again, where that is soon.
    fn look(&mut self, reloader: &Reloader) -> Option<Duration> {
        let finished = std::mem::take(&mut *self.finished.lock());
        let begun = Instant::now();
        let policy = reloader.current();
        let marks = marks_of(policy.files().map(|file| absolute(&file)));
        let now = Instant::now();
        self.took = now - begun;
        if marks == self.read && !(now - self.read_at >= AGAIN && self.is_incomplete(&policy)) {
            self.restless_since = None;
            return None;
        }
        if marks != self.seen {
            self.rested_since = now;
            self.seen.clone_from(&marks);
        }
        let mut changed = marks.iter().filter(|(file, mark)| self.read.get(*file) != Some(mark));
        let is_finished = changed.all(|(file, _)| finished.contains(file));
        let wait = if is_finished { Duration::ZERO } else { QUIET.saturating_sub(now - self.rested_since) };
        let restless = now - *self.restless_since.get_or_insert(now);
        if !wait.is_zero() && restless < PATIENCE {
            return Some(wait);
        }
        self.reload(reloader, marks, restless >= PATIENCE).then_some(QUIET)
    }

    /// Whether a file system did not answer, a name has no address yet, or an exception has ended.
    fn is_incomplete(&self, policy: &Policy) -> bool {
        reading::unanswered() != self.unanswered
            || policy.origins().any(|(_, origin)| origin.servers.iter().any(|server| server.is_unresolved()))
            || policy.is_outlived(SystemTime::now())
    }

    /// Reads the files, which looked like `marks`; `true` where nothing came of it. A panic there is a fault of ours, and
    /// must not end the watching.
    ///
    /// Nothing comes of it where a file is changed meanwhile, or was between the look and the reading: its writer may
    /// have come to half of it. One that never rests `is_enough` at last.
    fn reload(&mut self, reloader: &Reloader, marks: FileMarks, is_enough: bool) -> bool {
        self.unanswered = reading::unanswered();
        // Taken before the files are read, so that no later change can pass for this one.
        (self.read, self.read_at, self.listened) = (marks, Instant::now(), None);
        let are_unchanged = || is_enough || marks_of(self.read.keys().cloned()) == self.read;
        // The hook has reported where.
        let done = catch_unwind(AssertUnwindSafe(|| {
            reloader.reload_if(Trigger::Watch, false, false, &are_unchanged)
        }));
        let Ok(Err(error)) = done else {
            self.restless_since = None;
            return false;
        };
        if error != ReloadError::FileChanged {
            self.restless_since = None;
        }
        self.read.clear();
        true
    }

    /// Watches every folder that a change of the files would show up in: those above them, and those above where they
    /// lead. What changes elsewhere on the way is found by looking.
    fn listen(&mut self, reloader: &Reloader) {
        let policy = reloader.current();
        let mut ours: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        for file in policy.files().map(|file| absolute(&file)) {
            let owned = file.clone();
            let target = reading::with_timeout(&file, move || owned.canonicalize());
            ours.extend(target.ok().and_then(Result::ok).map(|target| (target, file.clone())));
            ours.insert(file.clone(), file);
        }
        let above = ours.keys().flat_map(|path| path.ancestors().skip(1));
        let mut folders: BTreeSet<PathBuf> = above.map(Path::to_owned).collect();
        // The journal and the store are written there all the time, and each time would have the files looked at.
        let state = absolute(&policy.config.state_dir);
        if ours.keys().all(|path| path.parent() != Some(&state)) {
            folders.remove(&state);
        }
        let told_apart = |folder: PathBuf| {
            let metadata = reading::metadata(&folder)?;
            Some((folder, (metadata.dev(), metadata.ino())))
        };
        let folders: Folders = folders.into_iter().filter_map(told_apart).collect();
        self.listened = Some(Instant::now());
        // A new watch would lose what the former one has not told yet.
        if folders == self.watched && self.watcher.is_some() {
            return;
        }
        let events = forwarder(self.nudge.clone(), Arc::clone(&self.finished), ours);
        let watched = notify::recommended_watcher(events).and_then(|mut watcher| {
            let watched = folders.keys().map(|folder| watcher.watch(folder, RecursiveMode::NonRecursive));
            // One that may not be read, or has just gone, is left to the looks.
            let mut failed = watched.filter_map(Result::err);
            let trouble = failed.find(|error| matches!(error.kind, ErrorKind::MaxFilesWatch));
            trouble.map_or(Ok(watcher), Err)
        });
        let trouble = watched.is_err().then(|| UNWATCHED.to_owned());
        self.teller.tell("watching files", "inotify", trouble.clone());
        reloader.known.lock().unwatched = trouble;
        // With trouble it is tried again.
        (self.watcher, self.watched) = (watched.ok(), folders);
        // What happened before there was a watch is found by the next look.
        let _ = self.nudge.try_send(());
    }
}

/// What has the next look come at once. `ours` are the files, also by where they lead.
fn forwarder(
    nudge: SyncSender<()>,
    finished: Arc<Mutex<BTreeSet<PathBuf>>>,
    ours: BTreeMap<PathBuf, PathBuf>,
) -> impl FnMut(notify::Result<Event>) {
    move |event| {
        // An error means that events were lost: that is one more reason to look.
        let event = event.unwrap_or_else(|_| Event::new(EventKind::Any));
        let files: Vec<PathBuf> = event.paths.iter().filter_map(|path| ours.get(path).cloned()).collect();
        let is_closed = event.kind == EventKind::Access(AccessKind::Close(AccessMode::Write));
        let is_written = is_closed
            || matches!(event.kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)));
        let is_read = !is_closed && matches!(event.kind, EventKind::Access(_));
        // What is written to other files in there changes none of ours, and a log is written all the time. Nor does whoever
        // reads one, and many do in `/etc`.
        if is_read || is_written && files.is_empty() {
            return;
        }
        let is_renamed =
            matches!(event.kind, EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)));
        if is_closed || is_renamed {
            finished.lock().extend(files);
        }
        // One that waits already will do.
        let _ = nudge.try_send(());
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
    use crate::record::{ReadBook, Recorder};
    use notify::event::{CreateKind, DataChange};
    use std::time::SystemTime;

    #[test]
    fn what_may_change_a_file_of_ours_is_a_nudge_and_only_a_finished_save_of_ours_needs_no_rest() {
        let (nudge, nudges) = sync_channel(1);
        let finished = Arc::<Mutex<BTreeSet<PathBuf>>>::default();
        let ours = BTreeMap::from([(PathBuf::from("/real/r"), PathBuf::from("/r"))]);
        let mut events = forwarder(nudge, Arc::clone(&finished), ours);
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        for (kind, path, is_nudge, is_finished) in [
            (closed, "/real/r", true, true),
            (closed, "/real/other", false, false),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), "/real/r", true, false),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), "/real/other", false, false),
            (EventKind::Create(CreateKind::File), "/real/other", true, false),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/real/r", true, true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::From)), "/real/r", true, false),
            (EventKind::Create(CreateKind::File), "/real/r", true, false),
            (EventKind::Access(AccessKind::Open(AccessMode::Read)), "/real/r", false, false),
        ] {
            events(Ok(Event::new(kind).add_path(path.into())));
            let found = std::mem::take(&mut *finished.lock());
            assert_eq!(found.contains(Path::new("/r")), is_finished, "{kind:?} {path}");
            assert_eq!(nudges.try_recv().is_ok(), is_nudge, "{kind:?} {path}");
        }
        events(Err(notify::Error::generic("lost")));
        assert!(nudges.try_recv().is_ok(), "where events were lost it is looked");
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
            let history = NoticeHistory::open(&config, &ReadBook::default());
            let origins = Arc::new(OriginFiles::open(&config));
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

        fn finish(&self, name: &str) {
            self.watch.finished.lock().insert(self.folder.path().join(name));
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
    fn a_changed_file_is_read_once_it_was_left_alone_or_its_writer_has_finished() {
        let mut scene = WatchScene::new();
        assert_eq!(scene.look(), None);
        let before = scene.served();
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        let wait = scene.look().unwrap();
        assert!(wait <= QUIET && scene.served() == before);
        std::thread::sleep(QUIET);
        assert_eq!(scene.look(), None);
        let before = (scene.served() != before).then(|| scene.served()).unwrap();
        scene.write("robots.txt", "User-agent: *\nDisallow: /newer\n");
        scene.finish("robots.txt");
        assert_eq!(scene.look(), None);
        assert_ne!(scene.served(), before);
    }

    #[test]
    fn one_files_finished_save_waits_for_anothers_unfinished_one_but_not_for_ever() {
        let mut scene = WatchScene::new();
        let before = scene.served();
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        scene.write("more.txt", "Sitemap: https://a.ex");
        scene.finish("robots.txt");
        assert!(scene.look().is_some());
        assert_eq!(scene.served(), before);
        let since = scene.watch.restless_since.unwrap();
        scene.watch.restless_since = since.checked_sub(PATIENCE);
        scene.write("more.txt", "Sitemap: https://a.example/ma");
        assert_eq!(scene.look(), None);
        assert_ne!(scene.served(), before);
        assert_eq!(scene.watch.restless_since, None);
    }

    /// A writer may come between the last look at a file and its reading.
    #[test]
    fn a_file_that_has_changed_since_it_was_looked_at_is_not_taken() {
        let mut scene = WatchScene::new();
        let (before, marks) = (scene.served(), marks_of(scene.watch.read.keys().cloned()));
        scene.write("robots.txt", "User-agent: *\nDisall");
        let reloader = Arc::clone(&scene.reloader);
        assert!(scene.watch.reload(&reloader, marks, false));
        assert_eq!(scene.served(), before);
        assert!(scene.watch.read.is_empty(), "it is looked at again");
        // Of a writer that never rests half a file is taken in the end.
        let marks = marks_of(scene.watch.read.keys().cloned());
        scene.write("robots.txt", "User-agent: *\nDisallow: /ne");
        assert!(!scene.watch.reload(&reloader, marks, true));
        assert_ne!(scene.served(), before);
    }
}
