//! The lines of the ledger: a checksum, a blank, and one change as JSON.

use super::clock::NoticeClock;
use crate::decide::{Moment, NoticeTime};
use crate::record::fleet::OfferedFiles;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many hexadecimal digits of a line's SHA-256 stand before it.
const CHECKSUM: usize = 16;

/// What is wrong with lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LedgerDamage {
    /// The last one has no end.
    Cut,
    /// One is not what was written.
    Broken,
}

/// The SHA-256 of a robots.txt in hexadecimal digits, or none for a host without one.
pub type FileDigest = Option<Box<str>>;

/// One change, and when it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Its place in the order of all changes, from 1.
    pub sequence: u64,
    /// The process that wrote it.
    pub process: Box<str>,
    /// The boot of the machine it was written in.
    pub(super) boot: Box<str>,
    /// For how long the machine had been up, in microseconds.
    pub(super) uptime: u64,
    /// What the clock showed that notice runs by, in microseconds.
    pub(super) clock: u64,
    /// The time of day, which is only shown.
    pub(super) time: Timestamp,
    /// What changed.
    #[serde(flatten)]
    pub change: LedgerChange,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum LedgerChange {
    /// The ledger was begun.
    Begun {
        /// Whether there had been one that is lost, or may have been.
        after_loss: bool,
    },
    /// A robots.txt that later entries name.
    File {
        /// Its SHA-256.
        sha256: Box<str>,
        /// Its bytes, in base64.
        bytes: String,
    },
    /// The process serves these files on these hosts from now on; on others it goes on as before.
    Serving {
        /// `example.org`, `*.example.org`, or `*` for every other host.
        hosts: BTreeMap<Box<str>, FileDigest>,
        /// Hosts that it no longer names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<Box<str>>,
    },
    /// A process serves nothing any more.
    Stopped {
        /// Which.
        who: Box<str>,
    },
    /// Everything that hosts were given is known since then, by what other members of the fleet say.
    Known {
        /// By host, on the clock that notice runs by, in microseconds.
        since: BTreeMap<Box<str>, u64>,
    },
    /// What other members of the fleet serve, or are about to.
    Fleet {
        /// Everything is known up to here.
        stamp: u64,
        /// The last entry of this ledger that they could know of by then.
        covers: u64,
        /// By member, the hosts and their files; those whom this does not name go on as before.
        members: BTreeMap<Box<str>, OfferedFiles>,
    },
    /// What is in force binds at once.
    Waived {
        /// On these hosts, or on all.
        hosts: Option<Vec<Box<str>>>,
        /// This crawler, or everybody.
        crawler: Option<Box<str>>,
        /// What the fleet knows it by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// Whether it was said at another member.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_from_fleet: bool,
    },
}

impl LedgerChange {
    /// A file as it is kept.
    pub fn file(bytes: &[u8]) -> Self {
        Self::File { sha256: digest(bytes), bytes: STANDARD.encode(bytes) }
    }
}

/// The SHA-256 of a robots.txt, as entries name it.
pub fn digest(bytes: &[u8]) -> Box<str> {
    hexadecimal(&Sha256::digest(bytes)).into()
}

/// The bytes of a [`LedgerChange::File`]; `None` where they are not those that it names.
pub fn file_bytes(sha256: &str, bytes: &str) -> Option<Vec<u8>> {
    STANDARD.decode(bytes).ok().filter(|bytes| *digest(bytes) == *sha256)
}

impl LedgerEntry {
    /// An entry of this moment.
    pub(super) fn new(
        sequence: u64,
        process: &str,
        boot: &str,
        clock: NoticeClock,
        change: LedgerChange,
    ) -> Self {
        let at = clock.now();
        Self {
            sequence,
            process: process.into(),
            boot: boot.into(),
            uptime: whole_micros(super::clock::uptime()),
            clock: whole_micros(at.0),
            time: Timestamp::now(),
            change,
        }
    }

    /// When it was.
    pub fn moment(&self) -> Moment {
        Moment { sequence: self.sequence, at: self.at(), time: self.time.into() }
    }

    /// The same as `clock` tells it. A process that begins a ledger anew beside another one that lives has a clock of its
    /// own; what they have in common is for how long the machine has been up in `boot`.
    pub(super) fn with_clock(mut self, clock: NoticeClock, boot: &str) -> Self {
        if *self.boot != *boot || self.uptime == 0 {
            return self;
        }
        let told = self.clock;
        self.clock = whole_micros(clock.at(Duration::from_micros(self.uptime)).0);
        if let LedgerChange::Known { since } = &mut self.change {
            for since in since.values_mut() {
                *since = since.saturating_add(self.clock).saturating_sub(told);
            }
        }
        self
    }

    /// When it was, on the clock that notice runs by.
    pub(super) const fn at(&self) -> NoticeTime {
        NoticeTime(Duration::from_micros(self.clock))
    }

    /// Its line.
    pub(super) fn line(&self) -> Result<String, serde_json::Error> {
        let text = serde_json::to_string(self)?;
        Ok(format!("{} {text}\n", checksum(&text)))
    }

    /// Reads a line without its end; `None` where it was not written whole, or was changed since.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let (sum, text) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        serde_json::from_str(text).ok().filter(|_| sum == checksum(text))
    }
}

fn checksum(text: &str) -> String {
    let mut sum = hexadecimal(&Sha256::digest(text));
    sum.truncate(CHECKSUM);
    sum
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

pub(in crate::record) fn whole_micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(change: LedgerChange) -> LedgerEntry {
        LedgerEntry::new(7, "p", "b", NoticeClock::default(), change)
    }

    #[test]
    fn lines_come_back_and_a_changed_one_does_not() {
        let hosts = BTreeMap::from([("*".into(), Some(digest(b"x"))), ("a.example".into(), None)]);
        let changes = [
            LedgerChange::Begun { after_loss: true },
            LedgerChange::file(b"User-agent: *\n\xFF"),
            LedgerChange::Serving { hosts, gone: vec!["b.example".into()] },
            LedgerChange::Stopped { who: "q".into() },
            LedgerChange::Known { since: BTreeMap::from([("*".into(), 5)]) },
            LedgerChange::Waived {
                hosts: None,
                crawler: Some("gptbot".into()),
                id: Some(7),
                is_from_fleet: true,
            },
        ];
        for change in changes {
            let entry = entry(change);
            let line = entry.line().unwrap();
            let text = line.strip_suffix('\n').unwrap();
            assert_eq!(LedgerEntry::parse(text.as_bytes()), Some(entry), "{text}");
            for at in 0..text.len() {
                let mut flipped = text.as_bytes().to_vec();
                flipped[at] ^= 1;
                assert_eq!(LedgerEntry::parse(&flipped), None, "{at} of {text}");
                assert_eq!(LedgerEntry::parse(&text.as_bytes()[..at]), None);
            }
        }
    }

    #[test]
    fn a_file_that_is_not_the_one_it_is_called_is_no_file() {
        let LedgerChange::File { sha256, bytes } = LedgerChange::file(b"abc") else { panic!("a file") };
        assert!(sha256.starts_with("ba7816bf8f01"));
        assert_eq!(file_bytes(&sha256, &bytes).as_deref(), Some(&b"abc"[..]));
        assert_eq!(file_bytes(&digest(b"abd"), &bytes), None);
    }
}
