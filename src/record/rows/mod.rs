//! What hosts were given: which robots.txt, from when until when, and by which processes.
//!
//! Fair notice rests on it (RFC 9309 §2.4), so it is written and synced before a version is served. The processes of a state
//! folder have one document of rows there, which they replace whole, in turn ([`RowFolder`]). No request writes to it. A
//! process that starts, or finds another one gone, takes up what that had written. The store remembers when the document was
//! written last, so that rows that are lost, or older ones that were put back, are told from a first start.

mod clock;
mod document;
mod folder;
mod past;

pub use clock::{NoticeClock, uptime};
pub(super) use clock::{WrittenTime, boot};
pub use document::{FleetWaiver, NotedStamp, NotedWaiver, RowDocument};
pub use folder::{RowFolder, kept_robots, process_name};
pub use past::{FileDigest, HostRow, HostRows, PastRows, RowVersion, ServedVersions, patterns};

use crate::decide::NoticeTime;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The name of the folder of rows in the state folder.
pub const ROWS_FOLDER: &str = "rows";

/// How often a process looks what the others wrote, whether they are still there, and whether the document is.
pub const ROWS_LOOK: Duration = Duration::from_millis(500);

/// After how long the other processes of a state folder have looked once more, and have made again what somebody removed.
pub const SEEN: Duration = ROWS_LOOK.saturating_add(Duration::from_millis(250));

/// For how long what a process has seen of the others is all that they serve: whoever begins to serve something beside others
/// waits for that long after it has written it.
pub const HOLDS: Duration = Duration::from_secs(2);

/// Why rows cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), self.reason())]
pub struct RowsError {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub source: io::Error,
}

impl RowsError {
    /// What is wrong, and what to do about it.
    pub fn reason(&self) -> String {
        if self.source.kind() == io::ErrorKind::ResourceBusy {
            return "what is served cannot be written down: another process with this state folder has been writing to it for \
                    two seconds; see whether it hangs"
                .to_owned();
        }
        format!(
            "what is served cannot be written down: {}; make the state folder writable for the user that the gateway runs \
             as, and see that the disk is not full",
            self.source
        )
    }
}

/// What the store remembers of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsMemory {
    /// There is no store, or none were ever written.
    Nothing,
    /// They were written then.
    Noted(NoticeTime),
    /// The store cannot be read.
    Unreadable,
}

/// The SHA-256 of a robots.txt, as rows name it.
pub fn digest(bytes: &[u8]) -> Box<str> {
    hexadecimal(&Sha256::digest(bytes)).into()
}

/// The bytes of a file in base64; `None` where they are not those that `sha256` names.
pub fn file_bytes(sha256: &str, bytes: &str) -> Option<Vec<u8>> {
    STANDARD.decode(bytes).ok().filter(|bytes| *digest(bytes) == *sha256)
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

/// A time in whole microseconds.
pub fn whole_micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
