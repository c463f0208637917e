//! The counts of a whole fleet, as a store that is read like any other.

use crate::config::FleetConfig;
use crate::ctl::VerbFailure;
use crate::fleet::{FleetCounts, counts};
use crate::record::{STORE_FILE, StoreReader, import_store};
use crate::report::{FleetPart, PendingOutbox, ReportQuestion, SkippedCounts};
use std::fs::{DirBuilder, remove_dir_all};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// What the database of a fleet has.
pub(super) struct FleetStore {
    pub(super) store: StoreReader,
    pub(super) part: FleetPart,
}

/// Asks for everything that a question is about.
pub(super) fn store(config: &FleetConfig, question: &ReportQuestion) -> Result<FleetStore, VerbFailure> {
    let FleetCounts { rows, waiting, skipped } = counts(config, question.from, question.to)?;
    let folder = folder()?;
    let made = import_store(&folder.join(STORE_FILE), &rows)
        .and_then(|()| StoreReader::open(&folder.join(STORE_FILE)))
        .map_err(|error| VerbFailure(format!("{}: {error}", folder.display())));
    // Whoever has a file open goes on to read it.
    let _ = remove_dir_all(&folder);
    let outboxes = waiting.into_iter().map(|outbox| PendingOutbox {
        name: outbox.name,
        batches: outbox.waiting,
        since: outbox.since,
    });
    let skipped = skipped.into_iter().map(|(name, found)| SkippedCounts { name, found });
    let part = FleetPart { outboxes: outboxes.collect(), skipped: skipped.collect() };
    Ok(FleetStore { store: made?, part })
}

/// A folder that nobody else can look into.
fn folder() -> Result<PathBuf, VerbFailure> {
    let base = std::env::temp_dir();
    let mut last = None;
    for attempt in 0..100 {
        let path = base.join(format!("robots-gateway-report-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) => last = Some(error),
        }
    }
    Err(no_folder(&base, last))
}

fn no_folder(base: &Path, error: Option<std::io::Error>) -> VerbFailure {
    let why = error.map(|error| format!(": {error}")).unwrap_or_default();
    VerbFailure(format!("{}: cannot make a folder for the counts of the fleet{why}", base.display()))
}
