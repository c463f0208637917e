//! What the store remembers: that there were rows, and who has read what.

use crate::config::Config;
use crate::record::{ReadBook, RowsMemory, StoreErrorKind, StoreReader};

/// What the store of this configuration remembers.
pub(super) fn memory(config: &Config) -> RowsMemory {
    match StoreReader::open(&config.store_path()).and_then(|reader| reader.rows_noted()) {
        Ok(noted) => noted.map_or(RowsMemory::Nothing, RowsMemory::Noted),
        Err(error) if error.kind() == StoreErrorKind::Missing => RowsMemory::Nothing,
        Err(error) => {
            tracing::warn!("the store cannot say whether it is known what was served before: {error}");
            RowsMemory::Unreadable
        }
    }
}

/// Takes up who has read what, as the store remembers it.
pub fn take_up_reads(config: &Config, reads: &ReadBook) {
    let read = StoreReader::open(&config.store_path())
        .and_then(|reader| Ok((reader.remembered()?.reads, reader.rows_noted()?)));
    match read {
        Ok((mut remembered, noted)) => {
            // After a power cut the clock goes on from the time of the last rows: what was read later had not ended by then.
            if let Some(noted) = noted {
                for read in &mut remembered {
                    read.as_of = read.as_of.min(noted);
                }
            }
            reads.restore(&remembered);
        }
        Err(error) if error.kind() == StoreErrorKind::Missing => {}
        Err(error) => tracing::warn!("who has read robots.txt is not known: {error}"),
    }
}
