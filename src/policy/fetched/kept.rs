//! What lies in a file that is fetched, or was put there by hand, as a policy reads it.

use super::FetchedCopy;
use crate::config::ConfigError;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file, as last read without fault.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptFile<T> {
    /// Where it lies, or would lie.
    pub path: PathBuf,
    /// What it holds; nothing where it is not there.
    pub held: Option<T>,
    /// As of when: it was fetched then, said to be unchanged, or put there by hand.
    pub as_of: Option<SystemTime>,
    /// What is wrong with what lies there now.
    pub fault: Option<ConfigError>,
}

impl<T: Clone> KeptFile<T> {
    /// Reads it, if it has no more than `most` bytes: what it holds, and as of when. What cannot be read is a fault, and
    /// `former` still counts.
    pub(in crate::policy) fn read(
        path: &Path,
        most: u64,
        former: Option<&Self>,
        parse: impl FnOnce(&[u8], &FetchedCopy) -> Result<(T, Option<SystemTime>), ConfigError>,
    ) -> Self {
        let read = FetchedCopy::read(path, most)
            .map_err(|error| ConfigError::whole(path, format!("cannot be read: {error}")));
        let read = read.and_then(|copy| copy.bytes.as_deref().map(|bytes| parse(bytes, &copy)).transpose());
        let former = || former.and_then(|former| former.held.clone().zip(Some(former.as_of)));
        let (found, fault) = read.map_or_else(|fault| (former(), Some(fault)), |found| (found, None));
        let (held, as_of) = found.unzip();
        Self { path: path.to_owned(), held, as_of: as_of.flatten(), fault }
    }
}

impl<T> KeptFile<T> {
    /// How old it is; `None` where it is not there.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        self.as_of.map(|as_of| now.duration_since(as_of).unwrap_or_default())
    }
}
