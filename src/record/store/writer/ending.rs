//! How this process ends, and how others did.

use super::super::error::StoreError;
use super::super::processes;
use super::super::sqlite::Sqlite;
use super::StoreWriter;
use crate::record::event::timestamp;
use crate::record::missing::{Missing, MissingWhat, UNCLEAN_END};
use crate::record::tally::{CountBatch, Tally, instant, micros};
use std::time::{Duration, Instant, SystemTime};

/// How long a gateway that stops tries to write its last counts.
const LAST_TRIES: Duration = Duration::from_secs(3);

impl StoreWriter {
    /// Writes the last counts, for a while. What is left then is lost: the log says how much, and the store, where it knows of
    /// this process, that it ended without writing it.
    pub(super) fn end(mut self, tally: &Tally) {
        let deadline = Instant::now() + LAST_TRIES;
        self.write_turn(tally);
        while self.has_waiting(tally) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
            self.write_turn(tally);
        }
        // Where it fails, the next start seals it.
        let _ = self.keep_outbox(true);
        let is_clean = !self.has_waiting(tally);
        let lost = self.frozen.iter().map(CountBatch::requests).sum::<u64>() + tally.requests();
        if lost > 0 {
            tracing::error!(
                counts_lost = lost,
                store = %self.options.path.display(),
                "stopped while the store could not be written: these requests are lost"
            );
        }
        if let Some(database) = self.database.take() {
            // A reader may be at work; then the log stays, and is read with the file.
            let _ = database.checkpoint();
        }
        if is_clean {
            self.file.remove();
        }
    }

    fn has_waiting(&self, tally: &Tally) -> bool {
        !self.frozen.is_empty() || !tally.is_empty()
    }

    /// Notes processes that ended without writing what they had counted: a process may end later than the one that follows it
    /// begins.
    pub(super) fn note_ends(&self, database: &Sqlite) -> Result<(), StoreError> {
        // Where the folder cannot be read, it is not known who lives.
        let Ok(gone) = processes::gone(&self.options.path) else { return Ok(()) };
        let (now, noted) = (micros(SystemTime::now()), database.missing_because(UNCLEAN_END)?);
        for (process, began) in gone {
            let since = processes::written(database, &process, began)?;
            let when = (since, now.max(since));
            // A file that cannot be removed is found again and again.
            if noted.iter().all(|end| end.from != since) {
                database.add_missing(&Missing::new(MissingWhat::Requests, UNCLEAN_END, when, None))?;
                let [since, until] = [when.0, when.1].map(|at| timestamp(instant(at)));
                self.log_incident(&format!(
                    "a gateway ended without writing its last counts (killed, or stopped while its store was locked): \
                     requests after {since} and before {until} may be missing"
                ));
            }
            processes::forget(&self.options.path, &process);
        }
        Ok(())
    }
}
