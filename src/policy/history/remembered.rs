//! What the store remembers: that there were rows, and who has read what.

use crate::config::Config;
use crate::decide::NoticeTime;
use crate::record::{Filter, ReadBook, RowsMemory, StoreErrorKind, StoreReader};

/// What the store of this configuration remembers, and the latest time that a read bears. After a power cut, or a kill before
/// the machine was started anew, that is later than the last rows: the clock goes on from it, or what ends from now on would
/// seem to have ended before such a read.
pub(super) fn memory(config: &Config) -> (RowsMemory, NoticeTime) {
    let remembered = StoreReader::open(&config.store_path()).and_then(|reader| {
        let reads = reader.reads(&Filter::default())?;
        Ok((reader.rows_noted()?, reads.iter().map(|read| read.read().as_of).max().unwrap_or_default()))
    });
    let memory = match remembered {
        Ok((Some(noted), latest)) => return (RowsMemory::Noted(noted), latest),
        Ok((None, latest)) => return (RowsMemory::Nothing, latest),
        Err(error) if error.kind() == StoreErrorKind::Missing => RowsMemory::Nothing,
        Err(error) => {
            tracing::warn!("the store cannot say whether it is known what was served before: {error}");
            RowsMemory::Unreadable
        }
    };
    (memory, NoticeTime::default())
}

/// Takes up who has read what, as the store remembers it.
pub fn take_up_reads(config: &Config, reads: &ReadBook) {
    match StoreReader::open(&config.store_path()).and_then(|reader| reader.reads(&Filter::default())) {
        Ok(remembered) => reads.restore(&remembered),
        Err(error) if error.kind() == StoreErrorKind::Missing => {}
        Err(error) => tracing::warn!("who has read robots.txt is not known: {error}"),
    }
}
