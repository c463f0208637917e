//! The folder of rows: one document for each process, replaced whole, and the robots.txt files that these name.
//!
//! A process holds its document locked while it lives, whichever file that is at the moment. So others see by the lock
//! whether it does.

use super::clock::{self, NoticeClock, uptime};
use super::document::{RowDocument, time_line};
use super::{RowsError, RowsMemory, SEEN, digest, whole_micros};
use crate::decide::{Doubt, NoticeTime};
use crate::record::files::{FileId, beside, inode, make_folder, sync_folder_of};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The end of a document's name.
const END: &str = ".rows";

/// The end of the name of a document that is being written.
const NEW: &str = ".new";

/// The end of the name of a robots.txt.
const ROBOTS: &str = ".txt";

/// How much later the clock goes on where records are lost: later than anything that a read of then may bear.
const LATER: Duration = Duration::from_secs(3_600);

/// How long a file is kept that no document names: another process may be about to name it.
const UNNAMED: Duration = Duration::from_secs(3_600);

/// What tells a document as it was read or written from every other.
type DocumentMark = (FileId, u64, Option<SystemTime>);

/// Where a document was found, and the time at its head.
type FoundDocument = (PathBuf, DocumentMark, RowDocument, NoticeTime);

/// A document of another process.
#[derive(Debug)]
struct OtherDocument {
    mark: DocumentMark,
    document: RowDocument,
    /// When it was found to be missing. Whoever removed it, its process may live, and writes it again.
    missing: Option<NoticeTime>,
}

impl OtherDocument {
    /// Until when its process served, where it is gone at `now` as far as can be told.
    fn ended(&mut self, path: &Path, now: NoticeTime) -> Option<NoticeTime> {
        if !is_gone(path) {
            self.missing = None;
            return None;
        }
        if path.exists() {
            return Some(now);
        }
        let until = self.missing.get_or_insert(now).after(SEEN);
        (until <= now).then_some(until)
    }
}

/// The folder, as one process reads and writes it.
#[derive(Debug)]
pub struct RowFolder {
    folder: PathBuf,
    boot: Box<str>,
    path: PathBuf,
    clock: NoticeClock,
    /// The document as it was written; without a mark where it is not certain that this outlives a power cut.
    own: Option<(File, Option<DocumentMark>)>,
    others: BTreeMap<PathBuf, OtherDocument>,
    /// Documents that are taken up, and can go once that is written.
    taken_up: Vec<PathBuf>,
    /// Those of ended processes that are damaged, and can be set aside once the doubt is written.
    damaged: Vec<PathBuf>,
}

fn mark(file: &File) -> io::Result<DocumentMark> {
    let metadata = file.metadata()?;
    Ok((inode(&metadata), metadata.len(), metadata.modified().ok()))
}

fn mark_at(path: &Path) -> Option<DocumentMark> {
    File::open(path).and_then(|file| mark(&file)).ok()
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o640);
    options
}

/// Whether the process of a document is gone. What cannot be told is alive: what it serves goes on to excuse.
fn is_gone(path: &Path) -> bool {
    match File::open(path) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        // It may have been replaced since it was opened: then its process let go of the lock, and has another one.
        Ok(file) => {
            file.try_lock_shared().is_ok()
                && mark(&file).ok().map(|mark| mark.0) == mark_at(path).map(|mark| mark.0)
        }
    }
}

impl RowFolder {
    /// The folder at `folder`, with what ended processes left there. `true` where something is lost. Its clock is never behind
    /// `clock`, by which this process may have judged already.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(
        folder: &Path,
        memory: &RowsMemory,
        clock: NoticeClock,
    ) -> Result<(Self, RowDocument, bool), RowsError> {
        Self::try_open(folder, memory, clock).map_err(|source| RowsError { path: folder.to_owned(), source })
    }

    fn try_open(
        folder: &Path,
        memory: &RowsMemory,
        clock: NoticeClock,
    ) -> io::Result<(Self, RowDocument, bool)> {
        make_folder(folder)?;
        // Where the system does not tell one boot from another, every start counts as one.
        let started = whole_micros(uptime());
        let boot = clock::boot().unwrap_or_else(|| format!("{}-{started}", std::process::id()));
        let name = format!("{}-{}-{started}{END}", boot.get(..8).unwrap_or(&boot), std::process::id());
        let mut this = Self {
            folder: folder.to_owned(),
            path: folder.join(name),
            boot: boot.into(),
            clock,
            own: None,
            others: BTreeMap::new(),
            taken_up: Vec::new(),
            damaged: Vec::new(),
        };
        let (found, is_damaged) = this.documents()?;
        let noted = found.iter().map(|(_, _, _, noted)| *noted).max();
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
        let of_boot = found.iter().filter(|(_, _, document, _)| document.boot == this.boot);
        let clocks = of_boot.map(|(_, _, document, _)| document.clock);
        this.clock = clocks.fold(clock.later(NoticeClock::going_on_from(last)), NoticeClock::later);
        let (boot, clock) = (this.boot.clone(), this.clock);
        let take = |(path, mark, document, _): FoundDocument| {
            (path, OtherDocument { mark, document: document.with_clock(&boot, clock), missing: None })
        };
        this.others = found.into_iter().map(take).collect();
        let mut own = RowDocument { boot: this.boot.clone(), clock: this.clock, ..RowDocument::default() };
        this.absorb_ended(&mut own);
        if let Some(newest) = this.others().max_by_key(|other| other.stamp()) {
            // The process that started last speaks with the fleet, and goes on where the one before it was.
            let (members, stamps) = (newest.members.clone(), newest.stamps.clone());
            if newest.stamp() > own.stamp() {
                (own.members, own.stamps) = (members, stamps);
            }
        }
        Ok((this, own, is_lost))
    }

    /// The clock that notice runs by.
    pub const fn clock(&self) -> NoticeClock {
        self.clock
    }

    /// What the other processes of the folder say.
    pub fn others(&self) -> impl Iterator<Item = &RowDocument> {
        self.others.values().map(|other| &other.document)
    }

    /// The documents of others that are new and whole, and whether one is damaged.
    fn documents(&mut self) -> io::Result<(Vec<FoundDocument>, bool)> {
        let (mut found, mut is_damaged) = (Vec::new(), false);
        let entries = match std::fs::read_dir(&self.folder) {
            // It was removed while this process runs, which writes it again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((found, is_damaged)),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            let is_known = path == self.path || self.damaged.contains(&path);
            if is_known || !path.to_string_lossy().ends_with(END) {
                continue;
            }
            let mut bytes = Vec::new();
            // Another process may have taken it up at this moment.
            let mut file = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    is_damaged = true;
                    continue;
                }
                Ok(file) => file,
            };
            let mark = mark(&file)?;
            if self.others.get(&path).is_some_and(|known| known.mark == mark) {
                continue;
            }
            file.read_to_end(&mut bytes)?;
            if let Some((document, noted)) = RowDocument::parse(&bytes) {
                found.push((path, mark, document, noted));
                continue;
            }
            is_damaged = true;
            if is_gone(&path) {
                self.damaged.push(path);
            }
        }
        Ok((found, is_damaged))
    }

    /// Looks at what other processes wrote, and takes up what those served that are gone: until now, at the latest. `true`
    /// where something is new.
    ///
    /// # Errors
    /// When the folder cannot be read. What is known goes on to hold.
    pub fn refresh(&mut self, own: &mut RowDocument) -> Result<bool, RowsError> {
        let found = self.documents().map_err(|source| RowsError { path: self.folder.clone(), source })?;
        let mut is_new = found.1;
        if found.1 {
            own.hosts.doubt(Doubt::Lost, self.clock.now());
        }
        for (path, mark, document, _) in found.0 {
            let document = document.with_clock(&self.boot, self.clock);
            is_new |= self.others.get(&path).is_none_or(|known| known.document != document);
            self.others.insert(path, OtherDocument { mark, document, missing: None });
        }
        Ok(self.absorb_ended(own) || is_new)
    }

    fn absorb_ended(&mut self, own: &mut RowDocument) -> bool {
        let now = self.clock.now();
        let ended =
            |(path, other): (&PathBuf, &mut OtherDocument)| Some((path.clone(), other.ended(path, now)?));
        let ended: Vec<_> = self.others.iter_mut().filter_map(ended).collect();
        let is_new = !ended.is_empty();
        for (path, until) in ended {
            if let Some(OtherDocument { mut document, .. }) = self.others.remove(&path) {
                document.hosts.close(&super::ServedVersions::default(), until);
                own.absorb(document);
            }
            self.taken_up.push(path);
        }
        is_new
    }

    /// Whether documents are taken up, or found to be damaged, that are not cleared away yet.
    pub fn has_taken_up(&self) -> bool {
        !self.taken_up.is_empty() || !self.damaged.is_empty()
    }

    /// Whether the document of this process is there as it was written.
    pub fn is_written(&self) -> bool {
        self.own.as_ref().is_some_and(|(_, mark)| mark.is_some() && mark_at(&self.path) == *mark)
    }

    /// Writes the document, and waits until it is on the disk; the files that it names are there. Documents that it has
    /// taken up are cleared away. Says when it was.
    ///
    /// # Errors
    /// When it cannot be written. What was written before still holds.
    pub fn write(&mut self, document: &RowDocument) -> Result<NoticeTime, RowsError> {
        self.try_write(document).map_err(|source| RowsError { path: self.folder.clone(), source })
    }

    fn try_write(&mut self, document: &RowDocument) -> io::Result<NoticeTime> {
        make_folder(&self.folder)?;
        let (now, next) = (self.clock.now(), beside(&self.path, NEW));
        let mut file = options().open(&next)?;
        // Held before anybody can find it.
        file.try_lock().map_err(io::Error::from)?;
        file.write_all(&document.bytes(now)?)?;
        file.sync_all()?;
        std::fs::rename(&next, &self.path)?;
        // Whatever fails from here on, this is what others read: it stays locked.
        let (file, known) = self.own.insert((file, None));
        sync_folder_of(&self.path)?;
        *known = Some(mark(file)?);
        self.clear(document);
        Ok(now)
    }

    /// Removes documents that are taken up, and files that no document names.
    fn clear(&mut self, own: &RowDocument) {
        for path in self.taken_up.drain(..).filter(|path| is_gone(path)) {
            // What stays is taken up once more.
            let _ = std::fs::remove_file(path);
        }
        let documents = std::iter::once(own).chain(self.others.values().map(|other| &other.document));
        let named: HashSet<&Box<str>> = documents.flat_map(RowDocument::files).flatten().collect();
        for path in self.damaged.drain(..).filter(|path| is_gone(path)) {
            set_aside(&path);
        }
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_named = match name.strip_suffix(ROBOTS) {
                Some(name) => named.contains(&Box::from(name)),
                None => !name.ends_with(NEW),
            };
            let modified = || entry.metadata().and_then(|metadata| metadata.modified());
            let is_old = || modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > UNNAMED));
            if !is_named && is_old() {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Notes the time, so that the clock can go on from it after the machine was off.
    ///
    /// # Errors
    /// When that cannot be written: then the clock goes on from an earlier time, and notice takes longer.
    pub fn note_time(&mut self) -> io::Result<Option<NoticeTime>> {
        let now = self.clock.now();
        let Some((file, known)) = &mut self.own else { return Ok(None) };
        file.write_all_at(time_line(now).as_bytes(), 0)?;
        file.sync_data()?;
        *known = Some(mark(file)?);
        Ok(Some(now))
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

/// Moves a document that is damaged out of the way.
fn set_aside(path: &Path) {
    let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    let aside = beside(path, &format!(".damaged-{time}"));
    // What stays is doubt once more.
    let _ = std::fs::rename(path, &aside);
    tracing::error!(
        aside = %aside.display(),
        "what was served before is damaged and was set aside; until notice is over nobody is accused of what a version \
         before now may have allowed"
    );
}
