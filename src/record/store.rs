//! The store: what was counted, who read which version, and the versions themselves, in one file of `SQLite`.
//!
//! Only this folder names the database. Writing is [`StoreWriter`]'s, one thread that takes batches from the tally
//! and that no request ever waits for; reading is [`StoreReader`]'s. Two processes may write one store at
//! once, as during an upgrade. What the store promises:
//!
//! - *Exact*: a batch is written in whole, once. It stays in memory until it is known to be written, and a
//!   batch that comes twice is skipped.
//! - *Never in the way*: when the file cannot be written, counts are added up in memory, within bounds, and
//!   written later. What finds no room is counted as lost, and shown.
//! - *Never gone*: a broken file is set aside, not deleted.

mod apply;
mod clock;
mod copy;
mod error;
mod housekeeping;
mod missing;
mod open;
mod outbox;
mod processes;
mod reader;
mod schema;
mod shares;
mod sqlite;
mod write;
mod writer;

pub use super::tables::OTHER_PATHS;
pub use copy::copy as copy_store;
pub use error::{StoreError, StoreErrorKind};
pub use outbox::{OutboxBatch, OutboxReader, OutboxState};
pub use reader::{Filter, ReadTotal, SampleEvent, StoreReader, VersionRecord, Window};
pub use writer::{CrawlerCounts, StoreStatus};

pub(super) use open::StoreFile;
pub(super) use writer::{Message, ShownState, StoreWriter};

use std::path::PathBuf;
use std::time::Duration;

/// The store's name in the state folder.
pub const STORE_FILE: &str = "store.sqlite";

/// How the store is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Its file.
    pub path: PathBuf,
    /// How long counts, events, reads and former versions are kept.
    pub retention: Duration,
    /// How large the file may become, in bytes; the oldest details go first.
    pub max_bytes: u64,
    /// Whether what is written is for a fleet, too.
    pub is_shared: bool,
}

#[cfg(test)]
pub(super) mod tests;
