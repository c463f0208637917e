//! What a member of a fleet and its policy tell each other.
//!
//! How far this gateway may go at the moment is in its [`FleetStanding`].

use crate::decide::NoticeTime;
use crate::record::{FleetWaiver, RowVersion, ServedVersions, uptime, whole_micros};
use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Rows as members tell each other: by host, what was served (a version, or a doubt), and how many seconds ago that ended;
/// nothing while it is served, or about to be.
pub type SaidRows = BTreeMap<Box<str>, BTreeMap<Box<str>, Option<u64>>>;

/// What of other members is new.
#[derive(Clone, Debug, Default)]
pub struct FleetNews {
    /// Everything is known up to here.
    pub stamp: u64,
    /// Whether that was given for something that this gateway said, or again: then it is noted whatever else is new.
    pub is_own: bool,
    /// All that was replaced here by this time others could know of by then.
    pub covers: NoticeTime,
    /// The rows of members by the ids of their stores.
    pub members: BTreeMap<Box<str>, SaidRows>,
    /// For how long those tell of what they served, where this gateway joins them: nothing of the time before is known.
    pub known_for: Option<Duration>,
    /// The files that these name, as far as they were not known.
    pub files: Vec<Vec<u8>>,
    /// What operators said of notice elsewhere.
    pub waived: Vec<FleetWaiver>,
}

/// What a member says of itself, as the database takes it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OwnWord {
    /// When anything here was replaced last: this covers it.
    #[serde(skip)]
    pub covers: NoticeTime,
    /// What is served, or about to be, and what was.
    pub rows: SaidRows,
    /// For how many seconds a version that was replaced may be held.
    pub notice: f64,
    /// What the operator said of notice here, while notice lasts.
    pub waived: Vec<FleetWaiver>,
    /// The versions in force, by site, for people.
    pub serving: Vec<(String, Option<String>)>,
    /// What keeps something from coming into force here, for people.
    pub error: Option<String>,
}

/// Why nobody can be accused at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetDoubt {
    /// What the others serve is not known yet.
    Joining,
    /// The others may have gone on without this gateway: its lease has run out.
    Isolated,
}

/// How far a member may go. Of a gateway that is in no fleet, as far as it likes.
#[derive(Debug, Default)]
pub struct FleetStanding {
    is_member: AtomicBool,
    /// Until when others wait for this member, as uptime of the machine in microseconds; 0 until it knows what they serve.
    until: AtomicU64,
    /// Whether the others cannot be asked at the moment.
    is_cut_off: AtomicBool,
    /// The last generation of which all was in force.
    pub applied: AtomicI64,
    state: Mutex<StandingState>,
    changed: Condvar,
    /// Has the exchange go on at once.
    pub wake: Notify,
}

#[derive(Debug, Default)]
struct StandingState {
    /// What every other member has acknowledged that this one may serve.
    acknowledged: SaidRows,
    /// Whom the rest waits for.
    behind: Vec<String>,
}

/// Whether rows say that a version is served, or about to be.
fn is_open(rows: &SaidRows, host: &str, word: &str) -> bool {
    rows.get(host).and_then(|host| host.get(word)) == Some(&None)
}

impl FleetStanding {
    /// The gateway is a member from now on, and knows nothing yet.
    pub fn begin(&self) {
        self.is_member.store(true, Ordering::Relaxed);
    }

    /// Why nobody can be accused, if that is so.
    pub fn doubt(&self) -> Option<FleetDoubt> {
        if !self.has_begun() {
            return None;
        }
        match self.until.load(Ordering::Acquire) {
            0 => Some(FleetDoubt::Joining),
            until => (whole_micros(uptime()) >= until).then_some(FleetDoubt::Isolated),
        }
    }

    /// Others wait for this member, which knows what they serve, until `lease` after `asked`, as uptime of the machine.
    pub fn renew(&self, asked: Duration, lease: Duration) {
        let until = whole_micros(asked + lease);
        self.until.fetch_max(until, Ordering::AcqRel);
    }

    /// What the others serve is not known any more. They need not wait for it, and what it said may be forgotten.
    pub fn leave(&self) {
        self.until.store(0, Ordering::Release);
        self.state.lock().acknowledged.clear();
    }

    /// This is what the member is about to say. The others may forget what it no longer says as soon as that is on its way.
    pub fn says(&self, rows: &SaidRows) {
        for (host, words) in &mut self.state.lock().acknowledged {
            words.retain(|word, _| is_open(rows, host, word));
        }
    }

    /// Every other member knows of these rows, or these are behind.
    pub fn acknowledge(&self, rows: &SaidRows, behind: Vec<String>, is_acknowledged: bool) {
        let mut state = self.state.lock();
        if is_acknowledged {
            state.acknowledged.clone_from(rows);
        }
        state.behind = behind;
        drop(state);
        self.changed.notify_all();
    }

    /// Has the exchange say what is new, and waits a little until every other member knows that this one may serve these
    /// versions.
    ///
    /// # Errors
    /// Whom that waits for, where it takes longer.
    pub fn wait(&self, files: &ServedVersions, patience: Duration) -> Result<(), Vec<String>> {
        self.wake.notify_one();
        let waits = |state: &mut StandingState| {
            !self.are_known(files, state) && !self.is_cut_off.load(Ordering::Acquire)
        };
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, waits, patience);
        if self.are_known(files, &state) { Ok(()) } else { Err(state.behind.clone()) }
    }

    /// Whether the others can be asked: nobody waits for them while they cannot.
    pub fn set_cut_off(&self, is_cut_off: bool) {
        self.is_cut_off.store(is_cut_off, Ordering::Release);
        self.changed.notify_all();
    }

    /// Whether the others know that this member may serve these versions.
    pub fn may_serve(&self, files: &ServedVersions) -> bool {
        self.are_known(files, &self.state.lock())
    }

    /// After its lease a member's word may be forgotten. What is not known itself is nothing to wait for.
    fn are_known(&self, files: &ServedVersions, state: &StandingState) -> bool {
        let is_known = |host: &str, one: &RowVersion| {
            one.doubt().is_some() || is_open(&state.acknowledged, host, one.word())
        };
        let is_isolated = self.doubt() == Some(FleetDoubt::Isolated);
        !self.has_begun() || !is_isolated && files.at.iter().all(|(host, one)| is_known(host, one))
    }

    /// Whether the gateway is a member of a fleet.
    pub fn has_begun(&self) -> bool {
        self.is_member.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::RobotsVersion;

    fn files(host: &str, file: &str) -> ServedVersions {
        let rules = RobotsVersion::allowing_everything().rules;
        let version = RowVersion::known(rules, Some(file.into()));
        ServedVersions { at: [(host.into(), version)].into(), elsewhere: None }
    }

    fn rows(host: &str, files: &[&str]) -> SaidRows {
        [(host.into(), files.iter().map(|file| ((*file).into(), None)).collect())].into()
    }

    fn member() -> FleetStanding {
        let standing = FleetStanding::default();
        standing.begin();
        standing.renew(uptime(), Duration::from_secs(60));
        standing
    }

    #[test]
    fn who_is_in_no_fleet_is_never_in_doubt() {
        let standing = FleetStanding::default();
        assert_eq!(standing.doubt(), None);
        assert_eq!(standing.wait(&files("*", "a"), Duration::ZERO), Ok(()));
    }

    #[test]
    fn a_member_accuses_while_others_wait_for_it() {
        let standing = FleetStanding::default();
        standing.begin();
        assert_eq!(standing.doubt(), Some(FleetDoubt::Joining));
        standing.renew(Duration::ZERO, Duration::from_micros(1));
        assert_eq!(standing.doubt(), Some(FleetDoubt::Isolated));
        standing.renew(uptime(), Duration::from_secs(60));
        assert_eq!(standing.doubt(), None);
        standing.renew(uptime().saturating_sub(Duration::from_secs(90)), Duration::from_secs(60));
        assert_eq!(standing.doubt(), None, "an answer that came late takes nothing back");
        standing.leave();
        assert_eq!(standing.doubt(), Some(FleetDoubt::Joining));
    }

    #[test]
    fn what_is_about_to_be_served_waits_until_all_know_of_it() {
        let standing = member();
        standing.acknowledge(&rows("*", &["a"]), vec!["b".to_owned()], true);
        assert_eq!(standing.wait(&files("*", "a"), Duration::ZERO), Ok(()));
        assert_eq!(standing.wait(&files("*", "b"), Duration::ZERO), Err(vec!["b".to_owned()]));
        standing.acknowledge(&rows("*", &["a", "b"]), Vec::new(), false);
        assert!(!standing.may_serve(&files("*", "b")));
        standing.acknowledge(&rows("*", &["a", "b"]), Vec::new(), true);
        assert!(standing.may_serve(&files("*", "b")) && !standing.may_serve(&files("a.example", "b")));
        let ended = [("*".into(), [("b".into(), Some(1))].into())].into();
        standing.acknowledge(&ended, Vec::new(), true);
        assert!(!standing.may_serve(&files("*", "b")), "it is over");
    }

    #[test]
    fn what_others_are_told_to_be_over_has_to_be_said_anew() {
        let standing = member();
        standing.acknowledge(&rows("*", &["a", "b"]), Vec::new(), true);
        // It is on its way that "a" is over, and the answer is not here yet.
        standing.says(&rows("*", &["b"]));
        assert!(!standing.may_serve(&files("*", "a")) && standing.may_serve(&files("*", "b")));
    }
}
