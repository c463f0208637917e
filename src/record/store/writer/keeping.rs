//! What waits is kept beside the store, and what others left there is taken up.

use super::super::ends;
use super::super::error::StoreError;
use super::super::shares::NetworkShares;
use super::super::spill::{Other, SpillFile, SpillReader, UnreadableSpill, others};
use super::super::sqlite::Sqlite;
use super::super::write::write;
use super::telling::UncleanEndStatus;
use super::{HOUSEKEEPING_INTERVAL, StoreWriter};
use crate::record::tally::{CountBatch, Tally, micros};
use std::time::{Duration, Instant, SystemTime};

/// How long a gateway that stops tries to write its last counts.
const LAST_TRIES: Duration = Duration::from_secs(3);

impl StoreWriter {
    /// Keeps what waits where a kill of the process cannot take it, or clears that away when nothing waits.
    pub(super) fn spill_waiting(&mut self, is_written: bool) {
        let kept = if is_written {
            self.spill.clear(self.taken).and_then(|()| self.spill.mark(self.taken))
        } else if self.spill.is_due() {
            self.spill_all(false)
        } else {
            return;
        };
        if kept.is_ok() {
            self.spill_fails = false;
        } else if let Err(error) = kept
            && !std::mem::replace(&mut self.spill_fails, true)
        {
            tracing::error!(
                file = %self.spill.path().display(),
                "cannot keep beside the store what it does not take: {error}; counts that wait are lost if this \
                 gateway is killed"
            );
        }
    }

    /// Puts what waits beside the store. What is not frozen yet gets the next number, and may grow under it.
    pub(super) fn spill_all(&mut self, is_all: bool) -> std::io::Result<()> {
        let frozen = self.frozen.as_ref().map(|batch| (self.sequence, batch));
        let next = Some(&self.next).filter(|next| !next.is_empty()).map(|next| (self.sequence + 1, next));
        let waiting: Vec<(i64, &CountBatch)> = frozen.into_iter().chain(next).collect();
        self.spill.put(&waiting, is_all, self.taken)
    }

    /// Writes the last counts, for a while; what is left then is kept beside the store.
    pub(super) fn end(mut self, tally: &Tally) {
        let deadline = Instant::now() + LAST_TRIES;
        self.write_turn(tally);
        while self.has_waiting() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
            self.write_turn(tally);
        }
        // Where it fails, the next start seals it.
        let _ = self.keep_outbox(true);
        let is_clean = !self.has_waiting()
            && self.database.as_ref().is_some_and(|database| ends::clean(database, &self.process).is_ok());
        if !is_clean {
            let kept = self.spill_all(true);
            self.log_end(kept);
        }
        if let Some(database) = self.database.take() {
            // A reader may be at work; then the log stays, and is read with the file.
            let _ = database.checkpoint();
        }
        if is_clean {
            self.spill.remove();
        }
    }

    fn has_waiting(&self) -> bool {
        self.frozen.is_some() || !self.next.is_empty()
    }

    fn log_end(&self, kept: std::io::Result<()>) {
        let requests = self.frozen.as_ref().map_or(0, CountBatch::requests) + self.next.requests();
        let file = self.spill.path().display();
        match kept {
            _ if requests == 0 => {}
            Ok(()) => tracing::warn!(
                requests,
                %file,
                "stopped while the store could not be written: what it did not take is kept beside it, and the next \
                 start takes it up"
            ),
            Err(error) => tracing::error!(
                counts_lost = requests,
                %file,
                "stopped while the store could not be written, nor a file beside it ({error}): these requests are lost"
            ),
        }
    }

    /// Takes up what processes left that are gone, and notes those that ended without writing what they had counted.
    /// Looks once a minute: a process may end later than the one that follows it begins.
    pub(super) fn take_over_spills(&mut self) -> Result<(), StoreError> {
        if Instant::now() < self.left_due {
            return Ok(());
        }
        let now = micros(SystemTime::now());
        let mut present = self.process.clone();
        // Where the folder cannot be read, it is not known who lives.
        let Ok(others) = others(&self.options.path, SpillReader::ToTakeUp) else { return Ok(()) };
        for other in others {
            let process = other.process.clone();
            if other.is_alive || !self.take_over(other, now)? {
                present.push('\n');
                present.push_str(&process);
            }
        }
        while let Some(database) = &self.database
            && let Some(end) = ends::vanished(database, &present, now)?
        {
            self.log_unclean_end(end);
        }
        self.left_due = Instant::now() + HOUSEKEEPING_INTERVAL;
        Ok(())
    }

    /// Takes up what one process left that is gone; `false` where that has to stay.
    fn take_over(&mut self, other: Other, now: i64) -> Result<bool, StoreError> {
        let Some(database) = &self.database else { return Ok(false) };
        let process = other.process.clone();
        let end = match other.read() {
            Ok(mut kept) => {
                let requests = write_all(database, &process, &mut kept, &mut self.shares)?;
                let end = if kept.is_all {
                    ends::clean(database, &process).map(|()| None)
                } else {
                    ends::unclean(database, &process, kept.at, now)
                }?;
                if requests > 0 {
                    let file = other.path().display();
                    tracing::info!(requests, %file, "took up what an earlier gateway could not write to the store");
                }
                other.clear();
                end
            }
            Err(UnreadableSpill::Damaged(why)) => {
                let end = ends::unclean(database, &process, other.changed(), now)?;
                self.set_aside(other, why);
                end
            }
            Err(UnreadableSpill::Later) => return Ok(false),
            Err(UnreadableSpill::Io(error)) => {
                tracing::warn!(file = %other.path().display(), "cannot take up counts that wait: {error}");
                return Ok(false);
            }
        };
        if let Some(end) = end {
            self.log_unclean_end(end);
        }
        Ok(true)
    }

    fn set_aside(&self, other: Other, why: &str) {
        let file = other.path().display().to_string();
        let aside = other.set_aside(&self.options.path);
        let told = match &aside {
            Ok(aside) => format!("it was set aside as {}", aside.display()),
            Err(error) => format!("it cannot be set aside: {error}"),
        };
        tracing::error!(%file, "counts that waited for the store cannot be taken up, because {why}; {told}");
        if let Ok(aside) = aside {
            self.with_status(|status| status.set_aside.push(aside.display().to_string()));
        }
    }

    fn log_unclean_end(&self, end: UncleanEndStatus) {
        tracing::warn!(
            since = end.since,
            until = end.until,
            "a gateway ended without writing what it had counted last (killed, or the machine stopped): requests \
             between these two times may be missing from reports"
        );
        self.with_status(|status| status.unclean_ends.push(end));
    }
}

/// Writes all batches of a process, as far as the store does not have them; how many requests they hold.
fn write_all(
    database: &Sqlite,
    process: &str,
    kept: &mut SpillFile,
    shares: &mut NetworkShares,
) -> Result<u64, StoreError> {
    let mut requests = 0;
    for (sequence, batch) in &mut kept.batches {
        // What came into force since then is not replaced by what was before.
        for version in std::mem::take(&mut batch.versions) {
            let later = "SELECT 1 FROM version WHERE site = ?1 AND since > ?2";
            if database.value::<i64>(later, (&version.site, version.since))?.is_none() {
                batch.versions.push(version);
            }
        }
        write(database, batch, (process, *sequence), kept.at, shares)?;
        requests += batch.requests();
    }
    Ok(requests)
}
