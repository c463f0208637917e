//! Reading what an operator named: regular files only, and never for long.
//!
//! A path may lead to a pipe that nobody writes to, to a device that has no end, or to a mount whose server is gone.
//! The first two are told by what they are: only regular files are read, and opening waits for nobody. The third stops
//! whoever touches it: no system call of a file or of a resolver can be told to hurry. So such work is done on a thread of
//! its own, which is given up when it takes too long. What such a thread works on is not begun again before it comes back,
//! and there are never more than `MOST` of them.

use super::faults::{CREDENTIAL, ConfigError};
use crate::record::at_once;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How long a file may take: disks that sleep, and servers that are busy, answer within this.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long another file may take while one has not answered. With 64 that may be away, all of them together take
/// less than twenty seconds.
const BRIEF: Duration = Duration::from_millis(200);

static FILES: LazyLock<BoundedThreads> = LazyLock::new(|| BoundedThreads::new(PATIENCE, BRIEF));

static UNANSWERED: AtomicU64 = AtomicU64::new(0);

/// A file as it was read.
#[derive(Debug)]
pub struct FileContents {
    /// Its bytes, whole.
    pub bytes: Vec<u8>,
    /// What its folder says of it.
    pub metadata: Metadata,
}

/// What files look like, or why that cannot be told: inode, size and time tell a changed file from an unchanged one.
pub type FileMarks = BTreeMap<PathBuf, Result<(u64, u64, i64, i64), io::ErrorKind>>;

/// What files look like now. Those of one folder are looked at in one go: a mount that hangs holds up its own.
pub fn marks_of(files: impl Iterator<Item = PathBuf>) -> FileMarks {
    let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        folders.entry(file.parent().unwrap_or(&file).to_owned()).or_default().push(file);
    }
    let of_folder = |(folder, files): (PathBuf, Vec<PathBuf>)| {
        let mark = |found: Metadata| (found.ino(), found.len(), found.mtime(), found.mtime_nsec());
        let mark = move |file: &PathBuf| std::fs::metadata(file).map(mark).map_err(|error| error.kind());
        let seen = files.clone();
        let marks: Vec<_> =
            with_timeout(&folder, move || seen.iter().map(mark).collect()).unwrap_or_default();
        let marks = marks.into_iter().chain(std::iter::repeat(Err(io::ErrorKind::TimedOut)));
        files.into_iter().zip(marks)
    };
    folders.into_iter().flat_map(of_folder).collect()
}

/// The bytes of a file that the operator named as the `what`, if it has no more than `most`.
///
/// # Errors
/// As of [`read`].
pub fn contents(path: &Path, most: u64, what: &str) -> Result<Vec<u8>, ConfigError> {
    let read = read(path, most);
    read.map(|read| read.bytes).map_err(|error| {
        let fault = ConfigError::whole(path, format!("cannot read the {what}: {error}"));
        // What the package installs is root's and the gateway's own user's.
        let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
        if is_denied { fault.with_hint("use sudo, or let this user read it") } else { fault }
    })
}

/// Reads the regular file at `path`, if it has no more than `most` bytes.
///
/// # Errors
/// When it is not there, no regular file, larger ([`io::ErrorKind::FileTooLarge`]), unreadable, or when its file
/// system does not answer ([`io::ErrorKind::TimedOut`]).
pub fn read(path: &Path, most: u64) -> io::Result<FileContents> {
    let owned = path.to_owned();
    with_timeout(path, move || read_regular(&owned, most)).flatten()
}

/// Does `work`, which touches `path` and perhaps what lies beside it, for as long as a file may take.
///
/// # Errors
/// When its file system does not answer ([`io::ErrorKind::TimedOut`]).
pub fn with_timeout<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    FILES.run(&path.to_string_lossy(), work).ok_or_else(|| {
        UNANSWERED.fetch_add(1, Ordering::Relaxed);
        io::Error::new(io::ErrorKind::TimedOut, "the file system that it lies on does not answer")
    })
}

/// How often a file system has not answered since the start. When this has risen, something was not read.
pub fn unanswered() -> u64 {
    UNANSWERED.load(Ordering::Relaxed)
}

/// The same for as long as it takes: it waits for no other program, but it may for a disk.
fn read_regular(path: &Path, most: u64) -> io::Result<FileContents> {
    if let Some(name) = path.to_str().and_then(|path| path.strip_prefix(CREDENTIAL)) {
        let remedy = format!("no service manager hands it over; the unit needs `LoadCredential={name}:FILE`");
        return Err(io::Error::new(io::ErrorKind::NotFound, remedy));
    }
    // A device may do something when it is opened, so it is looked at before.
    let what = match std::fs::metadata(path)?.file_type() {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_fifo() => Some("a named pipe"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    };
    if let Some(what) = what {
        let reason = format!("it is {what}, and a regular file is expected");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let file = at_once(OpenOptions::new().read(true)).open(path)?;
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    let length = file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(length).unwrap_or(u64::MAX) > most {
        let reason = format!("it is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(FileContents { bytes, metadata })
}

/// How many threads may be given up and not be back, whatever they work on.
const MOST: usize = 64;

/// A place for work that may never end.
#[derive(Debug)]
pub struct BoundedThreads {
    /// The threads that were given up, by what they work on. Those that are back are taken out when the next work comes.
    away: Mutex<HashMap<Box<str>, JoinHandle<()>>>,
    patience: Duration,
    brief: Duration,
}

impl BoundedThreads {
    /// A place where work has `patience`, or no more than `brief` while other work there is given up and not back: a folder
    /// of a hundred files on a dead mount must not take a hundred times as long as one file.
    pub fn new(patience: Duration, brief: Duration) -> Self {
        Self { away: Mutex::default(), patience, brief }
    }

    /// Does `work` on `what`; `None` where it took too long and was given up, or was not begun since the same work was given
    /// up and is not back.
    pub fn run<T: Send + 'static>(&self, what: &str, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let mut away = self.away.lock();
        away.retain(|_, thread| !thread.is_finished());
        if away.contains_key(what) || away.len() >= MOST {
            return None;
        }
        let patience = if away.is_empty() { self.patience } else { self.brief };
        drop(away);
        let (answer, answered) = sync_channel(1);
        // Nobody waits for work that was given up.
        let thread =
            Builder::new().name("bounded".to_owned()).spawn(move || drop(answer.send(work()))).ok()?;
        let value = answered.recv_timeout(patience).ok();
        if value.is_none() {
            self.away.lock().entry(what.into()).or_insert(thread);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn refused(path: &Path) -> String {
        read(path, 16).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, what) in [
            (&*pipe, "a named pipe"),
            (folder.path(), "a folder"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            assert_eq!(refused(path), format!("it is {what}, and a regular file is expected"));
        }
        assert_eq!(read(&folder.path().join("none"), 16).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_to_the_bound_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [b'x'; 16]).unwrap();
        assert_eq!(read(&path, 16).unwrap().bytes, [b'x'; 16]);
        std::fs::write(&path, [b'x'; 17]).unwrap();
        assert_eq!(read(&path, 16).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    impl BoundedThreads {
        /// What threads work on that were given up, and are not back.
        fn away(&self) -> Vec<String> {
            let away = self.away.lock();
            away.iter()
                .filter(|(_, thread)| !thread.is_finished())
                .map(|(what, _)| what.to_string())
                .collect()
        }
    }

    /// Work that ends when the sender is dropped.
    fn stuck() -> (Sender<()>, impl FnOnce() + Send + 'static) {
        let (release, released): (Sender<()>, Receiver<()>) = channel();
        let wait = move || {
            let _ = released.recv();
        };
        (release, wait)
    }

    fn bounded() -> BoundedThreads {
        // What is not stuck has time on any machine.
        BoundedThreads::new(Duration::from_millis(20), Duration::from_secs(20))
    }

    /// Waits until nothing that was given up is still away.
    fn settle(bounded: &BoundedThreads) {
        while !bounded.away().is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_takes_too_long_is_given_up_and_nothing_else_waits_for_it() {
        let bounded = bounded();
        let (release, work) = stuck();
        assert_eq!(bounded.run("/dead", work), None);
        assert_eq!(bounded.away(), ["/dead"]);
        assert_eq!(bounded.run("/alive", || 1), Some(1));
        assert_eq!(bounded.run("/dead", || 2), None, "it is not begun again at once");
        drop(release);
        settle(&bounded);
        assert_eq!(bounded.run("/dead", || 3), Some(3));
    }

    #[test]
    fn never_more_threads_than_the_bound_are_given_up() {
        let bounded = BoundedThreads::new(Duration::ZERO, Duration::ZERO);
        let releases: Vec<Sender<()>> = (0..MOST)
            .map(|number| {
                let (release, work) = stuck();
                assert_eq!(bounded.run(&format!("/dead/{number}"), work), None);
                release
            })
            .collect();
        assert_eq!(bounded.away().len(), MOST);
        let (began, begins) = channel();
        assert_eq!(bounded.run("/one/more", move || began.send(())), None);
        assert!(begins.recv().is_err(), "it was begun beyond the bound");
        drop(releases);
        settle(&bounded);
        let (began, begins) = channel();
        let _ = bounded.run("/one/more", move || began.send(()));
        assert!(begins.recv().is_ok(), "there is room again");
    }

    #[test]
    fn a_panic_is_no_thread_that_is_away() {
        let bounded = BoundedThreads::new(Duration::from_secs(20), Duration::ZERO);
        assert_eq!(bounded.run("/x", || panic!("planted")), None::<()>);
        settle(&bounded);
        assert_eq!(bounded.run("/x", || 1), Some(1));
    }
}
