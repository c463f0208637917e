//! What one host's visitors were given over time, by however many processes: what leads to its [`SiteRules`].
//!
//! A process opens a version when it begins to serve it, and closes it when it serves another or stops. A version is
//! replaced when the last process closes it. Versions that say the same are one. What nobody knows stands among them as
//! something unknown.

use super::notice::{NoticePeriod, NoticeTime};
use super::rules::{Doubt, FormerVersion, Replacement, SiteRules, Waiver};
use super::version::{RobotsVersion, VersionId};
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

/// A version, or why nobody knows which.
pub type KnownVersion = Result<Arc<RobotsVersion>, Doubt>;

fn is_same(one: &KnownVersion, other: &KnownVersion) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one.rules == other.rules,
        (Err(one), Err(other)) => one == other,
        _ => false,
    }
}

fn id(version: &KnownVersion) -> Option<VersionId> {
    version.as_ref().ok()?.id
}

/// One version, and who serves it.
#[derive(Clone, Debug)]
struct ServedVersion {
    version: KnownVersion,
    /// The processes that serve it.
    by: Vec<u32>,
    /// When it came into force, as shown, and the place of that in the order of changes.
    since: SystemTime,
    is_dated: bool,
    opened: u64,
    /// When the last process ceased to serve it; meaningless while one does.
    replaced: Replacement,
}

impl ServedVersion {
    /// One that comes into force at `moment`; unless a process serves it, it is replaced then.
    fn new(version: KnownVersion, by: Vec<u32>, moment: Moment) -> Self {
        let (since, opened, replaced) = (moment.time, moment.sequence, moment.replacement());
        Self { version, by, since, is_dated: false, opened, replaced }
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
    pub fn beginning(moment: Moment, doubt: Doubt) -> Self {
        let unknown = ServedVersion { opened: 0, ..ServedVersion::new(Err(doubt), Vec::new(), moment) };
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

    /// The date of `moment` may be that of a version that is lost.
    pub fn without_dates_until(mut self, moment: Moment) -> Self {
        self.latest = seconds(moment.time);
        self
    }

    /// `process` serves `version` from now on, and nothing else.
    pub fn serve(&mut self, process: u32, version: &KnownVersion, moment: Moment) {
        let at = self.served.iter().position(|served| is_same(&served.version, version));
        if let Some(served) = at.and_then(|at| self.served.get_mut(at))
            && served.by.contains(&process)
        {
            let is_new = id(&served.version) != id(version);
            served.version.clone_from(version);
            if is_new {
                self.date(version, moment);
            }
            return;
        }
        let last_opened = self.served.iter().map(|served| served.opened).max();
        self.stop(process, moment);
        self.sequence = moment.sequence;
        let Some(served) = at.and_then(|at| self.served.get_mut(at)) else {
            self.served.push(ServedVersion::new(version.clone(), vec![process], moment));
            return self.date(version, moment);
        };
        // A process that is started again goes on with what the last one served.
        let goes_on = !served.by.is_empty() || last_opened < Some(served.replaced.sequence);
        let is_new = !(goes_on && id(&served.version) == id(version));
        served.by.push(process);
        served.version.clone_from(version);
        if is_new {
            served.opened = moment.sequence;
            self.date(version, moment);
        }
    }

    /// Dates a version that comes into force. Within one second, or after a step of the clock, it may bear the date of an
    /// earlier one: then no date of this host tells versions apart any more.
    fn date(&mut self, version: &KnownVersion, moment: Moment) {
        let is_dated = seconds(moment.time) > self.latest;
        self.latest = self.latest.max(seconds(moment.time));
        for served in &mut self.served {
            let is_own = id(&served.version) == id(version);
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

    /// Everything has been known since then: what was served before the gateway ended no later.
    pub fn know_since(&mut self, since: NoticeTime) {
        let before = self.served.iter_mut().filter(|served| matches!(served.version, Err(Doubt::Before)));
        for unknown in before {
            unknown.replaced.at = unknown.replaced.at.min(since);
        }
    }

    /// When, at the latest, what was served before the gateway was replaced.
    pub fn unknown_until(&self) -> Option<NoticeTime> {
        let mut before = self.served.iter().filter(|served| matches!(served.version, Err(Doubt::Before)));
        before.next().map(|unknown| unknown.replaced.at)
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

    /// Whether `process` serves any version.
    pub fn is_served_by(&self, process: u32) -> bool {
        self.served.iter().any(|served| served.by.contains(&process))
    }

    /// What visitors of `process` are judged by; `None` where it serves nothing that is known.
    pub fn in_force(&self, process: u32, waivers: &Arc<[Waiver]>) -> Option<SiteRules> {
        let own = self.served.iter().find(|served| served.by.contains(&process))?;
        let current = own.version.as_ref().ok()?;
        let others = self.served.iter().rev().filter(|served| !std::ptr::eq(*served, own));
        let former = others.map(|served| FormerVersion {
            version: served.version.clone(),
            since: served.since,
            replaced: served.replacement(),
        });
        let dropped = self.dropped.map(|dropped| FormerVersion::unknown(Doubt::Dropped, Some(dropped)));
        Some(SiteRules {
            since: Some(own.since),
            is_dated: own.is_dated,
            former: former.chain(dropped).collect(),
            sequence: self.sequence,
            waivers: Arc::clone(waivers),
            ..SiteRules::new(Arc::clone(current))
        })
    }

    /// Has every version compiled for a catalogue that has changed.
    pub fn renew(&mut self, mut renewed: impl FnMut(&Arc<RobotsVersion>) -> Arc<RobotsVersion>) {
        for served in &mut self.served {
            if let Ok(version) = &mut served.version {
                *version = renewed(version);
            }
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

    #[expect(clippy::unnecessary_wraps, reason = "others are not known")]
    fn version(text: &str) -> KnownVersion {
        let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
        Ok(Arc::new(RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots))))
    }

    fn closing(path: &str) -> KnownVersion {
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
        each.map(|old| (id(&old.version), old.replaced.map(|replaced| replaced.sequence))).collect()
    }

    #[test]
    fn before_the_first_entry_stands_something_unknown() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        history.serve(ME, &closing("a"), moment(1));
        assert_eq!(former(&history, ME), [(None, Some(1))]);
        history.prune(PERIOD, moment(101).at);
        assert_eq!(former(&history, ME), []);
    }

    #[test]
    fn a_version_is_replaced_when_the_last_process_ceases_to_serve_it() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        history.serve(OTHER, &closing("a"), moment(1));
        history.serve(ME, &closing("b"), moment(200));
        history.prune(PERIOD, moment(1_000).at);
        assert_eq!(former(&history, ME), [(id(&closing("a")), None)]);
        history.stop(OTHER, moment(1_000));
        assert_eq!(former(&history, ME), [(id(&closing("a")), Some(1_000))]);
        history.prune(PERIOD, moment(1_099).at);
        assert_eq!(former(&history, ME).len(), 1);
        history.prune(PERIOD, moment(1_100).at);
        assert_eq!(former(&history, ME), []);
    }

    #[test]
    fn a_restart_changes_nothing_of_what_goes_on() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        history.serve(OTHER, &closing("a"), moment(1));
        history.serve(OTHER, &closing("b"), moment(2));
        history.stop(OTHER, moment(5));
        history.serve(ME, &closing("b"), moment(6));
        assert_eq!(in_force(&history, ME).since, Some(moment(2).time));
        assert_eq!(former(&history, ME), [(id(&closing("a")), Some(2)), (None, Some(1))]);
    }

    #[test]
    fn a_version_that_returns_is_no_former_one_and_in_force_anew() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        history.serve(ME, &closing("a"), moment(1));
        history.serve(ME, &closing("b"), moment(2));
        history.serve(ME, &closing("a"), moment(3));
        assert_eq!(former(&history, ME), [(id(&closing("b")), Some(3)), (None, Some(1))]);
        let in_force = in_force(&history, ME);
        assert_eq!((in_force.since, in_force.is_dated), (Some(moment(3).time), true));
    }

    #[test]
    fn a_date_that_an_earlier_version_had_tells_nothing_ever_after() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
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
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
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
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        for number in 1..=40 {
            let text = format!("# {number}\nUser-agent: *\nDisallow: /a\n");
            history.serve(ME, &version(&text), moment(number));
            history.prune(PERIOD, moment(number).at);
        }
        let rules = in_force(&history, ME);
        assert_eq!(former(&history, ME), [(None, Some(1))]);
        assert_eq!(rules.current().id, Some(VersionId::of(b"# 40\nUser-agent: *\nDisallow: /a\n")));
        assert_eq!(rules.since, Some(moment(40).time), "bytes decide what is shown");
    }

    #[test]
    fn what_finds_no_room_is_remembered_by_its_time() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        for number in 1..=20 {
            history.serve(ME, &closing(&number.to_string()), moment(number));
            history.prune(PERIOD, moment(number).at);
        }
        let rules = in_force(&history, ME);
        assert_eq!(rules.former().len(), FORMER_VERSIONS + 1);
        let unknown = rules.former().iter().filter(|old| old.version.is_err());
        let unknown: Vec<_> = unknown.map(|old| (old.version.as_ref().err(), old.replaced)).collect();
        let dropped = Replacement { sequence: 4, at: moment(4).at };
        assert_eq!(unknown, [(Some(&Doubt::Dropped), Some(dropped))]);
    }

    #[test]
    fn no_file_is_known_to_allow_everything_and_is_not_the_same_as_something_unknown() {
        let mut history = HostHistory::beginning(moment(1), Doubt::Before);
        history.serve(ME, &Ok(RobotsVersion::allowing_everything()), moment(1));
        assert!(matches!(
            in_force(&history, ME).former(),
            [FormerVersion { version: Err(Doubt::Before), .. }]
        ));
        history.serve(ME, &closing("a"), moment(2));
        assert_eq!(in_force(&history, ME).former().iter().filter(|old| old.version.is_ok()).count(), 1);
        history.serve(ME, &Err(Doubt::Lost), moment(3));
        let waivers: Arc<[Waiver]> = Arc::new([]);
        assert!(history.in_force(ME, &waivers).is_none());
    }
}
