//! What the store remembers: that there was a ledger, and who has read what.

use crate::config::Config;
use crate::record::{LedgerMemory, ReadBook, StoreErrorKind, StoreReader};

/// What the store of this configuration remembers.
pub(super) fn memory(config: &Config) -> LedgerMemory {
    match StoreReader::open(&config.store_path()).and_then(|reader| reader.ledger_entry()) {
        Ok(entry) => entry.map_or(LedgerMemory::Nothing, LedgerMemory::Entry),
        Err(error) if error.kind() == StoreErrorKind::Missing => LedgerMemory::Nothing,
        Err(error) => {
            tracing::warn!("the store cannot say whether there was a ledger of robots.txt versions: {error}");
            LedgerMemory::Unreadable
        }
    }
}

/// Takes up who has read what, as the store remembers it.
pub fn take_up_reads(config: &Config, reads: &ReadBook) {
    match StoreReader::open(&config.store_path()).and_then(|reader| reader.remembered()) {
        Ok(remembered) => reads.restore(&remembered.reads),
        Err(error) if error.kind() == StoreErrorKind::Missing => {}
        Err(error) => tracing::warn!("who has read robots.txt is not known: {error}"),
    }
}
