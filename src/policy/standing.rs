//! What a member of a fleet and its policy tell each other.
//!
//! How far this gateway may go at the moment is in its [`FleetStanding`].

use crate::decide::NoticeTime;
use crate::record::{FleetWaiver, PastRows, uptime, whole_micros};
use parking_lot::{Condvar, Mutex};
use serde::Serialize;
use smart_default::SmartDefault;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// What of other members is new.
#[derive(Clone, Debug, Default)]
pub struct FleetNews {
    /// Everything is known up to here.
    pub stamp: u64,
    /// Whether that was given for something that this gateway said, or again: then it is noted whatever else is new.
    pub is_own: bool,
    /// All that was replaced here by this time others could know of by then.
    pub covers: NoticeTime,
    /// The rows of members by the ids of their stores, and how long ago each ended.
    pub members: BTreeMap<Box<str>, PastRows>,
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
    /// How often something has come to be served here, or to be announced.
    #[serde(skip)]
    pub opened: u64,
    /// What is served, or about to be, and what was until how long ago.
    pub rows: PastRows,
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
#[derive(Debug, SmartDefault)]
pub struct FleetStanding {
    /// Until when others wait for this member, as uptime of the machine in microseconds: 0 until it knows what they serve, and
    /// for ever where there are none.
    #[default(u64::MAX.into())]
    until: AtomicU64,
    /// The last generation of which all was in force.
    pub applied: AtomicI64,
    state: Mutex<StandingState>,
    changed: Condvar,
    /// Has the exchange go on at once.
    pub wake: Notify,
}

#[derive(Debug, SmartDefault)]
struct StandingState {
    /// How often something had come to be served here when every other member knew of all that: 0 of none, and without end where
    /// there are no others.
    #[default(u64::MAX)]
    acknowledged: u64,
    /// Whom the rest waits for.
    behind: Vec<String>,
    /// Whether the others cannot be asked at the moment.
    is_cut_off: bool,
}

impl FleetStanding {
    /// The gateway is a member from now on, or anew, and what the others serve is not known yet. They need not wait for it, and
    /// what it said may be forgotten.
    pub fn join(&self) {
        self.until.store(0, Ordering::Release);
        self.state.lock().acknowledged = 0;
    }

    /// Why nobody can be accused, if that is so.
    pub fn doubt(&self) -> Option<FleetDoubt> {
        match self.until.load(Ordering::Acquire) {
            0 => Some(FleetDoubt::Joining),
            u64::MAX => None,
            until => (whole_micros(uptime()) >= until).then_some(FleetDoubt::Isolated),
        }
    }

    /// Others wait for this member, which knows what they serve, until `lease` after `asked`, as uptime of the machine.
    pub fn renew(&self, asked: Duration, lease: Duration) {
        let until = whole_micros(asked + lease);
        self.until.fetch_max(until, Ordering::AcqRel);
    }

    /// Every other member knows of all that had come to be served so often, or these are behind.
    pub fn acknowledge(&self, opened: u64, behind: Vec<String>, is_acknowledged: bool) {
        let mut state = self.state.lock();
        if is_acknowledged {
            state.acknowledged = opened;
        }
        state.behind = behind;
        drop(state);
        self.changed.notify_all();
    }

    /// Has the exchange say what is new, and waits a little until every other member knows of all that had come to be served so
    /// often.
    ///
    /// # Errors
    /// Whom that waits for, where it takes longer.
    pub fn wait(&self, opened: u64, patience: Duration) -> Result<(), Vec<String>> {
        self.wake.notify_one();
        let waits = |state: &mut StandingState| !self.is_known(opened, state) && !state.is_cut_off;
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, waits, patience);
        if self.is_known(opened, &state) { Ok(()) } else { Err(state.behind.clone()) }
    }

    /// Whether the others can be asked: nobody waits for them while they cannot.
    pub fn set_cut_off(&self, is_cut_off: bool) {
        self.state.lock().is_cut_off = is_cut_off;
        self.changed.notify_all();
    }

    /// Whether the others know of all that had come to be served so often, so that this member may serve it.
    pub fn may_serve(&self, opened: u64) -> bool {
        self.is_known(opened, &self.state.lock())
    }

    /// After its lease a member's word may be forgotten.
    fn is_known(&self, opened: u64, state: &StandingState) -> bool {
        self.doubt() != Some(FleetDoubt::Isolated) && state.acknowledged >= opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> FleetStanding {
        let standing = FleetStanding::default();
        standing.join();
        standing.renew(uptime(), Duration::from_secs(60));
        standing
    }

    #[test]
    fn who_is_in_no_fleet_is_never_in_doubt() {
        let standing = FleetStanding::default();
        assert_eq!(standing.doubt(), None);
        assert_eq!(standing.wait(1, Duration::ZERO), Ok(()));
    }

    #[test]
    fn a_member_accuses_while_others_wait_for_it() {
        let standing = FleetStanding::default();
        standing.join();
        assert_eq!(standing.doubt(), Some(FleetDoubt::Joining));
        standing.renew(Duration::ZERO, Duration::from_micros(1));
        assert_eq!(standing.doubt(), Some(FleetDoubt::Isolated));
        standing.renew(uptime(), Duration::from_secs(60));
        assert_eq!(standing.doubt(), None);
        standing.renew(uptime().saturating_sub(Duration::from_secs(90)), Duration::from_secs(60));
        assert_eq!(standing.doubt(), None, "an answer that came late takes nothing back");
        standing.join();
        assert_eq!(standing.doubt(), Some(FleetDoubt::Joining));
    }

    #[test]
    fn what_is_about_to_be_served_waits_until_all_know_of_it() {
        let standing = member();
        standing.acknowledge(1, vec!["b".to_owned()], true);
        assert_eq!(standing.wait(1, Duration::ZERO), Ok(()));
        assert_eq!(standing.wait(2, Duration::ZERO), Err(vec!["b".to_owned()]));
        standing.acknowledge(2, Vec::new(), false);
        assert!(!standing.may_serve(2));
        standing.acknowledge(2, Vec::new(), true);
        assert!(standing.may_serve(2) && standing.may_serve(1) && !standing.may_serve(3));
    }

    #[test]
    fn what_a_member_said_before_it_left_is_said_anew() {
        let standing = member();
        standing.acknowledge(1, Vec::new(), true);
        standing.join();
        assert!(!standing.may_serve(1));
    }
}
