//! What a member of a fleet and its policy tell each other.
//!
//! How far this gateway may go at the moment is in its [`FleetStanding`].

use crate::decide::NoticeTime;
use crate::record::{FileDigest, FleetWaiver, uptime, whole_micros};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Which files stand at which hosts, or are about to: `example.org`, `*.example.org`, or `*` for every other host.
pub type OfferedFiles = BTreeMap<Box<str>, BTreeSet<FileDigest>>;

/// Rows as members tell each other: by host, what was served (a version, or a doubt), and how many seconds ago that ended;
/// nothing while it is served, or about to be.
pub type SaidRows = BTreeMap<Box<str>, BTreeMap<Box<str>, Option<u64>>>;

/// The bytes of files by their SHA-256.
pub type FileBytes = BTreeMap<Box<str>, Vec<u8>>;

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

/// What a member serves itself.
#[derive(Clone, Debug, Default)]
pub struct OwnFiles {
    /// Files by hosts, those that wait for the others among them.
    pub files: OfferedFiles,
    /// What was served, and what is not known.
    pub past: SaidRows,
    /// For how long a version that was replaced may be held.
    pub notice: Duration,
    /// What the operator said of notice here, while notice lasts.
    pub waived: Vec<FleetWaiver>,
    /// When anything here was replaced last.
    pub covers: NoticeTime,
    /// The versions in force, by site.
    pub serving: Vec<(String, Option<String>)>,
    /// What keeps something from coming into force.
    pub error: Option<String>,
}

impl OwnFiles {
    /// All of it as rows: what is served, or about to be, and what was.
    pub fn rows(&self) -> SaidRows {
        let mut rows = self.past.clone();
        for (host, files) in &self.files {
            let files = files.iter().map(|file| (file.clone().unwrap_or_default(), None));
            rows.entry(host.clone()).or_default().extend(files);
        }
        rows
    }
}

/// Why news cannot be noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnlearntNews {
    /// A reload is under way.
    Busy,
    /// Rows cannot be written.
    Faulty,
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
    /// What is served already.
    served: OfferedFiles,
    /// What every other member has acknowledged.
    acknowledged: OfferedFiles,
    /// What a reload would have this gateway serve, and the bytes of that.
    wanted: Option<(OfferedFiles, FileBytes)>,
    /// Whom that waits for.
    behind: Vec<String>,
}

/// Whether all of these files are among those.
fn is_within(files: &OfferedFiles, all: &OfferedFiles) -> bool {
    files.iter().all(|(host, files)| all.get(host).is_some_and(|known| files.is_subset(known)))
}

impl FleetStanding {
    /// The gateway is a member from now on, and knows nothing yet.
    pub fn begin(&self) {
        self.is_member.store(true, Ordering::Relaxed);
    }

    /// Why nobody can be accused, if that is so.
    pub fn doubt(&self) -> Option<FleetDoubt> {
        if !self.is_member.load(Ordering::Relaxed) {
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
        self.state().acknowledged.clear();
    }

    /// Adds what is served already or offered to what this member is about to say that it serves. The others may forget
    /// what it no longer says as soon as that is on its way.
    pub fn speak(&self, files: &mut OfferedFiles) {
        let mut state = self.state();
        for (host, more) in state.served.iter().chain(state.wanted.iter().flat_map(|(files, _)| files)) {
            files.entry(host.clone()).or_default().extend(more.iter().cloned());
        }
        for (host, acknowledged) in &mut state.acknowledged {
            acknowledged.retain(|file| files.get(host).is_some_and(|said| said.contains(file)));
        }
    }

    /// Every other member knows that this one may serve these files.
    pub fn acknowledge(&self, files: &OfferedFiles, behind: Vec<String>, is_acknowledged: bool) {
        let mut state = self.state();
        if is_acknowledged {
            state.acknowledged.clone_from(files);
        }
        state.behind = behind;
        drop(state);
        self.changed.notify_all();
    }

    /// Offers to serve these files, and waits a little until every other member knows of it.
    ///
    /// # Errors
    /// Whom it waits for, where that takes longer: it is told when it may go on.
    pub fn offer(
        &self,
        files: OfferedFiles,
        bytes: impl FnOnce() -> FileBytes,
        patience: Duration,
    ) -> Result<(), Vec<String>> {
        if !self.is_member.load(Ordering::Relaxed) {
            return Ok(());
        }
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        if !self.may_serve(&files, &state) {
            if state.wanted.as_ref().is_none_or(|(wanted, _)| *wanted != files) {
                state.wanted = Some((files.clone(), bytes()));
            }
            self.wake.notify_one();
        }
        while !self.may_serve(&files, &state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_cut_off.load(Ordering::Acquire) {
                return Err(state.behind.clone());
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.wanted = None;
        state.served = files;
        Ok(())
    }

    /// Whether the others can be asked: nobody waits for them while they cannot.
    pub fn set_cut_off(&self, is_cut_off: bool) {
        self.is_cut_off.store(is_cut_off, Ordering::Release);
        self.changed.notify_all();
    }

    /// Waits a little until every other member knows of what is offered.
    pub fn wait(&self, patience: Duration) {
        let waits = |state: &mut StandingState| {
            state.wanted.as_ref().is_some_and(|(wanted, _)| !self.may_serve(wanted, state))
        };
        // Whether they do is seen when it is offered again.
        let _ = self.changed.wait_timeout_while(self.state(), patience, waits);
    }

    /// Whether these files are served already, or may be.
    pub fn may_serve_now(&self, files: &OfferedFiles) -> bool {
        self.may_serve(files, &self.state())
    }

    /// Serves a part of what is offered, where that may be served, while the rest waits.
    pub fn serves_meanwhile(&self, files: OfferedFiles) -> bool {
        let mut state = self.state();
        let may_serve = self.may_serve(&files, &state);
        if may_serve {
            state.served = files;
        }
        may_serve
    }

    /// Whether these files are served already, or may be. After its lease a member's word may be forgotten.
    fn may_serve(&self, files: &OfferedFiles, state: &StandingState) -> bool {
        let is_heard = || self.doubt() != Some(FleetDoubt::Isolated);
        is_within(files, &state.served) || (is_within(files, &state.acknowledged) && is_heard())
    }

    /// These files are served, whatever the others know.
    pub fn serves(&self, files: OfferedFiles) {
        let mut state = self.state();
        state.wanted = None;
        state.served = files;
    }

    /// Whether the gateway is a member of a fleet.
    pub fn has_begun(&self) -> bool {
        self.is_member.load(Ordering::Relaxed)
    }

    /// Whether anything that is offered waits.
    pub fn has_wanted(&self) -> bool {
        self.state().wanted.is_some()
    }

    /// The bytes of what is offered, where that waits.
    pub fn wanted_bytes(&self) -> FileBytes {
        self.state().wanted.as_ref().map(|(_, bytes)| bytes.clone()).unwrap_or_default()
    }

    /// Nothing is offered any more.
    pub fn withdraw(&self) {
        self.state().wanted = None;
    }

    /// Whether what is offered need not wait any more.
    pub fn may_go_on(&self) -> bool {
        let state = self.state();
        state.wanted.as_ref().is_some_and(|(wanted, _)| self.may_serve(wanted, &state))
    }

    fn state(&self) -> MutexGuard<'_, StandingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(host: &str, file: &str) -> OfferedFiles {
        OfferedFiles::from([(host.into(), BTreeSet::from([Some(file.into())]))])
    }

    #[test]
    fn who_is_in_no_fleet_is_never_in_doubt() {
        let standing = FleetStanding::default();
        assert_eq!(standing.doubt(), None);
        assert_eq!(standing.offer(files("*", "a"), FileBytes::new, Duration::ZERO), Ok(()));
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
    fn what_is_offered_waits_until_all_know_of_it() {
        let standing = FleetStanding::default();
        standing.begin();
        standing.renew(uptime(), Duration::from_secs(60));
        standing.acknowledge(&files("*", "a"), vec!["b".to_owned()], true);
        assert_eq!(standing.offer(files("*", "a"), FileBytes::new, Duration::ZERO), Ok(()));
        let offered = standing.offer(files("*", "b"), FileBytes::new, Duration::ZERO);
        assert_eq!(offered, Err(vec!["b".to_owned()]));
        assert!(standing.has_wanted() && !standing.may_go_on());
        standing.acknowledge(&files("*", "b"), Vec::new(), true);
        assert!(standing.may_go_on());
        assert_eq!(standing.offer(files("*", "b"), FileBytes::new, Duration::ZERO), Ok(()));
        assert!(!standing.has_wanted());
    }

    #[test]
    fn what_others_are_told_to_be_over_has_to_be_offered_anew() {
        let standing = FleetStanding::default();
        standing.begin();
        standing.renew(uptime(), Duration::from_secs(60));
        let mut both = files("*", "a");
        both.get_mut("*").unwrap().insert(Some("b".into()));
        standing.acknowledge(&both, Vec::new(), true);
        standing.offer(files("*", "b"), FileBytes::new, Duration::ZERO).unwrap();
        // It is on its way that "a" is over, and the answer is not here yet.
        let mut said = files("*", "b");
        standing.speak(&mut said);
        assert_eq!(said, files("*", "b"));
        assert!(standing.offer(files("*", "a"), FileBytes::new, Duration::ZERO).is_err());
        let mut said = files("*", "b");
        standing.speak(&mut said);
        assert_eq!(said, both, "both tables are sent");
    }
}
