//! What one process writes down: the time, and behind it a checksum and everything else as JSON.

use super::clock::{NoticeClock, WrittenTime};
use super::past::{FileDigest, PastRows};
use super::{digest, whole_micros};
use crate::decide::{NoticeTime, Waiver};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many digits the time has; it is written again in its place.
const TIME: usize = 20;

/// How many hexadecimal digits of the SHA-256 stand before the rest.
const CHECKSUM: usize = 16;

/// What is known of the hosts of a state folder, as one process of it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowDocument {
    /// The boot of the machine it was written in.
    pub(super) boot: Box<str>,
    /// The clock of that boot.
    pub(super) clock: NoticeClock,
    /// What its process serves, and what ended processes of the folder served.
    pub hosts: PastRows,
    /// What other members of the fleet serve, by the ids of their stores.
    pub members: BTreeMap<Box<str>, PastRows>,
    /// How far the fleet was heard: rising.
    pub stamps: Vec<NotedStamp>,
    /// The operator's words against notice.
    pub waived: Vec<NotedWaiver>,
}

/// The operator's word that what had been replaced by then excuses nobody from a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedWaiver {
    /// What was said.
    pub said: FleetWaiver,
    /// Whether the other members of a fleet are to hear it from this gateway.
    pub is_for_others: bool,
    /// When it became known.
    #[serde(with = "WrittenTime")]
    pub at: NoticeTime,
}

/// The operator's word that what is in force binds at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetWaiver {
    /// What tells it from every other one.
    pub id: u64,
    /// On these hosts, or on all.
    pub hosts: Option<Vec<Box<str>>>,
    /// This crawler, or everybody.
    pub crawler: Option<Box<str>>,
}

/// A stamp of the fleet, when it became known, and a time that certainly came before all that came after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedStamp {
    /// The stamp.
    pub stamp: u64,
    /// When it became known.
    #[serde(with = "WrittenTime")]
    pub known: NoticeTime,
    /// What came after the stamp came after this.
    #[serde(with = "WrittenTime")]
    pub before: NoticeTime,
}

impl RowDocument {
    /// As it is written.
    pub(super) fn bytes(&self, now: NoticeTime) -> Result<Vec<u8>, serde_json::Error> {
        let text = serde_json::to_string(self)?;
        Ok(format!("{}{} {text}\n", time_line(now), checksum(&text)).into_bytes())
    }

    /// Reads one, and the time at its head; `None` where it is not what was written.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, NoticeTime)> {
        let (time, rest) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
        let (sum, text) = rest.strip_suffix('\n')?.split_once(' ')?;
        let noted = time.parse().ok().filter(|_| time.len() == TIME)?;
        let document = serde_json::from_str(text).ok().filter(|_| sum == checksum(text))?;
        Some((document, NoticeTime(Duration::from_micros(noted))))
    }

    /// The same by `clock`, where it is of this boot. A process that begins anew beside another one that lives has a clock
    /// of its own; what they have in common is for how long the machine has been up.
    pub(super) fn with_clock(mut self, boot: &str, clock: NoticeClock) -> Self {
        let old = self.clock;
        if *self.boot != *boot || old == clock {
            return self;
        }
        let shifted = |time: NoticeTime| old.shifted(time, clock);
        self.hosts.shift(shifted);
        self.members.values_mut().for_each(|member| member.shift(shifted));
        for noted in &mut self.stamps {
            (noted.known, noted.before) = (shifted(noted.known), shifted(noted.before));
        }
        self.waived.iter_mut().for_each(|noted| noted.at = shifted(noted.at));
        self.clock = clock;
        self
    }

    /// Takes up what another process of the folder says, which has ended.
    pub fn absorb(&mut self, other: Self) {
        self.hosts.add(&other.hosts);
        if other.stamp() > self.stamp() {
            (self.members, self.stamps) = (other.members, other.stamps);
        }
        other.waived.into_iter().for_each(|noted| self.waive(noted));
    }

    /// Notes a word of the operator's, unless it is known.
    pub fn waive(&mut self, noted: NotedWaiver) {
        if self.waived.iter().all(|known| known.said.id != noted.said.id) {
            self.waived.push(noted);
        }
    }

    /// What the operator said of the hosts of a pattern.
    pub fn waivers(&self, pattern: &str) -> impl Iterator<Item = Waiver> {
        let is_of = |hosts: &Vec<Box<str>>| hosts.iter().any(|host| **host == *pattern);
        let said = self.waived.iter().filter(move |noted| noted.said.hosts.as_ref().is_none_or(is_of));
        said.map(|noted| Waiver { crawler: noted.said.crawler.clone(), at: noted.at })
    }

    /// The last stamp that is noted; 0 where there is none.
    pub fn stamp(&self) -> u64 {
        self.stamps.last().map_or(0, |noted| noted.stamp)
    }

    /// The files that it names.
    pub fn files(&self) -> BTreeSet<&FileDigest> {
        let members = self.members.values().flat_map(PastRows::rows);
        self.hosts.rows().chain(members).filter_map(|row| row.version.file()).collect()
    }
}

/// The line with the time.
pub(super) fn time_line(now: NoticeTime) -> String {
    format!("{:0TIME$}\n", whole_micros(now.0))
}

fn checksum(text: &str) -> String {
    let mut sum: String = digest(text.as_bytes()).into();
    sum.truncate(CHECKSUM);
    sum
}
