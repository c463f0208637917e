//! The ledger: which hosts had which robots.txt, from when, and served by which processes.
//!
//! Fair notice rests on it (RFC 9309 §2.4), so it is written and synced before a version is served. It is one file
//! of lines beside the store, to which all processes of a state folder append, one at a time. No request writes to
//! it. Lines that nobody can need any more are left out when it has grown ([`compaction`]).

mod clock;
mod compaction;
mod entry;
mod file;
mod presence;

pub(super) use clock::boot;
pub use clock::{NoticeClock, uptime};
pub use compaction::compacted;
pub(super) use entry::whole_micros;
pub use entry::{FileDigest, LedgerChange, LedgerEntry, digest, file_bytes, hexadecimal};
pub use file::Ledger;

use std::io;
use std::path::{Path, PathBuf};

/// The name of the ledger in the state folder.
pub const LEDGER_FILE: &str = "ledger";

/// Why the ledger cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), self.reason())]
pub struct LedgerError {
    path: PathBuf,
    source: io::Error,
}

impl LedgerError {
    /// The ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong, and what to do about it.
    pub fn reason(&self) -> String {
        format!(
            "the ledger of robots.txt versions cannot be written: {}; make the state folder writable for the user \
             that the gateway runs as, and see that the disk is not full",
            self.source
        )
    }

    /// It could not even be opened, for a reason that was told then.
    pub fn missing(path: &Path) -> Self {
        Self { path: path.to_owned(), source: io::Error::other("it could not be opened") }
    }
}

/// What the store remembers of the ledger.
#[derive(Clone, Debug)]
pub enum LedgerMemory {
    /// There is no store, or an empty one.
    Nothing,
    /// There was a ledger, with this entry.
    Entry(u64),
    /// The store cannot be read.
    Unreadable,
}

/// What is new since the ledger was looked at last.
#[derive(Debug, Default)]
pub struct LedgerNews {
    /// In order.
    pub entries: Vec<LedgerEntry>,
    /// Whether these are all entries there are, and what was known before is to be forgotten.
    pub is_all: bool,
}

#[cfg(test)]
mod tests;
