//! What was counted of a log: the counts of the store, in memory alone, for as long as the log is.
//!
//! The memory is bounded whatever the log holds. Names of strangers, targets and readers beyond a number are counted with the
//! rest, in the order of the log. Counting begins by the minute, and where there are too many minutes the stretches become
//! longer; each length divides the next, so that nothing is counted in two of them.

use super::event::{EventKind, Occurrence};
use super::reads::ReaderId;
use super::store::{
    DecisionCount, OTHER_PATHS, PathTotal, PeriodCount, ReadTotal, SeenSpan, SentBytes, TimelinePoint,
    VersionRecord, Window,
};
use super::tally::{
    CountSubject, CountedDecision, DecisionRef, Map, PathCounts, SeenInstants, SubjectRef, instant, is_known,
};
use crate::decide::{NoticeTime, RulesId, VersionId};
use crate::enforce::Action;
use crate::identify::{ClientKind, Identity, Proof};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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

/// Lengths of a stretch in seconds, from a minute to a day, a week and 52 weeks; and how many counts are kept.
const LENGTHS: [i64; 8] = [60, 300, 900, 3_600, 21_600, 86_400, 7 * 86_400, 364 * 86_400];
const STRETCHES: usize = 131_072;

/// Counts of one window, as a report is made of them.
#[derive(Clone, Debug, Default)]
pub struct WindowCounts {
    /// First and last seen.
    pub presence: Vec<SeenSpan>,
    /// What was decided of whom, how often.
    pub totals: Vec<DecisionCount>,
    /// What was asked for.
    pub paths: Vec<PathTotal>,
    /// How many requests came when.
    pub stretches: Vec<PeriodCount>,
    /// How many bytes whom was sent.
    pub sent: Vec<SentBytes>,
    /// Reads of robots.txt.
    pub reads: Vec<ReadTotal>,
    /// Of whom nothing can be said but what the rules would have meant: they were not published, as far as is known.
    pub hypothetical: Vec<Arc<CountSubject>>,
    /// Who fetched a robots.txt that is not known to be this one, and when last.
    pub other_fetches: Vec<(Arc<CountSubject>, SystemTime)>,
    /// Versions of robots.txt.
    pub versions: Vec<VersionRecord>,
}

/// Version and what it says, host and network.
type LogReadKey = ((VersionId, RulesId), Box<str>, Option<Box<str>>);

/// All that was counted of one subject.
#[derive(Debug)]
struct SubjectOfLog {
    subject: Arc<CountSubject>,
    /// `None` where its name came up, and nothing of it was counted.
    seen: Option<SeenInstants>,
    decisions: Map<CountedDecision, SeenInstants>,
    paths: Map<Box<[u8]>, PathCounts>,
    other_paths: PathCounts,
    reads: Map<LogReadKey, SeenInstants>,
    other_fetch: Option<i64>,
    bytes: u64,
}

/// The counts of all subjects.
#[derive(Debug, Default)]
pub struct LogTables {
    subjects: Vec<SubjectOfLog>,
    by_subject: Map<CountSubject, u32>,
    span: Option<SeenInstants>,
    strangers: usize,
    targets: (usize, usize),
    readers: usize,
    stretches: LogStretches,
}

/// Requests, and violations of crawlers, by subject and start of a stretch.
#[derive(Debug, Default)]
struct LogStretches {
    /// Which of the lengths.
    length: usize,
    /// No subject: those that found no room when the stretches could grow no longer.
    counts: Map<(Option<u32>, i64), (u64, u64)>,
}

impl LogTables {
    /// Notes that a request came, whosever it was.
    pub fn span(&mut self, at: i64) {
        SeenInstants::once(at).add_to(&mut self.span);
    }

    /// From the first request to the last.
    pub fn window(&self) -> Window {
        let (first, last) = self.span.map_or((0, 0), |span| (span.first, span.last));
        Window { from: instant(first), to: instant(last.saturating_add(1)) }
    }

    /// The number of a client at a site.
    pub fn number(&mut self, site: &str, identity: &Identity) -> u32 {
        let named = SubjectRef::new(site, identity, Proof::Unchecked);
        if let Some(number) = self.by_subject.get(&named) {
            return *number;
        }
        let is_new_stranger = !is_known(identity);
        let has_no_room = is_new_stranger && self.strangers >= STRANGERS;
        let subject = CountSubject::from(&if has_no_room { named.nameless() } else { named });
        if let Some(number) = self.by_subject.get(&subject) {
            return *number;
        }
        self.strangers += usize::from(is_new_stranger && !has_no_room);
        let number = u32::try_from(self.subjects.len()).unwrap_or(u32::MAX);
        self.by_subject.insert(subject.clone(), number);
        self.subjects.push(SubjectOfLog {
            subject: Arc::new(subject),
            seen: None,
            decisions: Map::default(),
            paths: Map::default(),
            other_paths: PathCounts::default(),
            reads: Map::default(),
            other_fetch: None,
            bytes: 0,
        });
        number
    }

    /// Counts a request as an event of `kind`.
    pub fn count(&mut self, number: u32, at: i64, occurrence: &Occurrence<'_>, kind: EventKind, bytes: u64) {
        let Some(counts) = self.subjects.get_mut(number as usize) else { return };
        let (decided, seen) = (DecisionRef::of(occurrence, kind), SeenInstants::once(at));
        seen.add_to(&mut counts.seen);
        counts.bytes = counts.bytes.saturating_add(bytes);
        let once = PathCounts::one(kind, occurrence.action);
        let is_violation = once.violations > 0 && counts.subject.is_crawler();
        self.stretches.add(number, at, is_violation);
        counts.path(&mut self.targets, &occurrence.facts.target, once);
        match counts.decisions.get_mut(&decided) {
            Some(known) => known.add(seen),
            None => drop(counts.decisions.insert((&decided).into(), seen)),
        }
    }

    /// Counts a fetch of robots.txt: a read of `version`, or of another one as far as is known.
    pub fn fetch(
        &mut self,
        number: u32,
        at: i64,
        reader: &ReaderId<'_>,
        version: Option<(VersionId, RulesId)>,
    ) {
        let Some(counts) = self.subjects.get_mut(number as usize) else { return };
        let seen = SeenInstants::once(at);
        seen.add_to(&mut counts.seen);
        let Some(version) = version else {
            counts.other_fetch = counts.other_fetch.max(Some(at));
            return;
        };
        let network = reader.network().map(|network| network.to_string().into());
        let mut key: LogReadKey = (version, reader.host().into(), network);
        if self.readers >= READERS && !counts.reads.contains_key(&key) {
            key = (version, OTHER_PATHS.into(), None);
        }
        if let Some(known) = counts.reads.get_mut(&key) {
            known.add(seen);
        } else {
            self.readers += 1;
            counts.reads.insert(key, seen);
        }
    }

    /// How many requests were decided so.
    pub fn count_of(&self, is_so: impl Fn(&CountedDecision) -> bool) -> u64 {
        let decisions = self.subjects.iter().flat_map(|counts| &counts.decisions);
        decisions.filter(|(decision, _)| is_so(decision)).map(|(_, seen)| seen.count).sum()
    }

    /// What a report is made of. Rules that were not published at the time are `hypothetical`.
    pub fn counted(&self, versions: Vec<VersionRecord>, is_hypothetical: bool) -> WindowCounts {
        let seen = || self.subjects.iter().filter(|counts| counts.seen.is_some());
        let sent = |of: &SubjectOfLog| SentBytes { subject: Arc::clone(&of.subject), bytes: of.bytes };
        let other = |of: &SubjectOfLog| Some((Arc::clone(&of.subject), instant(of.other_fetch?)));
        WindowCounts {
            presence: seen().filter_map(SubjectOfLog::presence).collect(),
            totals: seen().flat_map(|counts| counts.decided(is_hypothetical)).collect(),
            paths: seen().flat_map(SubjectOfLog::paths).collect(),
            stretches: self.requests(),
            // As the store has them; not every log has any.
            sent: seen().filter(|of| of.bytes > 0).map(sent).collect(),
            reads: seen().flat_map(SubjectOfLog::reads).collect(),
            hypothetical: seen().filter(|_| is_hypothetical).map(|of| Arc::clone(&of.subject)).collect(),
            other_fetches: seen().filter_map(other).collect(),
            versions,
        }
    }

    /// Violations over time, and how long the stretches are. Those whose names found no room are counted together.
    pub fn violations(&self) -> (Duration, Vec<TimelinePoint>) {
        let point = |(number, start, (_, count)): (Option<u32>, i64, (u64, u64))| {
            let of = self.subjects.get(number.unwrap_or_default() as usize)?;
            let rest = || CountSubject { client: ClientKind::Crawler, ..of.subject.nameless() };
            let subject = if number.is_some() { Arc::clone(&of.subject) } else { Arc::new(rest()) };
            let (start, kind) = (since_1970(start), EventKind::Violation);
            (count > 0).then_some(TimelinePoint { start, subject, kind, action: Action::Forward, count })
        };
        let stretches = &self.stretches;
        (stretches.shown_length(), stretches.counts().filter_map(point).collect())
    }

    /// Requests over time. Those whose names found no room have no pace.
    fn requests(&self) -> Vec<PeriodCount> {
        let length = self.stretches.shown_length();
        let stretch = |(number, start, (count, _)): (Option<u32>, i64, (u64, u64))| {
            let subject = Arc::clone(&self.subjects.get(number? as usize)?.subject);
            Some(PeriodCount { subject, start: since_1970(start), length, count })
        };
        self.stretches.counts().filter_map(stretch).collect()
    }
}

impl SubjectOfLog {
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
        let has_rest = self.other_paths != PathCounts::default();
        let rest = has_rest.then(|| (OTHER_PATHS.to_owned(), self.other_paths));
        let named = self.paths.iter().map(|(target, counts)| (super::printable(target), *counts));
        let total = |(target, counts)| PathTotal { subject: Arc::clone(&self.subject), target, counts };
        named.chain(rest).map(total).collect()
    }

    fn reads(&self) -> Vec<ReadTotal> {
        let total = |(((version, rules), host, network), seen): (&LogReadKey, &SeenInstants)| ReadTotal {
            subject: Arc::clone(&self.subject),
            host: host.clone(),
            network: network.clone(),
            chosen: None,
            version: *version,
            rules: *rules,
            in_force: UNIX_EPOCH,
            as_of: NoticeTime::default(),
            at: NoticeTime::default(),
            first: instant(seen.first),
            last: instant(seen.last),
            count: seen.count,
        };
        self.reads.iter().map(total).collect()
    }
}

impl LogStretches {
    /// A request of a subject, so many microseconds after 1970.
    fn add(&mut self, number: u32, at: i64, is_violation: bool) {
        let seconds = at.div_euclid(1_000_000);
        let key = |length: i64, number| (number, seconds.div_euclid(length) * length);
        if self.counts.len() >= STRETCHES && !self.counts.contains_key(&key(self.seconds(), Some(number))) {
            self.lengthen();
        }
        let own = key(self.seconds(), Some(number));
        let has_room = self.counts.len() < STRETCHES || self.counts.contains_key(&own);
        let place = if has_room { own } else { key(self.seconds(), None) };
        let (requests, violations) = self.counts.entry(place).or_default();
        *requests += 1;
        *violations += u64::from(is_violation);
    }

    /// How long the stretches are by now.
    fn seconds(&self) -> i64 {
        LENGTHS.get(self.length).copied().unwrap_or(LENGTHS[0])
    }

    fn shown_length(&self) -> Duration {
        Duration::from_secs(self.seconds().unsigned_abs())
    }

    /// Subject, start in seconds since 1970, and counts.
    fn counts(&self) -> impl Iterator<Item = (Option<u32>, i64, (u64, u64))> {
        self.counts.iter().map(|((number, start), counts)| (*number, *start, *counts))
    }

    /// Makes the stretches longer until half of the room is free, or they are as long as can be.
    fn lengthen(&mut self) {
        while self.counts.len() > STRETCHES / 2 && self.length + 1 < LENGTHS.len() {
            self.length += 1;
            let length = self.seconds();
            for ((number, start), (requests, violations)) in std::mem::take(&mut self.counts) {
                let known = self.counts.entry((number, start.div_euclid(length) * length)).or_default();
                *known = (known.0 + requests, known.1 + violations);
            }
        }
    }
}

fn since_1970(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(stretches: &LogStretches) -> (u64, u64) {
        stretches.counts().fold((0, 0), |sum, (_, _, one)| (sum.0 + one.0, sum.1 + one.1))
    }

    #[test]
    fn each_length_divides_the_next() {
        assert!(LENGTHS.windows(2).all(|pair| pair[1] % pair[0] == 0));
    }

    #[test]
    fn a_short_log_is_counted_by_the_minute() {
        let mut stretches = LogStretches::default();
        for second in [0, 59, 60, 119, 180] {
            stretches.add(7, second * 1_000_000, second < 60);
        }
        let mut counts: Vec<_> = stretches.counts().collect();
        counts.sort_unstable();
        assert_eq!(counts, [(Some(7), 0, (2, 2)), (Some(7), 60, (2, 0)), (Some(7), 180, (1, 0))]);
        assert_eq!(stretches.shown_length(), Duration::from_secs(60));
    }

    #[test]
    fn a_long_log_loses_no_count_and_takes_no_more_room() {
        let mut stretches = LogStretches::default();
        // Two crawlers each minute of a year.
        for minute in 0..365 * 1_440 {
            stretches.add(0, minute * 60_000_000, false);
            stretches.add(1, minute * 60_000_000, true);
            assert!(stretches.counts.len() <= STRETCHES);
        }
        assert_eq!(sum(&stretches), (2 * 365 * 1_440, 365 * 1_440));
        assert_eq!(
            stretches.shown_length(),
            Duration::from_secs(900),
            "the shortest that there was room for"
        );
        assert!(stretches.counts().all(|(number, start, _)| number.is_some() && start % 900 == 0));
    }

    #[test]
    fn times_and_names_without_end_are_bounded() {
        let mut stretches = LogStretches::default();
        for at in 0..300_000_u32 {
            stretches.add(at, i64::from(at % 3_000) * 364 * 86_400 * 1_000_000, false);
            assert!(stretches.counts.len() <= STRETCHES + 3_000);
        }
        assert_eq!(sum(&stretches), (300_000, 0));
        stretches.add(1, i64::MIN, false);
        stretches.add(1, i64::MAX, false);
    }
}
