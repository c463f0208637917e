//! What happened, once per request that is worth a line.
//!
//! [`Event`] is the record; its field names are public API. [`Journal`] writes events as JSON lines
//! through a bounded queue, so the request path never waits for a disk. [`Totals`] counts exactly.
//! [`Recorder`] counts by crawler, rule and path for the report, and puts it in the store, which
//! [`StoreReader`] reads. [`ReadBook`] remembers who read which version of a robots.txt. [`start_log`] is for what concerns the
//! operator rather than a request.

mod access;
mod connections;
mod doors;
mod event;
mod files;
mod journal;
mod json;
mod latency;
mod ledger;
mod lines;
mod network;
mod octets;
mod opening;
mod operational;
mod origins;
mod phrases;
mod rate;
mod reads;
mod recorder;
mod rotation;
mod sharded;
mod sights;
mod store;
mod tally;
mod totals;
mod unknown_hosts;
mod unseen;
pub mod word;

pub use access::{Access, AccessFormat, AccessLog, AccessLogOptions};
pub use connections::{ConnectionEvent, ConnectionSnapshot, ConnectionTotals};
pub use doors::{DoorFault, DoorTotals, ProxyDoor};
pub use event::{AddressDetail, Event, EventKind, Occurrence, timestamp};
pub use files::make_folder;
pub use journal::{Journal, JournalError, JournalOptions, JournalStatus, JournalTarget};
pub use latency::{Latency, LatencySnapshot};
pub use ledger::{
    BeforeEntry, Change, FileDigest, LEDGER_FILE, Ledger, LedgerEntry, LedgerError, Memory, News,
    NoticeClock, Seed, compacted, digest, file_bytes, hexadecimal,
};
pub use octets::{escaped_json, is_harmful, printable};
pub use opening::at_once;
pub use operational::{LogFormat, LogOptions, start_log};
pub use origins::{ORIGIN_FAULTS, OriginTotals};
pub use rate::JournalRate;
pub use reads::{ReadBook, Reader};
pub use recorder::{CompleteRead, Recorder, Wanted};
pub use sights::{Sight, Sights};
pub use store::{
    Filter, LossReason, Missing, OTHER_PATHS, PathTotal, Point, Presence, ReadTotal, Remembered, Removed,
    STORE_FILE, Sample, StoreError, StoreErrorKind, StoreOptions, StoreReader, StoreStatus, Stretch, Total,
    UncleanEndStatus, UnseenReads, VersionRecord, Window, copy_store,
};
pub use tally::{Decision, Losses, OTHER_CRAWLERS, PathCounts, Subject};
pub use totals::{SiteTotals, Standing, Totals, TotalsSnapshot};
pub use unknown_hosts::{UnknownHost, UnknownHosts};
pub use unseen::Reads;
