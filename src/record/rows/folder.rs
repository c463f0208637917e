//! The folder of rows: one document, which the processes of a state folder replace in turn, and the robots.txt files that it
//! names.
//!
//! Each process holds a file of its own locked while it lives. So others see whether it does.

use super::clock::{self, NoticeClock, uptime};
use super::document::RowDocument;
use super::{RowsMemory, SEEN, digest, whole_micros};
use crate::decide::{Doubt, NoticeTime};
use crate::record::files::{FileId, beside, inode, inode_at, make_folder, replace_file, sync_folder_of};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The document.
const DOCUMENT: &str = "served.rows";

/// What the process that writes it holds locked.
const TURN: &str = "turn.lock";

/// The end of the name of what a process holds locked while it lives.
const ALIVE: &str = "alive";

/// The end of the name of a robots.txt.
const ROBOTS: &str = "txt";

/// How much later the clock goes on where records are lost: later than anything that a read of then may bear.
const LATER: Duration = Duration::from_secs(3_600);

/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(2);

/// What tells the document as it was read or written from every other.
type DocumentMark = (FileId, u64, Option<SystemTime>);

/// The folder, as one process reads and writes it.
#[derive(Debug)]
pub struct RowFolder {
    folder: PathBuf,
    /// What shows that this process lives, and where that is.
    alive: (File, PathBuf),
    /// The document as it was read or written last.
    mark: Option<DocumentMark>,
    /// Whether that says all that this process does, and outlives a power cut.
    is_said: bool,
    /// When the document that was read or written last was written: one that is older was put back by somebody.
    noted: NoticeTime,
}

fn mark(file: &File) -> io::Result<DocumentMark> {
    let metadata = file.metadata()?;
    Ok((inode(&metadata), metadata.len(), metadata.modified().ok()))
}

/// Makes a file, unless it is there, and holds it locked: waits a little for who does at the moment.
fn locked(path: &Path) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        let file = File::options().write(true).create(true).truncate(true).mode(0o640).open(path)?;
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

/// The bytes of a robots.txt that is kept in the folder `rows`; `None` where they are lost, or are not those that were kept.
pub fn kept_robots(rows: &Path, name: &str) -> Option<Vec<u8>> {
    std::fs::read(robots_path(rows, name)).ok().filter(|bytes| *digest(bytes) == *name)
}

fn robots_path(rows: &Path, name: &str) -> PathBuf {
    rows.join(format!("{name}.{ROBOTS}"))
}

impl RowFolder {
    /// The folder at `folder` for the process of that name, with what ended processes left there. `true` where something is
    /// lost. Its clock is never behind `clock`, by which this process may have judged already.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(
        folder: &Path,
        memory: RowsMemory,
        clock: NoticeClock,
        name: Box<str>,
    ) -> io::Result<(Self, RowDocument, bool)> {
        make_folder(folder)?;
        let alive = folder.join(format!("{name}.{ALIVE}"));
        let mut this = Self {
            folder: folder.to_owned(),
            alive: (locked(&alive)?, alive),
            mark: None,
            is_said: false,
            noted: NoticeTime::default(),
        };
        let (found, is_damaged) = match this.read(&name) {
            Err(error) if error.kind() == ErrorKind::InvalidData => (None, true),
            found => (found?, false),
        };
        let noted = found.as_ref().map(|found| found.noted);
        let (remembered, is_older) = match memory {
            RowsMemory::Nothing => (NoticeTime::default(), false),
            RowsMemory::Noted(last) => (last, noted < Some(last)),
            // Later than any time that such a clock may have shown. Those that are there may be older ones.
            RowsMemory::Unreadable => {
                let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                (noted.unwrap_or(NoticeTime(time)), true)
            }
        };
        let is_lost = is_damaged || is_older;
        let last = noted.unwrap_or_default().max(remembered);
        let last = if is_lost { last.after(LATER) } else { last };
        let boot: Box<str> = clock::boot().unwrap_or_default().into();
        let clock = clock.max(NoticeClock::going_on_from(last));
        let nothing = || RowDocument { by: name, boot: boot.clone(), clock, ..RowDocument::default() };
        let mut own = found.unwrap_or_else(nothing);
        if own.boot == boot {
            own.go_by(clock.max(own.clock));
        } else {
            (own.boot, own.clock) = (boot, clock);
        }
        this.take_up(&mut own);
        Ok((this, own, is_lost))
    }

    fn path(&self) -> PathBuf {
        self.folder.join(DOCUMENT)
    }

    /// Until when a process served, where it is gone at `now`: a little longer where somebody may have removed what shows that
    /// it lives. What cannot be told is alive: what it serves goes on to excuse.
    fn ended(&self, name: &str, now: NoticeTime) -> Option<NoticeTime> {
        match File::open(self.folder.join(format!("{name}.{ALIVE}"))) {
            Ok(file) => file.try_lock_shared().is_ok().then_some(now),
            Err(error) => (error.kind() == ErrorKind::NotFound).then(|| now.after(SEEN)),
        }
    }

    /// Takes up what processes served that are gone; `true` where there are any.
    fn take_up(&self, own: &mut RowDocument) -> bool {
        let now = own.clock.now();
        let others = own.others.len();
        for (name, mut rows) in std::mem::take(&mut own.others) {
            if let Some(until) = self.ended(&name, now) {
                rows.close(|_, _| false, until);
                own.hosts.add(&rows);
            } else {
                own.others.insert(name, rows);
            }
        }
        own.others.len() < others
    }

    /// Whether others see that this process lives.
    fn is_seen(&self) -> bool {
        let (file, path) = &self.alive;
        inode_at(path) == file.metadata().ok().map(|alive| inode(&alive))
    }

    /// The document as the process `by` sees it, where it is another one than is known. `InvalidData` where it is damaged: then
    /// a copy of it is set aside.
    fn read(&mut self, by: &str) -> io::Result<Option<RowDocument>> {
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
        let Some(document) = RowDocument::parse(&bytes).filter(|document| document.noted >= self.noted)
        else {
            let aside = beside(&path, ".damaged");
            // Without a copy the rest is as true.
            let _ = std::fs::write(&aside, &bytes);
            tracing::error!(
                aside = %aside.display(),
                "what was served before is damaged; until notice is over nobody is accused of what a version before now may \
                 have allowed"
            );
            return Err(ErrorKind::InvalidData.into());
        };
        self.noted = document.noted;
        Ok(Some(document.seen_by(by)))
    }

    /// Looks at what other processes wrote, and takes up what those served that are gone. `true` where something is new.
    ///
    /// # Errors
    /// When the folder cannot be read. What is known goes on to hold.
    pub fn refresh(&mut self, own: &mut RowDocument) -> io::Result<bool> {
        let is_new = match self.read(&own.by) {
            Err(error) if error.kind() != ErrorKind::InvalidData => return Err(error),
            Ok(None) => false,
            Ok(Some(written)) if written.boot == own.boot && written.clock >= own.clock => {
                self.is_said = written.hosts == own.hosts && written.clock == own.clock;
                own.hear(written)
            }
            // It is damaged, or somebody began anew by a clock that is behind, who says it again by the one that is written now.
            _ => {
                own.hosts.doubt(Doubt::Lost, own.clock.now());
                true
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
    pub fn write(&mut self, next: &mut RowDocument) -> io::Result<bool> {
        make_folder(&self.folder)?;
        let _turn = locked(&self.folder.join(TURN))?;
        let is_new = self.refresh(next)?;
        // Where it cannot be written, what was read goes into what is not written, and is read once more.
        (self.mark, self.is_said) = (None, false);
        if !self.is_seen() {
            self.alive.0 = locked(&self.alive.1)?;
        }
        next.noted = next.clock.now();
        let path = self.path();
        replace_file(&path, &next.bytes()?)?;
        self.noted = next.noted;
        self.mark = Some(mark(&File::open(&path)?)?);
        sync_folder_of(&path)?;
        self.is_said = true;
        self.clear(next);
        Ok(is_new)
    }

    /// Removes what processes left that are gone. Files that the document does not name go while no other process is there: it
    /// may be about to name one.
    fn clear(&self, document: &RowDocument) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let is_there = |process: &str| self.ended(process, document.noted).is_none();
        let lives = |name: &str| matches!(name.rsplit_once('.'), Some((it, ALIVE)) if is_there(it));
        let (known, is_alone) = (document.files(), names.iter().filter(|name| lives(name)).count() < 2);
        for name in &names {
            let goes = match name.rsplit_once('.') {
                Some((_, ALIVE)) => !lives(name),
                Some((file, ROBOTS)) => is_alone && !known.contains(&Some(file.into())),
                Some((_, "new")) => is_alone,
                _ => false,
            };
            if goes {
                let _ = std::fs::remove_file(self.folder.join(name));
            }
        }
    }

    /// Keeps a robots.txt, under its SHA-256.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = robots_path(&self.folder, name);
        if std::fs::read(&path).is_ok_and(|known| known == bytes) {
            Ok(())
        } else {
            replace_file(&path, bytes)
        }
    }
}
