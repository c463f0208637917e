//! One list of address ranges on disk: its networks, and how old it may be taken to be.

use super::answer::ProofAnswer;
use crate::config::reading::{self, FileContents, MarkFound};
use crate::config::{ConfigError, ranges};
use crate::policy::fetched::FetchHead;
use crate::request::prefixes::Prefixes;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Lists are accused by only while they are younger. Operators move addresses, and publish when they do.
const RECENT: Duration = Duration::from_secs(7 * 86_400);

/// How far a clock may be behind that of whoever wrote a list.
const SKEW: Duration = Duration::from_secs(86_400);

/// More than any list in use has.
pub(in crate::policy) const LARGEST_LIST: u64 = 16 * 1024 * 1024;

/// What a list and its head look like: a head that changed may say that the list is as of now.
pub(super) type ListMarks = (MarkFound, MarkFound);

/// A list of address ranges, as last read without fault.
#[derive(Debug)]
pub struct RangeList {
    /// Where it lies.
    pub path: PathBuf,
    /// Its networks.
    pub prefixes: Prefixes,
    as_of: SystemTime,
    marks: ListMarks,
}

/// When it was asked for in vain makes it no other.
impl PartialEq for RangeList {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.prefixes, self.as_of) == (&other.path, &other.prefixes, other.as_of)
    }
}

impl Eq for RangeList {}

impl RangeList {
    /// Reads the list at `path`, unless `previous` was read from the very same file; no list where there is nothing. What
    /// is no list is a fault, and `previous` still counts.
    pub(super) fn load(
        path: &Path,
        marks: ListMarks,
        previous: Option<&Arc<Self>>,
    ) -> (Option<Arc<Self>>, Option<ConfigError>) {
        let read = match marks.0 {
            Err(io::ErrorKind::NotFound) => return (None, None),
            Ok(_) if previous.is_some_and(|previous| previous.marks == marks) => {
                return (previous.cloned(), None);
            }
            Ok(_) => Self::read(path, marks),
            Err(kind) => Err(unreadable(path, &kind.into())),
        };
        match read {
            Ok(list) => (Some(Arc::new(list)), None),
            Err(fault) => (previous.cloned(), Some(fault)),
        }
    }

    fn read(path: &Path, marks: ListMarks) -> Result<Self, ConfigError> {
        let FileContents { bytes, metadata } =
            reading::read(path, LARGEST_LIST).map_err(|error| unreadable(path, &error))?;
        let read = ranges::parse(path, &bytes)?;
        let modified = metadata.modified().map_err(|error| unreadable(path, &error))?;
        // Fetched from its publisher, a list is as of the day it was fetched, or said to be unchanged: some
        // publishers have not touched theirs for years. Put there by hand, it is as old as it says itself.
        let by_hand = || read.created.map_or(modified, |created| created.min(modified));
        let as_of = FetchHead::read(path).said_of(&bytes).unwrap_or_else(by_hand);
        let prefixes = read.networks.into_iter().collect();
        Ok(Self { path: path.to_owned(), prefixes, as_of, marks })
    }

    /// How old it is.
    pub fn age(&self, now: SystemTime) -> Duration {
        now.duration_since(self.as_of).unwrap_or_default()
    }

    /// Whether it is young enough to accuse by: less than seven days old.
    pub fn is_recent(&self, now: SystemTime) -> bool {
        now.duration_since(self.as_of).map_or_else(|ahead| ahead.duration() < SKEW, |age| age < RECENT)
    }

    /// What it says of `address`.
    pub(super) fn answer(&self, address: IpAddr, now: SystemTime) -> ProofAnswer {
        match (self.prefixes.contains(address), self.is_recent(now)) {
            (true, _) => ProofAnswer::Yes,
            (false, true) => ProofAnswer::No,
            (false, false) => ProofAnswer::Unknown,
        }
    }

    /// The network that holds `address`, as published.
    pub(super) fn network(&self, address: IpAddr) -> Option<String> {
        self.prefixes.longest(address).map(|network| network.to_string())
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError::whole(path, format!("cannot read the list: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(path: &Path, previous: Option<&Arc<RangeList>>) -> (Option<Arc<RangeList>>, Option<ConfigError>) {
        let marks = [path.to_owned(), FetchHead::path_of(path)].map(|file| {
            let marks = reading::marks_of(std::iter::once(file));
            marks.into_values().next().unwrap()
        });
        RangeList::load(path, marks.into(), previous)
    }

    fn list(path: &Path, previous: Option<&Arc<RangeList>>) -> Arc<RangeList> {
        load(path, previous).0.unwrap()
    }

    fn set_age(path: &Path, age: Duration) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn an_old_list_confirms_and_does_not_accuse() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        let (inside, outside) = ("192.0.2.9".parse().unwrap(), "198.51.100.9".parse().unwrap());
        let now = SystemTime::now();
        for (age, expected) in
            [(DAY, ProofAnswer::No), (DAY * 6, ProofAnswer::No), (DAY * 8, ProofAnswer::Unknown)]
        {
            set_age(&path, age);
            let list = list(&path, None);
            assert_eq!((list.answer(inside, now), list.answer(outside, now)), (ProofAnswer::Yes, expected));
        }
    }

    #[test]
    fn a_list_put_there_by_hand_is_as_old_as_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        let text = r#"{"creationTime":"2020-01-01T00:00:00","prefixes":["192.0.2.0/24"]}"#;
        std::fs::write(&path, text).unwrap();
        let now = SystemTime::now();
        assert!(!list(&path, None).is_recent(now));
        let mut head = FetchHead::default();
        head.confirm(text.as_bytes(), now.into());
        head.write(&path).unwrap();
        assert!(list(&path, None).is_recent(now), "fetched a moment ago");
        std::fs::write(&path, text.replace("192.0.2.0", "192.0.3.0")).unwrap();
        assert!(!list(&path, None).is_recent(now), "the head is that of another list");
    }

    #[test]
    fn a_bad_file_keeps_the_last_good_list_and_an_unchanged_one_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        assert_eq!(load(&path, None), (None, None));
        std::fs::write(&path, "192.0.2.0/24\n").unwrap();
        let good = list(&path, None);
        assert!(Arc::ptr_eq(&good, &list(&path, Some(&good))));
        std::fs::write(&path, "192.0.2.0/24\noops\n").unwrap();
        let (kept, error) = load(&path, Some(&good));
        assert!(kept.is_some_and(|kept| Arc::ptr_eq(&kept, &good)));
        let error = error.unwrap().to_string();
        assert!(error.contains("list.txt:2:1: invalid address range `oops`"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(load(&path, Some(&good)), (None, None));
    }
}
