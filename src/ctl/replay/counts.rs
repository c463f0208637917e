//! What a log comes to: counts by crawler, rule and path, and the report that is made of them.
//!
//! The memory is bounded whatever the log holds: names of strangers, targets and readers beyond a number are counted with
//! the rest, in the order of the log.

use super::timeline::{REQUESTS, Timeline, VIOLATIONS};
use crate::ctl::logs::LogEntry;
use crate::decide::NoticeTime;
use crate::enforce::Action;
use crate::identify::{ClientKind, Identity, Proof};
use crate::policy::Site;
use crate::record::{
    CountSubject, CountedDecision, DecisionCount, DecisionRef, EventKind, OTHER_PATHS, PathCounts, PathTotal,
    PeriodCount, ReadTotal, ReaderId, SeenInstants, SeenSpan, TimelinePoint, VersionRecord, Window, instant,
    is_known, printable,
};
use crate::report::{Series, WindowCounts};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Names that the catalogue and robots.txt do not know.
const STRANGERS: usize = 10_000;

/// Targets told apart, in all and of one crawler, and their bytes in all.
const TARGETS: usize = 400_000;
const TARGETS_OF_ONE: usize = 50_000;
const TARGET_BYTES: usize = 48 << 20;

/// Longer targets are counted with the rest, as in the store.
const LONGEST_TARGET: usize = 2_048;

/// Readers told apart.
const READERS: usize = 65_536;

/// All that was counted of one subject.
#[derive(Debug)]
pub(super) struct SubjectInLog {
    pub(super) subject: Arc<CountSubject>,
    /// `None` where its name came up, and nothing of it was counted.
    seen: Option<SeenInstants>,
    pub(super) decisions: HashMap<CountedDecision, SeenInstants>,
    paths: HashMap<Box<[u8]>, PathCounts>,
    other_paths: PathCounts,
    reads: BTreeMap<ReplayReadKey, SeenInstants>,
    /// When it last fetched a robots.txt that is not known to be the one that is judged by.
    other_fetch: Option<i64>,
}

/// On which host, and from which network.
type ReplayReadKey = (Box<str>, Option<Box<str>>);

/// The counts of all subjects.
#[derive(Debug)]
pub(super) struct ReplayCounts {
    pub(super) subjects: Vec<SubjectInLog>,
    by_subject: HashMap<CountSubject, u32>,
    pub(super) span: Option<SeenInstants>,
    strangers: usize,
    targets: (usize, usize),
    readers: usize,
    /// Violations of crawlers over time.
    violations: Timeline,
    /// All their requests over time.
    requests: Timeline,
}

impl Default for ReplayCounts {
    fn default() -> Self {
        Self {
            subjects: Vec::new(),
            by_subject: HashMap::new(),
            span: None,
            strangers: 0,
            targets: (0, 0),
            readers: 0,
            violations: Timeline::new(VIOLATIONS),
            requests: Timeline::new(REQUESTS),
        }
    }
}

impl ReplayCounts {
    /// The number of a client at a site.
    pub(super) fn subject(&mut self, site: &Site, identity: &Identity) -> u32 {
        let named = CountSubject::new(&site.config.name, identity, Proof::Unchecked);
        let is_new_stranger = !is_known(identity) && !self.by_subject.contains_key(&named);
        let has_no_room = is_new_stranger && self.strangers >= STRANGERS;
        let subject = if has_no_room { named.nameless() } else { named };
        if let Some(number) = self.by_subject.get(&subject) {
            return *number;
        }
        self.strangers += usize::from(is_new_stranger && !has_no_room);
        let number = u32::try_from(self.subjects.len()).unwrap_or(u32::MAX);
        self.by_subject.insert(subject.clone(), number);
        self.subjects.push(SubjectInLog {
            subject: Arc::new(subject),
            seen: None,
            decisions: HashMap::new(),
            paths: HashMap::new(),
            other_paths: PathCounts::default(),
            reads: BTreeMap::new(),
            other_fetch: None,
        });
        number
    }

    /// Counts a request that was decided on.
    pub(super) fn request(
        &mut self,
        number: u32,
        at: i64,
        (target, once): (&[u8], PathCounts),
        decided: &DecisionRef<'_>,
    ) {
        let Some(counts) = self.subjects.get_mut(number as usize) else { return };
        let seen = SeenInstants::once(at);
        seen.add_to(&mut counts.seen);
        if once.violations > 0 && counts.subject.is_crawler() {
            self.violations.add(number, at);
        }
        counts.path(&mut self.targets, target, once);
        match counts.decisions.get_mut(decided) {
            Some(known) => known.add(seen),
            None => drop(counts.decisions.insert(decided.into(), seen)),
        }
        self.requests.add(number, at);
    }

    /// Counts a fetch of robots.txt: a read of this file, or of another one as far as is known.
    pub(super) fn fetch(&mut self, number: u32, entry: &LogEntry<'_>, reader: Option<&ReaderId<'_>>) {
        let Some(counts) = self.subjects.get_mut(number as usize) else { return };
        let seen = SeenInstants::once(entry.at);
        seen.add_to(&mut counts.seen);
        let Some(reader) = reader else {
            counts.other_fetch = counts.other_fetch.max(Some(entry.at));
            return;
        };
        let network = reader.network().map(|network| network.to_string().into());
        let mut key: ReplayReadKey = (reader.host().into(), network);
        if self.readers >= READERS && !counts.reads.contains_key(&key) {
            key = (OTHER_PATHS.into(), None);
        }
        if let Some(known) = counts.reads.get_mut(&key) {
            known.add(seen);
        } else {
            self.readers += 1;
            counts.reads.insert(key, seen);
        }
    }

    /// How many requests were decided so.
    pub(super) fn count_of(&self, is_so: impl Fn(&CountedDecision) -> bool) -> u64 {
        let decisions = self.subjects.iter().flat_map(|counts| &counts.decisions);
        decisions.filter(|(decision, _)| is_so(decision)).map(|(_, seen)| seen.count).sum()
    }

    /// From the first request to the last.
    pub(super) fn window(&self) -> Window {
        let (first, last) = self.span.map_or((0, 0), |span| (span.first, span.last));
        Window { from: instant(first), to: instant(last.saturating_add(1)) }
    }

    /// What a report is made of. Rules that were not published at the time are `hypothetical`.
    pub(super) fn counted(&self, sites: &[Site], is_hypothetical: bool) -> WindowCounts {
        let seen = || self.subjects.iter().filter(|counts| counts.seen.is_some());
        WindowCounts {
            presence: seen().filter_map(SubjectInLog::presence).collect(),
            totals: seen().flat_map(|counts| counts.decided(is_hypothetical)).collect(),
            paths: seen().flat_map(SubjectInLog::paths).collect(),
            stretches: self.stretches(),
            reads: seen().flat_map(|counts| counts.reads(sites)).collect(),
            hypothetical: seen()
                .filter(|_| is_hypothetical)
                .map(|counts| Arc::clone(&counts.subject))
                .collect(),
            other_fetches: seen()
                .filter_map(|counts| Some((Arc::clone(&counts.subject), instant(counts.other_fetch?))))
                .collect(),
            versions: sites.iter().filter_map(version).collect(),
        }
    }

    /// Violations over time, for the page. Those whose names found no room are counted together.
    pub(super) fn series(&self) -> Series {
        let point = |(number, start, count): (Option<u32>, i64, u64)| {
            let of = self.subjects.get(number.unwrap_or_default() as usize)?;
            let rest = || CountSubject { client: ClientKind::Crawler, ..of.subject.nameless() };
            let subject = if number.is_some() { Arc::clone(&of.subject) } else { Arc::new(rest()) };
            let (start, kind) = (since_1970(start), EventKind::Violation);
            Some(TimelinePoint { start, subject, kind, action: Action::Forward, count })
        };
        Series {
            grain: self.violations.grain(),
            points: self.violations.counts().filter_map(point).collect(),
        }
    }

    /// Requests over time. Those whose names found no room have no pace.
    fn stretches(&self) -> Vec<PeriodCount> {
        let length = self.requests.grain();
        let stretch = |(number, start, count): (Option<u32>, i64, u64)| {
            let subject = Arc::clone(&self.subjects.get(number? as usize)?.subject);
            Some(PeriodCount { subject, start: since_1970(start), length, count, slowed: 0 })
        };
        self.requests.counts().filter_map(stretch).collect()
    }
}

impl SubjectInLog {
    fn path(&mut self, (targets, bytes): &mut (usize, usize), target: &[u8], counts: PathCounts) {
        if let Some(known) = self.paths.get_mut(target) {
            known.add(&counts);
            return;
        }
        let has_room = *targets < TARGETS && *bytes < TARGET_BYTES && self.paths.len() < TARGETS_OF_ONE;
        if !has_room || target.len() > LONGEST_TARGET || target == OTHER_PATHS.as_bytes() {
            self.other_paths.add(&counts);
            return;
        }
        *targets += 1;
        *bytes += target.len();
        self.paths.insert(target.into(), counts);
    }

    fn presence(&self) -> Option<SeenSpan> {
        let SeenInstants { first, last, .. } = self.seen?;
        Some(SeenSpan { subject: Arc::clone(&self.subject), first: instant(first), last: instant(last) })
    }

    /// What was decided. A violation of rules that nobody had published had no notice.
    fn decided(&self, is_hypothetical: bool) -> Vec<DecisionCount> {
        let of = |(decision, seen): (&CountedDecision, &SeenInstants)| {
            let notice = decision.notice.filter(|_| !is_hypothetical);
            DecisionCount {
                subject: Arc::clone(&self.subject),
                decision: Arc::new(CountedDecision { notice, ..decision.clone() }),
                count: seen.count,
                first: instant(seen.first),
                last: instant(seen.last),
            }
        };
        self.decisions.iter().map(of).collect()
    }

    fn paths(&self) -> Vec<PathTotal> {
        let rest =
            (self.other_paths != PathCounts::default()).then(|| (OTHER_PATHS.to_owned(), self.other_paths));
        let named = self.paths.iter().map(|(target, counts)| (printable(target), *counts));
        let total = |(target, counts)| PathTotal { subject: Arc::clone(&self.subject), target, counts };
        named.chain(rest).map(total).collect()
    }

    /// The reads, as ones of the version that is judged by.
    fn reads(&self, sites: &[Site]) -> Vec<ReadTotal> {
        let site = sites.iter().find(|site| *site.config.name == *self.subject.site);
        let Some(site) = site else { return Vec::new() };
        let (Some(version), rules) = (site.version(), site.rules.current().rules) else { return Vec::new() };
        let total = |((host, network), seen): (&ReplayReadKey, &SeenInstants)| ReadTotal {
            subject: Arc::clone(&self.subject),
            host: host.clone(),
            network: network.clone(),
            chosen: None,
            version,
            rules,
            in_force: UNIX_EPOCH,
            sequence: 0,
            at: NoticeTime::default(),
            first: instant(seen.first),
            last: instant(seen.last),
            count: seen.count,
        };
        self.reads.iter().map(total).collect()
    }
}

fn since_1970(seconds: i64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

/// The rules in force, for what they say of `Crawl-delay`.
fn version(site: &Site) -> Option<VersionRecord> {
    let id = site.version()?;
    Some(VersionRecord {
        row: 0,
        site: site.config.name.as_str().into(),
        sha256: None,
        id: Some(id),
        bytes: site.robots.as_ref().map(|file| Arc::from(file.bytes.as_slice())),
        from: UNIX_EPOCH,
        until: None,
    })
}
