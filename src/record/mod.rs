//! What is remembered: of each request, of each version of a robots.txt, and of what crawlers read.
//!
//! - [`Event`] is the record of a request that is worth a line; its field names are public API. [`Journal`] and [`AccessLog`]
//!   write lines through bounded queues, so the request path never waits for a disk.
//! - [`Recorder`] counts by crawler, rule and path for the report. It adds to the *tally*, which is in memory. One thread
//!   takes batches from the tally and writes them to the *store*, which [`StoreReader`] reads.
//! - [`Totals`] counts since the start of the process, for `/metrics` and `gatewayctl status`.
//! - [`RowFolder`] has the rows from which fair notice knows what each host was given before.
//! - [`ReadBook`] remembers who read which version of a robots.txt, and [`RobotsTxtSpans`] which hosts' robots.txt other
//!   proxies pass on.
//! - [`PaceBook`] remembers who came how fast. It is in memory only.
//! - [`start_log`] is for what concerns the operator rather than a request.
//!
//! What the gateway writes to disk, all of it in the state folder unless the configuration says otherwise. No worker
//! writes a file. *Reload* stands for the threads that a reload runs on: `watch`, `fleet-reload`, and the one that answers
//! the control socket.
//!
//! | file | module | thread |
//! |---|---|---|
//! | `journal.jsonl`, and those set aside as `.1`, `.2` | `record::journal`, `record::rotation` | `journal` |
//! | the access log | the same | `access log` |
//! | `store.sqlite`, its log, and what is set aside beside it | `record::store` | `store` |
//! | `store.sqlite.writer-*`: which processes write it | `record::store::processes` | `store` |
//! | `rows/` | `record::rows`, through `policy::history` | reload, `history`, `fleet` |
//! | `modes.json` | `policy::modes` | `bounded`, for the one that answers the control socket |
//! | `generation.json` | `policy::fleet` | `fleet-reload` |
//! | `origin-robots/` | `policy::origin_file` | a task of `proxy::fetch` |
//! | `ranges/`, `keys/` | `policy::publications` | `ranges`; `gatewayctl crawlers refresh` |
//! | `alerts.json` | `alerts` | `alerts` |
//! | the control socket, and that of a hand-over | `process::sockets` | `main` |
//!
//! The main thread reads and writes rows, too, when the gateway starts and stops.

mod access;
mod activity;
mod bytes;
mod connections;
mod doors;
mod event;
mod files;
mod journal;
mod latency;
mod lines;
mod missing;
mod of_log;
mod operational;
mod origins;
mod pace;
mod rate;
mod reads;
mod recorder;
mod robots_seen;
mod rotation;
mod rows;
mod sharded;
mod store;
mod tables;
mod tally;
mod totals;
mod unknown_hosts;
mod unseen;
pub mod word;

pub use access::{AccessFormat, AccessLog, AccessRecord, ShownBytes};
pub use activity::{Activities, Activity, Stretch, top_paths};
pub use bytes::{escaped_json, is_harmful, printable};
pub use connections::{ConnectionEvent, ConnectionSnapshot, ConnectionTotals};
pub use doors::{DoorFault, DoorTotals, ProxyDoor};
pub use event::{AddressDetail, Event, EventKind, Occurrence, format_span, timestamp};
pub use files::{at_once, beside, make_folder, private_folder, publish_file, replace_file};
pub use journal::{Journal, JournalOptions, JournalStatus};
pub use latency::{JudgingLatency, Latency, LatencySnapshot, OriginLatency};
pub use missing::{Missing, MissingWhat, NOT_WRITTEN, RETENTION, SIZE_CAP, UNCLEAN_END, write_missing};
pub use of_log::LogTables;
pub use operational::{LogFormat, LogOptions, start_log};
pub use origins::{OriginFault, OriginTotals};
pub use pace::PaceBook;
pub use rate::JournalRate;
pub use reads::{ReadBook, ReaderId};
pub use recorder::{CompleteRead, Recorder};
pub use robots_seen::{KeptSpans, RobotsTxtSpan, RobotsTxtSpans};
pub use rows::{
    FileDigest, FleetWaiver, HOLDS, HostRow, HostRows, NotedStamp, NotedWaiver, NoticeClock, PastRows,
    ROWS_FOLDER, ROWS_LOOK, RowDocument, RowFolder, RowVersion, RowsError, RowsMemory, SEEN, ServedVersions,
    digest, file_bytes, hexadecimal, kept_robots, patterns, process_name, uptime, whole_micros,
};
pub use sharded::Counters;
pub use store::{
    CrawlerCounts, Filter, OTHER_PATHS, OutboxBatch, OutboxReader, OutboxState, ReadTotal, STORE_FILE,
    SampleEvent, StoreError, StoreErrorKind, StoreOptions, StoreReader, StoreStatus, VersionRecord, Window,
    copy_store,
};
pub use tables::{
    PathRow, PresenceRow, ReadKey, ReadRow, ReadSum, RollupRow, RowId, SentRow, Tables, VersionRow,
};
pub use tally::{
    CountSubject, CountedDecision, FullEvent, OTHER_CRAWLERS, PathCounts, SeenInstants, instant, is_known,
    micros,
};
pub use totals::{RequestClass, SiteTotals, Totals, TotalsSnapshot};
pub use unknown_hosts::{UnknownHost, UnknownHosts};
pub use unseen::{Reads, stand_in, stand_in_advice};
