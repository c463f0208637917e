//! Opening the store again and again: when it was closed for a fault, and when its files have come to harm.

use super::StoreWriter;
use crate::record::event::timestamp;
use crate::record::store::error::StoreError;
use crate::record::store::open::OpenedStore;
use crate::record::store::outbox;
use crate::record::store::shares::NetworkShares;
use crate::record::tally::micros;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

/// How many incidents are told.
const INCIDENTS: usize = 16;

impl StoreWriter {
    /// Opens the store if it is not open, or if its files have come to harm.
    pub(super) fn open(&mut self) -> Result<(), StoreError> {
        // A process that never could write has counted, too.
        let _ = self.file.mark();
        self.is_replaced |= self.source.leave_if_replaced(&mut self.database);
        if self.database.is_none() {
            self.reopen()?;
        }
        Ok(())
    }

    pub(super) fn reopen(&mut self) -> Result<(), StoreError> {
        let OpenedStore { database, set_aside, is_new } = self.source.open(self.is_corrupt)?;
        database.bound_log(self.options.max_bytes)?;
        self.housekeeping_due = Instant::now();
        // It may be another store, or an older copy of this one.
        self.shares = NetworkShares::new(self.options.max_bytes);
        if let Some(aside) = set_aside {
            let told =
                format!("a broken store was set aside as {}, and a new one was begun", aside.display());
            self.log_incident(&told);
        }
        self.is_corrupt = false;
        if std::mem::take(&mut self.is_replaced) {
            self.log_incident(if is_new {
                "the store was removed, emptied or moved away while it was open: reports no longer know what it held; a new \
                 one was begun"
            } else {
                "the store was replaced while it was open: the one in its place is gone on with"
            });
        }
        if is_new {
            self.shown.begun.store(true, Ordering::Relaxed);
        }
        self.opened = micros(SystemTime::now());
        outbox::share(&database, self.options.is_shared, self.opened)?;
        // Before this process notes when it wrote.
        self.clock.go_on(&database, self.opened)?;
        self.database = Some(database);
        Ok(())
    }

    pub(super) fn log_incident(&self, what: &str) {
        tracing::error!(store = %self.options.path.display(), "{what}");
        let told = format!("{}: {what}", timestamp(SystemTime::now()));
        self.with_status(|status| {
            status.incidents.truncate(INCIDENTS - 1);
            status.incidents.insert(0, told);
        });
    }
}
