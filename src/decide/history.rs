//! What one host's visitors were given over time, by however many processes: what leads to its [`SiteRules`].
//!
//! A process opens a version when it begins to serve it, and closes it when it serves another or stops. A version is
//! replaced when the last process closes it. Versions that say the same are one. What was served before anything is
//! known is a version that allows everything.

use super::notice::{NoticePeriod, NoticeTime};
use super::rules::{FormerVersion, Replacement, SiteRules, Waiver};
use super::version::RobotsVersion;
use std::sync::Arc;
use std::time::SystemTime;

/// How many former versions of a host stay compiled.
const FORMER_VERSIONS: usize = 16;

/// The moment of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Its place in the order of all changes.
    pub sequence: u64,
    /// When it was.
    pub at: NoticeTime,
    /// The time of day, which is only shown.
    pub time: SystemTime,
}

impl Moment {
    const fn replacement(self) -> Replacement {
        Replacement { sequence: self.sequence, at: self.at }
    }
}

/// One version, and who serves it.
#[derive(Clone, Debug)]
struct ServedVersion {
    version: Arc<RobotsVersion>,
    /// The processes that serve it.
    by: Vec<u32>,
    /// When it came into force, as shown, and the place of that in the order of changes.
    since: SystemTime,
    is_dated: bool,
    opened: u64,
    /// When the last process ceased to serve it; meaningless while one does.
    replaced: Replacement,
    /// Whether it stands for what nobody knows.
    is_unknown: bool,
}

impl ServedVersion {
    /// One that comes into force at `moment`; unless a process serves it, it is replaced then.
    fn new(version: Arc<RobotsVersion>, by: Vec<u32>, moment: Moment) -> Self {
        let (since, opened, replaced) = (moment.time, moment.sequence, moment.replacement());
        Self { version, by, since, is_dated: false, opened, replaced, is_unknown: false }
    }

    fn replacement(&self) -> Option<Replacement> {
        self.by.is_empty().then_some(self.replaced)
    }
}

/// Dates of HTTP have whole seconds (RFC 9110 §5.6.7).
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The versions of one host.
#[derive(Clone, Debug)]
pub struct HostHistory {
    served: Vec<ServedVersion>,
    dropped: Option<Replacement>,
    sequence: u64,
    /// The latest date of any version, in whole seconds.
    latest: u64,
}

impl HostHistory {
    /// A host of which nothing is known until `moment`.
    pub fn unknown_until(moment: Moment) -> Self {
        let version = RobotsVersion::allowing_everything();
        let unknown =
            ServedVersion { opened: 0, is_unknown: true, ..ServedVersion::new(version, Vec::new(), moment) };
        Self { served: vec![unknown], dropped: None, sequence: moment.sequence, latest: 0 }
    }

    /// What is unknown went on until `end`, which may be later. Which of the changes since then came after its end is
    /// not known before [`advance`](Self::advance) says so: a read before that does not show that the crawler let go of it.
    pub fn uncertain_until(mut self, end: NoticeTime) -> Self {
        for unknown in &mut self.served {
            unknown.replaced = Replacement { sequence: u64::MAX, at: end };
        }
        self
    }

    /// Something happened at `moment`. What was replaced before that was replaced before all that comes after it.
    pub fn advance(&mut self, moment: Moment) {
        let ended = self.served.iter_mut().filter(|served| served.replaced.at <= moment.at);
        for served in ended {
            served.replaced.sequence = served.replaced.sequence.min(moment.sequence);
        }
    }

    /// By the operator's word, what is unknown is over since `sequence`.
    pub fn end_unknown(&mut self, sequence: u64) {
        for unknown in self.served.iter_mut().filter(|served| served.is_unknown) {
            unknown.replaced.sequence = unknown.replaced.sequence.min(sequence);
        }
    }

    /// The date of `moment` may be that of a version that is lost.
    pub fn without_dates_until(mut self, moment: Moment) -> Self {
        self.latest = seconds(moment.time);
        self
    }

    /// `process` serves `version` from now on, and nothing else.
    pub fn serve(&mut self, process: u32, version: &Arc<RobotsVersion>, moment: Moment) {
        let is_same = |served: &ServedVersion| served.version.rules == version.rules;
        let at = self.served.iter().position(is_same);
        if let Some(served) = at.and_then(|at| self.served.get_mut(at))
            && served.by.contains(&process)
        {
            let is_new = served.version.id != version.id;
            served.version = Arc::clone(version);
            if is_new {
                self.date(version, moment);
            }
            return;
        }
        let last_opened = self.served.iter().map(|served| served.opened).max();
        self.stop(process, moment);
        self.sequence = moment.sequence;
        let Some(served) = at.and_then(|at| self.served.get_mut(at)) else {
            self.served.push(ServedVersion::new(Arc::clone(version), vec![process], moment));
            return self.date(version, moment);
        };
        // A process that is started again goes on with what the last one served.
        let goes_on = !served.by.is_empty() || last_opened < Some(served.replaced.sequence);
        let is_new = !(goes_on && served.version.id == version.id) || served.is_unknown;
        served.by.push(process);
        served.version = Arc::clone(version);
        served.is_unknown = false;
        if is_new {
            served.opened = moment.sequence;
            self.date(version, moment);
        }
    }

    /// Dates a version that comes into force. Within one second, or after a step of the clock, it may bear the date of an
    /// earlier one: then no date of this host tells versions apart any more.
    fn date(&mut self, version: &RobotsVersion, moment: Moment) {
        let is_dated = seconds(moment.time) > self.latest;
        self.latest = self.latest.max(seconds(moment.time));
        for served in &mut self.served {
            let is_own = served.version.id == version.id;
            if is_own {
                served.since = moment.time;
            }
            served.is_dated = is_dated && (is_own || served.is_dated);
        }
    }

    /// A read from now on comes after all that happened before `moment`.
    pub const fn note(&mut self, moment: Moment) {
        self.sequence = moment.sequence;
    }

    /// `process` serves nothing any more.
    pub fn stop(&mut self, process: u32, moment: Moment) {
        for served in &mut self.served {
            let before = served.by.len();
            served.by.retain(|by| *by != process);
            if served.by.len() < before {
                self.sequence = moment.sequence;
                if served.by.is_empty() {
                    served.replaced = moment.replacement();
                }
            }
        }
    }

    /// Says what was served while nothing was known: `version`, until `replaced`. Without a version it goes on to
    /// stand for anything, but perhaps until an earlier time.
    pub fn explain_unknown(&mut self, version: Option<&Arc<RobotsVersion>>, replaced: NoticeTime) {
        let Some(at) = self.served.iter().position(|served| served.is_unknown) else { return };
        let Some(version) = version else {
            if let Some(unknown) = self.served.get_mut(at) {
                unknown.replaced.at = unknown.replaced.at.min(replaced);
            }
            return;
        };
        let unknown = self.served.remove(at);
        let replaced = Replacement { at: replaced.min(unknown.replaced.at), ..unknown.replaced };
        // What is known of an equal one comes later.
        if self.served.iter().all(|served| served.version.rules != version.rules) {
            let version = Arc::clone(version);
            self.served.push(ServedVersion { version, replaced, is_unknown: false, ..unknown });
        }
    }

    /// Lets go of what nobody can hold any more, and of what finds no room.
    pub fn prune(&mut self, period: NoticePeriod, now: NoticeTime) {
        let covered = |replaced: Replacement| period.covers(replaced.at, now);
        self.served.retain(|served| served.replacement().is_none_or(covered));
        self.dropped = self.dropped.filter(|dropped| covered(*dropped));
        // Oldest first, and last what is still served.
        self.served.sort_by_key(|served| (served.replacement().is_none(), served.replaced.sequence));
        let closed = self.served.iter().filter(|served| served.by.is_empty()).count();
        for served in self.served.drain(..closed.saturating_sub(FORMER_VERSIONS)) {
            self.dropped = self.dropped.max(Some(served.replaced));
        }
    }

    /// Whether somebody could hold a version that nobody serves any more.
    pub fn has_past(&self) -> bool {
        self.dropped.is_some() || self.served.iter().any(|served| served.by.is_empty())
    }

    /// Whether somebody could hold what nothing is known of.
    pub fn is_unknown(&self) -> bool {
        self.unknown_replaced().is_some()
    }

    /// When, at the latest, that was replaced of which nothing is known.
    pub fn unknown_replaced(&self) -> Option<NoticeTime> {
        self.served.iter().find(|served| served.is_unknown).map(|served| served.replaced.at)
    }

    /// Whether `process` serves any version.
    pub fn is_served_by(&self, process: u32) -> bool {
        self.served.iter().any(|served| served.by.contains(&process))
    }

    /// What visitors of `process` are judged by; `None` where it serves nothing.
    pub fn in_force(&self, process: u32, waivers: &Arc<[Waiver]>) -> Option<SiteRules> {
        let own = self.served.iter().find(|served| served.by.contains(&process))?;
        let others = self.served.iter().rev().filter(|served| !std::ptr::eq(*served, own));
        let former = others.map(|served| FormerVersion {
            version: Arc::clone(&served.version),
            since: served.since,
            replaced: served.replacement(),
            is_unknown: served.is_unknown,
        });
        Some(SiteRules {
            since: Some(own.since),
            is_dated: own.is_dated,
            former: former.collect(),
            dropped: self.dropped,
            sequence: self.sequence,
            waivers: Arc::clone(waivers),
            ..SiteRules::new(Arc::clone(&own.version))
        })
    }

    /// Has every version compiled for a catalogue that has changed.
    pub fn renew(&mut self, mut renewed: impl FnMut(&Arc<RobotsVersion>) -> Arc<RobotsVersion>) {
        for served in &mut self.served {
            served.version = renewed(&served.version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::VersionId;
    use crate::robots::{ParseLimits, Robots};
    use std::time::Duration;

    const PERIOD: NoticePeriod = NoticePeriod { notice: Duration::from_secs(100), settle: Duration::ZERO };
    const ME: u32 = 1;
    const OTHER: u32 = 2;

    fn version(text: &str) -> Arc<RobotsVersion> {
        let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
        Arc::new(RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots)))
    }

    fn closing(path: &str) -> Arc<RobotsVersion> {
        version(&format!("User-agent: *\nDisallow: /{path}\n"))
    }

    /// The entry and the second have one number.
    fn moment(number: u64) -> Moment {
        let span = Duration::from_secs(number);
        Moment { sequence: number, at: NoticeTime(span), time: SystemTime::UNIX_EPOCH + span }
    }

    fn in_force(history: &HostHistory, process: u32) -> SiteRules {
        let waivers: Arc<[Waiver]> = Arc::new([]);
        history.in_force(process, &waivers).unwrap()
    }

    fn former(history: &HostHistory, process: u32) -> Vec<(Option<VersionId>, Option<u64>)> {
        let rules = in_force(history, process);
        let each = rules.former().iter();
        each.map(|old| (old.version.id, old.replaced.map(|replaced| replaced.sequence))).collect()
    }

    #[test]
    fn before_the_first_entry_stands_what_allows_everything() {
        let mut history = HostHistory::unknown_until(moment(1));
        history.serve(ME, &closing("a"), moment(1));
        assert_eq!(former(&history, ME), [(None, Some(1))]);
        history.prune(PERIOD, moment(101).at);
        assert_eq!(former(&history, ME), []);
    }

    #[test]
    fn a_version_is_replaced_when_the_last_process_ceases_to_serve_it() {
        let mut history = HostHistory::unknown_until(moment(1));
        history.serve(OTHER, &closing("a"), moment(1));
        history.serve(ME, &closing("b"), moment(200));
        history.prune(PERIOD, moment(1_000).at);
        assert_eq!(former(&history, ME), [(closing("a").id, None)]);
        history.stop(OTHER, moment(1_000));
        assert_eq!(former(&history, ME), [(closing("a").id, Some(1_000))]);
        history.prune(PERIOD, moment(1_099).at);
        assert_eq!(former(&history, ME).len(), 1);
        history.prune(PERIOD, moment(1_100).at);
        assert_eq!(former(&history, ME), []);
    }

    #[test]
    fn a_restart_changes_nothing_of_what_goes_on() {
        let mut history = HostHistory::unknown_until(moment(1));
        history.serve(OTHER, &closing("a"), moment(1));
        history.serve(OTHER, &closing("b"), moment(2));
        history.stop(OTHER, moment(5));
        history.serve(ME, &closing("b"), moment(6));
        assert_eq!(in_force(&history, ME).since, Some(moment(2).time));
        assert_eq!(former(&history, ME), [(closing("a").id, Some(2)), (None, Some(1))]);
    }

    #[test]
    fn a_version_that_returns_is_no_former_one_and_in_force_anew() {
        let mut history = HostHistory::unknown_until(moment(1));
        history.serve(ME, &closing("a"), moment(1));
        history.serve(ME, &closing("b"), moment(2));
        history.serve(ME, &closing("a"), moment(3));
        assert_eq!(former(&history, ME), [(closing("b").id, Some(3)), (None, Some(1))]);
        let in_force = in_force(&history, ME);
        assert_eq!((in_force.since, in_force.is_dated), (Some(moment(3).time), true));
    }

    #[test]
    fn a_date_that_an_earlier_version_had_tells_nothing_ever_after() {
        let mut history = HostHistory::unknown_until(moment(1));
        let at = |number, time| Moment { time: moment(time).time, ..moment(number) };
        history.serve(ME, &closing("a"), at(1, 10));
        assert!(in_force(&history, ME).is_dated);
        for (number, time, is_dated) in [(2, 10, false), (3, 7, false), (4, 10, false), (5, 11, true)] {
            history.serve(ME, &closing(&number.to_string()), at(number * 1_000, time));
            history.prune(PERIOD, moment(number * 1_000 + 500).at);
            assert_eq!(
                (former(&history, ME).len(), in_force(&history, ME).is_dated),
                (0, is_dated),
                "{number}"
            );
        }
    }

    #[test]
    fn a_date_that_a_later_version_had_too_tells_nothing_when_its_version_returns() {
        let mut history = HostHistory::unknown_until(moment(1));
        let at = |number, time| Moment { time: moment(time).time, ..moment(number) };
        // Another process, which was killed, still stands for serving it.
        history.serve(ME + 1, &closing("a"), at(1, 10));
        history.serve(ME, &closing("b"), at(2, 10));
        assert!(!in_force(&history, ME).is_dated);
        history.serve(ME, &closing("a"), at(3, 12));
        let returned = in_force(&history, ME);
        assert_eq!((returned.since, returned.is_dated), (Some(moment(10).time), false));
    }

    #[test]
    fn versions_that_say_the_same_are_one() {
        let mut history = HostHistory::unknown_until(moment(1));
        for number in 1..=40 {
            let text = format!("# {number}\nUser-agent: *\nDisallow: /a\n");
            history.serve(ME, &version(&text), moment(number));
            history.prune(PERIOD, moment(number).at);
        }
        let rules = in_force(&history, ME);
        assert_eq!((rules.former().len(), rules.dropped), (1, None));
        assert_eq!(rules.current().id, Some(VersionId::of(b"# 40\nUser-agent: *\nDisallow: /a\n")));
        assert_eq!(rules.since, Some(moment(40).time), "bytes decide what is shown");
    }

    #[test]
    fn what_finds_no_room_is_remembered_by_its_time() {
        let mut history = HostHistory::unknown_until(moment(1));
        for number in 1..=20 {
            history.serve(ME, &closing(&number.to_string()), moment(number));
            history.prune(PERIOD, moment(number).at);
        }
        let rules = in_force(&history, ME);
        assert_eq!(rules.former().len(), FORMER_VERSIONS);
        assert_eq!(rules.dropped, Some(Replacement { sequence: 4, at: moment(4).at }));
    }

    #[test]
    fn the_unknown_can_be_explained() {
        let start = || {
            let mut history = HostHistory::unknown_until(moment(50));
            history.serve(ME, &closing("a"), moment(50));
            history
        };
        let mut history = start();
        history.explain_unknown(Some(&closing("b")), moment(50).at);
        assert_eq!(former(&history, ME), [(closing("b").id, Some(50))]);
        let mut history = start();
        history.explain_unknown(Some(&closing("a")), moment(50).at);
        assert_eq!(former(&history, ME), [], "it was the one in force");
        let mut history = start();
        history.explain_unknown(None, moment(10).at);
        history.prune(PERIOD, moment(109).at);
        assert_eq!(former(&history, ME).len(), 1);
        history.prune(PERIOD, moment(110).at);
        assert_eq!(former(&history, ME), []);
    }
}
