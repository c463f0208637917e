//! The files of processes: which of these live, and what those left that are gone.

use super::{FORM, MOST, NAMED, PART, SpillLine, is_at};
use crate::record::at_once;
use crate::record::files::beside;
use crate::record::hexadecimal;
use crate::record::tally::{CountBatch, WAITING};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

/// The line with the digest comes on top of what is counted.
const LAST_LINE: u64 = 128;

/// The file of one process.
#[derive(Debug)]
pub(in crate::record::store) struct Other {
    pub(in crate::record::store) process: String,
    path: PathBuf,
    file: File,
    /// The process lives, or it cannot be told whether it does.
    pub(in crate::record::store) is_alive: bool,
}

/// What a process left.
#[derive(Debug)]
pub(in crate::record::store) struct SpillFile {
    /// When it was written, in microseconds. All that was counted before is in the store, or here.
    pub(in crate::record::store) at: i64,
    /// Whether the process counted nothing after that.
    pub(in crate::record::store) is_all: bool,
    /// Batches by their numbers.
    pub(in crate::record::store) batches: Vec<(i64, CountBatch)>,
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(in crate::record::store) enum UnreadableSpill {
    /// It is not as a process wrote it.
    Damaged(&'static str),
    /// A later program wrote it.
    Later,
    /// The system refused.
    Io(io::Error),
}

/// Who looks at the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record::store) enum SpillReader {
    /// A writer, which keeps the lock of what it takes up.
    ToTakeUp,
    /// A reader, which leaves no lock behind.
    ToRead,
}

/// The files of all processes beside a store.
pub(in crate::record::store) fn others(store: &Path, looking: SpillReader) -> io::Result<Vec<Other>> {
    let (Some(folder), Some(name)) = (store.parent(), store.file_name()) else { return Ok(Vec::new()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Some(process) = process(&entry.file_name(), name) else { continue };
        match look(entry.path(), process, looking) {
            Ok(other) => found.push(other),
            // The process has ended meanwhile, or put another file in its place.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The process whose file this is the name of.
fn process(name: &OsStr, store: &OsStr) -> Option<String> {
    let process = name.to_str()?.strip_prefix(store.to_str()?)?.strip_prefix(NAMED)?;
    (!process.is_empty() && !process.ends_with(PART)).then(|| process.to_owned())
}

fn look(path: PathBuf, process: String, looking: SpillReader) -> io::Result<Other> {
    let file = at_once(OpenOptions::new().read(true)).open(&path)?;
    let locked = match looking {
        SpillReader::ToTakeUp => file.try_lock(),
        SpillReader::ToRead => file.try_lock_shared(),
    };
    if looking == SpillReader::ToRead && locked.is_ok() {
        file.unlock()?;
    }
    let is_alive = match locked {
        Ok(()) => !is_at(&file, &path),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    };
    Ok(Other { process, path, file, is_alive })
}

impl Other {
    /// What the process left, if every byte is as it was written.
    pub(in crate::record::store) fn read(&self) -> Result<SpillFile, UnreadableSpill> {
        let metadata = self.file.metadata().map_err(UnreadableSpill::Io)?;
        if !metadata.is_file() || metadata.len() > MOST + LAST_LINE {
            return Err(UnreadableSpill::Damaged("it is not a file, or is larger than any that is written"));
        }
        let mut bytes = Vec::new();
        (&self.file).rewind().map_err(UnreadableSpill::Io)?;
        (&self.file).take(MOST + LAST_LINE).read_to_end(&mut bytes).map_err(UnreadableSpill::Io)?;
        kept(&bytes, &self.process)
    }

    /// When the file was last changed, in microseconds.
    pub(in crate::record::store) fn changed(&self) -> i64 {
        let changed = self.file.metadata().and_then(|metadata| metadata.modified());
        changed.map_or(0, crate::record::tally::micros)
    }

    /// Its process is gone, and the store has all that is in it.
    pub(in crate::record::store) fn clear(self) {
        // What stays is found again, and skipped by its numbers.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(beside(&self.path, PART));
    }

    /// Moves a damaged file out of the way, for whoever wants to look into it.
    pub(in crate::record::store) fn set_aside(self, store: &Path) -> io::Result<PathBuf> {
        let aside = beside(store, &format!(".damaged{NAMED}{}", self.process));
        std::fs::rename(&self.path, &aside).map(|()| aside)
    }

    pub(in crate::record::store) fn path(&self) -> &Path {
        &self.path
    }
}

fn kept(bytes: &[u8], process: &str) -> Result<SpillFile, UnreadableSpill> {
    const CUT: UnreadableSpill = UnreadableSpill::Damaged("its end is missing");
    const STRANGE: UnreadableSpill = UnreadableSpill::Damaged("it holds what no gateway writes");
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let form = serde_json::from_slice::<serde_json::Value>(first).ok();
    let form = form.as_ref().and_then(|line| line.pointer("/process/form")?.as_u64());
    match form.map(|form| form.cmp(&u64::from(FORM))) {
        Some(Ordering::Greater) => return Err(UnreadableSpill::Later),
        Some(Ordering::Less) => {
            return Err(UnreadableSpill::Damaged("an earlier version wrote it, in another form"));
        }
        Some(Ordering::Equal) | None => {}
    }
    let text = bytes.strip_suffix(b"\n").ok_or(CUT)?;
    let end = text.iter().rposition(|byte| *byte == b'\n').ok_or(CUT)?;
    let (body, last) = (text.get(..=end).ok_or(CUT)?, text.get(end + 1..).ok_or(CUT)?);
    let Ok(SpillLine::Sha256(digest)) = serde_json::from_slice(last) else { return Err(CUT) };
    if hexadecimal(&Sha256::digest(body)) != digest {
        return Err(UnreadableSpill::Damaged("its bytes are not those that were written"));
    }
    let mut lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let Some(Ok(SpillLine::Process(head))) = lines.next().map(serde_json::from_slice) else {
        return Err(STRANGE);
    };
    if head.process != process {
        return Err(UnreadableSpill::Damaged("it is of another process than its name says"));
    }
    let mut batches: Vec<(i64, CountBatch)> = Vec::new();
    for line in lines {
        match serde_json::from_slice(line).map_err(|_| STRANGE)? {
            SpillLine::Batch(line) => {
                let (sequence, mut batch) = (line.sequence, CountBatch::new(WAITING));
                line.begin(&mut batch);
                batches.push((sequence, batch));
            }
            SpillLine::Account(subject, account) => {
                let (_, batch) = batches.last_mut().ok_or(STRANGE)?;
                batch.accounts.insert(subject.into_owned(), account.into_owned());
            }
            SpillLine::Process(_) | SpillLine::Sha256(_) => return Err(STRANGE),
        }
    }
    Ok(SpillFile { at: head.at, is_all: head.is_all, batches })
}
