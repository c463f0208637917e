//! The store as a whole: what is recorded through the real writer is what the reader tells.

use super::*;
use crate::decide::{
    Notice, NoticeTime, Read, RobotsVersion, Ruling, RulingGroup, Verdict, VerdictOutcome, VerdictReason,
    VersionId,
};
use crate::enforce::{Action, Mode};
use crate::identify::{Basis, ClientKind, Identity, Proof};
use crate::record::tally::{SubjectRef, Tally};
use crate::record::{
    Activity, AddressDetail, CompleteRead, CountSubject, Event, EventKind, Occurrence, PathCounts, ReaderId,
    Recorder,
};
use crate::request::{RequestFacts, Scheme};
use crate::robots::{Rule, RuleKind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

mod bounds;
pub(in crate::record) mod faulty;
mod load;
mod notice;
mod round_trip;
mod together;

/// A folder of one test, removed at its end.
#[derive(Debug)]
pub(in crate::record) struct StoreFolder(PathBuf);

impl StoreFolder {
    pub(in crate::record) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // In memory where the system has such a folder: the tests of faults write a great many times.
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!("store-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(in crate::record) fn store(&self) -> PathBuf {
        self.0.join(STORE_FILE)
    }

    pub(in crate::record) fn options(&self) -> StoreOptions {
        let (retention, max_bytes) = (Duration::from_secs(90 * 86_400), 1 << 30);
        StoreOptions { path: self.store(), retention, max_bytes, is_shared: false }
    }

    pub(in crate::record) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StoreFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(in crate::record) fn identity(crawler: &str, basis: Basis) -> Identity {
    let (client, tokens) = (ClientKind::Crawler, Arc::new([]));
    Identity { client, crawler: Some(crawler.into()), purpose: None, tokens, star: true, basis }
}

/// What a test sends: who, whence its name is known, where to, and what comes of it.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct SampleRequest<'a> {
    pub(in crate::record) crawler: &'a str,
    pub(in crate::record) basis: Basis,
    pub(in crate::record) target: &'a str,
    pub(in crate::record) outcome: VerdictOutcome,
    pub(in crate::record) at: SystemTime,
    /// The third number of its address of IPv4.
    pub(in crate::record) network: u8,
}

impl<'a> SampleRequest<'a> {
    pub(in crate::record) fn of(crawler: &'a str, target: &'a str) -> Self {
        let outcome = VerdictOutcome::Violation(Notice::Read);
        Self { crawler, basis: Basis::Catalogue, target, outcome, at: SystemTime::now(), network: 1 }
    }

    /// Has something be done with what there is to record of it.
    pub(in crate::record) fn occur<T>(self, then: impl FnOnce(&Occurrence<'_>) -> T) -> T {
        let rule = Rule {
            kind: RuleKind::Disallow,
            line: 2,
            text: b"Disallow: /",
            marked: b"Disallow: /",
            pattern: b"/",
            bytes: 1,
        };
        let ruling = Some(Ruling { group: RulingGroup::Name("*"), rule: Some(rule) });
        let version = Some(VersionId::of(b"a"));
        let verdict = Verdict { outcome: self.outcome, reason: VerdictReason::Rule, ruling, version };
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("example.org"),
            target: Cow::Borrowed(self.target.as_bytes()),
            user_agent: None,
            address: Some([198, 51, self.network, 1].into()),
        };
        then(&Occurrence {
            facts: &facts,
            identity: &identity(self.crawler, self.basis),
            proof: Proof::Unchecked,
            proof_by: None,
            verdict: &verdict,
            mode: Mode::Enforce,
            action: if self.outcome == VerdictOutcome::Allow { Action::Forward } else { Action::Refuse },
            site: "example.org",
            now: self.at,
            request_id: "1",
            addresses: AddressDetail::Full,
            gateway: None,
            bytes: 0,
        })
    }

    pub(in crate::record) fn record(self, recorder: &Recorder) {
        self.occur(|occurrence| {
            let kind = EventKind::of(occurrence.verdict, Proof::Unchecked);
            if let Some(wanted) = recorder.count(occurrence, kind) {
                recorder.keep(wanted, Event::new(occurrence).line(None));
            }
        });
    }

    /// Counts it in memory; `true` when its event is wanted in full.
    pub(in crate::record) fn count(self, tally: &Tally) -> bool {
        self.occur(|occurrence| {
            let subject = SubjectRef::of(occurrence.site, occurrence.identity, occurrence.proof);
            let kind = EventKind::of(occurrence.verdict, Proof::Unchecked);
            tally.shard(subject).count(occurrence, kind)
        })
    }
}

pub(in crate::record) fn everything(reader: &StoreReader) -> Window {
    reader.span().unwrap().unwrap()
}

/// Requests by crawler.
pub(in crate::record) fn by_crawler(reader: &StoreReader) -> HashMap<String, u64> {
    let mut sums = HashMap::new();
    for (subject, activity) in reader.counts(&everything(reader), &Filter::default()).unwrap() {
        let name = subject.crawler.as_deref().unwrap_or_default().to_owned();
        *sums.entry(name).or_default() += activity.requests(|_| true);
    }
    sums
}

pub(in crate::record) fn requests(reader: &StoreReader, window: &Window) -> u64 {
    let counts = reader.counts(window, &Filter::default()).unwrap();
    counts.values().map(|activity| activity.requests(|_| true)).sum()
}

/// How often one subject asked for one target.
#[derive(Debug)]
pub(in crate::record) struct PathTotal {
    pub(in crate::record) subject: Arc<CountSubject>,
    pub(in crate::record) target: String,
    pub(in crate::record) counts: PathCounts,
}

/// The `top` targets of each subject.
pub(in crate::record) fn paths(reader: &StoreReader, top: usize) -> Vec<PathTotal> {
    let all = reader.activities(&everything(reader), &Filter::default(), Some(top)).unwrap();
    let of = |(subject, activity): (Arc<CountSubject>, Activity)| {
        let total = move |(target, counts)| PathTotal { subject: Arc::clone(&subject), target, counts };
        activity.paths.into_iter().map(total)
    };
    all.into_iter().flat_map(of).collect()
}

/// What fair notice makes of a read is not the store's affair.
pub(in crate::record) fn some_read() -> Read {
    Read {
        rules: RobotsVersion::allowing_everything().rules,
        as_of: NoticeTime::default(),
        at: NoticeTime::default(),
    }
}

pub(super) fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_014_400)
}
