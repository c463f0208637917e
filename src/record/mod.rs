//! What happened, once per request that is worth a line.
//!
//! [`Event`] is the record; its field names are public API. [`Journal`] writes events as JSON lines
//! through a bounded queue, so the request path never waits for a disk. [`Totals`] counts exactly.
//! [`ReadBook`] remembers who read which version of a robots.txt. [`start_log`] is for what concerns the
//! operator rather than a request.

mod event;
mod journal;
mod octets;
mod operational;
mod reads;
mod rotation;
mod totals;

pub use event::{AddressDetail, Event, EventKind, Occurrence, timestamp};
pub use journal::{Journal, JournalError, JournalOptions, JournalStatus, JournalTarget};
pub use octets::printable;
pub use operational::{LogFormat, LogOptions, start_log};
pub use reads::{ReadBook, Reader};
pub use totals::{Totals, TotalsSnapshot};
