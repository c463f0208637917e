//! What a process counted and could not write: a file beside the store, until it can be.
//!
//! Each process has one file of its own there from its start to its clean end, and keeps it locked. While the store is
//! written the file holds no counts. Every time what is in it changes, a whole new file takes its place. So a file that
//! nobody locks tells of a process that is gone: what it could not write, or that it ended without writing what it
//! counted last. Batches keep their numbers, so none is counted twice that the store has already.
//!
//! It is lines of JSON, read strictly, so that what is not as it was written is not counted. The first line names the
//! process; a batch is a line, and so is each of its accounts; the last line is the SHA-256 of all lines before. Words are
//! those of the database.

mod left;

pub(super) use left::{Other, SpillFile, SpillReader, UnreadableSpill, others};

use crate::record::files::{beside, inode, inode_at, sync_folder_of};
use crate::record::tally::{CountBatch, CountSubject, InForce, Losses, SubjectCounts};
use crate::record::unseen::Unseen;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between the store's name and that of the process.
const NAMED: &str = ".unwritten-";

/// The end of the name under which a new file is written.
const PART: &str = ".part";

/// The form of the files that this program writes and reads.
const FORM: u32 = 3;

/// How large a file may become, in bytes. What memory may hold fits in, but for targets of the longest kind.
const MOST: u64 = 64 * 1024 * 1024;

/// How often it is written while the store cannot be: what is counted within is lost with a process that is killed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Writing it may take this part of the time.
const SHARE: u32 = 20;

/// The file of this process.
#[derive(Debug)]
pub(super) struct Spill {
    path: PathBuf,
    process: String,
    /// Locked as long as the process lives.
    file: Option<File>,
    holds_counts: bool,
    due: Option<Instant>,
    /// How large it may become, in bytes.
    most: u64,
}

impl Spill {
    pub(super) fn new(store: &Path, process: &str) -> Self {
        let path = beside(store, &format!("{NAMED}{process}"));
        Self { path, process: process.to_owned(), file: None, holds_counts: false, due: None, most: MOST }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tells others that this process lives, unless that is told already. `now` is in microseconds.
    pub(super) fn mark(&mut self, now: i64) -> io::Result<()> {
        let is_marked = self.file.as_ref().is_some_and(|file| is_at(file, &self.path));
        if is_marked { Ok(()) } else { self.put(&[], false, now) }
    }

    /// The store was written: nothing waits any more.
    pub(super) fn clear(&mut self, now: i64) -> io::Result<()> {
        self.due = None;
        if self.holds_counts { self.put(&[], false, now) } else { Ok(()) }
    }

    /// Whether what waits is to be put here now. The store may be back within a moment, and then it is not.
    pub(super) fn is_due(&mut self) -> bool {
        Instant::now() >= *self.due.get_or_insert_with(|| Instant::now() + INTERVAL)
    }

    /// Keeps batches, in place of what was kept before; `is_all` where the process will count no more. Without room for
    /// everything, counts and reads alone.
    pub(super) fn put(&mut self, batches: &[(i64, &CountBatch)], is_all: bool, now: i64) -> io::Result<()> {
        let begun = Instant::now();
        let process = ProcessLine { form: FORM, process: (&*self.process).into(), at: now, is_all };
        let process = SpillLine::Process(process);
        let part = beside(&self.path, PART);
        let write = |detail| write(&part, self.most, &process, batches, detail);
        let file = write(Detail::Full)
            .or_else(|_| write(Detail::Counts))
            .and_then(|file| std::fs::rename(&part, &self.path).map(|()| file));
        self.due = Some(Instant::now() + INTERVAL.max(begun.elapsed() * SHARE));
        match file {
            Ok(file) => {
                self.file = Some(file);
                self.holds_counts = !batches.is_empty();
                sync_folder_of(&self.path)
            }
            Err(error) => {
                // It takes room where there is too little.
                let _ = std::fs::remove_file(part);
                Err(error)
            }
        }
    }

    /// The process has written all that it counted, and counts no more.
    pub(super) fn remove(self) {
        // One that stays says that nothing is missing, too: the store knows that the process ended cleanly.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A new file, locked and on the disk.
fn write(
    path: &Path,
    most: u64,
    process: &SpillLine<'_>,
    batches: &[(i64, &CountBatch)],
    detail: Detail,
) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(path)?;
    match file.try_lock() {
        // A file system without locks: others cannot tell that this process is gone, and leave the file to it.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
    }
    let mut to = BufWriter::new(BoundedWriter { file: &file, digest: Sha256::new(), room: most });
    process.write(&mut to)?;
    for (sequence, batch) in batches {
        SpillLine::Batch(BatchLine::of(batch, *sequence, detail)).write(&mut to)?;
        for (subject, account) in &batch.accounts {
            SpillLine::of_account(subject, account, detail).write(&mut to)?;
        }
    }
    let mut to = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    let digest = std::mem::take(&mut to.digest).finalize();
    SpillLine::Sha256(crate::record::hexadecimal(&digest).into()).write(&mut to)?;
    file.sync_all()?;
    Ok(file)
}

/// Counts what is written, and refuses what is too much.
struct BoundedWriter<'a> {
    file: &'a File,
    digest: Sha256,
    room: u64,
}

impl Write for BoundedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.room = self.room.checked_sub(written as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        self.digest.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether a file that is open is the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|ours| Some(inode(&ours)) == inode_at(path))
}

/// How much of a batch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Full,
    /// Without targets and events: counts and reads take a small part of the room.
    Counts,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SpillLine<'a> {
    Process(ProcessLine<'a>),
    Batch(BatchLine<'a>),
    Account(Cow<'a, CountSubject>, Cow<'a, SubjectCounts>),
    Sha256(Cow<'a, str>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessLine<'a> {
    form: u32,
    process: Cow<'a, str>,
    /// When it was written, in microseconds.
    at: i64,
    /// Whether the process counted nothing after that.
    is_all: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchLine<'a> {
    sequence: i64,
    versions: Cow<'a, [InForce]>,
    unseen: Cow<'a, [Unseen]>,
    ledger_entry: u64,
    losses: Losses,
}

impl<'a> BatchLine<'a> {
    fn of(batch: &'a CountBatch, sequence: i64, detail: Detail) -> Self {
        let mut losses = batch.losses();
        if detail == Detail::Counts {
            let left_out: u64 = batch.accounts.values().map(details).sum();
            losses.details_dropped = losses.details_dropped.saturating_add(left_out);
        }
        let (versions, unseen) = ((&*batch.versions).into(), (&*batch.unseen).into());
        Self { sequence, versions, unseen, ledger_entry: batch.ledger_entry, losses }
    }

    /// A batch begins with all but its accounts.
    fn begin(self, batch: &mut CountBatch) {
        (batch.versions, batch.unseen) = (self.versions.into_owned(), self.unseen.into_owned());
        batch.ledger_entry = self.ledger_entry;
        batch.lose(self.losses);
    }
}

/// How many requests and events [`Detail::Counts`] leaves out the details of.
fn details(account: &SubjectCounts) -> u64 {
    let days = account.paths.values().flat_map(|uses| &uses.days);
    let targets = days.map(|(_, counts)| counts.requests()).sum::<u64>();
    targets.saturating_add(account.events.len() as u64)
}

impl<'a> SpillLine<'a> {
    fn of_account(subject: &'a CountSubject, account: &'a SubjectCounts, detail: Detail) -> Self {
        let account = match detail {
            Detail::Full => Cow::Borrowed(account),
            Detail::Counts => Cow::Owned(account.without_details()),
        };
        Self::Account(Cow::Borrowed(subject), account)
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, self)?;
        to.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests;
