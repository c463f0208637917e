//! The file of the ledger: found, locked, read on, and appended to.

use super::clock::{self, NoticeClock, uptime};
use super::compaction::{compacted, open_processes};
use super::entry::{LedgerChange, LedgerDamage, LedgerEntry, whole_micros};
use super::presence::{self, GoneProcess, ProcessPresence, find_gone, locked, options};
use super::{LedgerError, LedgerMemory, LedgerNews};
use crate::record::files::{FileId, beside, inode, sync_folder_of};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// From this size on, in bytes, it is seen to whether lines can be left out.
pub(super) const GROWN: u64 = 4 * 1024 * 1024;

/// The ledger, as this process writes it.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    process: Box<str>,
    boot: Box<str>,
    clock: NoticeClock,
    presence: ProcessPresence,
    file: File,
    inode: FileId,
    /// How much of it was read, in bytes.
    read_to: u64,
    last: u64,
    /// How large it was after lines had been left out last.
    compacted: u64,
    keep: Duration,
}

/// More entries than all processes of a state folder write before each has seen what the others wrote.
const UNSEEN: u64 = 1 << 20;

fn process_name(boot: &str) -> Box<str> {
    let boot = boot.get(..8).unwrap_or(boot);
    format!("{boot}-{}-{}", std::process::id(), whole_micros(uptime())).into()
}

impl Ledger {
    /// Opens the ledger at `path`, or begins one; entries are kept for `keep`, at least. What is found is in the news.
    ///
    /// # Errors
    /// When it cannot be read or written. A broken one is set aside, which is no error.
    pub fn open(
        path: &Path,
        memory: &LedgerMemory,
        keep: Duration,
    ) -> Result<(Self, LedgerNews), LedgerError> {
        Self::try_open(path, memory, keep).map_err(|source| LedgerError { path: path.to_owned(), source })
    }

    fn try_open(path: &Path, memory: &LedgerMemory, keep: Duration) -> io::Result<(Self, LedgerNews)> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // Where the system does not tell one boot from another, every start counts as one.
        let boot: Box<str> = clock::boot().unwrap_or_else(|| process_name("").to_string()).into();
        let process = process_name(&boot);
        let presence = ProcessPresence::new(path, &process)?;
        let (file, inode) = locked(path)?;
        let mut ledger = Self {
            path: path.to_owned(),
            process,
            boot,
            clock: NoticeClock::default(),
            presence,
            file,
            inode,
            read_to: 0,
            last: 0,
            compacted: 0,
            keep,
        };
        let mut entries = ledger.recover(memory)?;
        ledger.set_clock(&entries);
        entries = ledger.with_own_clock(entries);
        if entries.is_empty() {
            entries = ledger.begin(memory)?;
        }
        let open = open_processes(&entries).into_iter();
        let ended = ledger.stopped(open.filter(|who| *who != ledger.process));
        entries.extend(ledger.write(ended)?);
        // What there is to leave out can wait.
        let _ = ledger.compact();
        ledger.file.unlock()?;
        ledger.presence.note(ledger.clock.now())?;
        Ok((ledger, LedgerNews { entries, is_all: true }))
    }

    /// The clock that notice runs by.
    pub const fn clock(&self) -> NoticeClock {
        self.clock
    }

    /// What entries of this process call it.
    pub fn process(&self) -> &str {
        &self.process
    }

    /// The last entry there is.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Whether another process of the folder is alive.
    pub fn has_other_processes(&self) -> bool {
        presence::has_other_processes(&self.path, &self.process)
    }

    /// Has the next look find all entries again.
    pub const fn forget(&mut self) {
        self.read_to = 0;
    }

    /// Appends changes and waits until they are on the disk. The news are what others wrote, and then these.
    ///
    /// # Errors
    /// When they cannot be written. Then nothing of them is in the ledger.
    pub fn append(&mut self, changes: Vec<LedgerChange>) -> Result<LedgerNews, LedgerError> {
        self.with_lock(|ledger| {
            let mut news = ledger.read_on()?;
            let grown = ledger.read_to;
            let written = ledger.write(changes).inspect_err(|_| {
                // What was written in part would be taken for damage. If this fails as well, it is.
                let _ = ledger.file.set_len(grown);
                ledger.read_to = grown;
            })?;
            news.entries.extend(written);
            // The entries are safe already.
            let _ = ledger.compact();
            Ok(news)
        })
    }

    /// Whether it is the file that was read, and no longer than it was then.
    fn is_as_read(&self) -> bool {
        let found = std::fs::metadata(&self.path);
        found.is_ok_and(|found| inode(&found) == self.inode && found.len() == self.read_to)
    }

    /// What others wrote; processes that are gone are noted as ended.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn refresh(&mut self, others: &[Box<str>]) -> Result<LedgerNews, LedgerError> {
        if others.is_empty() && self.is_as_read() {
            return Ok(LedgerNews::default());
        }
        self.with_lock(|ledger| {
            let mut news = ledger.read_on()?;
            let is_noted = |who: &str| {
                let is_of = |entry: &LedgerEntry| matches!(&entry.change, LedgerChange::Stopped { who: noted } if **noted == *who);
                news.entries.iter().any(is_of)
            };
            let stopped = ledger.stopped(others.iter().filter(|who| !is_noted(who)).cloned());
            news.entries.extend(ledger.write(stopped)?);
            Ok(news)
        })
    }

    /// Notes the time, so that the clock can go on from it after the machine was off.
    ///
    /// # Errors
    /// When that cannot be written: then the clock goes on from an earlier time, and notice takes longer.
    pub fn note_time(&self) -> Result<(), LedgerError> {
        let failed = |source| LedgerError { path: self.path.clone(), source };
        self.presence.note(self.clock.now()).map_err(failed)
    }

    /// Says that this process serves nothing any more.
    pub fn close(mut self) {
        let who = self.process.clone();
        // Without this entry the next process finds out by the lock.
        if self.append(vec![LedgerChange::Stopped { who }]).is_ok() {
            self.presence.remove();
        }
    }

    fn with_lock<T>(&mut self, work: impl FnOnce(&mut Self) -> io::Result<T>) -> Result<T, LedgerError> {
        let attempt = || {
            let (file, inode) = locked(&self.path)?;
            self.file = file;
            if inode != self.inode || self.file.metadata()?.len() < self.read_to {
                (self.inode, self.read_to) = (inode, 0);
            }
            let done = work(self);
            // Whatever came of it, others may go on.
            let _ = self.file.unlock();
            done
        };
        attempt().map_err(|source| LedgerError { path: self.path.clone(), source })
    }

    /// The entries at the start; none where there is no ledger, or none that can be relied on.
    fn recover(&mut self, memory: &LedgerMemory) -> io::Result<Vec<LedgerEntry>> {
        let (entries, damage) = self.read()?;
        let remembered = match memory {
            LedgerMemory::Entry(sequence) => Some(*sequence),
            LedgerMemory::Nothing => Some(0),
            LedgerMemory::Unreadable => None,
        };
        let has_all = remembered.is_some_and(|sequence| sequence <= self.last);
        let is_sound = match damage {
            None => has_all || (remembered.is_none() && !entries.is_empty()),
            // A line that was cut off as its process was killed was never served.
            Some(LedgerDamage::Cut) => has_all && !entries.is_empty(),
            Some(LedgerDamage::Broken) => false,
        };
        if is_sound {
            self.drop_cut_line(damage)?;
            return Ok(entries);
        }
        if self.file.metadata()?.len() > 0 {
            self.set_aside()?;
        }
        Ok(Vec::new())
    }

    /// What is behind the part that was read.
    fn read_on(&mut self) -> io::Result<LedgerNews> {
        let before = self.last;
        let is_all = self.read_to == 0;
        if is_all {
            (self.last, self.compacted) = (0, 0);
        }
        let (entries, damage) = self.read()?;
        if damage == Some(LedgerDamage::Broken) || self.last < before {
            self.last = before;
            self.set_aside()?;
            let entries = self.begin(&LedgerMemory::Entry(before))?;
            return Ok(LedgerNews { entries, is_all: true });
        }
        self.drop_cut_line(damage)?;
        Ok(LedgerNews { entries: self.with_own_clock(entries), is_all })
    }

    fn with_own_clock(&self, entries: impl IntoIterator<Item = LedgerEntry>) -> Vec<LedgerEntry> {
        entries.into_iter().map(|entry| entry.with_clock(self.clock, &self.boot)).collect()
    }

    fn read(&mut self) -> io::Result<(Vec<LedgerEntry>, Option<LedgerDamage>)> {
        self.file.seek(SeekFrom::Start(self.read_to))?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let mut entries = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(whole) = line.strip_suffix(b"\n") else { return Ok((entries, Some(LedgerDamage::Cut))) };
            let entry = LedgerEntry::parse(whole).filter(|entry| entry.sequence > self.last);
            let Some(entry) = entry else { return Ok((entries, Some(LedgerDamage::Broken))) };
            self.last = entry.sequence;
            self.read_to += line.len() as u64;
            entries.push(entry);
        }
        Ok((entries, None))
    }

    fn drop_cut_line(&self, damage: Option<LedgerDamage>) -> io::Result<()> {
        if damage == Some(LedgerDamage::Cut) { self.file.set_len(self.read_to) } else { Ok(()) }
    }

    /// The clock of this boot, as another process began it, or going on from the latest time that is known.
    fn set_clock(&mut self, entries: &[LedgerEntry]) {
        let of_this_boot = entries.iter().rev().find(|entry| entry.boot == self.boot && entry.uptime > 0);
        self.clock = of_this_boot.map_or_else(
            || {
                let noted = entries.iter().map(|entry| &entry.process).collect::<HashSet<_>>();
                let noted = noted.into_iter().filter_map(|who| find_gone(&self.path, who));
                let noted = noted.map(|gone| gone.last_time());
                let last = entries.iter().map(LedgerEntry::at).chain(noted).max().unwrap_or_default();
                NoticeClock::going_on_from(last)
            },
            |entry| NoticeClock::of(entry.at(), Duration::from_micros(entry.uptime)),
        );
    }

    /// Begins the ledger.
    fn begin(&mut self, memory: &LedgerMemory) -> io::Result<Vec<LedgerEntry>> {
        let after_loss = matches!(memory, LedgerMemory::Entry(_) | LedgerMemory::Unreadable);
        // Above every one that a read may bear: another process may have written entries that nobody here has seen,
        // and a read of then is no read of what is served from now on.
        let first = match memory {
            LedgerMemory::Nothing => 1,
            LedgerMemory::Entry(sequence) => sequence + UNSEEN,
            LedgerMemory::Unreadable => u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(1),
        };
        let entries = vec![self.entry(first.max(self.last + 1), LedgerChange::Begun { after_loss })];
        self.append_entries(&entries)?;
        sync_folder_of(&self.path)?;
        Ok(entries)
    }

    fn entry(&self, sequence: u64, change: LedgerChange) -> LedgerEntry {
        LedgerEntry::new(sequence, &self.process, &self.boot, self.clock, change)
    }

    fn write(&mut self, changes: Vec<LedgerChange>) -> io::Result<Vec<LedgerEntry>> {
        let first = self.last + 1;
        let entries: Vec<LedgerEntry> =
            (first..).zip(changes).map(|(sequence, change)| self.entry(sequence, change)).collect();
        self.append_entries(&entries)?;
        Ok(entries)
    }

    fn append_entries(&mut self, entries: &[LedgerEntry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let lines: String = entries.iter().map(LedgerEntry::line).collect::<Result<_, _>>()?;
        self.file.seek(SeekFrom::Start(self.read_to))?;
        self.file.write_all(lines.as_bytes())?;
        self.file.sync_data()?;
        self.read_to += lines.len() as u64;
        self.last = entries.last().map_or(self.last, |entry| entry.sequence);
        Ok(())
    }

    /// Notes of those processes that are gone without a word; what they left is cleared away.
    fn stopped(&self, open: impl Iterator<Item = Box<str>>) -> Vec<LedgerChange> {
        let is_gone = |who: &str| find_gone(&self.path, who).map(GoneProcess::clear).is_some();
        open.filter(|who| is_gone(who)).map(|who| LedgerChange::Stopped { who }).collect()
    }

    /// Leaves out the lines that nobody can need any more, where that is worth its while.
    fn compact(&mut self) -> io::Result<()> {
        if self.read_to < GROWN.max(self.compacted.saturating_mul(2)) {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let entries = self.with_own_clock(lines.filter_map(LedgerEntry::parse));
        let kept = compacted(&entries, self.clock.now().before(self.keep));
        let lines: String = kept.iter().map(LedgerEntry::line).collect::<Result<_, _>>()?;
        let next = beside(&self.path, ".new");
        let mut file = options().truncate(true).open(&next)?;
        // Held until the new file is in its place: others wait for the old one, and look again.
        file.write_all(lines.as_bytes())?;
        file.sync_data()?;
        std::fs::rename(&next, &self.path)?;
        sync_folder_of(&self.path)?;
        let inode = inode(&file.metadata()?);
        (self.file, self.inode, self.read_to) = (file, inode, lines.len() as u64);
        self.compacted = self.read_to;
        Ok(())
    }

    /// Moves what cannot be relied on out of the way, and begins an empty file.
    fn set_aside(&mut self) -> io::Result<()> {
        let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        let aside = beside(&self.path, &format!(".damaged-{time}"));
        std::fs::rename(&self.path, &aside)?;
        tracing::error!(
            aside = %aside.display(),
            "the ledger of robots.txt versions is damaged and was set aside; until notice is over nobody is accused of \
             what a version before now may have allowed"
        );
        let (file, inode) = locked(&self.path)?;
        (self.file, self.inode, self.read_to, self.compacted) = (file, inode, 0, 0);
        Ok(())
    }
}
