//! Notices that a watched file changed, whatever way it was saved.
//!
//! Folders are watched, not files: a rename into place, a symlink swap, a deletion and a return all show
//! up there, while a watch on a file follows the old inode into oblivion. What an event *says* is only
//! used to choose when to look: a finished save at once, an unfinished one when its writer closes it or
//! after [`QUIET`]. What to do is decided by reading the files and comparing contents.

mod folders;

use super::reload::{ReloadError, Reloader, Trigger};
use crate::config::reading::{self, FileMark};
use folders::Folders;
use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Event, EventKind};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long a file must be left alone before an unfinished save is taken for finished.
const QUIET: Duration = Duration::from_millis(100);

/// How often to look without being told: some file systems report nothing, and a name that could not be
/// resolved may be known now.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The same where the system does not let us watch everything.
const LOOK_INSTEAD: Duration = Duration::from_secs(1);

/// Watches the files of the policy in force and reloads it when they change, on a thread that ends with
/// the reloader. Where the system lets us watch no more, the files are looked at every second.
pub fn watch(reloader: &Arc<Reloader>) {
    let (sender, events) = channel();
    let watch = Watch {
        // It keeps the channel open, whether or not anything can be watched.
        folders: Folders::new(sender),
        names: BTreeSet::new(),
        marks: FileMarks::new(),
        held_up: None,
        unanswered: 0,
        reloader: Arc::downgrade(reloader),
    };
    let thread = std::thread::Builder::new().name("watch".to_owned());
    if let Err(error) = thread.spawn(move || watch.run(&events)) {
        tracing::error!("cannot watch files: {error}; `gatewayctl reload` reads them");
    }
}

/// What an event says of a file; `None` when it was only read.
fn change(event: &Event) -> Option<FileChange> {
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => {
            Some(FileChange::Finished)
        }
        EventKind::Access(_) => None,
        // A new file is empty until its writer has written; a removed one may be about to return.
        _ => Some(FileChange::UnderWay),
    }
}

/// The names of ours that an event is about; all of them where events were lost.
fn watched_paths(event: &Event, names: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    if event.need_rescan() || event.paths.is_empty() {
        return names.iter().cloned().collect();
    }
    event.paths.iter().filter(|path| names.contains(*path)).cloned().collect()
}

/// Files, and what each looked like.
type FileMarks = BTreeMap<PathBuf, Option<FileMark>>;

struct Watch {
    folders: Folders,
    /// Every name on the way to a file of ours, folders and links included.
    names: BTreeSet<PathBuf>,
    /// What the files looked like before they were last read. Empty at first: what changed while the
    /// gateway started is found at the first look.
    marks: FileMarks,
    /// Since when nothing came of a reload, because files changed while they were read.
    held_up: Option<Instant>,
    /// How often a file system had not answered before the files were last read.
    unanswered: u64,
    reloader: Weak<Reloader>,
}

/// [`folders::names`], or the file's own where nobody can tell.
fn names(file: &Path) -> Vec<PathBuf> {
    let owned = file.to_owned();
    let found = reading::with_timeout(file, move || folders::names(&owned));
    found.unwrap_or_else(|_| vec![file.to_owned()])
}

fn mark_of(file: &Path) -> Option<FileMark> {
    reading::metadata(file).map(|metadata| FileMark::of(&metadata))
}

impl Watch {
    fn run(mut self, events: &Receiver<Event>) {
        self.update_watches();
        let mut settling = ChangedFiles::default();
        let mut next_look = Instant::now();
        loop {
            let now = Instant::now();
            let wake = settling.due().unwrap_or(next_look).min(next_look);
            match events.recv_timeout(wake.saturating_duration_since(now)) {
                Ok(event) => {
                    if let Some(change) = change(&event) {
                        settling.note(change, watched_paths(&event, &self.names), Instant::now());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = Instant::now();
            let mut marks = settling.take_due(now).then(|| self.marks_now());
            if now >= next_look {
                if self.folders.trouble().is_some() {
                    self.update_watches();
                }
                next_look = now + if self.folders.trouble().is_some() { LOOK_INSTEAD } else { LOOK_AGAIN };
                if marks.is_none() && settling.is_empty() {
                    marks = self.differing_and_quiet();
                }
            }
            let Some(reloader) = self.reloader.upgrade() else { return };
            if let Some(marks) = marks {
                self.reload(&reloader, marks);
                drop(reloader);
                self.update_watches();
            }
        }
    }

    /// Reads the files, which looked like `marks`. A panic there is a fault of ours, and must not end the watching.
    ///
    /// Nothing comes of it where a file is changed meanwhile, or was between the look and the reading: its writer may
    /// have come to half of it. What the writer does next sets another reload off. One that never rests holds the others
    /// up for [`PATIENCE`] more than its events do.
    fn reload(&mut self, reloader: &Reloader, marks: FileMarks) {
        self.unanswered = reading::unanswered();
        // Taken before the files are read, so that no later change can pass for this one.
        self.marks = marks;
        let is_enough = self.held_up.is_some_and(|since| since.elapsed() > PATIENCE);
        let are_unchanged = || is_enough || self.marks.iter().all(|(file, mark)| mark_of(file) == *mark);
        // The hook has reported where.
        let done =
            catch_unwind(AssertUnwindSafe(|| reloader.reload_if(Trigger::Watch, false, &are_unchanged)));
        match done {
            Ok(Err(error)) => {
                if error == ReloadError::FileChanged {
                    self.held_up.get_or_insert_with(Instant::now);
                }
                // Look again soon.
                self.marks.clear();
            }
            _ => self.held_up = None,
        }
    }

    /// What the files look like, where one looks different, nothing told us, and none is being written this moment; or
    /// where something is still to be read, or a name to be resolved.
    fn differing_and_quiet(&self) -> Option<FileMarks> {
        let now = self.marks_now();
        if now == self.marks {
            let policy = self.reloader.upgrade().map(|reloader| reloader.current());
            let is_incomplete = reading::unanswered() != self.unanswered
                || policy
                    .is_some_and(|policy| policy.sites().iter().any(|site| site.origin.has_unresolved()));
            return is_incomplete.then_some(now);
        }
        std::thread::sleep(QUIET);
        (self.marks_now() == now).then_some(now)
    }

    fn marks_now(&self) -> FileMarks {
        let marked = |file: PathBuf| {
            let mark = mark_of(&file);
            (file, mark)
        };
        self.files().into_iter().map(marked).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let policy = self.reloader.upgrade().map(|reloader| reloader.current());
        policy.map_or_else(Vec::new, |policy| policy.files().map(absolute).collect())
    }

    /// Watches every folder that a change of our files would show up in: those above them, any of which may be
    /// replaced by another, and those of the links on the way to them.
    fn update_watches(&mut self) {
        let files = self.files();
        self.names = files.iter().flat_map(|file| names(file)).collect();
        let mut wanted: BTreeSet<_> =
            self.names.iter().filter_map(|name| name.parent()).map(Path::to_owned).collect();
        // The journal and the store are written there all the time, and each time would wake this thread. What replaces
        // a folder in it is found by looking.
        let state = self.reloader.upgrade().map(|reloader| absolute(&reloader.current().config.state_dir));
        if let Some(state) = state.filter(|state| files.iter().all(|file| file.parent() != Some(state))) {
            wanted.remove(&state);
        }
        let before = self.folders.trouble().map(str::to_owned);
        self.folders.watch(&wanted);
        let trouble = self.folders.trouble();
        if trouble == before.as_deref() {
            return;
        }
        if let Some(trouble) = trouble {
            tracing::warn!(
                "cannot watch every file: {trouble}; changes are found by looking, every {LOOK_INSTEAD:?}"
            );
        } else {
            tracing::info!("every file is watched again");
        }
        if let Some(reloader) = self.reloader.upgrade() {
            reloader.known.lock().unwatched = trouble.map(str::to_owned);
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// How long to gather events that belong together, as those of a symlink swap do.
const GATHER: Duration = Duration::from_millis(5);

/// How long one file's unfinished save may hold up another's finished one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Files that were touched, and when each may be read.
#[derive(Debug, Default)]
struct ChangedFiles {
    ready: BTreeMap<PathBuf, Instant>,
    since: Option<Instant>,
}

/// How finished the change of a file is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FileChange {
    /// It was put in place whole, or its writer has closed it.
    Finished,
    /// It is being written, or has gone and may be about to return.
    UnderWay,
}

impl ChangedFiles {
    /// Notes a change of `paths`.
    fn note(&mut self, change: FileChange, paths: impl IntoIterator<Item = PathBuf>, now: Instant) {
        let wait = match change {
            FileChange::Finished => GATHER,
            FileChange::UnderWay => QUIET,
        };
        for path in paths {
            self.since.get_or_insert(now);
            self.ready.insert(path, now + wait);
        }
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// When everything that was touched may be read.
    fn due(&self) -> Option<Instant> {
        let last = self.ready.values().max().copied()?;
        let latest = self.since.map_or(last, |since| since + PATIENCE);
        Some(last.min(latest))
    }

    /// Whether that moment has come; then nothing is unsettled any more.
    fn take_due(&mut self, now: Instant) -> bool {
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
    use crate::config::{Arguments, Config};
    use crate::policy::{CurrentPolicy, NoticeHistory, OriginFiles, check};
    use crate::record::Recorder;
    use notify::event::{CreateKind, RemoveKind};
    use std::time::SystemTime;

    #[test]
    fn a_finished_save_is_told_from_an_unfinished_one() {
        let kind = |kind| change(&Event::new(kind));
        assert_eq!(kind(EventKind::Access(AccessKind::Close(AccessMode::Write))), Some(FileChange::Finished));
        assert_eq!(kind(EventKind::Modify(ModifyKind::Name(RenameMode::To))), Some(FileChange::Finished));
        assert_eq!(kind(EventKind::Modify(ModifyKind::Name(RenameMode::From))), Some(FileChange::UnderWay));
        assert_eq!(kind(EventKind::Modify(ModifyKind::Any)), Some(FileChange::UnderWay));
        assert_eq!(kind(EventKind::Create(CreateKind::File)), Some(FileChange::UnderWay));
        assert_eq!(kind(EventKind::Remove(RemoveKind::File)), Some(FileChange::UnderWay));
        assert_eq!(kind(EventKind::Access(AccessKind::Open(AccessMode::Read))), None);
    }

    #[test]
    fn strangers_do_not_concern_us_and_lost_events_concern_everything() {
        let names = BTreeSet::from([PathBuf::from("/a"), PathBuf::from("/b")]);
        let event = |path: &str| Event::new(EventKind::Any).add_path(PathBuf::from(path));
        assert_eq!(watched_paths(&event("/a"), &names), [PathBuf::from("/a")]);
        assert!(watched_paths(&event("/journal.jsonl"), &names).is_empty());
        assert_eq!(watched_paths(&Event::new(EventKind::Any), &names).len(), 2);
    }

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

    /// A writer may come between the last look at a file and its reading.
    #[test]
    fn a_file_that_has_changed_since_it_was_looked_at_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let robots = folder.path().join("robots.txt");
        std::fs::write(&robots, "User-agent: *\nDisallow: /old\n").unwrap();
        let reloader = Arc::new(reloader(folder.path(), &robots));
        let mut watch = Watch {
            folders: Folders::new(channel().0),
            names: BTreeSet::new(),
            marks: FileMarks::new(),
            held_up: None,
            unanswered: 0,
            reloader: Arc::downgrade(&reloader),
        };
        let served = || reloader.current().sites()[0].version().map(|version| version.to_string());
        let (before, marks) = (served(), watch.differing_and_quiet().unwrap());
        std::fs::write(&robots, "User-agent: *\nDisall").unwrap();
        watch.reload(&reloader, marks);
        assert_eq!(served(), before);
        assert!(watch.marks.is_empty(), "it is looked at again");
        // Of a writer that never rests half a file is taken in the end.
        let marks = watch.marks_now();
        std::fs::write(&robots, "User-agent: *\nDisallow: /ne").unwrap();
        watch.held_up = watch.held_up.and_then(|since| since.checked_sub(PATIENCE * 2));
        watch.reload(&reloader, marks);
        assert_ne!(served(), before);
        assert_eq!(watch.held_up, None);
        let before = served();

        std::fs::write(&robots, "User-agent: *\nDisallow: /new\n").unwrap();
        let marks = watch.differing_and_quiet().unwrap();
        watch.reload(&reloader, marks);
        assert_ne!(served(), before);
        assert_eq!(watch.marks, watch.marks_now());
        reloader.recorder.close();
    }

    fn reloader(state_dir: &Path, robots: &Path) -> Reloader {
        let arguments = Arguments {
            origin: Some("http://127.0.0.1:9".into()),
            robots: Some(robots.to_owned()),
            state_dir: Some(state_dir.to_owned()),
            ..Arguments::default()
        };
        let config = Config::load(&arguments).unwrap();
        let recorder = Arc::new(Recorder::start(&config.store).unwrap());
        let (history, origins) =
            (Arc::new(NoticeHistory::open(&config)), Arc::new(OriginFiles::open(&config)));
        let current = Arc::new(CurrentPolicy::new(check(config, SystemTime::now()).unwrap()));
        Reloader::new(current, arguments, Arc::default(), recorder, history, origins)
    }

    #[test]
    fn nothing_is_due_where_nothing_was_touched() {
        let mut settling = ChangedFiles::default();
        settling.note(FileChange::Finished, [], Instant::now());
        assert!(settling.is_empty() && settling.due().is_none());
        assert!(!settling.take_due(Instant::now() + PATIENCE));
    }
}
