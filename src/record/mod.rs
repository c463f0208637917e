//! What happened, once per request that is worth a line.
//!
//! [`Event`] is the record; its field names are public API. [`Journal`] writes events as JSON lines
//! through a bounded queue, so the request path never waits for a disk. [`Totals`] counts exactly.
//! [`Recorder`] counts by crawler, rule and path for the report, and puts it in the store, which
//! [`StoreReader`] reads. [`ReadBook`] remembers who read which version of a robots.txt. [`start_log`] is for what concerns the
//! operator rather than a request.

mod access;
mod alerts;
mod bytes;
mod connections;
mod doors;
mod event;
mod files;
mod fleet;
mod fleet_part;
mod journal;
mod json;
mod latency;
mod ledger;
mod lines;
mod network;
mod operational;
mod origins;
mod pace;
mod pairs;
mod phrases;
mod rate;
mod reads;
mod recorder;
mod robots_seen;
mod rotation;
mod sharded;
mod store;
mod tally;
mod totals;
mod unknown_hosts;
mod unseen;
pub mod word;

pub use access::{AccessFormat, AccessLog, AccessLogOptions, AccessRecord, ShownBytes};
pub use alerts::AlertTotals;
pub use bytes::{escaped_json, is_harmful, printable};
pub use connections::{ConnectionEvent, ConnectionSnapshot, ConnectionTotals};
pub use doors::{DoorFault, DoorTotals, ProxyDoor};
pub use event::{AddressDetail, Event, EventKind, Occurrence, timestamp};
pub use files::{at_once, beside, make_folder, private_folder, replace_file};
pub use fleet::{
    FileBytes, FleetDoubt, FleetLedger, FleetNews, FleetStanding, FleetWaiver, GenerationState, OfferedFiles,
    OwnFiles, UnlearntNews,
};
pub use fleet_part::{FleetPart, PendingOutbox, SkippedCounts};
pub use journal::{Journal, JournalError, JournalOptions, JournalStatus, JournalTarget};
pub use latency::{JudgingLatency, Latency, LatencySnapshot, OriginLatency};
pub use ledger::{
    BeforeEntry, FileDigest, LEDGER_FILE, Ledger, LedgerChange, LedgerEntry, LedgerError, LedgerMemory,
    LedgerNews, LedgerSeed, NoticeClock, compacted, digest, file_bytes, hexadecimal, uptime,
};
pub use operational::{LogFormat, LogOptions, start_log};
pub use origins::{ORIGIN_FAULTS, OriginTotals};
pub use pace::{PaceBook, PaceName};
pub use rate::JournalRate;
pub use reads::{ReadBook, ReaderId};
pub use recorder::{CompleteRead, FullEvent, Recorder};
pub use robots_seen::{RobotsTxtSpan, RobotsTxtSpans};
pub use store::{
    CrawlerCounts, DecisionCount, ExportedRows, Filter, LossReason, LossRow, MissingSpan, OTHER_PATHS,
    OutboxBatch, OutboxReader, OutboxState, PathRow, PathTotal, PeriodCount, PresenceRow, ReadRow, ReadTotal,
    RemovedCounts, RollupRow, STORE_FILE, SampleEvent, SeenSpan, SentBytes, SentRow, StoreError,
    StoreErrorKind, StoreOptions, StoreReader, StoreStatus, StoredNotice, TimelinePoint, UncleanEndStatus,
    UnseenReads, UnseenRow, VersionRecord, Window, copy_store,
};
pub use tally::{
    CountSubject, CountedDecision, DecisionRef, Losses, OTHER_CRAWLERS, PathCounts, SeenInstants, instant,
    is_known, micros,
};
pub use totals::{RequestClass, SiteTotals, Totals, TotalsSnapshot};
pub use unknown_hosts::{UnknownHost, UnknownHosts};
pub use unseen::Reads;
