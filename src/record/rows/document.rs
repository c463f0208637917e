//! What the processes of a state folder write down: a checksum, and behind it everything as JSON.

use super::clock::{NoticeClock, WrittenTime};
use super::digest;
use super::past::{FileDigest, PastRows};
use crate::decide::{Doubt, NoticeTime, Waiver};
use crate::record::KeptSpans;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How many hexadecimal digits of the SHA-256 stand before the rest.
const CHECKSUM: usize = 16;

/// What is known of the hosts of a state folder, as one process of it sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowDocument {
    /// Which process that is.
    pub by: Box<str>,
    /// The boot of the machine it was written in.
    pub boot: Box<str>,
    /// The clock of that boot.
    pub clock: NoticeClock,
    /// When it was written.
    #[serde(with = "WrittenTime")]
    pub noted: NoticeTime,
    /// What this process serves, and what ended processes of the folder served.
    pub hosts: PastRows,
    /// The same of the other processes.
    pub others: BTreeMap<Box<str>, PastRows>,
    /// What other members of the fleet serve, by the ids of their stores.
    pub members: BTreeMap<Box<str>, PastRows>,
    /// How far the fleet was heard: rising.
    pub stamps: Vec<NotedStamp>,
    /// The operator's words against notice.
    pub waived: Vec<NotedWaiver>,
    /// Which hosts' robots.txt other proxies pass on.
    #[serde(default)]
    pub robots_seen: KeptSpans,
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
    pub(super) fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let text = serde_json::to_string(self)?;
        Ok(format!("{} {text}\n", checksum(&text)).into_bytes())
    }

    /// Reads one; `None` where it is not what was written.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (sum, text) = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split_once(' ')?;
        serde_json::from_str(text).ok().filter(|_| sum == checksum(text))
    }

    /// The same as the process `by` sees it.
    pub(super) fn seen_by(mut self, by: &str) -> Self {
        let own = self.others.remove(by).unwrap_or_default();
        let writer = std::mem::replace(&mut self.by, by.into());
        if *writer != *by {
            let hosts = std::mem::replace(&mut self.hosts, own);
            self.others.insert(writer, hosts);
        }
        self
    }

    /// Goes by the clock of a process that began anew beside this one, as later processes will. By that one nobody knows when
    /// anything ended: now, at the latest.
    pub(super) fn go_by(&mut self, clock: NoticeClock) {
        if self.clock == clock {
            return;
        }
        self.clock = clock;
        let all = self.others.values_mut().chain(self.members.values_mut()).chain([&mut self.hosts]);
        all.for_each(|rows| rows.reckon(|until| until.map(|_| clock.now().0)));
        self.hosts.doubt(Doubt::Lost, clock.now());
    }

    /// Takes up what was written last; `true` where that is news. What this process says of itself it knows best, and whom
    /// the writer does not know is heard until that one is gone.
    pub(super) fn hear(&mut self, written: Self) -> bool {
        let before = self.clone();
        self.go_by(written.clock);
        self.others.extend(written.others);
        if written.stamps.last().map(|noted| noted.stamp) > Some(self.stamp()) {
            (self.members, self.stamps) = (written.members, written.stamps);
        }
        written.waived.into_iter().for_each(|noted| self.waive(noted));
        *self != before
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

    /// What each process of the folder says.
    pub fn processes(&self) -> impl Iterator<Item = &PastRows> {
        self.others.values().chain([&self.hosts])
    }

    /// The files that it names.
    pub fn files(&self) -> BTreeSet<&FileDigest> {
        self.processes().chain(self.members.values()).flat_map(PastRows::files).collect()
    }
}

fn checksum(text: &str) -> String {
    let mut sum: String = digest(text.as_bytes()).into();
    sum.truncate(CHECKSUM);
    sum
}
