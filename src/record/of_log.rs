//! What was counted of a log: a batch of the tally that is never written, with room for a whole log.
//!
//! The memory is bounded whatever the log holds. Names of strangers, targets and readers beyond a number are counted with the
//! rest, in the order of the log. Counting begins by the minute, and where there are too many minutes the stretches become
//! longer.

use super::activity::{Activities, Activity, Stretch};
use super::bytes::printable;
use super::event::{EventKind, Occurrence};
use super::reads::ReaderId;
use super::store::{ReadTotal, Window};
use super::tables::{ReadKey, ReadSum};
use super::tally::{
    BatchLimits, CountBatch, CountSubject, CountedDecision, SeenInstants, SubjectCounts, SubjectRef, Uses,
    instant, is_known,
};
use crate::decide::{RulesId, VersionId};
use crate::identify::{Identity, Proof};
use std::sync::Arc;

/// Periods from a minute to a day, a week and 52 weeks; each divides the next, so that nothing is counted in two of them.
const LENGTHS: [i64; 8] = [60, 300, 900, 3_600, 21_600, 86_400, 7 * 86_400, 364 * 86_400];

/// What a log may take: some hundred megabytes.
const ROOM: BatchLimits = BatchLimits {
    rollups: 262_144,
    paths: 400_000,
    details: 48 << 20,
    strangers: 10_000,
    samples: 0,
    reads: 65_536,
    robots: 0,
    lengths: &LENGTHS,
    // Targets are told of the whole log.
    day: i64::MAX,
};

/// The counts of all subjects.
#[derive(Debug)]
pub struct LogTables {
    batch: CountBatch,
    span: Option<SeenInstants>,
}

impl Default for LogTables {
    fn default() -> Self {
        Self { batch: CountBatch::new(ROOM), span: None }
    }
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

    /// Counts a request as an event of `kind`.
    pub fn count(&mut self, occurrence: &Occurrence<'_>, kind: EventKind) {
        // No event of it is kept in full.
        let _ = self.batch.count(occurrence, kind);
    }

    /// Counts a fetch of robots.txt: a read of `version`, or of another one as far as is known.
    pub fn fetch(
        &mut self,
        (site, identity): (&str, &Identity),
        at: i64,
        reader: &ReaderId<'_>,
        version: Option<(VersionId, RulesId)>,
    ) {
        let subject = SubjectRef::of(site, identity, Proof::Unchecked);
        let Some((version, rules)) = version else {
            return self.batch.other_fetch(subject, is_known(identity), at);
        };
        let key = ReadKey {
            version,
            in_force: 0,
            host: (*reader.host).into(),
            network: reader.network.map(|network| network.to_string().into()),
            chosen: None,
        };
        let read = ReadSum { rules, seen: SeenInstants::once(at), as_of: 0, at: 0 };
        self.batch.read(subject, is_known(identity), key, read);
    }

    /// How many requests were decided so.
    pub fn count_of(&self, is_so: impl Fn(&CountedDecision) -> bool) -> u64 {
        let uses = self.batch.accounts.values().flat_map(|account| account.decisions.values());
        uses.filter(|uses| is_so(&uses.decision)).filter_map(|uses| uses.seen).map(|seen| seen.count).sum()
    }

    /// What a report is made of. Rules that were not published at the time are `hypothetical`.
    pub fn counted(&self, is_hypothetical: bool) -> Activities {
        let of = |(subject, account): (&CountSubject, &SubjectCounts)| {
            let subject = Arc::new(subject.clone());
            (Arc::clone(&subject), self.activity(&subject, account, is_hypothetical))
        };
        self.batch.accounts.iter().map(of).collect()
    }

    fn activity(&self, subject: &Arc<CountSubject>, of: &SubjectCounts, is_hypothetical: bool) -> Activity {
        let mut found = Activity { other_fetch: of.other_fetch, is_hypothetical, ..Activity::default() };
        of.presence.iter().for_each(|(_, seen)| seen.add_to(&mut found.seen));
        for Uses { decision, seen, periods, .. } in of.decisions.values() {
            // A violation of rules that nobody had published had no notice.
            let notice = decision.notice.filter(|_| !is_hypothetical);
            let Some(seen) = *seen else { continue };
            found.decide(Arc::new(CountedDecision { notice, ..decision.clone() }), seen);
            found.stretches.extend(periods.iter().map(|(start, requests)| Stretch {
                start: *start,
                length: self.batch.length,
                requests: *requests,
                violations: if decision.kind == EventKind::Violation { *requests } else { 0 },
            }));
        }
        for (target, uses) in &of.paths {
            let sum = found.paths.entry(printable(target)).or_default();
            uses.days.iter().for_each(|(_, counts)| sum.add(counts));
        }
        found.bytes = of.sent.iter().map(|(_, bytes)| *bytes).reduce(u64::saturating_add);
        let read = |(key, sum): (&ReadKey, &ReadSum)| ReadTotal {
            subject: Arc::clone(subject),
            key: key.clone(),
            sum: *sum,
        };
        found.reads = of.reads.iter().map(read).collect();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::VerdictOutcome;
    use crate::identify::Basis;
    use crate::record::store::tests::SampleRequest;

    fn count(tables: &mut LogTables, crawler: &str, at: i64) {
        let (basis, outcome, at) = (Basis::Sign, VerdictOutcome::Allow, instant(at));
        SampleRequest { basis, outcome, at, ..SampleRequest::of(crawler, "/") }
            .occur(|occurrence| tables.count(occurrence, EventKind::Allowed));
    }

    fn stretches(tables: &LogTables) -> Vec<Stretch> {
        tables.counted(false).into_values().flat_map(|activity| activity.stretches).collect()
    }

    #[test]
    fn each_length_divides_the_next() {
        assert!(LENGTHS.windows(2).all(|pair| pair[1] % pair[0] == 0));
    }

    #[test]
    fn a_short_log_is_counted_by_the_minute() {
        let mut tables = LogTables::default();
        for second in [180, 0, 59, 60, 119] {
            count(&mut tables, "a", second * 1_000_000);
        }
        let found: Vec<_> =
            stretches(&tables).iter().map(|one| (one.start, one.length, one.requests)).collect();
        assert_eq!(found, [(0, 60, 2), (60, 60, 2), (180, 60, 1)]);
    }

    #[test]
    fn a_long_log_loses_no_count_and_takes_no_more_room() {
        let mut tables = LogTables::default();
        // Two crawlers each minute of a year.
        for minute in 0..365 * 1_440 {
            count(&mut tables, "a", minute * 60_000_000);
            count(&mut tables, "b", minute * 60_000_000);
        }
        let found = stretches(&tables);
        assert!(
            found.len() <= ROOM.rollups + 1
                && found.iter().all(|one| one.length == 300 && one.start % 300 == 0)
        );
        assert_eq!(found.iter().map(|one| one.requests).sum::<u64>(), 2 * 365 * 1_440);
        assert_eq!(tables.count_of(|_| true), 2 * 365 * 1_440);
    }

    #[test]
    fn times_and_names_without_end_are_bounded() {
        let mut tables = LogTables::default();
        for number in 0..300_000_i64 {
            count(&mut tables, &format!("bot{number}"), number % 3_000 * 364 * 86_400 * 1_000_000);
        }
        count(&mut tables, "bot1", i64::MIN);
        count(&mut tables, "bot1", i64::MAX);
        let all = tables.counted(false);
        assert_eq!(all.len(), ROOM.strangers + 1);
        assert_eq!(all.values().map(|activity| activity.requests(|_| true)).sum::<u64>(), 300_002);
        assert!(all.values().map(|activity| activity.stretches.len()).sum::<usize>() <= ROOM.rollups + 1);
    }
}
