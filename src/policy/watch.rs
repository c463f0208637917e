//! Notices that a watched file changed, whatever way it was saved.
//!
//! The looks decide: each file is compared with what it looked like when it was last read. They come each second, and
//! what the system tells of a folder only has the next one come at once. So links that are swapped, files that return and
//! file systems that tell nothing need no care of their own.

use super::Policy;
use super::fetched::Teller;
use super::reload::{Reloader, Trigger};
use crate::config::reading::{self, FileMarks, marks_of};
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use smart_default::SmartDefault;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How often to look without being told.
const LOOK: Duration = Duration::from_secs(1);

/// How many times as long as the last look took the next one waits: thousands of files are looked at more rarely.
const REST: u32 = 50;

/// The same where something has happened in one of the folders: where that is so all the time, looks take a tenth of it.
const BRIEF_REST: u32 = 10;

/// How long is waited for what else belongs to a change: a writer closes its file a moment after it has written.
const GATHER: Duration = Duration::from_millis(20);

/// How long files must be left alone before they are read: their writer may have come to half of one.
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
    let reloader = Arc::downgrade(reloader);
    let thread = thread::Builder::new().name("watch".to_owned());
    if let Err(error) = thread.spawn(move || Watch::default().run(&reloader)) {
        tracing::error!("cannot watch files: {error}; `gatewayctl reload` reads them");
    }
}

#[derive(SmartDefault)]
struct Watch {
    #[default(PATIENCE)]
    patience: Duration,
    /// What the files looked like before they were last read, and when that was. Empty at first: what changed while the
    /// gateway started is found at the first look.
    read: FileMarks,
    #[default(Instant::now())]
    read_at: Instant,
    /// How often a file system had not answered before the files were last read.
    unanswered: u64,
    /// `None` where not all folders can be watched.
    watcher: Option<RecommendedWatcher>,
    /// When the folders were last chosen; `None` once other files, or other folders of the same names, may be meant.
    listened: Option<Instant>,
    /// What was put in place whole, or closed by its writer, since the last look.
    finished: Arc<Mutex<BTreeSet<PathBuf>>>,
    teller: Teller,
}

impl Watch {
    fn run(mut self, reloader: &Weak<Reloader>) {
        // Nothing is received where nothing can be watched.
        let (nudge, nudges) = sync_channel(1);
        let (mut pause, mut took) = (Duration::ZERO, Duration::ZERO);
        loop {
            let _ = nudges.recv_timeout(pause);
            thread::sleep((took * BRIEF_REST).clamp(GATHER, QUIET));
            let Some(reloader) = reloader.upgrade() else { return };
            let (begun, policy) = (Instant::now(), reloader.current());
            let marks = marks_of(files(&policy));
            let finished = std::mem::take(&mut *self.finished.lock());
            took = begun.elapsed();
            pause = Duration::ZERO;
            if marks != self.read || self.is_incomplete(&policy) {
                self.read(&reloader, marks, &finished);
            } else if self.listened.is_none_or(|at| self.watcher.is_none() && at.elapsed() >= AGAIN) {
                // What happened before there was a watch is found by the next look.
                self.listen(&reloader, nudge.clone());
            } else {
                pause = LOOK.max(took * REST);
            }
        }
    }

    /// Whether to read again, since a file system did not answer, a name has no address yet, or an exception has ended.
    fn is_incomplete(&self, policy: &Policy) -> bool {
        self.read_at.elapsed() >= AGAIN
            && (reading::unanswered() != self.unanswered
                || policy.origins().any(|(_, origin)| origin.unresolved().next().is_some())
                || policy.is_outlived(SystemTime::now()))
    }

    /// Reads the files, which looked like `marks`: at once where all that changed are `finished`, else once all have been
    /// left alone. One that never rests does not hold them up for ever. Where one is changed meanwhile, its writer may have
    /// come to half of it, and nothing comes of what was read.
    fn read(&mut self, reloader: &Reloader, mut marks: FileMarks, finished: &BTreeSet<PathBuf>) {
        let begun = Instant::now();
        let mut changed = marks.iter().filter(|(file, mark)| self.read.get(*file) != Some(mark));
        let mut rest = if changed.all(|(file, _)| finished.contains(file)) { Duration::ZERO } else { QUIET };
        loop {
            thread::sleep(rest);
            rest = QUIET;
            (self.unanswered, self.read_at, self.listened) = (reading::unanswered(), Instant::now(), None);
            let is_enough = begun.elapsed() >= self.patience;
            let are_unchanged = || is_enough || marks_of(marks.keys().cloned()) == marks;
            let reload = || reloader.reload_if(Trigger::Watch, false, false, &are_unchanged);
            // A panic is a fault of ours, which the hook has reported, and must not end the watching.
            if are_unchanged() && !matches!(catch_unwind(AssertUnwindSafe(reload)), Ok(Err(_))) {
                break;
            }
            marks = marks_of(files(&reloader.current()));
        }
        self.read = marks;
    }

    /// Watches every folder that a change of the files would show up in: those above them, and those above where they
    /// lead. What changes elsewhere on the way is found by looking.
    fn listen(&mut self, reloader: &Reloader, nudge: SyncSender<()>) {
        let mut ours = BTreeSet::new();
        for file in files(&reloader.current()) {
            let owned = file.clone();
            // One whose file system does not answer is left to the looks.
            let Ok(target) = reading::with_timeout(&file, move || owned.canonicalize()) else { continue };
            ours.extend(target.ok().into_iter().chain([file]));
        }
        let above = ours.iter().flat_map(|path| path.ancestors().skip(1));
        let mut folders: BTreeSet<PathBuf> = above.map(Path::to_owned).collect();
        // The journal and the store are written in the state folder all the time.
        let state = std::path::absolute(&reloader.current().config.state_dir).unwrap_or_default();
        if ours.iter().all(|path| path.parent() != Some(&state)) {
            folders.remove(&state);
        }
        let finished = Arc::clone(&self.finished);
        let told = move |event: notify::Result<Event>| {
            if let Ok(event) = &event {
                note_finished(&mut finished.lock(), event);
            }
            if is_news(event, &ours) {
                // One that waits already will do.
                let _ = nudge.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(told).and_then(|mut watcher| {
            let watched = folders.iter().map(|folder| watcher.watch(folder, RecursiveMode::NonRecursive));
            // One that may not be read, or has just gone, is left to the looks.
            let mut failed = watched.filter_map(Result::err);
            let trouble = failed.find(|error| matches!(error.kind, ErrorKind::MaxFilesWatch));
            trouble.map_or(Ok(watcher), Err)
        });
        let trouble = watcher.is_err().then(|| UNWATCHED.to_owned());
        self.teller.tell("watching files", "inotify", trouble.clone());
        reloader.known.lock().unwatched = trouble;
        // With trouble it is tried again.
        (self.watcher, self.listened) = (watcher.ok(), Some(Instant::now()));
    }
}

/// The writer of a file has closed it.
const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));

/// Notes files that were put in place whole, or closed by their writer, and forgets those to which more happens.
fn note_finished(finished: &mut BTreeSet<PathBuf>, event: &Event) {
    match event.kind {
        CLOSED | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => finished.extend(event.paths.clone()),
        // Both names of a renamed file come once more.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {}
        _ => finished.retain(|path| !event.paths.contains(path)),
    }
}

/// Whether to look at once. `ours` are the files, also by where they lead.
fn is_news(event: notify::Result<Event>, ours: &BTreeSet<PathBuf>) -> bool {
    // An error means that events were lost: that is one more reason to look.
    event.map_or(true, |event| match event.kind {
        EventKind::Access(_) if event.kind != CLOSED => false,
        // What is written to other files in there changes none of ours, and a log is written all the time.
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
            event.paths.iter().any(|path| ours.contains(path))
        }
        _ => true,
    })
}

fn files(policy: &Policy) -> impl Iterator<Item = PathBuf> {
    policy.files().map(|file| std::path::absolute(&file).unwrap_or(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::{CurrentPolicy, NoticeHistory, OriginFiles, check};
    use crate::record::{ReadBook, Recorder};
    use notify::event::{CreateKind, DataChange};
    use std::io::Write as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn what_may_change_a_file_of_ours_is_news_and_what_is_written_to_others_is_not() {
        let ours = BTreeSet::from([PathBuf::from("/real/r")]);
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        for (kind, path, expected) in [
            (written, "/real/r", true),
            (written, "/real/other", false),
            (EventKind::Create(CreateKind::File), "/real/r", true),
            (EventKind::Create(CreateKind::File), "/real/other", true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), "/real/r", true),
            (EventKind::Modify(ModifyKind::Name(RenameMode::From)), "/real/r", true),
            (EventKind::Access(AccessKind::Open(AccessMode::Read)), "/real/r", false),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), "/real/r", true),
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), "/real/other", false),
        ] {
            assert_eq!(
                is_news(Ok(Event::new(kind).add_path(path.into())), &ours),
                expected,
                "{kind:?} {path}"
            );
        }
        assert!(is_news(Err(notify::Error::generic("lost")), &ours), "where events were lost it is looked");
    }

    #[test]
    fn a_file_is_finished_until_more_happens_to_it() {
        let mut finished = BTreeSet::new();
        let mut after = |kind, paths: &[&str]| {
            let event = paths.iter().fold(Event::new(kind), |event, path| event.add_path(path.into()));
            note_finished(&mut finished, &event);
            finished.contains(Path::new("/r"))
        };
        let renamed = |mode| EventKind::Modify(ModifyKind::Name(mode));
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert!(after(CLOSED, &["/r"]));
        assert!(after(CLOSED, &["/other"]));
        assert!(!after(written, &["/r"]), "its next writer has begun");
        assert!(after(renamed(RenameMode::To), &["/r"]));
        assert!(after(renamed(RenameMode::Both), &["/new", "/r"]));
        assert!(!after(renamed(RenameMode::From), &["/r"]));
        assert!(!after(renamed(RenameMode::Both), &["/r", "/old"]), "it is away");
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
            Self { folder, reloader, watch: Watch::default() }
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::write(self.folder.path().join(name), text).unwrap();
        }

        fn marks(&self) -> FileMarks {
            marks_of(files(&self.reloader.current()))
        }

        fn read(&mut self) {
            self.watch.read(&self.reloader, marks_of(files(&self.reloader.current())), &BTreeSet::new());
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
    fn changed_files_are_read_once_all_of_them_were_left_alone() {
        let mut scene = WatchScene::new();
        let before = scene.served();
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        let (path, is_done) = (scene.folder.path().join("more.txt"), Arc::new(AtomicBool::new(false)));
        let done = Arc::clone(&is_done);
        let writer = thread::spawn(move || {
            let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
            for length in 1..=20 {
                std::fs::write(&path, "#".repeat(length)).unwrap();
                thread::sleep(QUIET / 10);
                longest = longest.max(last.elapsed());
                last = Instant::now();
            }
            std::fs::write(&path, "Sitemap: https://b.example/\n").unwrap();
            done.store(true, Ordering::Relaxed);
            longest
        });
        scene.read();
        let was_done = is_done.load(Ordering::Relaxed);
        // On a slow machine the writer may have paused for so long that its half was taken.
        assert!(writer.join().unwrap() >= QUIET / 2 || was_done);
        assert_ne!(scene.served(), before);
        assert!(scene.watch.listened.is_none(), "other files may be meant now");
    }

    #[test]
    fn a_finished_save_is_read_at_once_and_waits_for_another_files_writer() {
        let mut scene = WatchScene::new();
        scene.read();
        let robots = scene.folder.path().join("robots.txt");
        let (reloader, finished) = (Arc::clone(&scene.reloader), BTreeSet::from([robots]));
        let took = |scene: &mut WatchScene| {
            let (marks, begun) = (scene.marks(), Instant::now());
            scene.watch.read(&reloader, marks, &finished);
            begun.elapsed()
        };
        let before = scene.served();
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        // On a slow machine reading takes some time; the fastest of some tells that nothing is waited for.
        let mut fastest = took(&mut scene);
        assert_ne!(scene.served(), before);
        for number in 0..9 {
            scene.write("robots.txt", &format!("User-agent: *\nDisallow: /new/{number}\n"));
            fastest = fastest.min(took(&mut scene));
        }
        assert!(fastest < QUIET, "{fastest:?}");
        scene.write("robots.txt", "User-agent: *\nDisallow: /newer\n");
        scene.write("more.txt", "Sitemap: https://b.example/\n");
        assert!(took(&mut scene) >= QUIET, "nobody has said that the other file is whole");
    }

    #[test]
    fn a_file_that_never_rests_does_not_hold_up_the_others_for_ever() {
        let mut scene = WatchScene::new();
        let before = scene.served();
        scene.watch.patience = QUIET * 4;
        let (path, is_done) = (scene.folder.path().join("more.txt"), Arc::new(AtomicBool::new(false)));
        let done = Arc::clone(&is_done);
        let writer = thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            while !done.load(Ordering::Relaxed) {
                file.write_all(b"#\n").unwrap();
                thread::sleep(QUIET / 10);
            }
        });
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        let begun = Instant::now();
        scene.read();
        assert_ne!(scene.served(), before);
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        is_done.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    }

    /// A writer may come between the last look at a file and its reading.
    #[test]
    fn a_file_that_has_changed_since_it_was_looked_at_is_looked_at_again() {
        let mut scene = WatchScene::new();
        let marks = scene.marks();
        scene.write("robots.txt", "User-agent: *\nDisallow: /new\n");
        let (reloader, begun) = (Arc::clone(&scene.reloader), Instant::now());
        scene.watch.read(&reloader, marks, &BTreeSet::new());
        assert!(begun.elapsed() >= QUIET * 2 && scene.watch.read == scene.marks());
        let are_unchanged = || false;
        let changed = scene.reloader.reload_if(Trigger::Watch, false, false, &are_unchanged);
        assert_eq!(changed.unwrap_err(), crate::policy::ReloadError::FileChanged);
    }
}
