//! The versions of a site's robots.txt that a request may have to be judged by.
//!
//! A version is a site's bytes: equal bytes are one version. [`SiteRules`] is the version in force
//! with the former ones still within notice. Time is an argument everywhere.

use crate::identify::OperatorTokens;
use crate::robots::Robots;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many former versions of a site stay compiled.
const FORMER_VERSIONS: usize = 16;

/// The first 12 hexadecimal digits of the SHA-256 of a robots.txt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VersionId([u8; 6]);

impl VersionId {
    /// The id of a file's bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_digest(Sha256::digest(bytes).into())
    }

    /// The id of a file with this SHA-256.
    #[must_use]
    pub fn of_digest(sha256: [u8; 32]) -> Self {
        let mut id = [0; 6];
        id.iter_mut().zip(sha256).for_each(|(octet, hashed)| *octet = hashed);
        Self(id)
    }

    /// The id that is written `digits`: 12 hexadecimal digits.
    #[must_use]
    pub fn parse(digits: &str) -> Option<Self> {
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 12)?;
        let [_, _, id @ ..] = number.to_be_bytes();
        Some(Self(id))
    }

    /// The id as it is written: 12 hexadecimal digits. A refusal writes it twice, and formatting a number would cost
    /// several times as much.
    #[must_use]
    pub fn digits(self) -> [u8; 12] {
        let digit = |half: u8| b"0123456789abcdef".get(usize::from(half)).copied().unwrap_or(b'0');
        let mut digits = [0; 12];
        for (pair, octet) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [digit(octet >> 4), digit(octet & 15)];
        }
        digits
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(std::str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl fmt::Debug for VersionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// One robots.txt, compiled for judging.
#[derive(Debug)]
pub struct Version {
    /// Which bytes it was compiled from; `None` for a site without a file, which allows everything.
    pub id: Option<VersionId>,
    /// The compiled rules.
    pub robots: Arc<Robots>,
    /// The product tokens the file names, ready to be looked for in a header.
    pub tokens: OperatorTokens,
}

impl Version {
    /// Compiles nothing anew but the index of the file's tokens. Its memory of headers must not outlive
    /// the catalogue that gave the answers.
    #[must_use]
    pub fn new(id: Option<VersionId>, robots: Arc<Robots>) -> Self {
        let tokens = OperatorTokens::new(robots.tokens());
        Self { id, robots, tokens }
    }

    fn renewed(&self) -> Arc<Self> {
        Arc::new(Self::new(self.id, Arc::clone(&self.robots)))
    }
}

/// A version that is no longer in force, and when it was replaced.
#[derive(Clone, Debug)]
pub struct Former {
    /// The version.
    pub version: Arc<Version>,
    /// When another version took its place.
    pub replaced: SystemTime,
}

/// The rules of one site: the version in force, and those a crawler may still hold a copy of.
#[derive(Clone, Debug)]
pub struct SiteRules {
    current: Arc<Version>,
    /// Newest first.
    former: Vec<Former>,
    /// When the newest version that was dropped for want of room had been replaced.
    dropped: Option<SystemTime>,
}

impl SiteRules {
    /// A site seen for the first time: nobody can hold an older version.
    #[must_use]
    pub const fn new(current: Arc<Version>) -> Self {
        Self { current, former: Vec::new(), dropped: None }
    }

    /// The version in force.
    #[must_use]
    pub const fn current(&self) -> &Arc<Version> {
        &self.current
    }

    /// The former versions that are kept, newest first.
    #[must_use]
    pub fn former(&self) -> &[Former] {
        &self.former
    }

    /// When the newest version dropped for want of room had been replaced. Whoever could still hold it
    /// gets the benefit of the doubt.
    #[must_use]
    pub const fn dropped(&self) -> Option<SystemTime> {
        self.dropped
    }

    /// The same rules for a catalogue that has changed.
    #[must_use]
    pub fn renewed(&self) -> Self {
        let former = self.former.iter();
        Self {
            current: self.current.renewed(),
            former: former
                .map(|old| Former { version: old.version.renewed(), replaced: old.replaced })
                .collect(),
            dropped: self.dropped,
        }
    }

    /// The same rules with the version in force compiled anew, from the same bytes.
    #[must_use]
    pub fn with_current(self, current: &Arc<Version>) -> Self {
        Self { current: Arc::clone(current), ..self }
    }

    /// These rules after `next` came into force at `now`; versions out of notice are let go.
    #[must_use]
    pub fn replaced_by(&self, next: Arc<Version>, now: SystemTime, notice: Duration) -> Self {
        let replaced = Former { version: Arc::clone(&self.current), replaced: now };
        let mut dropped = self.dropped.filter(|at| within(*at, notice, now));
        let mut former: Vec<Former> = std::iter::once(replaced)
            .chain(self.former.iter().cloned())
            .filter(|old| old.version.id != next.id && within(old.replaced, notice, now))
            .collect();
        if former.len() > FORMER_VERSIONS {
            dropped = former.get(FORMER_VERSIONS).map(|old| old.replaced).max(dropped);
            former.truncate(FORMER_VERSIONS);
        }
        Self { current: next, former, dropped }
    }
}

fn within(replaced: SystemTime, notice: Duration, now: SystemTime) -> bool {
    replaced.checked_add(notice).is_none_or(|end| now < end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::Limits;
    use std::time::UNIX_EPOCH;

    fn version(text: &str) -> Arc<Version> {
        let robots = Robots::parse(text.as_bytes(), &Limits::default()).robots;
        Arc::new(Version::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots)))
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn an_id_is_the_head_of_the_digest() {
        assert_eq!(VersionId::of(b"").to_string(), "e3b0c44298fc");
        assert_eq!(VersionId::of(b"abc").to_string(), "ba7816bf8f01");
        assert_eq!(VersionId::parse("ba7816bf8f01"), Some(VersionId::of(b"abc")));
        assert_eq!((VersionId::parse("ba7816bf8f"), VersionId::parse("ba7816bf8f0g")), (None, None));
    }

    #[test]
    fn versions_leave_with_their_notice() {
        let notice = Duration::from_secs(100);
        let rules = SiteRules::new(version("a")).replaced_by(version("b"), at(10), notice);
        assert_eq!(rules.former().len(), 1);
        let later = rules.replaced_by(version("c"), at(110), notice);
        assert_eq!(later.former().len(), 1, "the first version's notice is over");
        assert_eq!(later.former()[0].replaced, at(110));
    }

    #[test]
    fn no_notice_keeps_no_version() {
        let rules = SiteRules::new(version("a")).replaced_by(version("b"), at(10), Duration::ZERO);
        assert!(rules.former().is_empty());
    }

    #[test]
    fn a_version_that_returns_is_no_longer_a_former_one() {
        let notice = Duration::from_secs(100);
        let rules = SiteRules::new(version("a")).replaced_by(version("b"), at(10), notice);
        let back = rules.replaced_by(version("a"), at(20), notice);
        let former: Vec<_> = back.former().iter().map(|old| old.version.id).collect();
        assert_eq!(former, [Some(VersionId::of(b"b"))]);
    }

    #[test]
    fn what_finds_no_room_is_remembered_by_its_time() {
        let notice = Duration::from_secs(1_000);
        let mut rules = SiteRules::new(version("0"));
        for second in 1..=20 {
            rules = rules.replaced_by(version(&second.to_string()), at(second), notice);
        }
        assert_eq!(rules.former().len(), FORMER_VERSIONS);
        assert_eq!(rules.dropped(), Some(at(4)));
    }
}
