//! Fetching published ranges from time to time, where the operator turned that on.

use super::Evidence;
use super::refresh::Publisher;
use crate::policy::Reloader;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often to look whether it is time.
const LOOK: Duration = Duration::from_secs(30);

/// Fetches the lists of the catalogue whenever the oldest is older than `[verify] refresh` says, on a
/// thread that ends with the reloader. Whoever watches the files puts them in force.
///
/// # Errors
/// When there is no thread to be had.
pub fn refresh_regularly(reloader: &Arc<Reloader>) -> io::Result<()> {
    let reloader = Arc::downgrade(reloader);
    std::thread::Builder::new().name("ranges".to_owned()).spawn(move || {
        let mut last: Option<Instant> = None;
        while let Some(reloader) = reloader.upgrade() {
            let policy = reloader.current();
            drop(reloader);
            if let Some(every) = policy.config.verify.refresh {
                let is_due = is_due(&policy.evidence, every, SystemTime::now());
                // A publisher that fails is not asked more often than one that answers.
                if is_due && last.is_none_or(|last| last.elapsed() >= every) {
                    last = Some(Instant::now());
                    refresh(&Publisher::new(&policy.config, None), policy.identifier.catalogue());
                }
            }
            drop(policy);
            std::thread::sleep(LOOK);
        }
    })?;
    Ok(())
}

fn is_due(evidence: &Evidence, every: Duration, now: SystemTime) -> bool {
    let published = evidence.sources().iter().filter(|source| source.url.is_some());
    published.map(|source| source.list.as_ref()).any(|list| list.is_none_or(|list| list.age(now) >= every))
}

fn refresh(publisher: &Publisher, catalogue: &crate::identify::Catalogue) {
    let (mut fetched, mut failed) = (0_usize, 0_usize);
    for refreshed in publisher.refresh(catalogue) {
        match refreshed.result {
            Ok(_) => fetched += 1,
            Err(error) => {
                failed += 1;
                tracing::warn!(url = refreshed.url, "address ranges could not be fetched: {error}");
            }
        }
    }
    tracing::info!(fetched, failed, "published address ranges were fetched");
}
