//! The folder of rows: one document, which the processes of a state folder replace in turn, and the robots.txt files that it
//! names.
//!
//! Each process holds a file of its own locked while it lives. So others see whether it does.

use super::clock::{self, NoticeClock, uptime};
use super::document::RowDocument;
use super::{RowsError, RowsMemory, SEEN, digest, whole_micros};
use crate::decide::{Doubt, NoticeTime};
use crate::record::files::{FileId, beside, inode, inode_at, make_folder, replace_file, sync_folder_of};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The document.
const DOCUMENT: &str = "served.rows";

/// What the process that writes it holds locked.
const TURN: &str = "turn.lock";

/// The end of the name of what a process holds locked while it lives.
const ALIVE: &str = ".alive";

/// The end of the name of a robots.txt.
const ROBOTS: &str = ".txt";

/// How much later the clock goes on where records are lost: later than anything that a read of then may bear.
const LATER: Duration = Duration::from_secs(3_600);

/// How long a file is kept that the document does not name: another process may be about to name it.
const UNNAMED: Duration = Duration::from_secs(3_600);

/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(2);

/// What tells the document as it was read or written from every other.
type DocumentMark = (FileId, u64, Option<SystemTime>);

/// The folder, as one process reads and writes it.
#[derive(Debug)]
pub struct RowFolder {
    folder: PathBuf,
    /// What others know this process by, and what it holds locked.
    name: Box<str>,
    alive: File,
    boot: Box<str>,
    /// The latest clock of this boot: by it the document is written.
    clock: NoticeClock,
    /// The document as it was read or written last.
    mark: Option<DocumentMark>,
    /// Whether that says all that this process does, and outlives a power cut.
    is_said: bool,
    /// When the document that was read or written last was written: one that is older was put back by somebody.
    noted: NoticeTime,
    /// When others were found to be missing. Somebody may have removed the file that shows that they live: then they make it
    /// again.
    missing: BTreeMap<Box<str>, NoticeTime>,
}

fn mark(file: &File) -> io::Result<DocumentMark> {
    let metadata = file.metadata()?;
    Ok((inode(&metadata), metadata.len(), metadata.modified().ok()))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o640);
    options
}

/// Makes a file, unless it is there, and holds it locked: waits a little for who does at the moment.
fn locked(path: &Path) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        let file = options().open(path)?;
        match file.try_lock() {
            // Somebody may have removed it meanwhile: others lock another one then.
            Ok(()) if inode_at(path) == Some(inode(&file.metadata()?)) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            _ if begun.elapsed() > PATIENCE => return Err(ErrorKind::ResourceBusy.into()),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// What others know this process by: another one for each process of any boot.
pub fn process_name() -> Box<str> {
    let boot = clock::boot().unwrap_or_default();
    format!("{}-{}-{}", boot.get(..8).unwrap_or(&boot), std::process::id(), whole_micros(uptime())).into()
}

impl RowFolder {
    /// The folder at `folder` for the process of that name, with what ended processes left there. `true` where something is lost. Its clock is never behind
    /// `clock`, by which this process may have judged already.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(
        folder: &Path,
        memory: &RowsMemory,
        clock: NoticeClock,
        name: Box<str>,
    ) -> Result<(Self, RowDocument, bool), RowsError> {
        Self::try_open(folder, memory, clock, name)
            .map_err(|source| RowsError { path: folder.to_owned(), source })
    }

    fn try_open(
        folder: &Path,
        memory: &RowsMemory,
        clock: NoticeClock,
        name: Box<str>,
    ) -> io::Result<(Self, RowDocument, bool)> {
        make_folder(folder)?;
        // Where the system does not tell one boot from another, every start counts as one.
        let boot = clock::boot().unwrap_or_else(|| name.to_string());
        let alive = locked(&folder.join(format!("{name}{ALIVE}")))?;
        let mut this = Self {
            folder: folder.to_owned(),
            name,
            alive,
            boot: boot.into(),
            clock,
            mark: None,
            is_said: false,
            noted: NoticeTime::default(),
            missing: BTreeMap::new(),
        };
        let (found, is_damaged) = match this.read() {
            Err(error) if error.kind() == ErrorKind::InvalidData => (None, true),
            found => (found?, false),
        };
        let noted = found.as_ref().map(|found| found.noted);
        let (remembered, is_lost) = match memory {
            RowsMemory::Noted(last) => (*last, noted.is_none_or(|noted| noted < *last)),
            // Later than any time that such a clock may have shown.
            RowsMemory::Unreadable if noted.is_none() => (
                NoticeTime(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()),
                true,
            ),
            // Older ones may have been put back.
            RowsMemory::Unreadable => (NoticeTime::default(), true),
            RowsMemory::Nothing => (NoticeTime::default(), false),
        };
        let is_lost = is_lost || is_damaged;
        let last = noted.unwrap_or_default().max(remembered);
        let last = if is_lost { last.after(LATER) } else { last };
        let of_boot = found.iter().filter(|found| found.boot == this.boot).map(|found| found.clock);
        this.clock = of_boot.fold(clock.max(NoticeClock::going_on_from(last)), NoticeClock::max);
        let nothing = || RowDocument { by: this.name.clone(), ..RowDocument::default() };
        let mut own = found.unwrap_or_else(nothing).by_clock(&this.boot, this.clock);
        this.take_up(&mut own);
        Ok((this, own, is_lost))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(DOCUMENT)
    }

    fn alive(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ALIVE}"))
    }

    /// Whether nobody holds the file of a process.
    fn is_free(&self, name: &str) -> io::Result<bool> {
        Ok(File::open(self.alive(name))?.try_lock_shared().is_ok())
    }

    /// Until when a process served, where it is gone at `now`. What cannot be told is alive: what it serves goes on to excuse.
    fn ended(&mut self, name: &str, now: NoticeTime) -> Option<NoticeTime> {
        match self.is_free(name) {
            Ok(true) => return Some(now),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let until = self.missing.entry(name.into()).or_insert(now).after(SEEN);
                return (until <= now).then_some(until);
            }
            _ => {}
        }
        self.missing.remove(name);
        None
    }

    /// Takes up what processes served that are gone; `true` where there are any.
    fn take_up(&mut self, own: &mut RowDocument) -> bool {
        let now = own.clock.now();
        let all = own.others.keys();
        let ended: Vec<_> = all.filter_map(|name| Some((name.clone(), self.ended(name, now)?))).collect();
        for (name, until) in &ended {
            self.missing.remove(name);
            if let Some(mut rows) = own.others.remove(name) {
                rows.close(|_, _| false, *until);
                own.hosts.add(&rows);
            }
        }
        !ended.is_empty()
    }

    /// Whether others see that this process lives.
    fn is_seen(&self) -> bool {
        let known = self.alive.metadata().ok().map(|alive| inode(&alive));
        inode_at(&self.alive(&self.name)) == known
    }

    /// The document, where it is another one than this process knows. `InvalidData` where it is damaged: then a copy of it is
    /// set aside.
    fn read(&mut self) -> io::Result<Option<RowDocument>> {
        let path = self.path();
        let mut file = match File::open(&path) {
            // Or it was removed while this process runs, which writes it again.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mark = Some(mark(&file)?);
        if self.mark == mark {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        (self.mark, self.is_said) = (mark, false);
        let document = RowDocument::parse(&bytes).filter(|document| document.noted >= self.noted);
        let document = document.map(|document| document.seen_by(&self.name));
        if document.is_none() {
            let aside = beside(&path, ".damaged");
            // Without a copy the rest is as true.
            let _ = std::fs::write(&aside, &bytes);
            tracing::error!(
                aside = %aside.display(),
                "what was served before is damaged; until notice is over nobody is accused of what a version before now may \
                 have allowed"
            );
        }
        self.noted = document.as_ref().map_or(self.noted, |document| document.noted);
        document.map(Some).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    /// Looks at what other processes wrote, and takes up what those served that are gone: until now, at the latest. `true`
    /// where something is new.
    ///
    /// # Errors
    /// When the folder cannot be read. What is known goes on to hold.
    pub fn refresh(&mut self, own: &mut RowDocument) -> Result<bool, RowsError> {
        let is_new = self.try_refresh(own);
        is_new.map_err(|source| RowsError { path: self.folder.clone(), source })
    }

    fn try_refresh(&mut self, own: &mut RowDocument) -> io::Result<bool> {
        let is_new = match self.read() {
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                own.hosts.doubt(Doubt::Lost, own.clock.now());
                true
            }
            Err(error) => return Err(error),
            Ok(None) => false,
            Ok(Some(written)) => {
                self.clock = self.clock.max(written.clock);
                let written = written.by_clock(&self.boot, own.clock);
                self.is_said = written.hosts == own.hosts;
                own.hear(written)
            }
        };
        let has_taken_up = self.take_up(own);
        self.is_said &= !has_taken_up;
        Ok(is_new || has_taken_up)
    }

    /// Whether the document is there, and says what this process does.
    pub fn is_written(&self) -> bool {
        let found = File::open(self.path()).and_then(|file| mark(&file)).ok();
        self.is_said && found == self.mark && self.is_seen()
    }

    /// Writes the document, with what others have written since, and waits until it is on the disk; the files that it names are
    /// there. `true` where others had written something new.
    ///
    /// # Errors
    /// When it cannot be written. What was written before still holds.
    pub fn write(&mut self, next: &mut RowDocument) -> Result<bool, RowsError> {
        self.try_write(next).map_err(|source| {
            // What was read meanwhile went into what is not written.
            self.mark = None;
            RowsError { path: self.folder.clone(), source }
        })
    }

    fn try_write(&mut self, next: &mut RowDocument) -> io::Result<bool> {
        make_folder(&self.folder)?;
        let _turn = locked(&self.folder.join(TURN))?;
        let is_new = self.try_refresh(next)?;
        self.is_said = false;
        if !self.is_seen() {
            self.alive = locked(&self.alive(&self.name))?;
        }
        next.noted = next.clock.now();
        let path = self.path();
        let written = next.clone().by_clock(&self.boot, self.clock);
        replace_file(&path, &written.bytes()?)?;
        self.noted = written.noted;
        self.mark = Some(mark(&File::open(&path)?)?);
        sync_folder_of(&path)?;
        self.is_said = true;
        self.clear(next);
        Ok(is_new)
    }

    /// Removes what processes left that are gone, and files that the document does not name.
    fn clear(&self, document: &RowDocument) {
        let named: HashSet<&Box<str>> = document.files().into_iter().flatten().collect();
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let modified = || entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = || modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > UNNAMED));
            let goes = match (name.strip_suffix(ROBOTS), name.strip_suffix(ALIVE)) {
                (Some(file), _) => !named.contains(&Box::from(file)) && is_old(),
                (_, Some(process)) => {
                    !document.others.contains_key(process) && self.is_free(process).unwrap_or_default()
                }
                _ => name.strip_suffix(".new").is_some() && is_old(),
            };
            if goes {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Keeps a robots.txt, under its SHA-256.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> Result<(), RowsError> {
        let path = self.robots(name);
        let keep = || {
            if std::fs::read(&path).is_ok_and(|known| known == bytes) {
                // Nobody takes it for one that no document names before this process does.
                return File::options().write(true).open(&path)?.set_modified(SystemTime::now());
            }
            make_folder(&self.folder)?;
            let mut file = options().open(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        keep().map_err(|source| RowsError { path: path.clone(), source })
    }

    /// The bytes of a robots.txt; `None` where they are lost, or are not those that were kept.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.robots(name)).ok().filter(|bytes| *digest(bytes) == *name)
    }

    fn robots(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{ROBOTS}"))
    }
}
